internal import HearthModel

/// A request that the storage carries out, perhaps after it has waited for locks.
struct CommitAttempt: Sendable {
  let request: CommitRequest
  /// With which the request waits, or has waited, for transactions that have locked what it changes.
  var ticket: LockTable.TicketID?

  enum Result: Sendable {
    /// The ticket, if there is one, has served its purpose.
    case ended(Swift.Result<CommitOutcome, StatusError>, ticket: LockTable.TicketID?)
    /// Nothing was stored. The request has to be tried again when it is the ticket's turn.
    case blocked(LockTable.TicketID)
  }

  func succeeded(_ outcome: CommitOutcome) -> Result { .ended(.success(outcome), ticket: ticket) }
  func failed(_ error: StatusError) -> Result { .ended(.failure(error), ticket: ticket) }
}
