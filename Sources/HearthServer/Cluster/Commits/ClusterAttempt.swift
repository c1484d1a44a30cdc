#if PostgreSQL
  internal import HearthModel

  /// A request that a cluster's storage carries out in a group.
  struct ClusterAttempt: Sendable {
    var request: CommitRequest
    /// The transaction that the request ends.
    var ending: TransactionEnd?
    /// When the node got the request, in microseconds that have elapsed.
    var arrival: Int64
    /// Orders requests that came at the same time, see ``Seniority/number``.
    var number: Int64
    /// The age of a request that has waited. It stays the same.
    var seniority: Seniority?

    init(_ request: CommitRequest, ending: TransactionEnd? = nil, in engine: ClusterEngine) {
      (self.request, self.ending) = (request, ending)
      arrival = engine.clock.node.elapsedMicroseconds
      number = engine.seniorityNumber()
    }

    /// The reasons why a request has to wait.
    struct Blockage: Sendable {
      /// The older transactions that have read what it changes.
      var transactions: Set<WoundWait.ID>
      /// The documents that it changes.
      var keys: [DocumentKey]
      /// The age of the request.
      var seniority: Seniority
    }

    enum Result: Sendable {
      case ended(Swift.Result<CommitOutcome, StatusError>)
      /// Nothing was stored. Too much was written since the reads of the transaction were checked: they must be checked again first.
      case unchecked
      /// Nothing was stored. The request must wait for transactions.
      case blocked(Blockage)
    }
  }

  /// An attempt that waits for its group.
  struct WaitingAttempt: Sendable {
    var attempt: ClusterAttempt
    /// Nil if the storage is closed.
    var continuation: CheckedContinuation<ClusterAttempt.Result?, Never>
  }
#endif
