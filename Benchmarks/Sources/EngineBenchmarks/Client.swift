internal import BenchmarkKit
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// An engine on a cache with a backend that does what the benchmark says. Streams open at once.
///
/// Not the harness of the tests: what that remembers of streams, timers and batches would be measured as well.
final class Client {
  let cache: Cache
  let engine: SyncEngine
  private(set) var snapshotCount = 0
  /// An optional aggregation of the documents listened to, and its latest result.
  var aggregation: LiveAggregation?
  private(set) var aggregate: AggregateResult?
  private(set) var completedWrites = 0
  private(set) var watchStream: StreamID?
  private(set) var writeStream: StreamID?
  private(set) var latestTarget: TargetID = 0
  private var sentBatchSizes: [Int] = []
  private var nextNumber = 1
  private var time = SampleDocuments.firstVersion.microseconds

  init(_ cache: Cache, conflictRules: ConflictRules = ConflictRules()) {
    self.cache = cache
    engine = SyncEngine(
      localStore: cache.store, configuration: SyncConfiguration(conflictRules: conflictRules, jitter: { 0 }))
    post(.start)
  }

  func close() { cache.close() }

  func number() -> Int {
    nextNumber += 1
    return nextNumber
  }

  func post(_ event: SyncEvent) {
    for action in engine.handle(event, now: .zero) { carryOut(action) }
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id):
      watchStream = id
      post(.watchStreamOpened(id))
    case .openWriteStream(let id):
      writeStream = id
      post(.writeStreamOpened(id))
    case .sendWatch(_, .addTarget(let request)):
      latestTarget = request.targetID
    case .sendWrite(let id, .handshake):
      post(.writeStreamMessage(id, WriteResponse(streamToken: [0])))
    case .sendWrite(_, .writes(let mutations, _, _)):
      if !mutations.isEmpty { sentBatchSizes.append(mutations.count) }
    case .raiseSnapshot(_, let snapshot):
      snapshotCount += 1
      do { aggregate = try aggregation?.update(snapshot) ?? aggregate } catch { aggregate = nil }
    case .completeWrite: completedWrites += 1
    // Nothing else changes what is measured.
    default:
      break
    }
  }

  // MARK: - The user

  func listen(_ query: Query) { post(.listen(ListenerID(rawValue: number()), query, ListenOptions())) }

  /// Listens, and the backend answers that the cache is right.
  func listenInSync(_ query: Query) throws -> TargetID {
    listen(query)
    let target = latestTarget
    targetChange(.added, [target])
    return target
  }

  func writes(_ mutations: [Mutation], keepsOutcome: Bool = false) {
    post(
      .writes(
        mutations.map {
          let id = number()
          return LocalWrite(
            id: WriteID(rawValue: id), mutations: [$0],
            localWriteTime: Timestamp(seconds: 1_750_000_000, nanoseconds: 0),
            identity: BatchIdentity(high: 1, low: UInt64(id)), keepsOutcome: keepsOutcome)
        }))
  }

  // MARK: - The backend

  func targetChange(_ state: WatchTargetChange.State, _ targets: [TargetID], at version: SnapshotVersion = .none) {
    guard let watchStream else { return }
    post(
      .watchStreamMessage(
        watchStream,
        .targetChange(WatchTargetChange(state: state, targetIDs: targets, resumeToken: [1], readTime: version))))
  }

  func send(_ document: Document, to targets: [TargetID]) {
    guard let watchStream else { return }
    post(
      .watchStreamMessage(
        watchStream,
        .documentChange(
          WatchDocumentChange(key: document.key, updatedTargetIDs: targets, document: document))))
  }

  func delete(_ key: DocumentKey, from target: TargetID, at version: SnapshotVersion) {
    guard let watchStream else { return }
    post(
      .watchStreamMessage(
        watchStream,
        .documentChange(
          WatchDocumentChange(
            key: key, removedTargetIDs: [target], document: .missing(key, version: version)))))
  }

  /// A consistent snapshot, a second later than the one before unless a version is given.
  func snapshot() {
    targetChange(.noChange, [], at: nextVersion())
  }

  /// A second later than every version before.
  func nextVersion() -> SnapshotVersion {
    time += 1_000_000
    return SnapshotVersion(microseconds: time)
  }

  /// Commits the first batch that has no answer.
  func acknowledgeFirst() {
    guard let writeStream, !sentBatchSizes.isEmpty else { return }
    let count = sentBatchSizes.removeFirst()
    let version = nextVersion()
    post(
      .writeStreamMessage(
        writeStream,
        WriteResponse(
          streamToken: [1], commitVersion: version,
          results: (0..<count).map { _ in MutationResult(version: version) })))
  }
}
