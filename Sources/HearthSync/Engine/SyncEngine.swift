package import HearthCache
package import HearthModel

/// Keeps the cache, the listeners and the backend in sync: events go in, actions come out.
///
/// The engine is deterministic: the same cache and the same events give the same actions. It owns no thread and reads
/// no clock; its owner posts events from one place, in order, and carries out the actions in order.
///
/// The parts of the engine:
/// * ``BackendLink`` owns the watch stream, the targets on it, and the online state;
/// * ``OutboxSender`` owns the write stream and the batches on it;
/// * ``QueryViews`` owns the queries that have listeners, their views, and the documents in limbo;
/// * ``BackgroundQueryTable`` holds the queries that run in the background, and what they are for;
/// * ``HeldCalls`` holds the writes and listeners that wait until the file can be written;
/// * ``Conflicts`` resolves conflicts between waiting writes and what others have written;
/// * ``WriteWaits`` holds the calls that wait for answers to writes;
/// * ``StatusWatch`` decides what observers are notified of;
/// * ``RetryQueue`` repeats what the storage refused.
///
/// These types keep their state private and do not call each other. The engine reads and writes the cache, calls them, and carries
/// out the actions that they return, in order.
///
/// Storage failures do not end anything: a refused listen or local write is reported to its caller; for all else the
/// stream whose messages cannot be stored rests, so that nothing from the backend is lost, and comes back when the storage
/// works. A batch that was sent keeps its stream: its answer is kept until it can be stored, and it is not sent twice.
package final class SyncEngine {
  /// The cache. Only the engine changes it.
  let localStore: LocalStore
  let configuration: SyncConfiguration

  /// Monotonic time of the event being handled.
  private(set) var now: Duration = .zero
  /// The device's time of the event being handled; only for what users are shown and for what ages over restarts.
  /// Written here and in SyncEngine+Reopening.swift.
  var wallTime = Timestamp.epoch
  /// The actions of the event being handled.
  private var actions: [SyncAction] = []

  /// The watch stream, and what is watched on it.
  var link: BackendLink
  /// The write stream, and what is sent on it.
  var sender: OutboxSender
  /// The queries that have listeners, and the documents in limbo.
  var views: QueryViews
  /// The queries that run in the background.
  var backgroundQueries = BackgroundQueryTable()
  /// The changes of views that are to be stored; nil while no view changes. Written here and in SyncEngine+Views.swift.
  var heldReports: [LocalViewChanges]?
  /// The documents that views are to show as the cache has them, which could not be read. Written in SyncEngine+Views.swift.
  var unreadKeys: Set<DocumentKey> = []
  /// The calls that wait for answers to writes.
  var waits = WriteWaits()
  /// The storage operations that are repeated until they succeed.
  var retries: RetryQueue

  /// The garbage collection that is under way. Written in SyncEngine+GarbageCollection.swift.
  var garbageCollection: GarbageCollectionRun?

  /// True if the timer for the next step of filling indexes runs. Written in SyncEngine+Indexes.swift.
  var isFillingIndexes = false

  /// True at the client that has the streams: the only one of its cache, or the holder of the lease. Written in
  /// SyncEngine+Clients.swift.
  package internal(set) var isPrimary: Bool
  /// True if the client is in the foreground.
  var isVisible = false
  /// Written in SyncEngine+Clients.swift and SyncEngine+Publishing.swift.
  var published = Published()
  /// Written in SyncEngine+LeaseTurns.swift.
  var turn = LeaseTurn()
  /// Written in SyncEngine+PrimaryWatch.swift.
  var primaryWatch = PrimaryWatch.idle
  /// The monotonic time at which a secondary client has found out last that the primary one has written something; nil if it never has.
  /// Written in SyncEngine+PrimaryWatch.swift.
  var primaryHeard: Duration?
  /// The monotonic time at which the notices of other clients were read last. Written in SyncEngine+Clients.swift.
  var newsReadAt = Duration.zero

  /// The writes and listeners that wait until the file can be written.
  var held = HeldCalls()
  /// True if a sign of life, or the question for one, waits for that, too. Written in SyncEngine+PrimaryWatch.swift.
  var owesSignOfLife = false

  /// The conflict that the outbox waits for.
  var conflicts: Conflicts

  /// The documents that the backend has sent for listeners that want to know. Written in SyncEngine+Prefetching.swift.
  var transfers: [ListenerID: Transfer] = [:]
  /// The observers of the status and of the outbox.
  var statusWatch = StatusWatch()
  /// The steps of filling indexes since the start. Written in SyncEngine+Indexes.swift.
  var indexFillSteps = 0

  /// The bundles that are being loaded; nil for one whose end has been reported, while its source goes on.
  /// Written in SyncEngine+Bundles.swift.
  var bundles: [RequestID: BundleLoader?] = [:]

  package init(localStore: LocalStore, configuration: SyncConfiguration) {
    self.localStore = localStore
    self.configuration = configuration
    let numbers = StreamNumbers()
    link = BackendLink(configuration: configuration, numbers: numbers, databaseID: localStore.databaseID)
    sender = OutboxSender(
      configuration: configuration, numbers: numbers, cacheID: localStore.cacheID, user: localStore.user)
    retries = RetryQueue(parameters: configuration.backoff)
    conflicts = Conflicts(configuration: configuration)
    localStore.conflictRules = configuration.conflictRules
    isPrimary = !localStore.isShared
    views = QueryViews(limboLimit: configuration.maxConcurrentLimboResolutions, resolvesLimbo: isPrimary)
    if !isPrimary { link.forbid(.secondary) }
  }

  // MARK: - Events

  /// Handles one event to its end.
  ///
  /// - Parameters:
  ///   - now: Monotonic time; must not go back from one event to the next.
  ///   - wallTime: The device's time. Nothing is decided by it but how long refused writes and outcomes are kept.
  /// - Returns: The actions to be carried out, in this order. Completions come before the snapshots that have the same cause.
  package func handle(_ event: SyncEvent, now: Duration, wallTime: Timestamp = .epoch) -> [SyncAction] {
    self.now = max(now, self.now)
    self.wallTime = wallTime
    link.advance(to: self.now)
    if link.isForbidden(for: .shutdown) {
      refuse(event)
    } else {
      let writeCount = localStore.writeTransactionCount
      dispatch(event)
      runRetries()
      // The file was free a moment ago.
      if localStore.writeTransactionCount != writeCount { tryHeldCalls() }
      endSendingIfStopped()
      settle()
    }
    emit(statusWatch.endEvent(at: wallTime, isInStep: isInStep, status: status))
    assertInvariants()
    defer { actions = [] }
    return actions
  }

  /// Checks in debug builds what must hold between two events.
  private func assertInvariants() {
    link.assertInvariants()
    sender.assertInvariants()
    held.assertInvariants()
    conflicts.assertInvariants()
    views.assertInvariants { link.isWatched($0) }
    backgroundQueries.assertInvariants { views.hasListener($0) }
    assert(
      backgroundQueries.listenQueries.allSatisfy { !views.hasView(of: $0) },
      "A query waits for its first result that has a view.")
  }

  private func dispatch(_ event: SyncEvent) {
    switch event {
    case .start: start()
    case .listen(let id, let query, let options): listen(id, to: query, options)
    case .unlisten(let id): unlisten(id)
    case .abandonRead(let id): follow(views.abandonFreshRead(of: id))
    case .writes(let writes): write(writes)
    case .request(let id, let request): perform(request, id)
    case .addSnapshotsInSyncListener(let id): addSnapshotsInSyncListener(id)
    case .removeSnapshotsInSyncListener(let id): views.removeSnapshotsInSyncListener(id)
    case .backgroundQueryEnded(let id, let result): backgroundQueryEnded(id, result)
    case .observeOutbox(let isOn): statusWatch.observeOutbox(isOn)
    case .observeStatus(let isOn): statusWatch.observeStatus(isOn, status)
    case .setIndexAutoCreation(let isOn): localStore.createsIndexes = isOn
    case .bundleBytes(let id, let bytes): bundleReceived(bytes, id)
    case .bundleEnded(let id, let error): bundleEnded(id, error)
    case .changeUser(let user): userChanged(to: user)
    case .connectivityChanged: connectivityChanged()
    case .othersChanged:
      lookForNews()
      tryHeldCalls()
    case .saveWrites: storeHeldWrites(attempts: 1)
    case .suspend: suspend()
    case .resume: resume()
    case .setVisibility(let isVisible):
      self.isVisible = isVisible
      refreshRole()
    case .watchStreamOpened(let id): watchStreamOpened(id)
    case .watchStreamMessage(let id, let message): watchStreamReceived(message, on: id)
    case .watchStreamClosed(let id, let error): follow(link.watchStreamClosed(id, error))
    case .writeStreamOpened(let id): emit(sender.opened(id, now: now))
    case .writeStreamMessage(let id, let message): writeStreamReceived(message, on: id)
    case .writeStreamClosed(let id, let error): writeStreamClosed(id, error)
    case .lookedUp(let id, let result): follow(conflicts.lookedUp(id, result, now: now))
    case .conflictAnswered(let id, let result): follow(conflicts.answered(id, result))
    case .timerFired(let kind): timerFired(kind)
    case .shutdown: shutdown()
    }
  }

  private func perform(_ request: EngineRequest, _ id: RequestID) {
    switch request {
    case .readDocument(let key): readDocument(id, key)
    case .readQuery(let query): readQuery(id, query)
    case .readAggregation(let query, let aggregations): readAggregation(id, query, aggregations)
    case .readPendingWrites(let query, let maximum): readPendingWrites(id, query, maximumDocuments: maximum)
    case .readNamedQuery(let name): readNamedQuery(id, name)
    case .waitForPendingWrites: waitForPendingWrites(id)
    case .withdraw(let batchID, let evenIfSent, let identity):
      withdraw(id, batchID, identity, evenIfSent: evenIfSent)
    case .retryNow: retryNow(id)
    case .readFate(let identity, let write): readFate(id, identity, write)
    case .discardRejected(let batches, let identities): discardRejected(id, batches, identities)
    case .setIndexes(let definitions): setIndexes(id, definitions)
    case .deleteAllIndexes: deleteAllIndexes(id)
    case .clear(let run): clear(id, run)
    case .pin(let query): changePins(id) { try localStore.pin(query) }
    case .unpin(let query): changePins(id) { try localStore.unpin(query) }
    case .readPinnedQueries: readPinnedQueries(id)
    case .enableNetwork: enableNetwork(id)
    case .disableNetwork: disableNetwork(id)
    }
  }

  private func timerFired(_ kind: TimerKind) {
    switch kind {
    case .onlineStateTimeout where !isPrimary: primaryWatchTimerFired()
    case .listenStreamIdle, .listenStreamConnectionBackoff, .onlineStateTimeout: follow(link.timerFired(kind))
    case .writeStreamIdle: emit(sender.idleTimerFired())
    case .writeStreamConnectionBackoff: emit(sender.backoffTimerFired(now: now))
    case .asyncQueueRetry: retries.timerFired(now: now)
    case .conflictRetry: follow(conflicts.timerFired())
    case .lruGarbageCollection: garbageCollectionTimerFired()
    case .clientMetadataRefresh:
      clientRefreshTimerFired()
      tryHeldCalls()
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
    case .start, .unlisten, .abandonRead, .backgroundQueryEnded, .addSnapshotsInSyncListener,
      .removeSnapshotsInSyncListener, .changeUser, .connectivityChanged, .watchStreamOpened, .watchStreamMessage,
      .watchStreamClosed, .writeStreamOpened, .writeStreamMessage, .writeStreamClosed, .lookedUp, .conflictAnswered,
      .timerFired, .setIndexAutoCreation, .observeOutbox, .observeStatus, .othersChanged, .saveWrites,
      .suspend, .resume, .setVisibility, .shutdown:
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

  /// Carries out actions of the link; the views see a new online state at its place among them.
  func follow(_ linkActions: [SyncAction]) {
    for action in linkActions {
      emit(action)
      if case .onlineStateChanged(let state) = action {
        statusWatch.outboxChanges()
        noteOutOfReach()
        follow(views.show(state))
      }
    }
  }

  /// Carries out actions of the views, in order.
  func follow(_ viewActions: [QueryViews.Action]) {
    for action in viewActions {
      switch action {
      case .emit(let action): emit(action)
      // A secondary client has told the others in the transaction that took the target into use.
      case .watch(let target): if isPrimary { follow(link.watch(target, confirmed: confirmedKeys)) }
      case .unwatch(let target): if isPrimary { follow(link.unwatch(target)) }
      case .stopWatching(let target): tellOthers { try localStore.stopWatching(target) }
      case .leave(let target): tellOthers { try localStore.leaveTarget(target) }
      case .release(let target, let keys): releaseIfUnused(target, unconfirmedKeys: keys)
      case .report(let changes): heldReports?.append(contentsOf: changes)
      case .reread(let keys): reread(keys)
      }
    }
  }

  /// The documents that the link has to know, for one call.
  var confirmedKeys: ConfirmedKeys { views.confirmedKeys }

  // MARK: - Targets

  /// Stores that this client uses a target no more, or less; until it has succeeded, the backend is asked for more than is needed.
  private func tellOthers(_ operation: () throws -> Void) {
    guard localStore.isShared else { return }
    do {
      try operation()
    } catch {
      log(.warning, "Other clients cannot be told of the targets in use: \(error)")
      retryOnce(.storeTargetUses, after: error)
    }
  }

  // MARK: - Storage operations

  /// Carries an operation out, without the batches that cannot be read if it comes across one.
  func carryOut(_ operation: RetryableOperation) throws {
    do {
      try carryOutOnce(operation)
    } catch CacheError.unreadableBatch {
      try setAsideUnreadableBatches()
      try carryOutOnce(operation)
    }
  }

  private func carryOutOnce(_ operation: RetryableOperation) throws {
    do {
      switch operation {
      case .start: try localStore.start()
      case .probe: _ = try localStore.lastRemoteSnapshotVersion()
      case .acknowledge(let result, let owner): try acknowledge(result, of: owner)
      case .reject(let batch, let error, let owner): try reject(batch, error, of: owner)
      case .setAsideUnreadableBatches: try setAsideUnreadableBatches()
      case .changeUser(let user): try changeUser(user)
      case .refreshViews:
        try reread()
        if let failure = refreshViews([:]) { throw failure }
      case .storeWrites: try storeHeldWrites()
      case .beginListens: try beginHeldListens()
      case .catchUp: try catchUp()
      case .storeTargetUses: try storeTargetUses()
      case .rejoin: try rejoin()
      case .storeRole: try storeRole()
      case .becomePrimary: try becomePrimary()
      case .synchronizeViews: try synchronizeViews()
      case .followOthers: try followOthers()
      case .publish: try publish()
      }
    } catch CacheError.unknownBatch(let batchID, _) {
      // The batch has left the queue already; there is nothing left to do for it.
      log(.warning, "Batch \(batchID) was answered but is no longer in the queue.")
      complete(batchID, of: operation.owner ?? signedInUser, operation.rejection)
    }
  }
}
