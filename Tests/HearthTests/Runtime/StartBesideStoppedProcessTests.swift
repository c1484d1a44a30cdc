import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import TestSupport
import Testing

@testable import Hearth

/// A process starts while another one is stopped in a transaction, and so holds the cache's file.
@Suite("A start alongside a stopped process", .timeLimit(.minutes(2)))
struct StartBesideStoppedProcessTests {
  private let unsaved: UnsavedWritesTests

  init() throws {
    unsaved = try UnsavedWritesTests()
  }

  /// A client that waits for 20 ms for the file, and a tenth of a second for what can be asked again.
  private func start() throws -> ClientRuntime {
    var configuration = try SuspensionTests.configuration(unsaved.folder.url, .shared)
    configuration.busyTimeout = .milliseconds(20)
    configuration.folderWaitLimit = .milliseconds(100)
    let client = ClientRuntime(configuration)
    client.setNetworkEnabled(false) { _ in }
    return client
  }

  private func holdNewFile() async throws -> Database {
    let first = try start()
    #expect(try await unsaved.count(first) == 0)
    try await unsaved.stop(first)
    return try unsaved.holdFile()
  }

  @Test("writes and listeners wait for as long as it takes, reads end with an error, and later ones do so at once")
  func waits() async throws {
    let other = try await holdNewFile()
    let client = try start()
    let first = try unsaved.write("a/b", client)
    #expect(await unsaved.code { _ = try await unsaved.pendingWrites(client) } == .unavailable)
    let second = try unsaved.write("a/c", client)
    #expect(await unsaved.code { _ = try await unsaved.count(client) } == .unavailable)
    try other.execute("ROLLBACK")
    other.close()
    try await waitUntil { (try? await unsaved.pendingWrites(client).map(\.batchID)) == [1, 2] }
    try await unsaved.stop(client)
    for write in [first, second] { #expect(await unsaved.code { try await write.value() } == .cancelled) }
  }

  @Test("the end of the client says which writes could not be saved")
  func ends() async throws {
    let other = try await holdNewFile()
    let client = try start()
    let write = try unsaved.write("a/b", client)
    #expect(await unsaved.code { _ = try await unsaved.count(client) } == .unavailable)
    #expect(await unsaved.code { try await unsaved.stop(client) } == .unavailable)
    #expect(await unsaved.code { try await write.value() } != nil)
    try other.execute("ROLLBACK")
    other.close()
  }
}
