internal import HearthCache
internal import HearthModel

extension SyncEngine {
  /// Lets that side of the client rest that cannot be stored, until the operation has succeeded.
  ///
  /// The write stream stays open with the batches that were sent: without it their answers would be lost, and a backend
  /// that does not recognise batches would commit them again (with a full disk: at every attempt).
  func goOffline(after error: any Error, retrying operation: RetryableOperation) {
    // The next holder of the lease gets the same from the backend.
    if CacheError.isLeaseLost(error) { return loseLease() }
    log(.error, "The cache failed; the client is offline until it works again: \(error)")
    follow(link.rest(for: operation.offlineCause))
    if case CacheError.unreadableBatch = error { emit(retries.append(.setAsideUnreadableBatches)) }
    emit(retries.append(operation, isDue: !localStore.isHeldByOther(error)))
  }

  /// Makes the attempts that are due.
  ///
  /// Operations that they add to the list are not tried in the same round but when the timer fires, so that nothing
  /// runs in cycles.
  func runRetries() {
    for _ in 0..<retries.takeDueAttempts() { runRetry() }
    emit(retries.deferDueAttempts())
  }

  /// Makes one attempt at the first operation of the list.
  private func runRetry() {
    guard let operation = retries.first else { return }
    let leaseLossCount = retries.leaseLossCount
    var succeeded = true
    do {
      try carryOut(operation)
    } catch CacheError.leaseLost {
      loseLease()
      return
    } catch {
      succeeded = false
      log(.debug, "Operation failed with retryable error: \(error)")
    }
    // The lease was lost on the way, and the operation with it.
    if operation.needsLease, retries.leaseLossCount != leaseLossCount { return }
    emit(retries.attemptEnded(succeeded: succeeded))
    if succeeded, let cause = operation.offlineCause { storageWorks(cause) }
  }

  /// Stores the answers of the backend that wait for that, at a client that sends nothing more: the next sender of the outbox would send
  /// their batches again.
  func storeAnswers() {
    do {
      for answer in retries.answers {
        try carryOut(answer)
        retries.remove(answer)
      }
    } catch {
      log(.notice, "Answers of the backend could not be stored: \(error)")
    }
  }

  private func storageWorks(_ cause: OfflineCause) {
    guard !retries.holds(cause), link.allow(cause) else { return }
    if cause != .outboxFailure { follow(link.resumeWatching()) }
    if cause != .snapshotFailure { resumeWriting() }
    // No stream of a secondary client ends that it counts as offline.
    if !membership.primaryWatch.isSilent { showSharedOnlineState() }
  }
}
