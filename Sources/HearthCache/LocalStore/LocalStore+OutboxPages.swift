package import HearthModel
internal import HearthStore

extension LocalStore {
  /// A part of an outbox that is read in one step.
  package struct OutboxPage: Equatable, Sendable {
    package var batches: [MutationBatch]
    /// True if nothing is left behind it.
    package var isLast: Bool

    package init(batches: [MutationBatch], isLast: Bool) {
      self.batches = batches
      self.isLast = isLast
    }
  }

  /// The size of the part of an outbox that one step reads.
  package struct OutboxPageLimits: Sendable {
    package var batchCount: Int
    /// Reached by the batch that exceeds it, so that a page is never empty before the end.
    package var byteCount: Int

    package init(batchCount: Int = 250, byteCount: Int = 256 << 10) {
      self.batchCount = batchCount
      self.byteCount = byteCount
    }
  }

  /// The next part of a user's outbox, in order.
  ///
  /// - Parameters:
  ///   - batchID: the last batch of the part before; -1 for the first part.
  ///   - last: the last batch that is wanted.
  ///   - user: nil when no user is signed in.
  /// - Throws: `CacheError.unreadableBatch`, `StoreError`.
  package func outboxPage(
    after batchID: BatchID, through last: BatchID, of user: String?, _ limits: OutboxPageLimits = .init()
  ) throws -> OutboxPage {
    try read("List pending batches") {
      guard let row = try queue.row(of: user) else { return OutboxPage(batches: [], isLast: true) }
      let count = try queue.batchCount(after: batchID, through: last, within: limits, user: row)
      let batches = try queue.batches(after: batchID, limit: Int64(count), user: row)
      return OutboxPage(batches: batches, isLast: batches.last.map { $0.batchID >= last } ?? true)
    }
  }
}

extension LocalStore {
  /// The parts of the user's pending batches for each document in a query's collections that has any, in the order of the batches.
  ///
  /// - Returns: Nil if there are more documents than `maximumDocuments`; then no batch is read.
  package func pendingWrites(
    in query: Query, maximumDocuments: Int
  ) throws -> [DocumentKey: [MutationBatch]]? {
    try read("Read pending writes of a query") {
      guard let user = try userRow() else { return [:] }
      let keys = try queue.pendingKeys(shownBy: query, user: user)
      guard keys.count <= maximumDocuments else { return nil }
      var writes: [DocumentKey: [MutationBatch]] = [:]
      for batchID in Set(try queue.pendingBatchIDs(for: keys, user: user).values.joined()).sorted() {
        // A batch that is not there any more will have been answered.
        guard let batch = try queue.batch(batchID, user: user) else { continue }
        for (key, part) in batch.parts where keys.contains(key) { writes[key, default: []].append(part) }
      }
      return writes
    }
  }
}

extension MutationQueue {
  /// The number of batches of one page. Reads the sizes of the batches only.
  fileprivate func batchCount(
    after batchID: BatchID, through last: BatchID, within limits: LocalStore.OutboxPageLimits, user: UserRow
  ) throws -> Int {
    var (count, bytes) = (0, 0)
    try database.forEachRow(
      """
      SELECT length(batch) FROM cache_mutation_batches
      WHERE user_id = ? AND batch_id > ? AND batch_id <= ? ORDER BY batch_id LIMIT ?
      """,
      .integer(user), .integer(batchID), .integer(last), .integer(Int64(limits.batchCount))
    ) {
      count += 1
      bytes += Int(clamping: try $0.int64(at: 0))
      return bytes < limits.byteCount
    }
    return count
  }

  /// The documents that the user has pending batches for, among those that a query can show. Reads no batch: the effort grows
  /// with the documents in the query's collection, or, for a collection group, with all of the user's.
  ///
  /// - Parameter query: nil for all documents.
  func pendingKeys(shownBy query: Query?, user: UserRow) throws -> Set<DocumentKey> {
    var keys: Set<DocumentKey> = []
    let scope = query.map { CollectionScope(of: $0) }
    let isForOneDocument = query?.documentAtPath != nil
    func collect(_ statement: Statement) -> Bool {
      // A path that cannot be read is no document's, and no view shows it.
      guard let key = try? statement.documentKey(at: 0, table: "cache_batch_documents") else { return true }
      if isForOneDocument || scope?.contains(key) ?? true { keys.insert(key) }
      return true
    }
    switch (query, scope) {
    case (let query?, _) where isForOneDocument:
      try database.forEachRow(
        "SELECT path FROM cache_batch_documents WHERE user_id = ? AND path = ? LIMIT 1",
        .integer(user), .text(query.path.canonicalString), body: collect)
    case (_, .collection(let path)):
      // The range holds the collection and its subcollections: "/" is the only separator and "0" the byte behind it.
      try database.forEachRow(
        """
        SELECT DISTINCT path FROM cache_batch_documents
        WHERE user_id = ?1 AND path >= ?2 || '/' AND path < ?2 || '0'
        """,
        .integer(user), .text(path.canonicalString), body: collect)
    default:
      try database.forEachRow(
        "SELECT DISTINCT path FROM cache_batch_documents WHERE user_id = ?", .integer(user), body: collect)
    }
    return keys
  }
}
