internal import HearthCache
internal import HearthModel

/// The time for which one client holds the lease while others have a use for it.
struct LeaseTurn {
  /// Monotonic time.
  var began: Duration = .zero
  /// True while what is on its way is still answered, and nothing more is sent.
  var isEnding = false
  /// True once the backend was reached in this turn.
  var hasConnected = false
  /// Nil while the backend has not been found out of reach since it was reached.
  var outage: Outage?
  /// The monotonic time since which the free lease has been found to be left to another client.
  var yieldedSince: Duration?

  /// The time in which the backend was out of reach whenever something waited for it, as far as it is known: what has failed last may succeed
  /// by now.
  struct Outage {
    /// Monotonic times of the first failure and of the last one.
    var began: Duration
    var lastFailure: Duration

    /// Returns true if attempts have failed throughout a time, the last one lately.
    func lasts(_ length: Duration, at now: Duration) -> Bool {
      lastFailure - began >= length && now - lastFailure < length
    }
  }
}

/// Turns with the lease.
///
/// No client sends another user's outbox, because it has no token for that. So while the outbox of another user waits, the holder of
/// the lease leaves it to a client of that user after a while: with nothing on its way, so that no batch is sent twice.
///
/// Processes differ in what they can reach: one may have no network, no certificates, no valid token. A holder whose attempts have failed for
/// `offlineLeaseTurn` leaves the lease to any other client that wants the network, also if nothing waits for the backend at that moment: reads
/// that are made once are answered as offline, and gone. One failure alone says nothing of the time after it, in which nothing may have been
/// asked. While nobody can connect, the lease goes round in such turns.
/// One that has a connection keeps it; a client that had its turn in vain gets another one rarely (`futileTurnPause`), or as soon as
/// something changes that may help it.
extension SyncEngine {
  /// Ends the turn of this client if another one has a use for the lease and the turn has lasted long enough.
  ///
  /// - Returns: True if another client is to have the lease.
  func leaveLeaseIfOthersWait() -> Bool {
    // A turn that is ending goes on being looked after: nothing is sent until it has ended, or nobody waits any more.
    guard isPrimary, !localStore.leaseIsLost else { return false }
    do {
      try noteConnection()
      guard turn.isEnding || localStore.hasOtherClients else { return false }
      let isCutOff = turn.outage?.lasts(configuration.offlineLeaseTurn, at: now) ?? false
      let lasted = now - turn.began
      let length = link.onlineState == .offline ? configuration.offlineLeaseTurn : configuration.leaseTurn
      guard turn.isEnding || isCutOff || lasted >= length else { return false }
      let heir = try localStore.nextLeaseHeir(
        LocalStore.LeaseTurnState(
          isCutOff: isCutOff, lasted: lasted, shortestTurn: configuration.leaseTurn,
          futileTurnPause: configuration.futileTurnPause))
      let wasEnding = turn.isEnding
      turn.isEnding = heir != nil
      guard let heir else {
        if wasEnding { fillWritePipeline() }
        return false
      }
      guard !sender.awaitsAnswers, !retries.holdsAnswers else { return false }
      try localStore.leaveLease(to: heir, isFutile: isCutOff || conflicts.waitForApplication)
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
    case .reached: try noteReached()
    // The stream of the last read may still be open.
    case .notNeeded: if link.onlineState == .online || endsOutageUnasked { try noteReached() }
    case .outOfReach, .connecting: break
    }
  }

  /// True if the watch stream has been opened since the last failure, and has lasted, although nothing is asked on it.
  private var endsOutageUnasked: Bool {
    guard let outage = turn.outage, let opened = link.watchStreamOpenedAt, opened >= outage.lastFailure else {
      return false
    }
    return now - opened >= configuration.streamHealthyAfter
  }

  private func noteReached() throws {
    // Whoever had the lease before could not have reached it either if this client has found it out of reach at first.
    let endsOutage = !turn.hasConnected && turn.outage != nil
    // While the outbox waits for the application, the turn is of no use all the same.
    if endsOutage || conflicts.open == nil { try localStore.noteConnection(endsOutage: endsOutage) }
    turn.hasConnected = true
    turn.outage = nil
  }

  /// Notes that the backend is out of reach, if it is: at once, because a read may be over before the next look at the lease.
  func noteOutOfReach() {
    guard isPrimary, link.reach(sender.reach) == .outOfReach, !link.isForbidden(for: .disabledByUser) else { return }
    turn.outage = LeaseTurn.Outage(began: turn.outage?.began ?? now, lastFailure: now)
  }

  /// Something has changed that may help this client to reach the backend, or to send its outbox.
  func forgetFutileTurns() {
    do {
      try localStore.forgetFutileTurns()
    } catch {
      log(.debug, "The turns of this client with the lease could not be forgotten: \(error)")
    }
  }

  /// True for a while after the lease was left to another client. That takes it at once; if it does not, all others may, those last that
  /// had their turn in vain.
  func yieldsToHeir() -> Bool {
    guard localStore.leaseIsLeftToOther else {
      turn.yieldedSince = nil
      return false
    }
    let since = turn.yieldedSince ?? now
    turn.yieldedSince = since
    let patience = localStore.futileTurnCount > 0 ? 3 : 1
    return now - since < configuration.clientRefreshInterval * patience
  }
}
