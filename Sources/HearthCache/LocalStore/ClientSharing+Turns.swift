internal import HearthStore

/// Turns with the lease.
///
/// An outbox is only sent by a client of its user, so the lease rotates among the users with pending writes. Only a client with a
/// connection is of use to the others, so a client without one passes the lease on.
extension ClientSharing {
  /// The clients to whom the lease may be left next: those with their network wanted, of another user whose outbox waits, or all if the
  /// holder is cut off.
  func heirs(_ turn: LocalStore.LeaseTurnState, userKey: String, in queue: MutationQueue) throws -> [ClientTable.Client]
  {
    guard let member = membership else { return [] }
    return try clients.clients().filter {
      guard $0.id != member.client, $0.wantsNetwork else { return false }
      if turn.isCutOff { return true }
      return try $0.userKey != userKey && turn.allows($0, after: member.sharing.leaseNumber)
        && queue.hasPendingBatches(userKey: $0.userKey)
    }
  }

  /// The living one among clients whose turn it is.
  func next(among heirs: [ClientTable.Client], _ turn: LocalStore.LeaseTurnState) -> ClientID? {
    guard let locks, let client = membership?.client else { return nil }
    // Round and round, in the order of the ids. One that was just cut off itself comes last.
    return heirs.filter { locks.isAlive($0.name) }.min {
      func rank(_ other: ClientTable.Client) -> (Int64, Int, ClientID) {
        (turn.isCutOff ? other.lastFutileLease : 0, other.id > client ? 0 : 1, other.id)
      }
      return rank($0) < rank($1)
    }?.id
  }
}

extension LocalStore {
  /// The reasons why the holder of the lease may have to pass it on.
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
}
