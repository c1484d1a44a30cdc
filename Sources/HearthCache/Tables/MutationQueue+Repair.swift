internal import HearthModel
internal import HearthStore

extension MutationQueue {
  /// Looks for batches of users that do not exist, which would never be sent. Its cost grows with the number of users.
  func checkOwners() throws {
    try checkIndexes()
    try checkKeys()
    try checkOwnersOfBatches()
  }

  /// Makes sure that a queue that looks empty has lost no batch, where that costs little: neither to an index that does not fit the table nor to
  /// a damaged row that names no user. Its cost grows with the number of users that have pending batches.
  func checkEmptiness() throws {
    let problem = try database.firstRow("\(Self.disagreementOnBatches) LIMIT 1") { try $0.string(at: 0) }
    if let problem { throw Self.indexDoesNotFit(problem) }
    try checkOwnersOfBatches()
  }

  /// Makes sure that a batch, if there is a row of it, belongs to a user. Otherwise it would never be sent, and its callers would go on waiting.
  func checkOwner(of batchID: BatchID) throws {
    let lost = try database.firstRow(
      "SELECT 1 FROM cache_mutation_batches WHERE batch_id = ? AND user_id NOT IN (SELECT user_id FROM cache_users)",
      .integer(batchID)
    ) { _ in true }
    if lost != nil { throw Self.ownerIsLost }
  }

  private func checkOwnersOfBatches() throws {
    let lost = try database.firstRow(
      """
      WITH RECURSIVE owners (user) AS (
        SELECT min(user_id) FROM cache_mutation_batches
        UNION ALL
        SELECT (SELECT min(user_id) FROM cache_mutation_batches WHERE user_id > user) FROM owners
        WHERE user IS NOT NULL)
      SELECT 1 FROM owners WHERE user IS NOT NULL AND user NOT IN (SELECT user_id FROM cache_users) LIMIT 1
      """
    ) { _ in true }
    if lost != nil { throw Self.ownerIsLost }
  }

  private static let ownerIsLost = CacheError.corruptRecord(
    table: "cache_mutation_batches", row: "user_id", reason: "a batch belongs to a user that does not exist")

  private static func indexDoesNotFit(_ table: String) -> StoreError {
    pagesAreDamaged("An index of \(table) does not fit the table.")
  }

  /// Gives a row if the table of batches and its index do not agree that there are batches, or on the first or the last one.
  private static let disagreementOnBatches = """
    SELECT 'cache_mutation_batches'
    WHERE EXISTS (SELECT 1 FROM cache_mutation_batches NOT INDEXED)
      <> EXISTS (SELECT 1 FROM cache_mutation_batches INDEXED BY cache_mutation_batches_by_user)
    UNION ALL
    SELECT 'cache_mutation_batches' FROM cache_mutation_batches AS b NOT INDEXED
    WHERE batch_id IN (SELECT min(batch_id) FROM cache_mutation_batches NOT INDEXED
        UNION ALL SELECT max(batch_id) FROM cache_mutation_batches NOT INDEXED)
      AND NOT EXISTS (SELECT 1 FROM cache_mutation_batches AS i INDEXED BY cache_mutation_batches_by_user
        WHERE i.user_id = b.user_id AND i.batch_id = b.batch_id)
    """

  /// Compares the tables with their indexes where that costs little: at all users, at the first and the last
  /// batch, overlay and target.
  ///
  /// Two pages that have changed places are in order for SQLite as long as no check compares tables with indexes; the outbox
  /// looks empty through them, or a document without its pending writes.
  private func checkIndexes() throws {
    let problem = try database.firstRow(
      """
      \(Self.disagreementOnUsers)
      UNION ALL
      \(Self.disagreementOnBatches)
      UNION ALL
      SELECT 'cache_overlays' FROM cache_overlays AS o NOT INDEXED
      WHERE overlay_id IN (SELECT min(overlay_id) FROM cache_overlays NOT INDEXED
          UNION ALL SELECT max(overlay_id) FROM cache_overlays NOT INDEXED)
        AND NOT EXISTS (SELECT 1 FROM cache_overlays AS i INDEXED BY cache_overlays_by_path
          WHERE i.user_id = o.user_id AND i.path IS o.path AND i.overlay_id = o.overlay_id)
      UNION ALL
      SELECT 'cache_targets' FROM cache_targets AS t NOT INDEXED
      WHERE target_id IN (SELECT min(target_id) FROM cache_targets NOT INDEXED
          UNION ALL SELECT max(target_id) FROM cache_targets NOT INDEXED)
        AND (NOT EXISTS (SELECT 1 FROM cache_targets AS i INDEXED BY cache_targets_by_canonical_id
            WHERE i.canonical_id IS t.canonical_id AND i.target_id = t.target_id)
          OR NOT EXISTS (SELECT 1 FROM cache_targets AS i INDEXED BY cache_targets_by_sequence_number
            WHERE i.sequence_number IS t.sequence_number AND i.target_id = t.target_id))
      LIMIT 1
      """
    ) { try $0.string(at: 0) }
    if let problem { throw Self.indexDoesNotFit(problem) }
  }

  /// Gives a row if the table of users and its index do not agree on each of them.
  private static let disagreementOnUsers = """
    SELECT 'cache_users' FROM cache_users AS u NOT INDEXED
    WHERE NOT EXISTS (SELECT 1 FROM cache_users AS i INDEXED BY sqlite_autoindex_cache_users_1
      WHERE i.user_key = u.user_key AND i.user_id = u.user_id)
    UNION ALL
    SELECT 'cache_users' FROM cache_users AS i INDEXED BY sqlite_autoindex_cache_users_1
    WHERE NOT EXISTS (SELECT 1 FROM cache_users AS u NOT INDEXED WHERE u.user_id = i.user_id)
    """

  /// Compares all users with their index. A repair takes those that the table lacks for users who are gone, and their batches for nobody's, while
  /// the index, from which another file can be filled, still has them.
  func checkIndexOfUsers() throws {
    let problem = try database.firstRow("\(Self.disagreementOnUsers) LIMIT 1") { try $0.string(at: 0) }
    if let problem { throw Self.indexDoesNotFit(problem) }
  }

  /// Makes sure that the file still says whose a write is before the write is stored under the number of its user, which is known from memory:
  /// nobody could send a write without an owner, and no salvage could give it one.
  func checkIsUser(_ user: UserRow, userKey: String) throws {
    let isUser = try database.firstRow(
      "SELECT 1 FROM cache_users NOT INDEXED WHERE user_id = ? AND user_key = ?", .integer(user), .text(userKey)
    ) { _ in true }
    if isUser == nil {
      throw CacheError.corruptRecord(table: "cache_users", row: "\(user)", reason: "the user who writes is not there")
    }
  }

  /// Compares all batches with their index. Rows that a repair rebuilds from rows of other users would belong to those users, too.
  func checkIndexOfBatches() throws {
    let batchID = try database.firstRow(
      """
      SELECT batch_id FROM cache_mutation_batches AS b NOT INDEXED
      WHERE NOT EXISTS (SELECT 1 FROM cache_mutation_batches AS i INDEXED BY cache_mutation_batches_by_user
        WHERE i.user_id IS b.user_id AND i.batch_id = b.batch_id)
      UNION ALL
      SELECT batch_id FROM cache_mutation_batches AS i INDEXED BY cache_mutation_batches_by_user
      WHERE NOT EXISTS (SELECT 1 FROM cache_mutation_batches AS b NOT INDEXED WHERE b.batch_id = i.batch_id)
      LIMIT 1
      """
    ) { try $0.int64(at: 0) }
    if let batchID { throw Self.isOnlyInOnePlace(batchID) }
  }

  /// Makes sure that a batch that a user's queue does not have is not in the index of that queue either, and not in a row that names no user. It
  /// would be sent as that user's, and no answer would end it.
  func checkAbsence(of batchID: BatchID, user: UserRow) throws {
    if try isIndexed(batchID, user: user) { throw Self.isOnlyInOnePlace(batchID) }
    try checkOwner(of: batchID)
  }

  func isIndexed(_ batchID: BatchID, user: UserRow) throws -> Bool {
    try database.firstRow(
      """
      SELECT 1 FROM cache_mutation_batches INDEXED BY cache_mutation_batches_by_user WHERE user_id = ? AND batch_id = ?
      """, .integer(user), .integer(batchID)
    ) { _ in true } ?? false
  }

  static func isOnlyInOnePlace(_ batchID: BatchID) -> StoreError {
    pagesAreDamaged("cache_mutation_batches and its index disagree about batch \(batchID).")
  }

  /// Makes sure that a new user did not get the number of another one, whose writes would go out as the new user's. That happens
  /// where the table has lost its rows, and its index has not.
  func checkIsNobodys(_ user: UserRow) throws {
    let problem = try database.firstRow(
      """
      SELECT 1 WHERE
        (SELECT count(*) FROM cache_users INDEXED BY sqlite_autoindex_cache_users_1 WHERE user_id = ?1) <> 1
        OR EXISTS (SELECT 1 FROM cache_mutation_batches INDEXED BY cache_mutation_batches_by_user WHERE user_id = ?1)
        OR EXISTS (SELECT 1 FROM cache_batch_documents WHERE user_id = ?1)
        OR EXISTS (SELECT 1 FROM cache_unreadable_batches WHERE user_id = ?1)
        OR EXISTS (SELECT 1 FROM cache_rejected_batches WHERE user_id = ?1)
      """, .integer(user)
    ) { _ in true }
    guard problem == nil else { throw Self.pagesAreDamaged("The number \(user) of a new user is another one's.") }
  }

  /// As SQLite says it (SQLITE_CORRUPT): only another file helps.
  static func pagesAreDamaged(_ reason: String) -> StoreError {
    StoreError(kind: .corrupt, message: reason, sqliteCode: 11)
  }

  /// The condition for keys that name no user. Bytes behind "=" that are no UTF-8 count as a name.
  private static let isNoKey = OutboxOwner.isNoKey
  private static let findNoKey = "SELECT user_id FROM cache_users WHERE \(isNoKey) LIMIT 1"

  /// Looks for users whose key is damaged, whose batches would never be sent.
  func checkKeys() throws {
    let damaged = try database.firstRow(Self.findNoKey) { try $0.int64(at: 0) }
    guard let damaged else { return }
    throw CacheError.corruptRecord(table: "cache_users", row: "\(damaged)", reason: "the key names no user")
  }

  /// Removes the users whose key is damaged.
  ///
  /// - Returns: Their number.
  func removeUnreadableUsers() throws -> Int {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try database.update("DELETE FROM cache_users WHERE \(Self.isNoKey)")
    return database.changedRowCount
  }

  /// Returns batches of users that do not exist to the users that `cache_batch_documents` names. A batch whose user cannot be
  /// found is set aside: it must not be sent as anybody else.
  ///
  /// - Returns: The batches that were set aside with the numbers of their users, and the number of those that are kept elsewhere and whose user
  ///   was found unknown.
  func repairOwners() throws -> (setAside: [(batchID: BatchID, user: UserRow)], ownerless: Int) {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    // The number of a row that has gone may be given to another user.
    var ownerlessCount = 0
    for table in ["cache_unreadable_batches", "cache_rejected_batches"] {
      try database.update(
        """
        UPDATE \(table) SET user_id = \(Self.unknownUser)
        WHERE user_id <> \(Self.unknownUser) AND user_id NOT IN (SELECT user_id FROM cache_users)
        """)
      ownerlessCount += database.changedRowCount
    }
    var setAside: [(batchID: BatchID, user: UserRow)] = []
    var lost: [(batchID: BatchID, user: UserRow)] = []
    try database.forEachRow(
      """
      SELECT batch_id, CASE typeof(user_id) WHEN 'integer' THEN user_id ELSE \(Self.unknownUser) END
      FROM cache_mutation_batches WHERE user_id NOT IN (SELECT user_id FROM cache_users)
      """
    ) {
      lost.append((try $0.int64(at: 0), try $0.int64(at: 1)))
      return true
    }
    for (batchID, user) in lost {
      let id = Statement.Parameter.integer(batchID)
      var owners: [UserRow] = []
      try database.forEachRow(
        """
        SELECT DISTINCT user_id FROM cache_batch_documents
        WHERE batch_id = ? AND user_id IN (SELECT user_id FROM cache_users)
        """, id
      ) {
        owners.append(try $0.int64(at: 0))
        return true
      }
      if owners.count == 1 {
        try database.update(
          "UPDATE cache_mutation_batches SET user_id = ? WHERE batch_id = ?", .integer(owners[0]), id)
      } else {
        try self.setAside(
          batchID, from: "cache_mutation_batches", owner: Self.unknownUser, reason: "its user is not known")
        setAside.append((batchID, user))
      }
    }
    return (setAside, ownerlessCount)
  }

  /// Rebuilds the list of documents from all batches. A batch that cannot be read keeps the entries that can be.
  ///
  /// - Returns: the documents with pending batches, without those of batches that cannot be read.
  func rebuildDocuments() throws -> [UserRow: Set<DocumentKey>] {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    let unreadable = try unreadableBatches()
    try database.update("DELETE FROM cache_batch_documents")
    var keysByUser: [UserRow: Set<DocumentKey>] = [:]
    let unreadableIDs = Set(unreadable.map(\.batchID))
    try database.forEachRow("SELECT batch_id, batch, user_id FROM cache_mutation_batches ORDER BY batch_id") {
      let (batchID, user) = (try $0.int64(at: 0), try $0.int64(at: 2))
      guard !unreadableIDs.contains(batchID) else { return true }
      let keys = try decode($0).keys
      try enter(keys, of: batchID, user: user)
      keysByUser[user, default: []].formUnion(keys)
      return true
    }
    for batch in unreadable {
      try enter(Set(batch.keys), of: batch.batchID, user: batch.user)
      keysByUser[batch.user]?.subtract(batch.keys)
    }
    return keysByUser
  }

  private func enter(_ keys: Set<DocumentKey>, of batchID: BatchID, user: UserRow) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    for key in keys.sorted() {
      try database.update(
        "INSERT OR IGNORE INTO cache_batch_documents (user_id, path, batch_id) VALUES (?, ?, ?)",
        .integer(user), .text(key.canonicalString), .integer(batchID))
    }
  }

  /// The batches that were set aside and can be read by now, with their users.
  func readableAgain() throws -> [(batch: MutationBatch, user: UserRow)] {
    var batches: [(MutationBatch, UserRow)] = []
    try database.forEachRow(
      """
      SELECT batch_id, batch, user_id FROM cache_unreadable_batches
      WHERE user_id IN (SELECT user_id FROM cache_users)
        AND batch_id NOT IN (SELECT batch_id FROM cache_mutation_batches)
      ORDER BY batch_id
      """
    ) { row in
      do {
        batches.append((try decode(row), try row.int64(at: 2)))
      } catch CacheError.unreadableBatch {
        return true
      }
      return true
    }
    return batches
  }
}
