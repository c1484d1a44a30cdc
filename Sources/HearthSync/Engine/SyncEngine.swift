package import HearthCache
package import HearthModel

/// Keeps the cache, the listeners and the backend in sync: events go in, actions come out.
///
/// The engine is deterministic: the same cache and the same events give the same actions. It owns no thread and reads
/// no clock; its owner posts events from one place, in order, and carries out the actions in order.
///
/// How it is divided:
/// * ``QueryTable`` holds the queries that have listeners, each with its ``View`` and its ``QueryListener``s;
/// * ``LimboResolutions`` looks up documents whose state a query's result leaves open;
/// * ``BackendLink`` owns the two streams to the backend, the targets and batches on them, and the online state;
/// * ``WriteWaits`` holds the calls that wait for answers to writes;
/// * ``RetryQueue`` repeats what the storage refused.
///
/// These types keep their state private. The engine calls them, adds the actions that they return to its output in order, and reads
/// and writes the cache.
///
/// Storage failures do not end anything: a refused listen or local write is reported to its caller; for all else the
/// stream whose messages cannot be stored rests, so that nothing from the backend is lost, and comes back when the storage
/// works. A batch that was sent keeps its stream: its answer is kept until it can be stored, and it is not sent twice.
package final class SyncEngine {
  let localStore: LocalStore
  let configuration: SyncConfiguration

  /// Monotonic time of the event being handled.
  private(set) var now: Duration = .zero
  private var actions: [SyncAction] = []

  var link: BackendLink
  var retries: RetryQueue

  /// The garbage collection that is under way. Written in SyncEngine+GarbageCollection.swift.
  var garbageCollection: GarbageCollectionRun?

  /// True if the timer for the next step of filling indexes runs. Written in SyncEngine+Indexes.swift.
  var isFillingIndexes = false

  /// Changed in SyncEngine+Listeners.swift, as are `limbo` (and in SyncEngine+Watch.swift) and `snapshotsInSyncListeners`.
  var queries = QueryTable()
  var limbo: LimboResolutions
  /// The queries that run in the background. Changed in SyncEngine+BackgroundQueries.swift; `refreshViews` notes changes in it.
  var backgroundQueries = BackgroundQueryTable()
  var snapshotsInSyncListeners: [ListenerID] = []

  /// The bundles that are being loaded; nil for one whose end has been reported, while its source goes on.
  /// Written in SyncEngine+Bundles.swift.
  var bundles: [RequestID: BundleLoader?] = [:]

  var waits = WriteWaits()

  package init(localStore: LocalStore, configuration: SyncConfiguration) {
    self.localStore = localStore
    self.configuration = configuration
    link = BackendLink(
      configuration: configuration, databaseID: localStore.databaseID, cacheID: localStore.cacheID,
      user: localStore.user)
    retries = RetryQueue(parameters: configuration.backoff)
    limbo = LimboResolutions(limit: configuration.maxConcurrentLimboResolutions)
  }

  // MARK: - Events

  /// Handles one event to its end.
  ///
  /// - Parameter now: Monotonic time; must not go back from one event to the next.
  /// - Returns: The actions to be carried out, in this order. Completions come before the snapshots that have the same cause.
  package func handle(_ event: SyncEvent, now: Duration) -> [SyncAction] {
    self.now = max(now, self.now)
    link.advance(to: self.now)
    if link.isForbidden(for: .shutdown) {
      refuse(event)
    } else {
      dispatch(event)
      runRetries()
    }
    assertInvariants()
    defer { actions = [] }
    return actions
  }

  /// Checks in debug builds what must hold between two events.
  private func assertInvariants() {
    link.assertInvariants()
    queries.assertInvariants()
    limbo.assertInvariants()
    backgroundQueries.assertInvariants { queries.id(of: $0) != nil }
    assert(
      limbo.active.values.allSatisfy { link.isWatched($0) },
      "Documents are looked up with targets that are not watched: \(limbo.active).")
    assert(
      backgroundQueries.listenQueries.allSatisfy { queries.id(of: $0) == nil },
      "A query waits for its first result that has a view.")
  }

  private func dispatch(_ event: SyncEvent) {
    switch event {
    case .start: start()
    case .listen(let id, let query, let options): listen(id, to: query, options)
    case .unlisten(let id): unlisten(id)
    case .writes(let writes): write(writes)
    case .request(let id, let request): perform(request, id)
    case .addSnapshotsInSyncListener(let id): addSnapshotsInSyncListener(id)
    case .removeSnapshotsInSyncListener(let id): snapshotsInSyncListeners.removeAll { $0 == id }
    case .backgroundQueryEnded(let id, let result): backgroundQueryEnded(id, result)
    case .setIndexAutoCreation(let isOn): localStore.createsIndexes = isOn
    case .bundleBytes(let id, let bytes): bundleReceived(bytes, id)
    case .bundleEnded(let id, let error): bundleEnded(id, error)
    case .changeUser(let user): userChanged(to: user)
    case .connectivityChanged: connectivityChanged()
    case .watchStreamOpened(let id): follow(link.watchStreamOpened(id, confirmed: confirmedKeys))
    case .watchStreamMessage(let id, let message): watchStreamReceived(message, on: id)
    case .watchStreamClosed(let id, let error): follow(link.watchStreamClosed(id, error))
    case .writeStreamOpened(let id): follow(link.writeStreamOpened(id))
    case .writeStreamMessage(let id, let message): writeStreamReceived(message, on: id)
    case .writeStreamClosed(let id, let error): writeStreamClosed(id, error)
    case .timerFired(let kind): timerFired(kind)
    case .shutdown: shutdown()
    }
  }

  private func perform(_ request: EngineRequest, _ id: RequestID) {
    switch request {
    case .readDocument(let key): readDocument(id, key)
    case .readQuery(let query): readQuery(id, query)
    case .readAggregation(let query, let aggregations): readAggregation(id, query, aggregations)
    case .readNamedQuery(let name): readNamedQuery(id, name)
    case .waitForPendingWrites: waitForPendingWrites(id)
    case .setIndexes(let definitions): setIndexes(id, definitions)
    case .deleteAllIndexes: deleteAllIndexes(id)
    case .enableNetwork: enableNetwork(id)
    case .disableNetwork: disableNetwork(id)
    }
  }

  private func timerFired(_ kind: TimerKind) {
    switch kind {
    case .listenStreamIdle, .listenStreamConnectionBackoff, .writeStreamIdle, .writeStreamConnectionBackoff,
      .onlineStateTimeout:
      follow(link.timerFired(kind))
    case .asyncQueueRetry: retries.timerFired(now: now)
    case .lruGarbageCollection: garbageCollectionTimerFired()
    case .indexBackfill: indexFillTimerFired()
    }
  }

  /// Answers every event after the end that expects an answer with an error.
  private func refuse(_ event: SyncEvent) {
    switch event {
    case .listen(let id, _, _): emit(.raiseError(id, .terminated))
    case .writes(let writes): for write in writes { emit(.completeWrite(write.id, .terminated)) }
    case .request(let id, _): emit(.requestFailed(id, .terminated))
    case .bundleBytes(let id, _), .bundleEnded(let id, _): failBundle(id, .failed, .terminated)
    case .start, .unlisten, .backgroundQueryEnded, .addSnapshotsInSyncListener, .removeSnapshotsInSyncListener,
      .changeUser, .connectivityChanged, .watchStreamOpened, .watchStreamMessage, .watchStreamClosed,
      .writeStreamOpened, .writeStreamMessage, .writeStreamClosed, .timerFired, .setIndexAutoCreation, .shutdown:
      break
    }
  }

  // MARK: - Actions

  func emit(_ action: SyncAction) {
    actions.append(action)
  }

  func emit(_ more: [SyncAction]) {
    actions += more
  }

  func log(_ level: LogLevel, _ message: String) {
    actions.append(.log(level, message))
  }

  /// Adds actions of the link; the views see a new online state at its place among them.
  func follow(_ linkActions: [SyncAction]) {
    for action in linkActions {
      emit(action)
      if case .onlineStateChanged(let state) = action { showOnlineState(state) }
    }
  }

  /// The documents that the link has to know, for one call.
  var confirmedKeys: ConfirmedKeys { ConfirmedKeys(of: queries, and: limbo) }

  // MARK: - Visible state

  package var onlineState: OnlineState { link.onlineState }
  /// The documents that are being looked up, with their targets.
  package var activeLimboDocuments: [DocumentKey: TargetID] { limbo.active }
  /// The documents that wait to be looked up, in order.
  package var enqueuedLimboDocuments: [DocumentKey] { limbo.enqueued }
  /// The batches that are sent, or about to be, and not answered.
  package var outstandingWriteCount: Int { link.outstandingWriteCount }
  package var isNetworkUsable: Bool { link.isNetworkUsable }

  /// True if the listener's query is running in the background, so that it has heard nothing yet.
  package func hasBackgroundListen(_ listener: ListenerID) -> Bool { backgroundQueries.hasBackgroundListen(listener) }

  /// Whose outbox takes what is written now. Until a change of the user is stored, the cache still shows the former one's.
  package var signedInUser: String? { retries.latestUser ?? localStore.user }

  /// The target of a query that has a listener.
  package func targetID(of query: Query) -> TargetID? {
    queries.id(of: query).flatMap { queries[$0]?.targetID }
  }
}
