import Foundation
import HearthCache
import HearthModel
import HearthSync
import Synchronization
import Testing

@testable import Hearth

/// A client whose big queries wait until the test lets them run: their queue is suspended.
@Suite("Big queries in the background")
struct BackgroundQueryTests {
  private let folder: TemporaryFolder
  private let held = DispatchQueue(label: "held", attributes: .concurrent)
  private let runtime: ClientRuntime
  private let rooms = HearthModel.Query(path: ResourcePath(["rooms"]))

  init() async throws {
    folder = try TemporaryFolder()
    var configuration = ClientConfiguration(
      databaseID: DatabaseID(projectID: "demo-hearth"), endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
      cache: .file(folder: folder.url.appendingPathComponent("cache").path, sizeBytes: -1),
      callbackQueue: DispatchQueue(label: "test"))
    configuration.backgroundQueryLimits = BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 2)
    configuration.backgroundQueue = held
    runtime = ClientRuntime(configuration)
    let outcome = Outcome<Void>()
    runtime.setNetworkEnabled(false) { outcome.resolve($0) }
    try await outcome.value()
    try write("a")
  }

  private func write(_ id: String) throws {
    runtime.write([.set(try DocumentKey(parsing: "rooms/\(id)"), ["n": 1])], nil)
  }

  private func read() -> Outcome<[String]> {
    let outcome = Outcome<[String]>()
    runtime.readQuery(rooms) { event in
      outcome.resolve(event.map { $0.documents.map(\.key.id) }.mapError { $0 as any Error })
    }
    return outcome
  }

  /// The batches that are on the disk and wait for the backend.
  private func pendingWriteCount() async throws -> Int {
    let outcome = Outcome<Int>()
    runtime.pendingWrites { outcome.resolve($0.map(\.batches.count).mapError { $0 as any Error }) }
    return try await outcome.value()
  }

  private func stop() async throws {
    let outcome = Outcome<Void>()
    runtime.stop { _ in outcome.resolve(.success(())) }
    try await outcome.value()
  }

  @Test("writes and other listeners go on while big queries are in flight")
  func inFlight() async throws {
    held.suspend()
    let before = read()
    let big = Recorder<[String]>()
    let bigHandle = runtime.listen(rooms, options: ListenOptions(), on: .global()) { event in
      if let snapshot = try? event.get() { big.record(snapshot.documents.map(\.key.id)) }
    }
    let small = Recorder<Int>()
    let document = HearthModel.Query(path: try DocumentKey(parsing: "rooms/b").path)
    let smallHandle = runtime.listen(document, options: ListenOptions(), on: .global()) { event in
      if let snapshot = try? event.get() { small.record(snapshot.documents.count) }
    }
    try write("b")
    // The write is durable, and a listener has shown it, while both big queries have not begun.
    #expect(try await pendingWriteCount() == 2)
    while try await small.next() != 1 {}
    #expect(big.events.isEmpty)
    let after = read()
    held.resume()
    #expect(try await before.value() == ["a"])
    #expect(try await after.value() == ["a", "b"])
    #expect(try await big.next() == ["a", "b"])
    bigHandle.remove()
    smallHandle.remove()
    try await stop()
  }

  @Test("a client can be terminated while big queries are in flight, and its folder is free at once")
  func termination() async throws {
    held.suspend()
    let waiting = read()
    let silent = Recorder<Bool>()
    let handle = runtime.listen(rooms, options: ListenOptions(), on: .global()) { _ in silent.record(true) }
    #expect(try await pendingWriteCount() == 1)
    try await stop()
    let error = await thrown { _ = try await waiting.value() }
    #expect(error?.code == FirestoreErrorCode.cancelled.rawValue)
    let opened = try CacheFile.open(
      folder: folder.url.appendingPathComponent("cache").path, databaseID: DatabaseID(projectID: "demo-hearth"))
    opened.close()
    // They find their connections closed.
    held.resume()
    held.sync(flags: .barrier) {}
    #expect(silent.events.isEmpty)
    handle.remove()
  }

  @Test("queries that run at the same time on several threads all have the right answer")
  func parallel() async throws {
    for number in 0..<200 { try write("\(number)") }
    let expected = (["a"] + (0..<200).map { "\($0)" }).sorted()
    for _ in 0..<10 {
      let answers = (0..<5).map { _ in read() }
      for answer in answers { #expect(try await answer.value() == expected) }
    }
    try await stop()
  }
}
