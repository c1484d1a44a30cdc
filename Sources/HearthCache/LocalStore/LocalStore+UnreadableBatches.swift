package import HearthModel
internal import HearthStore

extension LocalStore {
  /// Puts batches that were set aside back into their queues, where they can be read now: the release that could not may have
  /// been an older one than that which wrote them.
  func retryUnreadableBatches() throws {
    guard try !read("Look at unreadable batches", { try queue.readableAgain() }).isEmpty else { return }
    try transaction("Retry unreadable batches", synchronous: .full) {
      for (batch, user) in try queue.readableAgain() {
        try database.update("DELETE FROM cache_unreadable_batches WHERE batch_id = ?", .integer(batch.batchID))
        // A lost write of a page brings back what was answered before.
        if let identity = batch.identity, try outcomes.outcome(of: identity) != nil { continue }
        try queue.insert(batch, user: user)
        if !isEager {
          for key in batch.keys.sorted() { try uses.markUseByBatch(of: key, sequenceNumber: sequenceNumber()) }
        }
        _ = try localDocuments.recalculate(localDocuments.remoteDocuments(for: batch.keys), user: user)
      }
    }
  }

  /// Returns whether a batch, of any user, still waits for an answer.
  package func isPending(_ batchID: BatchID, _ identity: BatchIdentity?) throws -> Bool {
    try read("Look for batch") { try queue.holds(batchID, identity) }
  }

  /// A waiting batch of a user; nil if the outbox does not hold it.
  package func pendingBatch(_ batchID: BatchID, of user: String?) throws -> MutationBatch? {
    try read("Look for batch") { try queue.row(of: user).flatMap { try queue.batch(batchID, user: $0) } }
  }
}
