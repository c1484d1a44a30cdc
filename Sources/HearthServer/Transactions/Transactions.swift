internal import HearthModel

/// The isolation of a transaction from others.
enum TransactionIsolation: Sendable, Equatable {
  /// Reads one snapshot and changes nothing.
  case readOnly
  /// Reads one snapshot. Its commit is refused if something that it has read was changed since.
  case optimistic
  /// Reads the present and keeps others from changing what it has read.
  case pessimistic
}

/// The transactions of one database: the open ones, and the outcomes of ended ones.
///
/// A transaction is named by its id alone, bytes that cannot be guessed. Only an id from ``begin(_:repeating:at:)`` is valid; any other is
/// INVALID_ARGUMENT. A transaction ends with ``commit(_:ending:)``, with ``rollback(_:)``, when its time is over
/// (``DatabaseLimits/transactionTime``, ``DatabaseLimits/transactionIdleTime``), or when it is aborted. Then its calls fail and it no
/// longer affects others.
///
/// Committed transactions are serializable, in the order of their versions: each behaves as if all its reads had happened at the moment of
/// its commit. The implementation decides how to find conflicts, and who waits for whom. An optimistic transaction makes nobody wait.
///
/// All methods may be called concurrently from any task, even for one transaction and on event loops: none blocks the thread of its caller.
protocol Transactions: Sendable {
  /// Opens a transaction.
  ///
  /// - Parameters:
  ///   - repeated: The id of the transaction that is tried again, for fairness among transactions that wait for each other; empty for none. One
  ///     that is not known counts as none.
  ///   - version: Fixes the snapshot at once; only of a read-only transaction.
  /// - Throws: RESOURCE_EXHAUSTED if too many are open; UNAVAILABLE.
  func begin(
    _ isolation: TransactionIsolation, repeating repeated: [UInt8], at version: SnapshotVersion?
  ) async throws(StatusError) -> [UInt8]

  /// Makes something a part of what a transaction has read, before the caller reads it from the storage. It may wait for commits and other
  /// transactions.
  ///
  /// - Parameter query: The result of a query, or a sum over it.
  /// - Returns: The version to read at, the same for all reads of a transaction; nil for the present, which then stays as it is for these documents
  ///   and this query until the transaction ends. An older transaction or write that changes them may end it. Commits that were acknowledged before the first read are part of either.
  /// - Throws: INVALID_ARGUMENT for a transaction that is not open, or has read too much. ABORTED for one that has waited too long, was
  ///   part of a deadlock, or has lost what it read: it has ended. CANCELLED when the task is cancelled while it waits. UNAVAILABLE.
  func read(
    _ transaction: [UInt8], keys: [DocumentKey], query: Query?
  ) async throws(StatusError) -> SnapshotVersion?

  /// Ends a transaction by its commit, which applies all writes or none, durably.
  ///
  /// A client whose answer was lost repeats the call. With the same writes it gets the outcome of the first one for a minute, and waits for one
  /// that is still in progress, so it never applies them twice. After trouble that leaves nothing behind (UNAVAILABLE, RESOURCE_EXHAUSTED, INTERNAL,
  /// CANCELLED) the transaction is open again. A task that is cancelled while the commit is made durable gets its outcome all the same.
  ///
  /// - Parameter request: Its mutations may be none: then the transaction only ends. Otherwise as those of ``ServerStorage/commit(_:)``.
  /// - Throws: INVALID_ARGUMENT for a transaction that is not open, or for writes of a read-only one; ABORTED if something that it has read was
  ///   changed; what ``ServerStorage/commit(_:)`` throws.
  func commit(_ request: CommitRequest, ending transaction: [UInt8]) async throws(StatusError) -> CommitOutcome

  /// Ends a transaction without a commit, also in a task that is cancelled. Does nothing for one that has ended.
  ///
  /// - Throws: INVALID_ARGUMENT for bytes that are no id; UNAVAILABLE: then it ends when its time is over.
  func rollback(_ transaction: [UInt8]) async throws(StatusError)

  /// Ends all open transactions that may write, whose next calls are ABORTED, and what others wait for because of them.
  ///
  /// - Throws: UNAVAILABLE: then they are open.
  func abortAll() async throws(StatusError)

  /// The use of the transactions now, for metrics. It costs a few locks.
  func use() -> TransactionUse

  /// True while the database must not be closed because a transaction, or an outcome that is remembered, would be lost.
  var hasOpen: Bool { get }
}
