internal import HearthStore

/// Turns with the lease.
///
/// Only a client of its user sends an outbox, so the lease goes round among the users whose outboxes wait. And only a client with a
/// connection is of use to the others, so one without leaves the lease to the next.
extension LocalStore {
  /// The reasons for which the holder of the lease may have to leave it.
  package struct LeaseTurnState {
    /// True if the holder has had no connection for so long that any other client is better.
    package var isCutOff: Bool
    /// The time for which it has held the lease.
    package var lasted: Duration
    /// The shortest turn of a holder that is connected.
    package var shortestTurn: Duration
    /// The time after one futile turn in which the client has no further one if the holder is connected; twice as long after the second.
    package var futileTurnPause: Duration

    package init(isCutOff: Bool, lasted: Duration, shortestTurn: Duration, futileTurnPause: Duration) {
      self.isCutOff = isCutOff
      self.lasted = lasted
      self.shortestTurn = shortestTurn
      self.futileTurnPause = futileTurnPause
    }

    /// After the sixth futile turn the pauses do not grow any more.
    private static let longestDoubling = 5

    /// Returns true if a client may have a turn although its last ones were of no use: after a pause of this holder's time, or after as
    /// many turns of others as fit into it.
    fileprivate func allows(_ client: ClientTable.Client, after leaseNumber: Int64) -> Bool {
      guard client.futileTurns > 0 else { return true }
      let pause = futileTurnPause * (1 << Int(min(client.futileTurns - 1, Int64(Self.longestDoubling))))
      let (turns, isOverflow) = leaseNumber.subtractingReportingOverflow(client.lastFutileLease)
      return lasted >= pause || isOverflow || Double(turns) * (shortestTurn / .seconds(1)) >= pause / .seconds(1)
    }
  }

  /// The client to whom the lease is to be left next: a living one with its network wanted, of another user whose outbox waits, or any if
  /// the holder is cut off.
  ///
  /// - Returns: Nil if no other client would make better use of it.
  package func nextLeaseHeir(_ turn: LeaseTurnState) throws -> ClientID? {
    guard let locks, let member = state.membership, member.hasOthers else { return nil }
    let userKey = MutationQueue.userKey(state.user)
    let candidates = try read("Look for waiting users") {
      try clients.clients().filter {
        guard $0.id != member.client, $0.wantsNetwork else { return false }
        if turn.isCutOff { return true }
        return try $0.userKey != userKey && turn.allows($0, after: member.sharing.leaseNumber)
          && queue.hasPendingBatches(userKey: $0.userKey)
      }
    }
    // Round and round, in the order of the ids. One that was just cut off itself comes last.
    return candidates.filter { locks.isAlive($0.name) }.min {
      func rank(_ client: ClientTable.Client) -> (Int64, Int, ClientID) {
        (turn.isCutOff ? client.lastFutileLease : 0, client.id > member.client ? 0 : 1, client.id)
      }
      return rank($0) < rank($1)
    }?.id
  }

  /// Leaves the lease to another client, whose turn it is now.
  ///
  /// - Parameter isFutile: True if this client's turn was of no use: without a connection, or with an outbox that waits for the
  ///   application. Its next turn is further away then.
  /// - Throws: What the transaction throws. The client goes on holding the lease then, unless that is lost.
  package func leaveLease(to heir: ClientID, isFutile: Bool) throws {
    try transaction("Leave lease", needsLease: true) {
      if isFutile, let member = state.membership {
        try clients.noteTurn(of: member.client, lease: member.sharing.leaseNumber, isFutile: true)
        state.membership?.futileTurns = min(member.futileTurns, 62) + 1
      }
      try setLease(holder: 0, heir: heir)
    }
    leaseWasLost()
  }

  /// Notes that this client, which holds the lease, has a connection, so that its former turns do not count any more.
  ///
  /// - Parameter endsOutage: True if it had none before. Then nobody could have had one, and nobody's former turns count.
  package func noteConnection(endsOutage: Bool) throws {
    guard let member = state.membership, endsOutage && member.hasOthers || member.futileTurns > 0 else { return }
    try transaction("Note connection", needsLease: true) {
      try clients.forgetFutileTurns(of: nil)
      state.membership?.futileTurns = 0
    }
  }

  /// Makes this client one that may have its turn like all others, because something has changed that may help it.
  package func forgetFutileTurns() throws {
    guard let member = state.membership, member.futileTurns > 0 else { return }
    try transaction("Forget futile turns") {
      try clients.forgetFutileTurns(of: member.client)
      state.membership?.futileTurns = 0
      try tell(.clients)
    }
  }

  /// The number of this client's last turns with the lease that were of no use.
  package var futileTurnCount: Int { state.membership?.futileTurns ?? 0 }

  /// True if the lease is free and was left to another client, which had better take it.
  package var leaseIsLeftToOther: Bool {
    guard leaseIsFree, let member = state.membership else { return false }
    return member.sharing.leaseHeir != 0 && member.sharing.leaseHeir != member.client
  }
}
