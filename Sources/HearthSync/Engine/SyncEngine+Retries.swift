internal import HearthCache
internal import HearthModel

extension SyncEngine {
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
    follow(link.rest(for: operation.offlineCause))
    if case CacheError.unreadableBatch = error { retry(.setAsideUnreadableBatches) }
    retry(operation)
  }

  func retry(_ operation: RetryableOperation) {
    emit(retries.append(operation, now: now, jitter: configuration.jitter))
  }

  /// Makes the attempts that are due.
  ///
  /// Operations that they add to the list are not tried in the same round but when the timer fires, so that nothing
  /// runs in circles.
  func runRetries() {
    for _ in 0..<retries.takeDueAttempts() { runRetry() }
    emit(retries.deferDueAttempts(now: now, jitter: configuration.jitter))
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
    emit(retries.attemptEnded(succeeded: succeeded, now: now, jitter: configuration.jitter))
    if succeeded, let cause = operation.offlineCause { storageWorks(cause) }
  }

  private func storageWorks(_ cause: OfflineCause) {
    guard !retries.holds(cause), link.allow(cause) else { return }
    if cause != .outboxFailure { follow(link.resumeWatching()) }
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
      // The batch has left the queue already; there is nothing left to do for it.
      log(.warning, "Batch \(batchID) was answered but is no longer in the queue.")
      complete(batchID, of: operation.owner ?? signedInUser, operation.rejection)
    }
  }
}
