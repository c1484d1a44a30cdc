package import HearthCache
package import HearthModel

/// Keeps the cache, the listeners and the backend in step: events go in, actions come out.
///
/// The engine is deterministic: the same cache and the same events give the same actions. It owns no thread and knows
/// no time but what it is told; its owner feeds it from one place, in order, and carries out the actions in order.
///
/// How it is divided:
/// * ``QueryTable`` knows the queries that somebody listens to, each with its ``View`` and its ``QueryListener``s;
/// * ``WatchStream`` and ``WriteStream`` are the two conversations with the backend, ``WatchChangeAggregator`` gathers
///   what the first one says until it makes a consistent snapshot;
/// * ``LimboResolutions`` looks up documents whose state a query's result leaves open;
/// * ``OnlineStateMachine`` decides whether the backend counts as reachable;
/// * ``RetryQueue`` repeats what the storage refused.
///
/// Storage failures do not end anything: a refused listen or local write is reported to its caller; for all else the
/// stream whose messages cannot be stored rests, so that nothing from the backend is lost, and comes back when the storage
/// works. A batch that was sent keeps its stream: its answer is kept until it can be stored, and it is not sent twice.
package final class SyncEngine {
  /// Why the streams must not be open.
  enum OfflineCause: Hashable {
    case notStarted
    case disabledByUser
    case credentialChange
    case connectivityChange
    /// The cache does not start, or does not take an answer to a write. Listeners must not see what comes after it.
    case storageFailure
    /// The cache does not take snapshots. Writes and their answers go on.
    case snapshotFailure
    /// The next batch cannot be read. Listeners go on, and so do the answers to what was sent.
    case outboxFailure
    case shutdown
  }

  let localStore: LocalStore
  let configuration: SyncConfiguration

  /// Monotonic time of the event being handled.
  var now: Duration = .zero
  private var actions: [SyncAction] = []
  private var lastStreamID = 0

  var offlineCauses: Set<OfflineCause> = [.notStarted]
  var online: OnlineStateMachine
  var retries: RetryQueue

  /// The collection of garbage that is under way.
  var collection: GarbageCollectionRun?

  /// Whether the timer for the next step of filling indexes runs.
  var isFillingIndexes = false

  var queries = QueryTable()
  var limbo: LimboResolutions
  /// The queries that run beside the engine.
  var beside = BesideTable()
  var snapshotsInSyncListeners: [ListenerID] = []

  /// The targets that the backend is, or will be, asked for.
  var watchTargets: [TargetID: TargetData] = [:]
  var watchStream: WatchStream
  var aggregator = WatchChangeAggregator()

  var writeStream: WriteStream
  /// The batches that are on their way to the backend, in order: sent as soon as the stream is ready.
  var writePipeline: [MutationBatch] = []
  /// The write streams that were closed in good order and have not ended, as far as they owe answers.
  var partingWrites: [StreamID: PartingWrites] = [:]
  /// The bundles that are being loaded; nil for one whose end has been told, while its source goes on.
  var bundles: [RequestID: BundleLoader?] = [:]

  /// The callers who wait for the answer to a batch.
  var waitingWrites: [BatchID: WriteID] = [:]
  /// The callers who wait until everything up to a batch has been answered, in the order in which they asked.
  var pendingWriteWaits: [(highestBatchID: BatchID, request: RequestID)] = []

  package init(localStore: LocalStore, configuration: SyncConfiguration) {
    self.localStore = localStore
    self.configuration = configuration
    online = OnlineStateMachine(timeout: configuration.onlineStateTimeout)
    retries = RetryQueue(parameters: configuration.backoff)
    limbo = LimboResolutions(limit: configuration.maxConcurrentLimboResolutions)
    watchStream = WatchStream(configuration: configuration)
    writeStream = WriteStream(configuration: configuration)
  }

  // MARK: - Events

  /// Handles one event to its end.
  ///
  /// - Parameter now: Monotonic time; must not go back from one event to the next.
  /// - Returns: What must be done, in this order. Completions come before the snapshots that have the same cause.
  package func handle(_ event: SyncEvent, now: Duration) -> [SyncAction] {
    self.now = max(now, self.now)
    if offlineCauses.contains(.shutdown) {
      refuse(event)
    } else {
      dispatch(event)
      runRetries()
    }
    defer { actions = [] }
    return actions
  }

  private func dispatch(_ event: SyncEvent) {
    switch event {
    case .start: start()
    case .listen(let id, let query, let options): listen(id, to: query, options)
    case .unlisten(let id): unlisten(id)
    case .write(let id, let mutations, let time, let identity):
      write([SyncWrite(id: id, mutations: mutations, localWriteTime: time, identity: identity)])
    case .writes(let writes): write(writes)
    case .waitForPendingWrites(let id): waitForPendingWrites(id)
    case .addSnapshotsInSyncListener(let id): addSnapshotsInSyncListener(id)
    case .removeSnapshotsInSyncListener(let id): snapshotsInSyncListeners.removeAll { $0 == id }
    case .readDocument(let id, let key): readDocument(id, key)
    case .readQuery(let id, let query): readQuery(id, query)
    case .readAggregation(let id, let query, let aggregations): readAggregation(id, query, aggregations)
    case .besideEnded(let id, let result): besideEnded(id, result)
    case .setIndexes(let id, let definitions): setIndexes(id, definitions)
    case .deleteAllIndexes(let id): deleteAllIndexes(id)
    case .setIndexAutoCreation(let isOn): localStore.createsIndexes = isOn
    case .bundleBytes(let id, let bytes): bundleReceived(bytes, id)
    case .bundleEnded(let id, let error): bundleEnded(id, error)
    case .readNamedQuery(let id, let name): readNamedQuery(id, name)
    case .enableNetwork(let id): enableNetwork(id)
    case .disableNetwork(let id): disableNetwork(id)
    case .changeUser(let user): userChanged(to: user)
    case .connectivityChanged: connectivityChanged()
    case .watchStreamOpened(let id): watchStreamOpened(id)
    case .watchStreamMessage(let id, let message): watchStreamReceived(message, on: id)
    case .watchStreamClosed(let id, let error): watchStreamClosed(id, error)
    case .writeStreamOpened(let id): perform(writeStream.opened(id, now: self.now))
    case .writeStreamMessage(let id, let message): writeStreamReceived(message, on: id)
    case .writeStreamClosed(let id, let error): writeStreamClosed(id, error)
    case .timerFired(let kind): timerFired(kind)
    case .shutdown: shutdown()
    }
  }

  private func timerFired(_ kind: TimerKind) {
    switch kind {
    case .listenStreamIdle: watchStreamIdle()
    case .listenStreamConnectionBackoff:
      perform(watchStream.backoffTimerFired(now: now, nextID: nextStreamID))
    case .writeStreamIdle: perform(writeStream.idleTimerFired())
    case .writeStreamConnectionBackoff:
      perform(writeStream.backoffTimerFired(now: now, nextID: nextStreamID))
    case .onlineStateTimeout: perform(online.timerFired(isWaiting: awaitsResults))
    case .asyncQueueRetry: retries.timerFired(now: now)
    case .lruGarbageCollection: collectionTimerFired()
    case .indexBackfill: indexFillTimerFired()
    }
  }

  /// Nothing is answered with success after the end, and nobody waits for an answer for ever.
  private func refuse(_ event: SyncEvent) {
    switch event {
    case .listen(let id, _, _): perform(.raiseError(id, .terminated))
    case .write(let id, _, _, _): perform(.completeWrite(id, .terminated))
    case .writes(let writes): for write in writes { perform(.completeWrite(write.id, .terminated)) }
    case .waitForPendingWrites(let id), .enableNetwork(let id?), .disableNetwork(let id?), .setIndexes(let id, _),
      .deleteAllIndexes(let id):
      perform(.completeRequest(id, .terminated))
    case .readDocument(let id, _), .readQuery(let id, _), .readAggregation(let id, _, _), .readNamedQuery(let id, _):
      perform(.readFailed(id, .terminated))
    case .bundleBytes(let id, _), .bundleEnded(let id, _): failBundle(id, .failed, .terminated)
    case .start, .unlisten, .besideEnded, .addSnapshotsInSyncListener, .removeSnapshotsInSyncListener, .enableNetwork,
      .disableNetwork, .changeUser, .connectivityChanged, .watchStreamOpened, .watchStreamMessage, .watchStreamClosed,
      .writeStreamOpened, .writeStreamMessage, .writeStreamClosed, .timerFired, .setIndexAutoCreation, .shutdown:
      break
    }
  }

  // MARK: - Actions

  func perform(_ action: SyncAction) {
    actions.append(action)
  }

  func perform(_ more: [SyncAction]) {
    actions += more
  }

  func log(_ level: LogLevel, _ message: String) {
    actions.append(.log(level, message))
  }

  func nextStreamID() -> StreamID {
    lastStreamID += 1
    return StreamID(rawValue: lastStreamID)
  }

  // MARK: - What can be seen from outside

  package var onlineState: OnlineState { online.state }
  /// The documents that are being looked up, with their targets.
  package var activeLimboDocuments: [DocumentKey: TargetID] { limbo.active }
  /// The documents that wait to be looked up, in order.
  package var enqueuedLimboDocuments: [DocumentKey] { limbo.enqueued }
  /// The batches that are sent, or about to be, and not answered.
  package var outstandingWriteCount: Int { writePipeline.count }
  package var isNetworkUsable: Bool { offlineCauses.isEmpty }
  /// Whether the watch stream may be open.
  var canWatch: Bool { offlineCauses.isSubset(of: [.outboxFailure]) }
  /// Whether batches may be sent that were not sent before.
  var canWrite: Bool { offlineCauses.isSubset(of: [.snapshotFailure]) }

  /// Whether the listener's query is running beside the engine, so that it has heard nothing yet.
  package func isPreparing(_ listener: ListenerID) -> Bool { beside.isPreparing(listener) }

  /// Whose outbox takes what is written now. Until a change of the user is stored, the cache still shows the former one's.
  package var signedInUser: String? { retries.latestUser ?? localStore.user }

  /// The target of a query that somebody listens to.
  package func targetID(of query: Query) -> TargetID? {
    queries.id(of: query).flatMap { queries[$0]?.targetID }
  }
}
