internal import HearthCache
internal import HearthModel

/// The notices that a client writes for the others of its cache at the end of an event.
extension SyncEngine {
  /// The states that the other clients know.
  struct Published {
    var agreements: [TargetID: TargetAgreement] = [:]
    /// The targets whose state was published by the former holder of the lease, and of which the backend has said nothing since.
    var inherited: Set<TargetID> = []
    var onlineState: OnlineState?
  }

  private static let maximumNewsRounds = 4

  /// Ends an event: notifies the other clients of what has changed for them, and shows their changes.
  func settle() {
    guard localStore.isShared, !link.isForbidden(for: .shutdown) else { return }
    if let failure = localStore.takeCatchUpFailure() { noteFailedCatchUp(failure) }
    // Retries and publishing read changes of other clients, which must be shown too, but not for as long as others go on writing.
    for _ in 0..<Self.maximumNewsRounds {
      if localStore.hasNews { refreshViews([:]) }
      runRetries()
      publishSoon()
      if !localStore.hasNews, !retries.isDue { break }
    }
    if localStore.hasNews { emit(.startTimer(.clientMetadataRefresh, after: .zero)) }
    waitForPrimary()
    if localStore.takeHasTold() { emit(.wakeOthers) }
  }

  private func publishSoon() {
    // What waits for its next attempt would wait for the file in this event again.
    guard isPrimary, !localStore.leaseIsLost, !retries.holds(.publish) else { return }
    do {
      try publish()
    } catch {
      log(.debug, "The state of the client cannot be told to the others: \(error)")
      if !leaseIsLost(error) { retryOnce(.publish, after: error) }
    }
  }

  /// Notifies the other clients of how far targets agree with the backend, and of the online state.
  func publish() throws {
    guard isPrimary else { return }
    guard localStore.hasOtherClients else {
      if published.agreements.isEmpty { return }
      // The next other client gets everything.
      try localStore.unpublish()
      published = Published()
      return
    }
    // Other clients that hear that it is offline take no target for one that agrees with the backend.
    if link.onlineState == .offline { published.inherited = [] }
    var states = views.syncStates
    for target in published.inherited where states[target] == .open { states[target] = published.agreements[target] }
    try localStore.publish(states.filter { published.agreements[$0] != $1 })
    published.agreements = states
    guard published.onlineState != link.onlineState else { return }
    try localStore.publish(link.onlineState)
    published.onlineState = link.onlineState
  }

  /// Takes note of an error that says that another client has the lease.
  ///
  /// - Returns: False for any other error.
  func leaseIsLost(_ error: any Error) -> Bool {
    guard case CacheError.leaseLost = error else { return false }
    loseLease()
    return true
  }
}
