internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Life

  func start() {
    guard offlineCauses.remove(.notStarted) != nil else { return }
    startGarbageCollectionTimer(after: configuration.firstGarbageCollectionAfter)
    startIndexFillIfNeeded()
    do {
      try localStore.start()
      openStreams()
    } catch {
      goOffline(after: error, retrying: .start)
    }
  }

  func shutdown() {
    offlineCauses.insert(.shutdown)
    closeStreams()
    emit(retries.stop())
    stopGarbageCollection()
    stopIndexFill()
    // Not offline: nobody is to be shown cached data at the end.
    queries = QueryTable()
    for id in beside.removeAll() { emit(.cancelBeside(id)) }
    setOnlineState(.unknown)
    snapshotsInSyncListeners = []
    waitingWrites = [:]
    pendingWriteWaits = []
    bundles = [:]
  }

  // MARK: - Switching the network

  func enableNetwork(_ request: RequestID?) {
    if offlineCauses.remove(.disabledByUser) != nil { openStreams() }
    if let request { emit(.completeRequest(request, nil)) }
  }

  func disableNetwork(_ request: RequestID?) {
    offlineCauses.insert(.disabledByUser)
    closeStreams()
    emit(.dropConnection)
    setOnlineState(.offline)
    if let request { emit(.completeRequest(request, nil)) }
  }

  /// Replaces the connections: the old ones may be dead without knowing it.
  func connectivityChanged() {
    guard canWatch || canWrite else { return }
    closeStreams(for: .connectivityChange)
    emit(.dropConnection)
    offlineCauses.remove(.connectivityChange)
    openStreams()
  }

  /// Opens what is needed, if nothing forbids it, and without a pause.
  func openStreams() {
    resumeWatching()
    resumeWriting()
  }

  func resumeWatching() {
    guard canWatch else { return }
    watchStream.inhibitBackoff()
    if shouldStartWatchStream {
      startWatchStream()
    } else if !watchStream.isStarted {
      setOnlineState(.unknown)
    }
  }

  func resumeWriting() {
    guard canWrite else { return }
    writeStream.inhibitBackoff()
    fillWritePipeline()
  }

  private func closeStreams() {
    stopWatchStream()
    stopWriteStream()
  }

  /// Closes the streams, which are to be opened again soon, for other credentials or on another connection.
  private func closeStreams(for cause: OfflineCause) {
    let usedNetwork = canWatch
    offlineCauses.insert(cause)
    closeStreams()
    if usedNetwork { setOnlineState(.unknown) }
  }

  // MARK: - Online state

  func setOnlineState(_ state: OnlineState) {
    emit(online.set(state))
  }

  func emit(_ onlineActions: [OnlineStateMachine.Action]) {
    for action in onlineActions {
      switch action {
      case .startTimer: emit(.startTimer(.onlineStateTimeout, after: configuration.onlineStateTimeout))
      case .cancelTimer: emit(.cancelTimer(.onlineStateTimeout))
      case .warn(let message): log(.warning, message)
      case .changed(let state):
        emit(.onlineStateChanged(state))
        showOnlineState(state)
      }
    }
  }

  // MARK: - Users

  /// Closes the streams and, once the cache shows the user's outbox, makes them anew with the new credentials.
  ///
  /// The streams close at once, whatever else waits or fails: nothing of the former user's may be sent with the
  /// credentials of this one, nor the other way round.
  func userChanged(to user: String?) {
    if !LocalStore.isSameUser(user, signedInUser) { cancelPendingWriteWaits() }
    closeStreams(for: .credentialChange)
    retry(.changeUser(user))
  }

  /// Makes the writes of the user visible instead of the former one's, if it is another, and opens the streams.
  func changeUser(_ user: String?) throws {
    closeStreams(for: .credentialChange)
    if !localStore.isUser(user) {
      do {
        let shown = queries.ids.compactMap { queries[$0]?.query } + beside.preparedQueries
        let changes = try localStore.changeUser(user, showing: shown)
        emit(.switchUser(user))
        refreshViews(changes)
      } catch {
        log(.error, "The change of the user cannot be carried out; the client is offline until it can: \(error)")
        setOnlineState(.offline)
        throw error
      }
    }
    offlineCauses.remove(.credentialChange)
    openStreams()
  }
}
