internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Life

  func start() {
    guard offlineCauses.remove(.notStarted) != nil else { return }
    startCollectionTimer(after: configuration.firstCollectionAfter)
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
    perform(retries.stop())
    stopCollection()
    stopIndexFill()
    // Not offline: nobody is to be shown cached data at the end.
    queries = QueryTable()
    for id in beside.removeAll() { perform(.cancelBeside(id)) }
    setOnlineState(.unknown)
    snapshotsInSyncListeners = []
    waitingWrites = [:]
    pendingWriteWaits = []
    bundles = [:]
  }

  // MARK: - Switching the network

  func enableNetwork(_ request: RequestID?) {
    if offlineCauses.remove(.disabledByUser) != nil { openStreams() }
    if let request { perform(.completeRequest(request, nil)) }
  }

  func disableNetwork(_ request: RequestID?) {
    offlineCauses.insert(.disabledByUser)
    closeStreams()
    setOnlineState(.offline)
    if let request { perform(.completeRequest(request, nil)) }
  }

  /// Replaces the connections: the old ones may be dead without knowing it.
  func connectivityChanged() {
    guard isNetworkUsable else { return }
    offlineCauses.insert(.connectivityChange)
    closeStreams()
    setOnlineState(.unknown)
    offlineCauses.remove(.connectivityChange)
    openStreams()
  }

  /// Opens what is needed, if nothing forbids it, and without a pause.
  func openStreams() {
    guard isNetworkUsable else { return }
    watchStream.inhibitBackoff()
    if shouldStartWatchStream {
      startWatchStream()
    } else if !watchStream.isStarted {
      setOnlineState(.unknown)
    }
    writeStream.inhibitBackoff()
    fillWritePipeline()
  }

  private func closeStreams() {
    stopWatchStream()
    stopWriteStream()
  }

  // MARK: - Online state

  func setOnlineState(_ state: OnlineState) {
    perform(online.set(state))
  }

  func perform(_ onlineActions: [OnlineStateMachine.Action]) {
    for action in onlineActions {
      switch action {
      case .startTimer: perform(.startTimer(.onlineStateTimeout, after: configuration.onlineStateTimeout))
      case .cancelTimer: perform(.cancelTimer(.onlineStateTimeout))
      case .warn(let message): log(.warning, message)
      case .changed(let state):
        perform(.onlineStateChanged(state))
        showOnlineState(state)
      }
    }
  }

  // MARK: - Users

  /// Makes the streams anew with the new credentials and, if it is another user, that user's writes visible instead of
  /// the former one's.
  private func changeUser(_ user: String?) throws {
    let usedNetwork = isNetworkUsable
    offlineCauses.insert(.credentialChange)
    closeStreams()
    if usedNetwork { setOnlineState(.unknown) }
    if !localStore.isUser(user) {
      let change = try localStore.changeUser(user)
      cancelPendingWriteWaits()
      refreshViews(change.affectedDocuments)
    }
    offlineCauses.remove(.credentialChange)
    openStreams()
  }

  // MARK: - Storage failures

  /// Tries a storage operation whose failure takes the client offline until it succeeds.
  func attempt(_ operation: RetryableOperation) {
    do {
      try carryOut(operation)
    } catch {
      goOffline(after: error, retrying: operation)
    }
  }

  /// Closes the streams, so that nothing arrives that could not be stored, until the operation has succeeded.
  func goOffline(after error: any Error, retrying operation: RetryableOperation) {
    log(.error, "The cache failed; the client is offline until it works again: \(error)")
    offlineCauses.insert(.storageFailure)
    closeStreams()
    setOnlineState(.offline)
    if case CacheError.unreadableBatch = error { retry(.setAsideUnreadableBatches) }
    retry(operation)
  }

  func retry(_ operation: RetryableOperation) {
    perform(retries.append(operation, now: now, jitter: configuration.jitter))
  }

  /// Makes the attempts that are due.
  ///
  /// What they put on the list themselves is not tried in the same round but when the timer fires, so that nothing
  /// runs in circles.
  func runRetries() {
    for _ in 0..<retries.takeDueAttempts() { runRetry() }
    perform(retries.deferDueAttempts(now: now, jitter: configuration.jitter))
  }

  /// Makes one attempt at the first operation of the list.
  private func runRetry() {
    guard let operation = retries.first else { return }
    var succeeded = true
    do {
      try carryOut(operation)
    } catch {
      succeeded = false
      log(.debug, "Operation failed with retryable error: \(error)")
    }
    perform(retries.attemptEnded(succeeded: succeeded, now: now, jitter: configuration.jitter))
    if succeeded, operation.keepsNetworkOff { storageWorks() }
  }

  private func storageWorks() {
    guard !retries.keepsNetworkOff, offlineCauses.remove(.storageFailure) != nil else { return }
    openStreams()
  }

  /// Carries an operation out, without the batches that cannot be read if it comes across one.
  private func carryOut(_ operation: RetryableOperation) throws {
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
      case .acknowledge(let result): try acknowledge(result)
      case .reject(let batch, let error): try reject(batch, error)
      case .setAsideUnreadableBatches: try setAsideUnreadableBatches()
      case .changeUser(let user): try changeUser(user)
      case .refreshViews: if let failure = refreshViews([:]) { throw failure }
      }
    } catch CacheError.unknownBatch(let batchID, _) {
      // Somebody else has dealt with the batch; there is nothing left to do for it.
      log(.warning, "Batch \(batchID) was answered but is no longer in the queue.")
      complete(batchID, nil)
    }
  }
}
