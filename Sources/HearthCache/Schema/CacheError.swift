package import HearthModel

/// Errors of the cache itself; failures of the database are `StoreError`s.
package enum CacheError: Error, Equatable, CustomStringConvertible {
  /// A row of the cache does not hold what the schema says: the file is damaged or was written by something else.
  case corruptRecord(table: String, row: String, reason: String)
  /// A batch of some user's queue does not hold what was written. It can be set aside, so that the rest of the queue is sent.
  case unreadableBatch(BatchID, reason: String)
  /// The batch is not in the queue of the current user.
  case unknownBatch(BatchID, user: String?)
  /// The batch may have reached the backend, so that it cannot be taken back any more.
  case batchMayBeSent(BatchID)
  /// No batch of the user that the backend has refused is kept under this number.
  case unknownRejectedBatch(BatchID, user: String?)
  /// The target was not allocated, or was released before.
  case unknownTarget(TargetID)
  /// A write without mutations, which the queue does not hold.
  case emptyBatch
  /// Another client of the cache holds the lease, so this one must not do what only the holder may.
  case leaseLost(held: Int64?, current: Int64)
  /// Other clients of the cache are connected with another backend, so this one must not share it.
  case otherBackend(own: String, others: String)
  /// The cache's files were deleted or replaced while they were in use.
  case filesAreLost(reason: String)
  /// The counter has reached its largest value.
  case exhausted(counter: String, highest: Int64)

  var isOtherBackend: Bool {
    if case .otherBackend = self { true } else { false }
  }

  /// The failure as a status for the caller.
  package var statusCode: StatusCode {
    switch self {
    case .corruptRecord, .unreadableBatch, .filesAreLost: .dataLoss
    case .exhausted: .resourceExhausted
    case .leaseLost, .otherBackend, .batchMayBeSent: .failedPrecondition
    case .unknownRejectedBatch: .notFound
    case .unknownBatch, .unknownTarget, .emptyBatch: .internal
    }
  }

  package var description: String {
    switch self {
    case .corruptRecord(let table, let row, let reason):
      "Cache table \"\(table)\", row \(row): \(reason). The file is damaged; what can be repaired is repaired, "
        + "otherwise the cache is reopened and the file set aside."
    case .unreadableBatch(let batchID, let reason):
      "Batch \(batchID) of the write queue cannot be read: \(reason)"
    case .unknownBatch(let batchID, let user):
      "Batch \(batchID) is not in the write queue of \(user.map { "user \"\($0)\"" } ?? "the signed-out user")."
    case .batchMayBeSent(let batchID):
      "Batch \(batchID) of the write queue may have reached the backend already; its outcome is unknown until the backend answers."
    case .unknownRejectedBatch(let batchID, let user):
      "No rejected write \(batchID) is kept for \(user.map { "user \"\($0)\"" } ?? "the signed-out user")."
    case .unknownTarget(let targetID):
      "Target \(targetID) is not allocated (or was released before)."
    case .emptyBatch:
      "A write batch needs at least one mutation; this one has none."
    case .leaseLost(let held, let current):
      "The lease of the cache has number \(current); this client holds \(held.map { "number \($0)" } ?? "none")."
    case .otherBackend(let own, let others):
      "Other processes use this cache, or have used it, with the backend \(others), and this one does with \(own). Use the same host, or another folder."
    case .filesAreLost(let reason):
      "The cache's files are lost: \(reason)."
    case .exhausted(let counter, let highest):
      "The cache's counter \"\(counter)\" has reached \(highest) and cannot go further."
    }
  }
}
