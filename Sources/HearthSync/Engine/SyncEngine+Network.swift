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
    perform(.dropConnection)
    setOnlineState(.offline)
    if let request { perform(.completeRequest(request, nil)) }
  }

  /// Replaces the connections: the old ones may be dead without knowing it.
  func connectivityChanged() {
    guard canWatch || canWrite else { return }
    closeStreams(for: .connectivityChange)
    perform(.dropConnection)
    offlineCauses.remove(.connectivityChange)
    openStreams()
  }

  /// Opens what is needed, if nothing forbids it, and without a pause.
  func openStreams() {
    resumeWatching()
    resumeWriting()
  }

  private func resumeWatching() {
    guard canWatch else { return }
    watchStream.inhibitBackoff()
    if shouldStartWatchStream {
      startWatchStream()
    } else if !watchStream.isStarted {
      setOnlineState(.unknown)
    }
  }

  private func resumeWriting() {
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
  private func changeUser(_ user: String?) throws {
    closeStreams(for: .credentialChange)
    if !localStore.isUser(user) {
      do {
        let shown = queries.ids.compactMap { queries[$0]?.query } + beside.preparedQueries
        let changes = try localStore.changeUser(user, showing: shown)
        perform(.switchUser(user))
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

  // MARK: - Storage failures

  /// Stores the answer to a write; a failure takes the client offline until it is stored. Answers keep their order.
  func attempt(_ operation: RetryableOperation) {
    guard !retries.holdsAnswers else { return retry(operation) }
    do {
      try carryOut(operation)
    } catch {
      goOffline(after: error, retrying: operation)
    }
  }

  /// Lets that side of the client rest that cannot be stored, until the operation has succeeded.
  ///
  /// The write stream stays open with the batches that were sent: without it their answers would be lost, and a backend
  /// that does not recognise batches would commit them again (with a full disk: at every attempt).
  func goOffline(after error: any Error, retrying operation: RetryableOperation) {
    log(.error, "The cache failed; the client is offline until it works again: \(error)")
    if let cause = operation.offlineCause { offlineCauses.insert(cause) }
    if !canWatch {
      stopWatchStream()
      setOnlineState(.offline)
    }
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
    if succeeded, let cause = operation.offlineCause { storageWorks(cause) }
  }

  private func storageWorks(_ cause: OfflineCause) {
    guard !retries.holds(cause), offlineCauses.remove(cause) != nil else { return }
    if cause != .outboxFailure { resumeWatching() }
    if cause != .snapshotFailure { resumeWriting() }
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
      case .acknowledge(let result, let owner): try acknowledge(result, of: owner)
      case .reject(let batch, let error, let owner): try reject(batch, error, of: owner)
      case .setAsideUnreadableBatches: try setAsideUnreadableBatches()
      case .changeUser(let user): try changeUser(user)
      case .refreshViews: if let failure = refreshViews([:]) { throw failure }
      }
    } catch CacheError.unknownBatch(let batchID, _) {
      // Somebody else has dealt with the batch; there is nothing left to do for it.
      log(.warning, "Batch \(batchID) was answered but is no longer in the queue.")
      complete(batchID, of: operation.owner ?? signedInUser, operation.rejection)
    }
  }
}
