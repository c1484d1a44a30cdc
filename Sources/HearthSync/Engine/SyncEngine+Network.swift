internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Life

  func start() {
    guard link.allow(.notStarted) else { return }
    if isPrimary { emit(work.start()) }
    do {
      try localStore.start()
      openStreams()
      // Its network was disabled before the cache was opened anew.
      if isPrimary, !link.canWatch { follow(link.setOnlineState(.offline)) }
    } catch {
      goOffline(after: error, retrying: .start)
    }
    showSharedOnlineState()
    follow(membership.refreshRole(clientState, in: localStore))
  }

  /// Closes the streams in good order and saves what is held, before ``shutdown()``.
  func stopSending() {
    link.forbid(.ending)
    closeStreams()
    // A resolver of the program would use a client that has been terminated.
    follow(conflicts.stop())
    storeHeldWrites(attempts: 1)
  }

  func shutdown() {
    link.forbid(.shutdown)
    closeStreams()
    follow(conflicts.stop())
    emit(work.stop())
    // Not offline: that would show cached data to listeners at the end.
    views.removeAllListeners()
    for id in queryRuns.removeAll() { emit(.cancelBackgroundQuery(id)) }
    follow(link.setOnlineState(.unknown))
    emit(sender.endSendingIfStopped(in: localStore))
    // Another process that clears its cache with care, or repairs it, holds the file for many seconds.
    storeHeldWrites(attempts: 4)
    storeAnswers()
    emit(retries.stop())
    waits = WriteWaits()
    _ = held.takeListens()
    work.bundles.removeAll()
    emit(membership.leave(localStore))
  }

  // MARK: - Switching the network

  func enableNetwork(_ id: RequestID) {
    follow(conflicts.tryAgain())
    emit(membership.forgetFutileTurns(in: localStore))
    if link.allow(.disabledByUser) { openStreams() }
    statusWatch.outboxChanges()
    emit(.answer(id, .done))
    follow(membership.refreshRole(clientState, in: localStore))
  }

  func disableNetwork(_ id: RequestID) {
    statusWatch.outboxChanges()
    link.forbid(.disabledByUser)
    closeStreams()
    emit(.dropConnection)
    // At a secondary client the network is that of the primary one.
    if isPrimary { follow(link.setOnlineState(.offline)) }
    emit(.answer(id, .done))
    settle()
    follow(membership.refreshRole(clientState, in: localStore))
  }

  /// Replaces the connections: the old ones may be dead without knowing it.
  func connectivityChanged() {
    emit(membership.forgetFutileTurns(in: localStore))
    guard link.canWatch || link.canWrite else { return }
    closeStreams(for: .connectivityChange)
    emit(.dropConnection)
    _ = link.allow(.connectivityChange)
    conflicts.endPause()
    openStreams()
  }

  /// Opens what is needed, if nothing forbids it, and without a pause.
  func openStreams() {
    follow(link.resumeWatching())
    resumeWriting()
  }

  /// Closes the streams.
  ///
  /// - Parameter cause: The reason for which they will be reopened soon, for other credentials or on another connection.
  func closeStreams(for cause: OfflineCause? = nil) {
    let usedNetwork = link.canWatch
    if let cause { link.forbid(cause) }
    emit(link.stopWatching() + sender.stop())
    if cause != nil, usedNetwork { follow(link.setOnlineState(.unknown)) }
  }

  func resumeWriting() {
    if link.canWrite { sender.inhibitBackoff() }
    fillWritePipeline()
  }

  // MARK: - Users

  /// Closes the streams and, once the cache shows the user's outbox, makes them anew with the new credentials.
  ///
  /// The streams close at once, whatever else waits or fails: nothing of the former user's may be sent with the
  /// credentials of this one, nor the other way round.
  func userChanged(to user: String?) {
    if !LocalStore.isSameUser(user, signedInUser) {
      emit(waits.userChanges())
      // The new user must not be asked about the former one's documents, also while the change waits for the file.
      follow(conflicts.userChanges())
    }
    closeStreams(for: .credentialChange)
    emit(retries.append(.changeUser(user)))
  }

  /// Makes the writes of the user visible instead of the former one's, if it is another, and opens the streams.
  func changeUser(_ user: String?) throws {
    closeStreams(for: .credentialChange)
    emit(sender.endSendingIfStopped(in: localStore))
    if !localStore.isUser(user) {
      do {
        let shown = views.activeQueries + queryRuns.listenQueries
        let changes = try localStore.changeUser(user, showing: shown)
        assert(link.isStopped, "The user changes under a stream.")
        sender.serve(localStore.user)
        follow(conflicts.userChanges())
        statusWatch.outboxChanges()
        emit(.switchUser(user))
        views.release(reverted: changes, areOthers: true)
        refreshViews(changes)
        // What another process has answered before counts.
        follow(waits.lower(of: signedInUser, in: localStore.outbox))
      } catch {
        log(.error, "The change of the user cannot be carried out; the client is offline until it can: \(error)")
        follow(link.setOnlineState(.offline))
        throw error
      }
    }
    _ = link.allow(.credentialChange)
    emit(membership.forgetFutileTurns(in: localStore))
    openStreams()
    // A failed attempt has shown the client as offline; no stream of a secondary one ends that.
    if !membership.primaryWatch.isSilent { showSharedOnlineState() }
  }
}
