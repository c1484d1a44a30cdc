internal import HearthCache
internal import HearthModel

/// The turns that clients take with the lease: see ``LeaseTurn``.
extension CacheMembership {
  /// Ends the turn of this client if another one has a use for the lease and the turn has lasted long enough.
  ///
  /// - Returns: True if another client gets the lease.
  mutating func endTurn(_ state: ClientState, in localStore: LocalStore) -> (isLeft: Bool, actions: [Action]) {
    guard isPrimary, !localStore.leaseIsLost else { return (false, []) }
    do {
      try noteConnection(state, in: localStore)
      let ending = turn.mayEnd(
        at: state.now, isOffline: state.onlineState == .offline, hasOthers: localStore.hasOtherClients, configuration)
      guard let ending else { return (false, []) }
      guard let heir = try localStore.nextLeaseHeir(ending) else {
        return (false, turn.goOn() ? [.sendOn] : [])
      }
      turn.end()
      guard !state.awaitsAnswers else { return (false, []) }
      try localStore.leaveLease(to: heir, isFutile: ending.isCutOff || state.waitsForApplication)
    } catch {
      var actions = [Action.emit(.log(.debug, "The lease could not be passed to another client: \(error)"))]
      if localStore.isHeldByOther(error) { actions.append(.retry(.storeRole, isDue: false)) }
      guard CacheError.isLeaseLost(error) else { return (false, actions) }
      return (true, actions + [.loseLease])
    }
    return (true, [.loseLease, .emit(.log(.debug, "The lease is passed to another client."))])
  }

  /// Follows whether this client, which holds the lease, reaches the backend.
  private mutating func noteConnection(_ state: ClientState, in localStore: LocalStore) throws {
    noteReach(state.reach, isDisabled: state.isDisabled, at: state.now)
    switch state.reach {
    case .outOfReach, .connecting: return
    // The stream of the last read may still be open.
    case .notNeeded where state.onlineState != .online && !outageIsOver(state): return
    case .notNeeded, .reached: break
    }
    let endsOutage = turn.beganOutOfReach
    // While the outbox waits for the application, the turn is of no use all the same.
    if endsOutage || !state.hasConflict { try localStore.noteConnection(endsOutage: endsOutage) }
    turn.backendIsReached()
  }

  private func outageIsOver(_ state: ClientState) -> Bool {
    turn.outageIsOver(by: state.watchStreamOpenedAt, lasting: configuration.streamHealthyAfter, at: state.now)
  }

  /// Notes that the backend is out of reach, if it is: at once, because a read may be over before the next look at the lease.
  ///
  /// - Parameter isDisabled: True if the application has disabled the network.
  mutating func noteReach(_ reach: BackendLink.Reach, isDisabled: Bool, at now: Duration) {
    guard isPrimary, reach == .outOfReach, !isDisabled else { return }
    turn.backendIsOutOfReach(at: now)
  }

  /// Something has changed that may help this client to reach the backend, or to send its outbox.
  mutating func forgetFutileTurns(in localStore: LocalStore) -> [SyncAction] {
    do {
      try localStore.forgetFutileTurns()
      return []
    } catch {
      if localStore.isHeldByOther(error) { wasNotTold(.forgottenTurns) }
      return [.log(.debug, "The turns of this client with the lease could not be forgotten: \(error)")]
    }
  }
}
