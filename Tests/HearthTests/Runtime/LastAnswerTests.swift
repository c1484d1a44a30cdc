import Foundation
import HearthCache
import HearthModel
import HearthSync
import Testing

@testable import Hearth

/// The end of a client while a batch is at the backend: what is not answered is sent again by the next client.
@Suite("The last answers of a client", .timeLimit(.minutes(2)))
struct LastAnswerTests {
  private let folder: TemporaryFolder
  private let queue = DispatchQueue(label: "client")

  init() throws {
    folder = try TemporaryFolder()
  }

  private enum Event: Equatable {
    case written(String)
    case ended
  }

  /// Makes a client whose stream the test answers, and lets it send a write.
  private func sendingClient(_ events: Recorder<Event>) throws -> (RunningClient, StreamID) {
    let client = try RunningClient(SuspensionTests.configuration(folder.url), on: queue) { _ in }
    client.start()
    let mutation = Mutation.set(try DocumentKey(parsing: "a/b"), ["n": .integer(1)])
    let write = LocalWrite(id: WriteID(rawValue: 1), mutations: [mutation], localWriteTime: .now())
    let completion = WriteCompletion(
      finish: { events.record(.written($0?.localizedDescription ?? "OK")) }, abandon: { _ in })
    client.handle(.writes([WriteCall(write: write, completion: completion)]))
    let stream = StreamID(rawValue: 1)
    client.handle(.stream(.writeStreamOpened(stream)))
    client.handle(.stream(.writeStreamMessage(stream, WriteResponse(streamToken: [1]))))
    #expect(client.engine.batchesAtBackend.count == 1)
    return (client, stream)
  }

  /// The batches that the next client would send.
  private func pendingCount() throws -> Int {
    let client = try RunningClient(SuspensionTests.configuration(folder.url), on: queue) { _ in }
    defer { client.stop { _ in } }
    return try client.cache.localStore.outbox.batchCount(of: nil)
  }

  @Test("one that comes within a moment acknowledges its batch, and the client ends with it")
  func answered() async throws {
    let events = Recorder<Event>()
    try queue.sync {
      let (client, stream) = try sendingClient(events)
      client.stop { _ in events.record(.ended) }
      #expect(!client.isEnded)
      let result = MutationResult(version: Self.version)
      let answer = WriteResponse(streamToken: [2], commitVersion: Self.version, results: [result])
      client.handle(.stream(.writeStreamMessage(stream, answer)))
      #expect(client.isEnded)
    }
    #expect(try await events.next() == .written("OK"))
    #expect(try await events.next() == .ended)
    #expect(try queue.sync { try pendingCount() } == 0)
  }

  @Test("the client ends with its stream if none comes, and the batch stays")
  func unanswered() async throws {
    let events = Recorder<Event>()
    try queue.sync {
      let (client, stream) = try sendingClient(events)
      client.stop { _ in events.record(.ended) }
      #expect(!client.isEnded)
      client.handle(.stream(.writeStreamClosed(stream, nil)))
      #expect(client.isEnded)
    }
    #expect(try await events.next() == .ended)
    #expect(events.events == [.ended])
    #expect(try queue.sync { try pendingCount() } == 1)
  }

  @Test("a suspension of the process ends the client at once")
  func suspended() async throws {
    let events = Recorder<Event>()
    try queue.sync {
      let (client, _) = try sendingClient(events)
      client.stop { _ in events.record(.ended) }
      client.finishStop(isUrgent: true)
      #expect(client.isEnded)
      #expect(try pendingCount() == 1)
    }
    #expect(try await events.next() == .ended)
  }

  @Test("a client ends although the backend keeps its answer")
  func kept() async throws {
    let keeper = AnswerKeeper()
    let cache = PersistentCacheSettings(directory: folder.url)
    let name = UUID().uuidString
    try await InterceptedServer.run(keeper) { host in
      let db = try TestFirestore(name: name, cache: cache, host: host).firestore
      db.document("a/b").setData(["n": 1], completion: nil)
      try await keeper.arrived.next()
      try await db.terminate()
      keeper.release()
    }
    let next = try await TestFirestore.offline(name: name, cache: cache)
    #expect(try await next.pendingWrites().count == 1)
    try await next.terminate()
  }

  private static let version = SnapshotVersion(microseconds: 10)
}
