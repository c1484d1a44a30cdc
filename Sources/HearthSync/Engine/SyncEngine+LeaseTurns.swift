internal import HearthCache
internal import HearthModel

/// The time for which one client holds the lease while the outboxes of other users wait.
struct LeaseTurn {
  /// Monotonic time.
  var began: Duration = .zero
  /// True while what is on its way is still answered, and nothing more is sent.
  var isEnding = false
  /// The monotonic time since which the free lease has been found to be left to another client.
  var yieldedSince: Duration?
}

/// Turns of the users.
///
/// No client sends another user's outbox, because it has no token for that. So while the outbox of another user waits, the holder of
/// the lease leaves it to a client of that user after a while: with nothing on its way, so that no batch is sent twice.
extension SyncEngine {
  /// Ends the turn of this client if another user waits and it has lasted long enough.
  ///
  /// - Returns: True if another client is to have the lease.
  func leaveLeaseIfOthersWait() -> Bool {
    // A turn that is ending goes on being looked after: nothing is sent until it has ended, or nobody waits any more.
    guard isPrimary, turn.isEnding || localStore.hasOtherClients, !localStore.leaseIsLost else { return false }
    let length = link.onlineState == .offline ? configuration.offlineLeaseTurn : configuration.leaseTurn
    guard turn.isEnding || now - turn.began >= length else { return false }
    do {
      let heir = try localStore.nextLeaseHeir()
      let wasEnding = turn.isEnding
      turn.isEnding = heir != nil
      guard let heir else {
        if wasEnding { fillWritePipeline() }
        return false
      }
      guard !link.awaitsAnswers, !retries.holdsAnswers else { return false }
      try localStore.leaveLease(to: heir)
    } catch {
      log(.debug, "The lease could not be left to a client of another user: \(error)")
      return leaseIsLost(error)
    }
    loseLease()
    log(.debug, "The lease is left to a client of another user.")
    return true
  }

  /// True for a while after the lease was left to another client. That takes it at once; if it does not, all others may.
  func yieldsToHeir() -> Bool {
    guard localStore.leaseIsLeftToOther else {
      turn.yieldedSince = nil
      return false
    }
    let since = turn.yieldedSince ?? now
    turn.yieldedSince = since
    return now - since < configuration.clientRefreshInterval
  }
}
