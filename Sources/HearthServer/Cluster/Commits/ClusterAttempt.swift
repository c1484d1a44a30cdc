#if PostgreSQL
  internal import HearthModel

  /// A request that a cluster's storage carries out in a group.
  struct ClusterAttempt: Sendable {
    var request: CommitRequest
    /// The transaction that the request ends.
    var ending: TransactionEnd?

    enum Result: Sendable {
      case ended(Swift.Result<CommitOutcome, StatusError>)
      /// Nothing was stored. Too much was written since the reads of the transaction were checked: they must be checked again first.
      case unchecked
    }
  }

  /// An attempt that waits for its group.
  struct WaitingAttempt: Sendable {
    var attempt: ClusterAttempt
    /// Nil if the storage is closed.
    var continuation: CheckedContinuation<ClusterAttempt.Result?, Never>
  }
#endif
