internal import HearthModel
internal import HearthStore

/// The counting of documents of a scope that only writes in the outboxes tell of: the table of documents does not hold them.
extension ClearingScope {
  /// Counts some of them, for all users.
  ///
  /// - Parameter position: The last document that was looked at before; nil to begin.
  /// - Returns: The number of documents, each counted once, and the position to continue from; nil at the end.
  func countWrittenDocuments(
    in tables: CacheTables, after position: MutationQueue.PendingDocument?, limit: Int
  ) throws -> (count: Int, end: MutationQueue.PendingDocument?) {
    let page = try tables.queue.pendingDocuments(after: position, limit: limit)
    let keys = Set(keys)
    let written = page.filter { entry in
      keys.contains(entry.key) || collections.contains { $0.contains(entry.key) }
    }
    let stored = try tables.documents.documents(for: written.map(\.key))
    let users = try tables.queue.usersWithPendingBatches()
    let count = try written.count { entry in
      // A document of the table was counted there, if the scope takes it.
      if let document = stored[entry.key], !document.isUnknown { return false }
      // One that several users have written is counted at the first of them.
      let isListedBefore = try users.contains { user in
        try user < entry.user && tables.queue.firstPendingBatchID(for: entry.key, user: user) != nil
      }
      guard !isListedBefore else { return false }
      return try query.map { query in
        try users.contains { query.matches(try tables.localDocuments.document(for: entry.key, user: $0)) }
      } ?? true
    }
    return (count, page.count < limit ? nil : page.last)
  }
}
