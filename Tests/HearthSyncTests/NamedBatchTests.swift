import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Calls that name a batch by its number, at the time when their cache is opened anew.
@Suite("A call about a batch, in a cache that is opened anew")
struct NamedBatchTests {
  /// An engine on a cache in a folder, and the ends of the calls to it.
  private final class Client {
    let cache: OpenedCache
    let store: LocalStore
    let engine: SyncEngine
    private(set) var writes: [WriteID: StatusError?] = [:]
    private var answers: [RequestID: StatusError?] = [:]

    init(_ folder: String) throws {
      (cache, store) = try CacheFile.openStore(folder: folder, databaseID: TestClient.database) { database, _ in
        try LocalStore(
          database: database, databaseID: TestClient.database,
          garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil, newCacheID: UUID().uuidString)
      }
      engine = SyncEngine(localStore: store, configuration: SyncConfiguration(jitter: { 0 }))
    }

    func handle(_ event: SyncEvent) {
      for action in engine.handle(event, now: .zero) {
        switch action {
        case .completeWrite(let id, let error): writes[id] = .some(error)
        case .answer(let id, _): answers[id] = .some(nil)
        case .requestFailed(let id, let error): answers[id] = error
        default: break
        }
      }
    }

    /// - Returns: The error of the request; nil if it has succeeded.
    func request(_ request: EngineRequest) throws -> StatusError? {
      let id = RequestID(rawValue: answers.count + 1)
      handle(.request(id, request))
      return try #require(answers[id])
    }

    /// Stores a write whose identity says which one it is.
    func write(_ number: UInt64) throws {
      _ = try store.write(
        [set("rooms/\(number)")], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: number))
    }

    func refuse(_ batchID: BatchID) throws {
      let batch = try #require(try store.nextMutationBatch(after: batchID - 1))
      _ = try store.reject(batch, StatusError(code: .permissionDenied, message: "no"), at: .epoch)
    }
  }

  private let folder = NSTemporaryDirectory() + "hearth-batches-" + UUID().uuidString

  @Test("is about the batch that it named, not about another one with its number", arguments: [false, true])
  func requests(isOtherFile: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try Client(folder)
    first.handle(.start)
    for number in 1...3 as ClosedRange<UInt64> { try first.write(number) }
    try first.refuse(1)
    let withdrawal = try #require(first.engine.identified(.withdraw(2, evenIfSent: true)))
    let discarding = try #require(first.engine.identified(.discardRejected([1])))
    #expect(withdrawal == .withdraw(2, evenIfSent: true, identity: BatchIdentity(high: 0, low: 2)))
    #expect(discarding == .discardRejected([1], identities: [1: BatchIdentity(high: 0, low: 1)]))
    #expect(first.engine.identified(.withdraw(9, evenIfSent: true)) == nil)
    #expect(first.engine.identified(.withdraw(1, evenIfSent: true)) == nil)
    #expect(first.engine.identified(.discardRejected([2])) == nil)
    #expect(first.engine.identified(.retryNow) == .retryNow)
    first.cache.close()

    if isOtherFile { try FileManager.default.removeItem(atPath: folder) }
    let second = try Client(folder)
    second.handle(.start)
    if isOtherFile {
      for number in 11...13 as ClosedRange<UInt64> { try second.write(number) }
      try second.refuse(1)
    }
    #expect(try second.request(discarding)?.code == (isOtherFile ? .notFound : nil))
    #expect(try second.request(withdrawal)?.code == (isOtherFile ? .notFound : nil))
    #expect(try second.store.pendingBatches().map(\.batchID) == (isOtherFile ? [2, 3] : [3]))
    #expect(try second.store.rejectedBatches(of: nil).count == (isOtherFile ? 1 : 0))
    second.cache.close()
  }

  enum Fate: CaseIterable {
    case sameFile, otherFile, lost
  }

  @Test("makes the refused write again that it named, or none", arguments: Fate.allCases)
  func resubmission(fate: Fate) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try Client(folder)
    first.handle(.start)
    try first.write(1)
    try first.refuse(1)
    first.cache.database.injectFailure = {
      $0 == .commit ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
    }
    let again = WriteID(rawValue: 2)
    first.handle(
      .writes([
        SyncWrite(
          id: again, mutations: [], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: 2),
          keepsOutcome: true, resubmits: 1)
      ]))
    first.cache.database.injectFailure = nil
    #expect(first.engine.heldWriteIDs == [again])
    if fate == .lost { try first.cache.database.execute("DROP TABLE cache_rejected_batches") }
    #expect(first.engine.identifyHeldWrites() == (fate == .lost ? [again] : []))
    let handover = first.engine.handOver()
    first.cache.close()

    if fate == .otherFile { try FileManager.default.removeItem(atPath: folder) }
    let second = try Client(folder)
    if fate == .otherFile {
      try second.write(11)
      try second.refuse(1)
    }
    second.engine.takeOver(handover, reason: "trouble")
    second.handle(.start)
    #expect(second.engine.heldWriteIDs.isEmpty)
    #expect(second.writes[again]??.code == (fate == .otherFile ? .notFound : nil))
    let pending = try second.store.pendingBatches().flatMap { $0.keys.map(\.canonicalString) }
    #expect(pending == (fate == .sameFile ? ["rooms/1"] : []))
    #expect(try second.store.rejectedBatches(of: nil).count == (fate == .otherFile ? 1 : 0))
    second.cache.close()
  }
}
