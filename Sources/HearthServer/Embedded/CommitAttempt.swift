internal import HearthModel

/// A request that the storage carries out, possibly after waiting for locks.
struct CommitAttempt: Sendable {
  let request: CommitRequest
  /// The pessimistic transaction that the request ends, if that has read something. Its locks do not stop its writes.
  let owner: LockTable.Owner?
  /// The reads of an optimistic transaction, and the version up to which they are known to be unchanged.
  var check: ReadCheck?
  /// With which the request waits, or has waited, for transactions that have locked what it changes.
  var ticket: LockTicket?

  enum Result: Sendable {
    case ended(Swift.Result<CommitOutcome, StatusError>)
    /// Nothing was stored. The request must be tried again when it is the ticket's turn.
    case blocked(LockTicket)
    /// Nothing was stored. The reads of the transaction must first be checked outside the writer, see ``ReadCheck``.
    case unchecked
  }

  init(_ request: CommitRequest, ending conditions: TransactionRegistry.Conditions?) {
    self.request = request
    owner = conditions?.owner
    check = conditions?.reads.map { ReadCheck($0) }
  }

  func succeeded(_ outcome: CommitOutcome) -> Result { .ended(.success(outcome)) }
  func failed(_ error: StatusError) -> Result { .ended(.failure(error)) }
}

/// An attempt that waits for the writer.
struct WaitingCommit: Sendable {
  var attempt: CommitAttempt
  /// Nil if the storage is closed.
  var continuation: CheckedContinuation<CommitAttempt.Result?, Never>
}
