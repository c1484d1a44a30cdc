import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// An engine on a cache in a folder, and the ends of the calls to it.
final class FolderClient {
  let cache: OpenedCache
  let store: LocalStore
  let engine: SyncEngine
  private(set) var completed: [WriteID: StatusError?] = [:]
  /// The writes whose callers were told that they are stored.
  private(set) var saved: [WriteID] = []
  private var answers: [RequestID: StatusError?] = [:]
  private lazy var driver = EngineDriver(delegate: self)

  /// - Parameter name: the name of a client that shares the cache; nil for one that has it for itself.
  init(_ folder: String, name: String? = nil) throws {
    (cache, store) = try CacheFile.openStore(
      folder: folder, databaseID: TestClient.database,
      options: CacheFile.Options(sharing: name == nil ? .alone : .shared, clientName: name)
    ) { database, locks in
      try LocalStore(
        database: database, databaseID: TestClient.database,
        garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil, newCacheID: UUID().uuidString,
        locks: locks)
    }
    engine = SyncEngine(localStore: store, configuration: SyncConfiguration(jitter: { 0 }))
  }

  /// - Returns: A client that goes on for one that has ended.
  convenience init(_ folder: String, name: String? = nil, continuing handover: SyncHandover) throws {
    try self.init(folder, name: name)
    engine.takeOver(handover, reason: "trouble")
    handle(.start)
  }

  func handle(_ event: SyncEvent) { driver.post(event) }

  /// Writes whose identities say which ones they are, together.
  func write(_ numbers: Int..., keepsOutcome: Bool = false) {
    handle(
      .writes(
        numbers.map {
          LocalWrite(
            id: WriteID(rawValue: $0), mutations: [set("rooms/\($0)")], localWriteTime: .epoch,
            identity: BatchIdentity(high: 0, low: UInt64($0)), keepsOutcome: keepsOutcome)
        }))
  }

  /// Stores a write that nobody waits for.
  func storeWrite(_ number: UInt64) throws {
    _ = try store.write(
      [set("rooms/\(number)")], localWriteTime: .epoch, identity: BatchIdentity(high: 0, low: number))
  }

  func refuse(_ batchID: BatchID) throws {
    let batch = try #require(try store.nextMutationBatch(after: batchID - 1))
    _ = try store.reject(batch, StatusError(code: .permissionDenied, message: "no"), at: .epoch)
  }

  /// - Returns: The error of the request; nil if it has succeeded.
  func request(_ request: EngineRequest) throws -> StatusError? {
    let id = RequestID(rawValue: answers.count + 1)
    handle(.request(id, request))
    return try #require(answers[id])
  }

  /// The backend answers the oldest batch.
  func receiveAnswer() throws {
    driver.endOpening(.write)
    let version = SnapshotVersion(microseconds: 7)
    let isAnswered = driver.answerWrite { _ in
      .success(WriteResponse(committedAt: version, [MutationResult(version: version)]))
    }
    try #require(isAnswered)
  }

  /// Makes reads of this name fail.
  func failReads(named name: String, with error: StoreError = StoreError(kind: .io, message: "made to fail")) {
    cache.database.injectFailure = { $0 == .transaction(name) ? error : nil }
  }

  /// Ends as a client does that has found damage.
  func endAfterDamage() throws -> SyncHandover {
    let handover = engine.handOver()
    try cache.markDamaged("made to fail")
    cache.close()
    return handover
  }
}

extension FolderClient: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { Issue.record("\(text)") }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening { .waits }
  var handshake: WriteResponse? { WriteResponse(streamToken: [0], knowsBatchLabels: true) }
  func saved(_ id: WriteID) { saved.append(id) }
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) { completed[id] = .some(error) }
  func answered(_ id: RequestID, _ answer: EngineAnswer) { answers[id] = .some(nil) }
  func failed(_ id: RequestID, _ error: StatusError) { answers[id] = error }
}
