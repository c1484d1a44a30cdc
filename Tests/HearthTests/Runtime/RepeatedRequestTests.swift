import Foundation
import HearthStore
import TestSupport
import Testing

@testable import Hearth
@testable import HearthCache

/// A process wants a cache for itself and gives up, because another one does not give it back in time, and is used all the same.
@Suite("Asking for a cache again", .timeLimit(.minutes(2)))
struct RepeatedRequestTests {
  private let unsaved: UnsavedWritesTests
  private var folder: String { unsaved.folder.url.path }

  init() throws {
    unsaved = try UnsavedWritesTests()
  }

  /// A client that waits for the folder, and for a process that wants it, for a second.
  private func client(
    _ sharing: CacheSharing, path: String = "", waiting limit: Duration = .seconds(1)
  ) throws -> ClientRuntime {
    var configuration = try SuspensionTests.configuration(unsaved.folder.url.appendingPathComponent(path), sharing)
    configuration.folderWaitLimit = limit
    let client = ClientRuntime(configuration)
    client.setNetworkEnabled(false) { _ in }
    return client
  }

  /// A client with a queue of its own.
  private func otherProcess(_ sharing: CacheSharing) throws -> ClientRuntime {
    try client(sharing, path: "../\(unsaved.folder.url.lastPathComponent)")
  }

  /// Expects that a call fails because another process has the folder.
  private func expectInUse(_ client: ClientRuntime) async {
    #expect(await unsaved.code { _ = try await unsaved.count(client) } == .failedPrecondition)
  }

  @Test(
    "clients that could not leave in time leave at the next call, whatever it is for",
    arguments: [CacheSharing.takingOver, .shared])
  func later(_ sharing: CacheSharing) async throws {
    let first = try client(.shared)
    _ = try unsaved.write("a/first", first)
    #expect(try await unsaved.count(first) == 1)
    let stopped = try FolderLock(folder: folder, mode: .shared)
    // Without this one it would be a second process that shares the cache.
    if sharing == .shared { try outdateTables(in: folder) }
    let second = try otherProcess(sharing)
    await expectInUse(second)
    #expect(try await unsaved.count(first) == 1)
    stopped.release()

    _ = try unsaved.write("a/second", second)
    #expect(try await unsaved.count(second) == 2)
    await expectInUse(first)
    for client in [first, second] { try await unsaved.stop(client) }
  }

  @Test("a user who signed in while the folder was in use is the one whose writes wait for it")
  func choices() async throws {
    let first = try client(.shared)
    #expect(try await unsaved.count(first) == 0)
    let stopped = try FolderLock(folder: folder, mode: .shared)
    let second = try otherProcess(.takingOver)
    await expectInUse(second)
    second.userChanged(to: RequestUser(name: "alice"))
    await expectInUse(second)
    stopped.release()

    _ = try unsaved.write("a/second", second)
    #expect(try await unsaved.count(second) == 1)
    second.userChanged(to: RequestUser(name: "bob"))
    #expect(try await unsaved.count(second) == 0)
    for client in [first, second] { try await unsaved.stop(client) }
  }

  @Test("a listener for snapshots in sync that was added while the folder was in use is called once the client runs")
  func listenerForSync() async throws {
    let first = try client(.alone)
    #expect(try await unsaved.count(first) == 0)
    let second = try otherProcess(.alone)
    let calls = Recorder<String>()
    let waited = second.addSnapshotsInSyncListener { calls.record("waited") }
    await expectInUse(second)
    let later = second.addSnapshotsInSyncListener { calls.record("later") }
    let removed = second.addSnapshotsInSyncListener { calls.record("removed") }
    removed.remove()
    #expect(calls.events.isEmpty)
    try await unsaved.stop(first)
    _ = try unsaved.write("a/b", second)
    #expect(try await calls.next() == "waited")
    #expect(try await calls.next() == "later")
    for handle in [waited, later] { handle.remove() }
    try await unsaved.stop(second)
    #expect(!calls.events.contains("removed"))
  }

  @Test("clients work in between while another one asks all the time, while a process is stopped")
  func asksAllTheTime() async throws {
    let first = try client(.shared)
    #expect(try await unsaved.count(first) == 0)
    let stopped = try FolderLock(folder: folder, mode: .shared)
    let second = try otherProcess(.takingOver)
    await expectInUse(second)
    let failures = Recorder<Void>()
    let asking = Task {
      while !Task.isCancelled {
        _ = await unsaved.code { _ = try await unsaved.count(second) }
        failures.record(())
      }
    }
    defer { asking.cancel() }
    for _ in 0..<2 { try await failures.next() }
    let before = failures.events.count
    for _ in 0..<30 { #expect(try await unsaved.count(first) == 0) }
    #expect(failures.events.count - before < 15)
    asking.cancel()
    await asking.value
    stopped.release()
    for client in [first, second] { try await unsaved.stop(client) }
  }

  @Test("clients go on, with their writes, although a process has the folder for longer than they wait before it fails")
  func failsLate() async throws {
    let client = try client(.shared, waiting: .milliseconds(200))
    _ = try unsaved.write("a/first", client)
    #expect(try await unsaved.count(client) == 1)
    let request = EndRequest()
    request.ask(clientsOf: folder)
    var taken: FolderLock?
    try await waitUntil {
      taken = try? FolderLock(folder: folder)
      return taken != nil
    }
    _ = try unsaved.write("a/second", client)
    let code = await unsaved.code { _ = try await unsaved.count(client) }
    try #require(code == .unavailable, "the client does not wait for longer")
    _ = try unsaved.write("a/third", client)
    #expect(await unsaved.code { _ = try await unsaved.count(client) } == .unavailable)
    taken?.release()
    request.withdraw()
    try await waitUntil { (try? await unsaved.count(client)) == 3 }
    try await unsaved.stop(client)
  }
}
