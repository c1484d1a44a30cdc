internal import HearthCache
internal import HearthModel

/// One of several clients of a cache.
///
/// | | primary client | secondary client |
/// |---|---|---|
/// | is | the holder of the lease | every other one |
/// | streams | watches the targets of all clients and sends the outbox of its user | none |
/// | documents in limbo | looks them up, for the views of all targets | knows nothing of them |
/// | collects garbage, fills indexes | yes | no |
/// | online state | decides and publishes it | takes over the published one |
/// | a view agrees with the backend | if the backend has sent everything | if the primary client says so |
///
/// A role changes in one event only: the timer `clientMetadataRefresh`, or a transaction that finds the lease lost. News of a free or
/// lost lease let that timer run out at once.
extension SyncEngine {
  // MARK: - News

  /// Reads and shows the changes of other clients.
  func catchUp() throws {
    try localStore.catchUp()
    if localStore.hasNews { refreshViews([:]) }
    membership.primaryWatch.newsWasRead(at: now)
    guard !isPrimary, views.holdBack, let documents = try views.takeHeldBack(from: localStore) else { return }
    refreshViews(documents)
  }

  /// Looks for the changes of other clients; if they cannot be read, that is repeated.
  func lookForNews() {
    do {
      try catchUp()
    } catch {
      follow(membership.catchUpFailed(error, in: localStore))
    }
  }

  /// Shows what other clients have changed up to now, before a listener relies on a view that had only listeners to the cache: that the view
  /// agrees with the backend no longer may be among it.
  func showNews() throws {
    if localStore.hasNews { refreshViews([:]) }
    // Notices are missing.
    guard retries.holds(.synchronizeViews) else { return }
    do {
      try synchronizeViews()
    } catch {
      // The listener does not begin, and the file says that its target should be watched.
      emit(retries.appendOnce(.storeTargetUses, isDue: !localStore.isHeldByOther(error)))
      throw error
    }
  }

  /// Acts on everything in the news but documents, answers and the states of targets.
  func follow(_ news: News) {
    if news.mustEnd { emit(.yieldCache) }
    if news.hasNewBatches || news.concernsOutbox || news.isIncomplete { statusWatch.outboxChanges() }
    for (target, error) in news.rejectedTargets
    where views.hasView(on: target) || queryRuns.hasBackgroundListen(for: target) {
      rejectQueries(of: target, error)
    }
    queryRuns.noteTargets { news.targetStates[$0] != nil || news.resetTargets.contains($0) }
    if news.isIncomplete {
      membership.hasLostNotices()
      queryRuns.noteGap()
      emit(retries.appendOnce(.synchronizeViews))
    }
    follow(views.leaveToNobody(news.targetStates))
    if news.concernsLease { follow(membership.leaseHasChanged(in: localStore)) }
    if news.isFromPrimary { follow(membership.primaryWasHeard(at: now, readWaits: views.awaitSignOfLife)) }
    guard isPrimary else { return }
    if news.isQuestion { follow(membership.giveSignOfLife(in: localStore)) }
    if news.asksForRetry { retryNow(nil) }
    // Each of these may find the lease lost.
    guard isPrimary else { return }
    if news.concernsIndexes { emit(work.othersChangedIndexes()) }
    if news.concernsClients { emit(retries.appendOnce(.followOthers)) }
    // Answers that others have stored make room for batches.
    if news.hasNewBatches || !news.answers.isEmpty, !localStore.leaseIsLost {
      sender.outboxHasGrown()
      fillWritePipeline()
    }
  }

  /// Shows the online state of the primary client, at a secondary one.
  func showSharedOnlineState() {
    guard !isPrimary else { return }
    // What views said of their agreement with the backend ended when this client counted as offline, perhaps for a reason of its own.
    // The primary client does not repeat what it has published.
    if link.onlineState == .offline, localStore.sharedOnlineState != .offline {
      emit(retries.appendOnce(.synchronizeViews))
    }
    follow(link.setOnlineState(localStore.sharedOnlineState))
  }

  // MARK: - Roles

  /// The state that decides on the role of this client, and on its turn with the lease.
  var clientState: CacheMembership.ClientState {
    CacheMembership.ClientState(
      now: now, reach: link.reach(sender.reach), onlineState: link.onlineState,
      isDisabled: link.isForbidden(for: .disabledByUser), watchStreamOpenedAt: link.watchStreamOpenedAt,
      awaitsAnswers: sender.awaitsAnswers || retries.holdsAnswers, hasConflict: conflicts.open != nil,
      waitsForApplication: conflicts.waitForApplication, servesOthers: !views.foreignTargets.isEmpty,
      waitsToRejoin: retries.holds(.rejoin), waitsToStoreRole: retries.holds(.storeRole))
  }

  /// True if this client has the lease, and has not taken the streams over yet.
  private var isTakingLease: Bool { retries.holds(.becomePrimary) }

  /// Takes over the streams for all clients.
  func becomePrimary() throws {
    guard !isPrimary, localStore.isPrimary else { return }
    follow(try membership.storeTargetUses(ownTargets, in: localStore))
    let targets: [TargetID: TargetData]
    let isComplete: Bool
    let state: LocalStore.ViewState
    do {
      (targets, isComplete) = try adoptAll()
      state = try localStore.state(of: views.activeQueries, on: views.targets, showing: views.shownKeys)
    } catch {
      for target in views.stopResolvingLimbo() { localStore.forgetTarget(target) }
      throw error
    }
    follow(membership.becomePrimary(at: now, agreements: state.agreements, watched: views.watchedTargets))
    views.beginToResolveLimbo(confirmedKeys: state.confirmedKeys)
    // The streams are still closed. A view that was made just now agrees with the backend when that says so, not before: nobody
    // knows yet which of its documents wait for the outcome of a write.
    // Of a target that nobody wants it to be asked for any more, nobody says when the agreement ends.
    var shown = state.agreements.filter { views.hasListeners(on: $0.key) }
    for target in shown.keys where !views.isWanted(target) { shown[target] = .open }
    if !link.canWatchAsPrimary { shown = [:] }
    refreshViews(state.documents, event: RemoteEvent(agreements: shown))
    // Storing what the views show may have found that another client has the lease by now.
    guard isPrimary else { return }
    _ = link.allow(.secondary)
    // The state that was taken over from another client says nothing of this one's connection.
    follow(link.setOnlineState(link.canWatch ? .unknown : .offline))
    for target in views.watchedTargets.sorted() {
      if let data = targets[target] { follow(link.watch(data, confirmed: confirmedKeys)) }
    }
    follow(views.readFreshly { link.canWatch ? link.request(for: $0) : nil })
    openStreams()
    guard isPrimary else { return }
    emit(work.start())
    if !isComplete { emit(retries.appendOnce(.followOthers)) }
    log(.debug, "The client has the streams of its cache.")
  }

  /// Another client has the lease, or is to have it.
  func loseLease() {
    localStore.leaseWasLost()
    stepDown()
  }

  /// Closes the streams, and leaves to the primary client what only that may do.
  func stepDown() {
    // A holder of the lease that has lost it does not read notices of documents: everything is read anew.
    let hadLease = isPrimary || isTakingLease
    retries.leaseIsLost()
    if hadLease {
      queryRuns.noteGap()
      emit(retries.appendOnce(.synchronizeViews))
    }
    // What is not repeated any more must not keep the streams of a later time as the holder of the lease closed.
    for cause in [OfflineCause.storageFailure, .snapshotFailure, .outboxFailure] where !retries.holds(cause) {
      _ = link.allow(cause)
    }
    guard isPrimary else { return }
    membership.stepDown()
    follow(conflicts.park())
    link.forbid(.secondary)
    closeStreams()
    follow(views.endFreshReads())
    sender.leave()
    link.forgetAllTargets()
    for target in views.stopResolvingLimbo() { localStore.forgetTarget(target) }
    emit(work.stop())
    showSharedOnlineState()
    log(.debug, "Another client has the streams of the cache.")
  }

  // MARK: - Synchronizing

  /// Brings all views in line with one state of the file: documents, and agreement with the backend.
  func synchronizeViews() throws {
    let wasPrimary = isPrimary
    follow(try membership.storeTargetUses(ownTargets, in: localStore))
    let state = try localStore.state(of: views.activeQueries, on: views.targets, showing: views.shownKeys)
    if !isPrimary {
      // The keys of a target are no result before the backend has sent everything.
      for (target, keys) in state.confirmedKeys where (state.agreements[target] ?? .open) != .open {
        views.takeOver(keys, of: target)
      }
    }
    refreshViews(state.documents, event: isPrimary ? nil : RemoteEvent(agreements: state.agreements))
    // It has found out here that another client has the lease, and that one says which targets agree with the backend.
    if wasPrimary, !isPrimary { return try synchronizeViews() }
    follow(views.leaveToNobody(state.agreements))
    // The notice of an answer may have been removed before this client read it.
    try lookUpBatches(nil)
    let owner = LocalStore.Owner.user(signedInUser)
    emit(try waits.lower { try localStore.outbox.highestBatchID(notAfter: $0, of: owner) })
    if !isPrimary { follow(membership.primaryWatch.viewsWereSynchronized(readWaits: views.awaitSignOfLife)) }
  }
}
