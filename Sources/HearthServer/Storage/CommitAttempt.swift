internal import HearthModel

/// A request that the storage carries out, perhaps after it has waited for locks.
struct CommitAttempt: Sendable {
  let request: CommitRequest
  /// With which the request waits, or has waited, for transactions that have locked what it changes.
  var ticket: LockTicket?

  enum Result: Sendable {
    case ended(Swift.Result<CommitOutcome, StatusError>)
    /// Nothing was stored. The request has to be tried again when it is the ticket's turn.
    case blocked(LockTicket)
  }

  func succeeded(_ outcome: CommitOutcome) -> Result { .ended(.success(outcome)) }
  func failed(_ error: StatusError) -> Result { .ended(.failure(error)) }
}
