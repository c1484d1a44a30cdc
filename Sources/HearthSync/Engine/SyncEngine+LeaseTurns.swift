internal import HearthCache
internal import HearthModel

/// The turns that clients take with the lease: see ``LeaseTurn``.
extension SyncEngine {
  /// The turn of this client, as long as it holds the lease.
  var turn: LeaseTurn { membership.turn }

  /// Ends the turn of this client if another one has a use for the lease and the turn has lasted long enough.
  ///
  /// - Returns: True if another client is to have the lease.
  func leaveLeaseIfOthersWait() -> Bool {
    guard isPrimary, !localStore.leaseIsLost else { return false }
    do {
      try noteConnection()
      let turn = membership.turn.mayEnd(
        at: now, isOffline: link.onlineState == .offline, hasOthers: localStore.hasOtherClients, configuration)
      guard let turn else { return false }
      guard let heir = try localStore.nextLeaseHeir(turn) else {
        if membership.turn.goOn() { fillWritePipeline() }
        return false
      }
      membership.turn.end()
      guard !sender.awaitsAnswers, !retries.holdsAnswers else { return false }
      try localStore.leaveLease(to: heir, isFutile: turn.isCutOff || conflicts.waitForApplication)
    } catch {
      log(.debug, "The lease could not be left to another client: \(error)")
      restIfHeldByOther(error)
      return leaseIsLost(error)
    }
    loseLease()
    log(.debug, "The lease is left to another client.")
    return true
  }

  /// Follows whether this client, which holds the lease, reaches the backend.
  private func noteConnection() throws {
    noteOutOfReach()
    switch link.reach(sender.reach) {
    case .outOfReach, .connecting: return
    // The stream of the last read may still be open.
    case .notNeeded where link.onlineState != .online && !outageIsOver: return
    case .notNeeded, .reached: break
    }
    let endsOutage = membership.turn.beganOutOfReach
    // While the outbox waits for the application, the turn is of no use all the same.
    if endsOutage || conflicts.open == nil { try localStore.noteConnection(endsOutage: endsOutage) }
    membership.turn.backendIsReached()
  }

  private var outageIsOver: Bool {
    membership.turn.outageIsOver(by: link.watchStreamOpenedAt, lasting: configuration.streamHealthyAfter, at: now)
  }

  /// Notes that the backend is out of reach, if it is: at once, because a read may be over before the next look at the lease.
  func noteOutOfReach() {
    guard isPrimary, link.reach(sender.reach) == .outOfReach, !link.isForbidden(for: .disabledByUser) else { return }
    membership.turn.backendIsOutOfReach(at: now)
  }

  /// Something has changed that may help this client to reach the backend, or to send its outbox.
  func forgetFutileTurns() {
    do {
      try localStore.forgetFutileTurns()
    } catch {
      if isHeldByOther(error) { membership.wasNotTold(.forgottenTurns) }
      log(.debug, "The turns of this client with the lease could not be forgotten: \(error)")
    }
  }

  /// True while the free lease is left to another client, which is to take it.
  func yieldsToHeir() -> Bool {
    membership.yieldsToHeir(
      isLeftToOther: localStore.leaseIsLeftToOther, hadFutileTurns: localStore.futileTurnCount > 0, at: now)
  }
}
