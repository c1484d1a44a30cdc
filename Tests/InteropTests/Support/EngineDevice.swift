import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthSync
import HearthTransport
import TestSupport

/// A device whose every step the test decides: the sync engine on a cache folder, and a connection to a server over a real
/// socket. Answers of the server are taken from the stream one by one, and can be lost after they were given.
///
/// Times do not pass: a pause before the next attempt is over when the device connects.
final class EngineDevice {
  let folder: URL
  private let transport: FirestoreTransport
  private let databaseID: DatabaseID
  private let cache: OpenedCache
  let store: LocalStore
  private let engine: SyncEngine

  private lazy var driver = EngineDriver(delegate: self)
  private var stream: Stream?
  private var lastWrite = 0
  private var identities: [WriteID: BatchIdentity] = [:]
  /// The writes that were reported as committed.
  private(set) var acknowledged: Set<BatchIdentity> = []
  /// The labels of all requests, in order.
  private(set) var sentLabels: [String?] = []
  /// The writes of all requests, in order.
  private(set) var sentBatches: [[Mutation]] = []
  private(set) var problems: [String] = []

  private struct Stream {
    var id: StreamID
    var handle: StreamHandle<WriteRequest>
    var events: AsyncStream<StreamEvent<WriteResponse>>.Iterator
    var isReady = false
  }

  /// The repair of the file when it was opened, or nil if it needed none.
  var recovery: CacheRecovery? { cache.recovery }

  /// - Parameter clientName: A name that no other client has had, for one of several clients of a cache; nil for the only one.
  init(
    folder: URL, transport: FirestoreTransport, databaseID: DatabaseID, conflictRules: ConflictRules = ConflictRules(),
    sharedAs clientName: String? = nil
  ) throws {
    self.folder = folder
    self.transport = transport
    self.databaseID = databaseID
    cache = try CacheFile.open(
      folder: folder.path, databaseID: databaseID,
      options: CacheFile.Options(sharing: clientName == nil ? .alone : .shared, clientName: clientName))
    store = try LocalStore(
      database: cache.database, databaseID: databaseID, garbageCollection: .leastRecentlyUsed(thresholdBytes: -1),
      user: nil, newCacheID: UUID().uuidString, locks: cache.client)
    try store.start()
    engine = SyncEngine(
      localStore: store, configuration: SyncConfiguration(conflictRules: conflictRules, jitter: { 0 }))
    driver.post(.start)
  }

  /// Takes the place of the client with the connection, which has ended.
  ///
  /// A process that another test has just started may have a copy of that client's locked file until it runs its own program.
  func takeLease() async throws {
    try await waitUntil {
      driver.post(.timerFired(.clientMetadataRefresh))
      return engine.isPrimary
    }
  }

  /// The process ends without a word.
  func kill() {
    stream?.handle.close()
    stream = nil
    cache.close()
  }

  func write(_ mutations: [Mutation], identity: BatchIdentity) {
    lastWrite += 1
    let id = WriteID(rawValue: lastWrite)
    identities[id] = identity
    driver.post(
      .writes([
        LocalWrite(
          id: id, mutations: mutations, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: identity)
      ]))
  }

  func pending() throws -> [MutationBatch] { try store.pendingBatches() }

  /// Waits until the server has committed the oldest batch that is on its way, and takes its answer, if there is one.
  func takeAnswer() async throws {
    guard let response = try await nextAnswer() else { return }
    driver.answerWrite { _ in .success(response) }
  }

  /// Waits until the server has committed the oldest batch that is on its way; then the connection breaks.
  func loseAnswer() async throws {
    guard try await nextAnswer() != nil else { return }
    stream?.handle.close()
    stream = nil
    driver.breakWriteStream(StatusError(code: .unavailable, message: "cut"))
  }

  /// Sends everything and takes all answers.
  func drain() async throws {
    while try !pending().isEmpty, problems.isEmpty { try await takeAnswer() }
  }

  // MARK: -

  private func nextAnswer() async throws -> WriteResponse? {
    while try !pending().isEmpty {
      driver.fire(.writeStreamConnectionBackoff)
      guard var open = stream else { return note("a batch waits, and no stream is open") }
      let event = await open.events.next()
      stream?.events = open.events
      switch event {
      case .opened: driver.endOpening(.write)
      case .message(let response) where !open.isReady:
        stream?.isReady = true
        driver.post(.writeStreamMessage(open.id, response))
      case .message(let response): return response
      case .closed(let error):
        stream = nil
        if let error, error.code != .unavailable { return note("the stream ended: \(error)") }
        let cause = error ?? StatusError(code: .unavailable, message: "the server has ended the stream")
        if !driver.breakWriteStream(cause) { driver.endOpening(.write, with: cause) }
      case nil: return note("the stream ended without a word")
      }
    }
    return nil
  }

  private func note(_ problem: String) -> WriteResponse? {
    problems.append(problem)
    return nil
  }
}

extension EngineDevice: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { problems.append(text) }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening {
    guard attempt.kind == .write else { return .waits }
    let (events, continuation) = AsyncStream.makeStream(of: StreamEvent<WriteResponse>.self)
    let handle = transport.openWriteStream { continuation.yield($0) }
    stream = Stream(id: attempt.id, handle: handle, events: events.makeAsyncIterator())
    return .waits
  }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd {
    guard stream?.id == id else { return .silently }
    stream?.handle.close()
    stream = nil
    return .atOnce
  }
  func received(_ request: WriteRequest, on id: StreamID) {
    guard stream?.id == id else { return }
    if case .writes(let mutations, _, let label) = request, !mutations.isEmpty {
      sentLabels.append(label)
      sentBatches.append(mutations)
    }
    stream?.handle.send(request)
  }
  var handshake: WriteResponse? { nil }

  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    if let error { problems.append("write \(id.rawValue) failed: \(error)") }
    if let identity = identities.removeValue(forKey: id), error == nil { acknowledged.insert(identity) }
  }
}
