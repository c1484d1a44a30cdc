/// The use of one database's transactions at a moment, for metrics.
struct TransactionUse: Sendable {
  /// The number of open transactions.
  var transactions: Int
  /// The documents and queries that they have read together.
  var reads: Int
  /// The reads of the one with the most.
  var greatestReads: Int
  /// The requests that wait for what transactions have locked.
  var waitingRequests: Int
  /// The writes that wait for the document for which most do.
  var greatestWaitingWrites: Int
}
