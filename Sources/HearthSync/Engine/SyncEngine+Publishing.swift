internal import HearthCache
internal import HearthModel

/// What a client tells the others of its cache at the end of an event.
extension SyncEngine {
  /// The states that the other clients were told.
  struct Published {
    var isCurrent: [TargetID: Bool] = [:]
    /// The targets whose state the former holder of the lease has told, and of which the backend has said nothing since.
    var inherited: Set<TargetID> = []
    var onlineState: OnlineState?
  }

  private static let maximumNewsRounds = 4

  /// Ends an event: tells the other clients of what has changed for them, and takes over what is new from them.
  func settle() {
    guard localStore.isShared, !link.isForbidden(for: .shutdown) else { return }
    if let failure = localStore.takeCatchUpFailure() { noteFailedCatchUp(failure) }
    // What retries and publishing read of other clients must be shown too, but not for as long as others go on writing.
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
    guard isPrimary, !localStore.leaseIsLost else { return }
    do {
      try publish()
    } catch {
      log(.debug, "The state of the client cannot be told to the others: \(error)")
      let isRepeated = retries.holds { if case .publish = $0 { true } else { false } }
      if !leaseIsLost(error), !isRepeated { retry(.publish) }
    }
  }

  /// Tells the other clients which targets agree with the backend, and the online state.
  func publish() throws {
    guard isPrimary else { return }
    guard localStore.hasOtherClients else {
      if published.isCurrent.isEmpty { return }
      // The next other client is told everything.
      try localStore.unpublish()
      published = Published()
      return
    }
    // Other clients that hear that it is offline take no target for one that agrees with the backend.
    if link.onlineState == .offline { published.inherited = [] }
    var states = views.syncStates
    for target in published.inherited where states[target] == false { states[target] = published.isCurrent[target] }
    try localStore.publish(states.filter { published.isCurrent[$0] != $1 })
    published.isCurrent = states
    guard published.onlineState != link.onlineState else { return }
    try localStore.publish(SharedOnlineState(link.onlineState))
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

extension OnlineState {
  init(_ shared: SharedOnlineState) {
    switch shared {
    case .unknown: self = .unknown
    case .online: self = .online
    case .offline: self = .offline
    }
  }
}

extension SharedOnlineState {
  init(_ state: OnlineState) {
    switch state {
    case .unknown: self = .unknown
    case .online: self = .online
    case .offline: self = .offline
    }
  }
}
