internal import HearthCache
internal import HearthModel

/// The notices that a client writes for the others of its cache at the end of an event.
extension SyncEngine {
  private static let maximumNewsRounds = 4

  /// Ends an event: notifies the other clients of what has changed for them, and shows their changes.
  func settle() {
    guard localStore.isShared, !link.isForbidden(for: .shutdown) else { return }
    if let failure = localStore.takeCatchUpFailure() { follow(membership.catchUpFailed(failure, in: localStore)) }
    // Retries and publishing read changes of other clients, which must be shown too, but not for as long as others go on writing.
    for _ in 0..<Self.maximumNewsRounds {
      if localStore.hasNews { refreshViews([:]) }
      // Also without a notice: a client is not notified of the dead ones that it has removed itself. After the news, which may lack the keys
      // that are compared from now on.
      follow(views.noteOtherUsers(localStore.hasOtherUsers))
      runRetries()
      // What waits for its next attempt would wait for the file in this event again.
      if isPrimary, !localStore.leaseIsLost, !retries.holds(.publish) {
        follow(membership.publishSoon(views.syncStates, link.onlineState, in: localStore))
      }
      if !localStore.hasNews, !retries.isDue { break }
    }
    if localStore.hasNews { emit(.startTimer(.clientMetadataRefresh, after: .zero)) }
    let awaitsPrimary =
      !isPrimary && link.onlineState != .offline && (views.waitForBackend || views.awaitSignOfLife)
    follow(membership.primaryWatch.endEvent(isAwaited: awaitsPrimary))
    if localStore.takeHasTold() { emit(.wakeOthers) }
  }
}
