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
/// * ``CacheMembership`` decides on the role in a shared cache, and knows what the other clients were told;
/// * ``BackgroundWork`` decides when garbage is collected and indexes are filled, and holds the bundles that are being loaded;
/// * ``QueryRuns`` runs queries for one-time reads and for the first results of listeners, big ones in the background;
/// * ``CacheRequests`` answers the requests that one call of the cache answers;
/// * ``HeldCalls`` holds the writes and listeners that wait until the file can be written;
/// * ``Conflicts`` resolves conflicts between waiting writes and what others have written;
/// * ``WriteWaits`` holds the calls that wait for answers to writes;
/// * ``StatusWatch`` decides what observers are notified of;
/// * ``RetryQueue`` repeats what the storage refused.
///
/// These types keep their state private and do not call each other. Those that are handed the cache read and write it for what concerns no other
/// one; the engine does it for the rest, calls them, and carries out the actions that they return, in order.
///
/// Storage failures do not end anything: a refused listen or local write is reported to its caller; for all else the
/// stream whose messages cannot be stored rests, so that nothing from the backend is lost, and comes back when the storage
/// works. A batch that was sent keeps its stream: its answer is kept until it can be stored, and it is not sent twice.
package final class SyncEngine {
  /// The cache. Only the engine and its parts change it.
  let localStore: LocalStore

  /// The times of the event being handled.
  var time = EventTime()
  /// The actions of the event being handled.
  private var actions: [SyncAction] = []

  /// The watch stream, and what is watched on it.
  var link: BackendLink
  /// The write stream, and what is sent on it.
  var sender: OutboxSender
  /// The queries that have listeners, and the documents in limbo.
  var views: QueryViews
  /// One-time reads, and the queries that run in the background.
  var queryRuns: QueryRuns
  /// The requests that the cache answers at once.
  private let requests: CacheRequests
  /// The calls that wait for answers to writes.
  var waits = WriteWaits()
  /// The storage operations that are repeated until they succeed.
  var retries: RetryQueue

  /// Garbage collection, the filling of indexes, and the bundles that are being loaded.
  var work: BackgroundWork

  /// The role in a shared cache, and what is known of the other clients.
  var membership: CacheMembership

  /// The writes and listeners that wait until the file can be written.
  var held = HeldCalls()

  /// The conflict that the outbox waits for.
  var conflicts: Conflicts

  /// The documents that the backend has sent for listeners that want to know.
  var transfers = TransferCounts()
  /// The observers of the status and of the outbox.
  var statusWatch = StatusWatch()

  package init(localStore: LocalStore, configuration: SyncConfiguration) {
    self.localStore = localStore
    let numbers = StreamNumbers()
    link = BackendLink(configuration: configuration, numbers: numbers, databaseID: localStore.databaseID)
    sender = OutboxSender(
      configuration: configuration, numbers: numbers, cacheID: localStore.cacheID, user: localStore.user)
    retries = RetryQueue(configuration: configuration)
    conflicts = Conflicts(configuration: configuration, databaseID: localStore.databaseID)
    localStore.conflictRules = configuration.conflictRules
    membership = CacheMembership(isShared: localStore.isShared, configuration: configuration)
    requests = CacheRequests(localStore: localStore)
    queryRuns = QueryRuns(localStore: localStore, configuration: configuration)
    work = BackgroundWork(localStore: localStore, configuration: configuration, isPrimary: !localStore.isShared)
    views = QueryViews(
      limboLimit: configuration.maxConcurrentLimboResolutions, resolvesLimbo: !localStore.isShared,
      hasOtherUsers: localStore.hasOtherUsers, answerTimeout: configuration.onlineStateTimeout)
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
    time.advance(to: now, wallTime: wallTime)
    link.advance(to: self.now)
    retries.advance(to: self.now)
    if link.isForbidden(for: .shutdown) {
      emit(event.refusal)
    } else {
      let writeCount = localStore.writeTransactionCount
      dispatch(event)
      runRetries()
      // The file was free a moment ago.
      if localStore.writeTransactionCount != writeCount { tryHeldCalls() }
      emit(sender.endSendingIfStopped(in: localStore))
      settle()
      follow(views.boundWaitsForOwnWrites(now: self.now))
      follow(views.boundWaitsForAnswers(isWatching: isPrimary && link.canWatch, now: self.now))
    }
    emit(statusWatch.endEvent(at: wallTime, isInSync: isInSync, status: status))
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
    queryRuns.assertInvariants { views.hasListener($0) }
    assert(
      queryRuns.listenQueries.allSatisfy { !views.hasView(of: $0) },
      "A query waits for its first result that has a view.")
    work.assertInvariants(isPrimary: isPrimary)
    membership.assertInvariants()
    statusWatch.assertInvariants()
    if let open = conflicts.open, LocalStore.isSameUser(open.owner, sender.user) {
      assert(
        sender.lastBatchID < open.batch.batchID,
        "Batch \(sender.lastBatchID) is on its way behind batch \(open.batch.batchID), whose conflict is open.")
    }
  }

  private func dispatch(_ event: SyncEvent) {
    switch event {
    case .start: start()
    case .listen(let id, let query, let options): listen(id, to: query, options)
    case .unlisten(let id): unlisten(id)
    case .abandonRead(let id): follow(views.abandonFreshRead(of: id))
    case .writes(let writes): write(writes)
    case .request(let id, let request): perform(request, id)
    case .addSnapshotsInSyncListener(let id): follow(views.addSnapshotsInSyncListener(id))
    case .removeSnapshotsInSyncListener(let id): views.removeSnapshotsInSyncListener(id)
    case .backgroundQueryEnded(let id, let result): follow(queryRuns.ended(id, result))
    case .observeOutbox(let isOn): statusWatch.observeOutbox(isOn)
    case .observeStatus(let isOn): statusWatch.observeStatus(isOn, status)
    case .setIndexAutoCreation(let isOn): localStore.createsIndexes = isOn
    case .bundleBytes(let id, let bytes): emit(work.bundles.received(bytes, id))
    case .bundleEnded(let id, let error): bundleEnded(id, error)
    case .changeUser(let user): userChanged(to: user)
    case .connectivityChanged: connectivityChanged()
    case .othersChanged:
      lookForNews()
      tryHeldCalls()
    case .saveWrites: storeHeldWrites(attempts: 1)
    case .suspend:
      queryRuns.noteSuspension()
      follow(membership.suspend(in: localStore))
    case .resume: follow(membership.resume(in: localStore))
    case .setVisibility(let isVisible):
      membership.setVisibility(isVisible)
      follow(membership.refreshRole(clientState, in: localStore))
    case .watchStreamOpened(let id): watchStreamOpened(id)
    case .watchStreamMessage(let id, let message): watchStreamReceived(message, on: id)
    case .watchStreamClosed(let id, let error): watchStreamClosed(id, error)
    case .writeStreamOpened(let id): emit(sender.opened(id, now: now))
    case .writeStreamMessage(let id, let message): writeStreamReceived(message, on: id)
    case .writeStreamClosed(let id, let error): writeStreamClosed(id, error)
    case .lookedUp(let id, let result): follow(conflicts.lookedUp(id, result, now: now))
    case .conflictAnswered(let id, let result): follow(conflicts.answered(id, result))
    case .timerFired(let kind): timerFired(kind)
    case .stopSending: stopSending()
    case .shutdown: shutdown()
    }
  }

  private func perform(_ request: EngineRequest, _ id: RequestID) {
    switch request {
    case .readDocument(let key):
      storeWritesBeforeRead()
      follow(requests.readDocument(id, key))
    case .readQuery(let query):
      storeWritesBeforeRead()
      follow(queryRuns.readQuery(id, query))
    case .readAggregation(let query, let aggregations):
      storeWritesBeforeRead()
      follow(queryRuns.readAggregation(id, query, aggregations))
    case .readPendingWrites(let query, let maximum):
      storeWritesBeforeRead()
      // The backend's values are combined with them, so none may be missing, whatever keeps it in memory.
      guard !held.holdsWrite(of: signedInUser, in: query) else {
        return emit(.requestFailed(id, .pendingWritesNotSaved))
      }
      follow(requests.readPendingWrites(id, in: query, maximumDocuments: maximum))
    case .readNamedQuery(let name): follow(requests.readNamedQuery(id, name))
    case .waitForPendingWrites:
      emit(waits.wait(id, of: signedInUser, in: localStore.outbox, areHeld: heldWriteCount > 0, link.canWrite))
    case .withdraw(let batchID, let evenIfSent, let identity):
      follow(
        waits.withdraw(
          id, batchID, identity, evenIfSent: evenIfSent, of: signedInUser, conflicting: conflicts.open?.batch.batchID,
          at: wallTime, in: localStore))
    case .retryNow: retryNow(id)
    case .readFate(let identity, let write): readFate(id, identity, write)
    case .discardRejected(let batches, let identities):
      follow(requests.discardRejected(id, batches, identities, of: signedInUser))
    case .discardResolvedConflicts(let ids): follow(requests.discardResolvedConflicts(id, ids, of: signedInUser))
    case .setIndexes(let definitions): follow(requests.setIndexes(id, definitions))
    case .deleteAllIndexes: follow(requests.deleteAllIndexes(id))
    case .clear(let run): follow(requests.clear(id, run) { queryRuns.mayShow($0) || views.shows($0) })
    case .pin(let query): follow(requests.pin(id, query))
    case .unpin(let query): follow(requests.unpin(id, query))
    case .readPinnedQueries: follow(requests.readPinnedQueries(id))
    case .enableNetwork: enableNetwork(id)
    case .disableNetwork: disableNetwork(id)
    }
  }

  private func timerFired(_ kind: TimerKind) {
    switch kind {
    case .onlineStateTimeout where !isPrimary:
      guard membership.primaryWatch.timerRuns else { break }
      // The primary client may have written something that this one was not woken for.
      lookForNews()
      follow(membership.primaryWatch.timerFired())
    case .listenStreamIdle, .listenStreamConnectionBackoff, .onlineStateTimeout:
      follow(link.timerFired(kind, confirmed: confirmedKeys))
    case .ownWritesTimeout: follow(views.ownWritesTimerFired(now: now))
    case .answerTimeout: follow(views.answerTimerFired(now: now))
    case .writeStreamIdle: emit(sender.idleTimerFired())
    case .writeStreamConnectionBackoff: emit(sender.backoffTimerFired(now: now))
    case .asyncQueueRetry: retries.timerFired()
    case .conflictRetry: follow(conflicts.timerFired())
    case .lruGarbageCollection: garbageCollectionTimerFired()
    case .clientMetadataRefresh:
      lookForNews()
      follow(membership.refreshTimerFired(clientState, in: localStore))
      tryHeldCalls()
    case .indexBackfill: emit(work.indexTimerFired())
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

  /// Carries out actions of requests to the cache, in order.
  private func follow(_ requestActions: [CacheRequests.Action]) {
    for action in requestActions {
      switch action {
      case .emit(let action): emit(action)
      case .outboxChanges: statusWatch.outboxChanges()
      case .indexesChange: emit(work.indexesChanged())
      }
    }
  }

  /// Carries out actions of the link; the views see a new online state at its place among them.
  func follow(_ linkActions: [SyncAction]) {
    for action in linkActions {
      emit(action)
      if case .onlineStateChanged(let state) = action {
        statusWatch.outboxChanges()
        membership.noteReach(
          link.reach(sender.reach), isDisabled: link.isForbidden(for: .disabledByUser), at: now)
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
      case .unwatch(let target) where isPrimary:
        membership.published.watchEnds(of: target)
        follow(link.unwatch(target, confirmed: confirmedKeys))
      case .unwatch: break
      case .stopWatching(let target): follow(membership.stopWatching(target, in: localStore))
      case .leave(let target): follow(membership.leave(target, in: localStore))
      case .release(let target, let keys): releaseIfUnused(target, unconfirmedKeys: keys)
      case .report(let changes): views.reports.add(changes)
      case .reread(let keys): follow(views.reread(keys, from: localStore))
      case .show(let documents): refreshViews(documents)
      case .readFailed(let error):
        guard !retries.holds(.refreshViews) else { break }
        log(.error, "Views could not be read from the cache: \(error)")
        emit(retries.append(.refreshViews))
      case .showLater: emit(retries.appendOnce(.refreshViews))
      case .considerIndexes(let query, let execution): emit(work.considerIndexes(for: query, after: execution))
      case .synchronize: emit(retries.appendOnce(.synchronizeViews))
      case .loseLease: loseLease()
      }
    }
  }

  /// The documents that the link has to know, for one call.
  var confirmedKeys: ConfirmedKeys { views.confirmedKeys }

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
      case .acknowledge(let result, let owner):
        follow(
          try waits.acknowledge(
            result, of: owner, isActiveUsers: LocalStore.isSameUser(owner, signedInUser), at: wallTime, in: localStore))
      case .reject(let batch, let error, let owner):
        follow(
          try waits.reject(
            batch, error, of: owner, isActiveUsers: LocalStore.isSameUser(owner, signedInUser), at: wallTime,
            in: localStore))
      case .setAsideUnreadableBatches: try setAsideUnreadableBatches()
      case .changeUser(let user): try changeUser(user)
      case .refreshViews:
        if let documents = try views.takeUnread(from: localStore) { refreshViews(documents) }
        if let failure = refreshViews([:]) { throw failure }
      case .lookUpBatches(let lossReason): try lookUpBatches(lossReason)
      case .storeWrites: try storeHeldWrites()
      case .beginListens: try beginHeldListens()
      case .catchUp: try catchUp()
      case .storeTargetUses: follow(try membership.storeTargetUses(ownTargets, in: localStore))
      case .rejoin: follow(try membership.rejoin(ownTargets, clientState, in: localStore))
      case .storeRole: follow(try membership.storeRole(clientState, in: localStore))
      case .becomePrimary: try becomePrimary()
      case .synchronizeViews: try synchronizeViews()
      case .followOthers: try followOthers()
      case .publish: try membership.publish(views.syncStates, link.onlineState, in: localStore)
      }
    } catch CacheError.unknownBatch(let batchID, _) {
      // The batch has left the queue already; there is nothing left to do for it.
      log(.warning, "Batch \(batchID) was answered but is no longer in the queue.")
      let owner = operation.owner ?? signedInUser
      follow(
        waits.answered(
          batchID, operation.batchIdentity, isActiveUsers: LocalStore.isSameUser(owner, signedInUser),
          operation.rejection))
    }
  }
}
