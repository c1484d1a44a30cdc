import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// One of two clients sends the writes of both while the other one opens the damaged cache anew.
@Suite("A shared cache that is opened anew while another client uses it")
struct SharedReopeningTests {
  /// One of the clients of a cache folder.
  private final class Client {
    let cache: OpenedCache
    let store: LocalStore
    let engine: SyncEngine
    private(set) var completed: [WriteID: StatusError?] = [:]
    private var writeStream: StreamID?

    init(_ folder: String, _ name: String) throws {
      (cache, store) = try CacheFile.openStore(
        folder: folder, databaseID: TestClient.database, options: .init(sharing: .shared, clientName: name)
      ) { database, files in
        try LocalStore(
          database: database, databaseID: TestClient.database,
          garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil, newCacheID: UUID().uuidString,
          locks: files)
      }
      engine = SyncEngine(localStore: store, configuration: SyncConfiguration(jitter: { 0 }))
    }

    func handle(_ event: SyncEvent) {
      for action in engine.handle(event, now: .zero) {
        switch action {
        case .completeWrite(let id, let error): completed[id] = .some(error)
        case .openWriteStream(let id): writeStream = id
        default: break
        }
      }
    }

    func write(_ number: Int) {
      handle(
        .writes([
          SyncWrite(
            id: WriteID(rawValue: number), mutations: [set("rooms/\(number)")], localWriteTime: .epoch,
            identity: BatchIdentity(high: 0, low: UInt64(number)))
        ]))
    }

    /// The backend answers the oldest batch.
    func receiveAnswer() throws {
      let id = try #require(writeStream)
      handle(.writeStreamOpened(id))
      handle(.writeStreamMessage(id, WriteResponse(streamToken: [0], knowsBatchLabels: true)))
      let version = SnapshotVersion(microseconds: 7)
      handle(
        .writeStreamMessage(
          id, WriteResponse(streamToken: [1], commitVersion: version, results: [MutationResult(version: version)])))
    }

    /// Ends as a client does that has found damage.
    func end() throws -> SyncHandover {
      let handover = engine.handOver()
      try cache.markDamaged("made to fail")
      cache.close()
      return handover
    }
  }

  private static let refusal = StatusError(code: .permissionDenied, message: "refused")
  private let folder = NSTemporaryDirectory() + "hearth-shared-reopening-" + UUID().uuidString

  /// - Returns: The client that goes on for the one that has ended.
  private func reopen(_ handover: SyncHandover) throws -> Client {
    let client = try Client(folder, "later")
    client.engine.takeOver(handover, reason: "trouble")
    client.handle(.start)
    return client
  }

  private func answer(_ batch: MutationBatch, isRefused: Bool, in store: LocalStore) throws {
    if isRefused {
      _ = try store.reject(batch, Self.refusal, of: .user(nil), needsLease: false, at: .epoch)
    } else {
      let result = MutationBatchResult(
        batch: batch, commitVersion: SnapshotVersion(microseconds: 7),
        results: [MutationResult(version: SnapshotVersion(microseconds: 7))])
      _ = try store.acknowledge(result, of: .user(nil), needsLease: false, at: .epoch)
    }
  }

  @Test(
    "a write that another client has saved from the damaged file and sent is not reported as lost",
    arguments: [false, true])
  func answeredMeanwhile(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try Client(folder, "first")
    first.handle(.start)
    first.write(1)
    let handover = try first.end()
    let other = try Client(folder, "other")
    #expect(other.cache.recovery?.savedBatchCount == 1)
    let batch = try #require(try other.store.pendingBatches().first)
    try answer(batch, isRefused: isRefused, in: other.store)
    let second = try reopen(handover)
    #expect(second.completed == [WriteID(rawValue: 1): isRefused ? Self.refusal : nil])
    second.cache.close()
    other.cache.close()
  }

  @Test(
    "an answer of which the client has not read before the file is replaced reaches its caller",
    arguments: [false, true])
  func unreadNotice(isRefused: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try Client(folder, "first")
    let other = try Client(folder, "other")
    first.handle(.start)
    first.write(1)
    let batch = try #require(try other.store.pendingBatches().first)
    try answer(batch, isRefused: isRefused, in: other.store)
    #expect(first.completed.isEmpty)
    let handover = try first.end()
    other.cache.close()
    let second = try reopen(handover)
    #expect(second.completed == [WriteID(rawValue: 1): isRefused ? Self.refusal : nil])
    second.cache.close()
  }

  @Test("an answer that met the damage reaches the caller in another client, which opens the file later")
  func heldAnswer() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sender = try Client(folder, "sender")
    sender.handle(.start)
    let other = try Client(folder, "other")
    other.handle(.start)
    other.write(1)
    sender.handle(.othersChanged)
    var isAnswered = false
    sender.cache.database.injectFailure = { point in
      if point == .transaction("Acknowledge batch") { isAnswered = true }
      return isAnswered && point == .commit ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
    }
    try sender.receiveAnswer()
    sender.cache.database.injectFailure = nil
    let (waiting, held) = (try other.end(), try sender.end())
    #expect(held.answers.count == 1)
    let next = try Client(folder, "next")
    next.engine.takeOver(held, reason: "trouble")
    next.handle(.start)
    #expect(try next.store.pendingBatches().isEmpty)
    let second = try reopen(waiting)
    #expect(second.completed == [WriteID(rawValue: 1): nil])
    second.cache.close()
    next.cache.close()
  }
}
