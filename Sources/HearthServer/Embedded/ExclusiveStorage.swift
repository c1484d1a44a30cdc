internal import HearthModel

/// A storage whose commits are all made by this process. So the process knows all of them in memory, and keeps the locks of transactions
/// there.
protocol ExclusiveStorage: ServerStorage {
  /// The locks of transactions. A commit waits for the transactions that have read what it changes, and reads that follow
  /// ``TransactionLocks/lock(_:_:for:)`` see every commit that did not wait for it.
  var locks: TransactionLocks { get }

  /// Applies a request as ``ServerStorage/commit(_:)`` does.
  ///
  /// - Parameter conditions: The conditions of the transaction that it ends; nil if it ends none. Its own locks do not stop it.
  /// - Throws: Also ABORTED for a conflict with what the transaction has read.
  func commit(
    _ request: CommitRequest, ending conditions: TransactionRegistry.Conditions?
  ) async throws(StatusError) -> CommitOutcome
}

extension ExclusiveStorage {
  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome {
    try await commit(request, ending: nil)
  }
}
