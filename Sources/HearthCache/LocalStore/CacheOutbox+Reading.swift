package import HearthModel
internal import HearthStore

/// Reading the pending batches.
extension CacheOutbox {
  /// The first batch of the current user behind `batchID` (-1 for the first of all).
  package func nextBatch(after batchID: BatchID) throws -> MutationBatch? {
    try transactions.read("Get next mutation batch") {
      if let user = try transactions.user.row(), let batch = try queue.batch(after: batchID, user: user) {
        return batch
      }
      // Calls may wait for batches that damage has taken out of the queue.
      if batchID == unknownBatchID { try queue.checkEmptiness() }
      return nil
    }
  }

  /// The last batch of the owner's outbox, among those up to `limit`; nil if there is none.
  package func highestBatchID(notAfter limit: BatchID = .max, of owner: LocalStore.Owner = .activeUser) throws
    -> BatchID?
  {
    try transactions.read("Get highest unacknowledged batch id") {
      guard let user = try transactions.user.row(of: owner) else { return nil }
      return try queue.highestBatchID(user: user, notAfter: limit)
    }
  }

  /// The last batch of the active user up to `limit`, be it one that was set aside because it cannot be read; nil if there is none.
  package func highestKnownBatchID(notAfter limit: BatchID) throws -> BatchID? {
    try transactions.read("Get highest known batch id") {
      guard let user = try transactions.user.row(of: .activeUser) else { return nil }
      return try queue.highestKnownBatchID(user: user, notAfter: limit)
    }
  }

  /// The owner's outbox in order: at most `limit` batches behind `batchID`.
  package func batches(
    after batchID: BatchID = -1, limit: Int = .max, of owner: LocalStore.Owner = .activeUser
  ) throws -> [MutationBatch] {
    try transactions.read("List pending batches") {
      guard let user = try transactions.user.row(of: owner) else { return [] }
      return try queue.batches(after: batchID, limit: Int64(limit), user: user)
    }
  }

  /// The number of batches in the outbox of a user.
  package func batchCount(of user: String?) throws -> Int {
    try transactions.read("Count pending batches") { try queue.row(of: user).map(queue.batchCount(user:)) ?? 0 }
  }

  /// The size of a batch in the outbox; nil if it has left it.
  package func byteCount(of batchID: BatchID) throws -> Int? {
    try transactions.read("Look for batch") { try queue.byteCount(of: batchID) }
  }

  /// Returns whether a batch, of any user, still waits for an answer.
  package func holds(_ batchID: BatchID, _ identity: BatchIdentity?) throws -> Bool {
    try transactions.read("Look for batch") { try queue.holds(batchID, identity) }
  }

  /// A waiting batch of a user; nil if the outbox does not hold it.
  package func batch(_ batchID: BatchID, of user: String?) throws -> MutationBatch? {
    try transactions.read("Look for batch") { try queue.row(of: user).flatMap { try queue.batch(batchID, user: $0) } }
  }

  /// True if batches that were set aside can be read now: the release that could not may have been an older one than that which wrote them.
  func hasReadableBatchesAgain() throws -> Bool {
    try transactions.read("Look at unreadable batches") { try !queue.readableAgain().isEmpty }
  }

  /// The next part of a user's outbox, in order.
  ///
  /// - Parameters:
  ///   - batchID: the last batch of the part before; -1 for the first part.
  ///   - last: the last batch that is wanted.
  ///   - user: nil when no user is signed in.
  /// - Throws: `CacheError.unreadableBatch`, `StoreError`.
  package func page(
    after batchID: BatchID, through last: BatchID, of user: String?, _ limits: LocalStore.OutboxPageLimits = .init()
  ) throws -> LocalStore.OutboxPage {
    try transactions.read("List pending batches") {
      guard let row = try queue.row(of: user) else { return LocalStore.OutboxPage(batches: [], isLast: true) }
      let count = try queue.batchCount(after: batchID, through: last, within: limits, user: row)
      let batches = try queue.batches(after: batchID, limit: Int64(count), user: row)
      return LocalStore.OutboxPage(batches: batches, isLast: batches.last.map { $0.batchID >= last } ?? true)
    }
  }

  /// The parts of the user's pending batches for each document in a query's collections that has any, in the order of the batches.
  ///
  /// - Returns: Nil if there are more documents than `maximumDocuments`; then no batch is read.
  package func pendingWrites(
    in query: Query, maximumDocuments: Int
  ) throws -> [DocumentKey: [MutationBatch]]? {
    try transactions.read("Read pending writes of a query") {
      guard let user = try transactions.user.row() else { return [:] }
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

  /// The documents for which some users have pending batches, among those that queries can show; all of them if that is nil.
  func pendingKeys(of users: [MutationQueue.UserRow?], shownBy queries: [Query]?) throws -> Set<DocumentKey> {
    var keys: Set<DocumentKey> = []
    for case let user? in users {
      guard let queries else {
        keys.formUnion(try queue.pendingKeys(shownBy: nil, user: user))
        continue
      }
      for query in queries { keys.formUnion(try queue.pendingKeys(shownBy: query, user: user)) }
    }
    return keys
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
