internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The outbox: one queue of mutation batches per user, in the order of the writes.
///
/// `UserRow` is the number of the user's row; a user without a row has never written anything.
struct MutationQueue {
  typealias UserRow = Int64

  /// The row of rows that are kept although it is not known whose they are. No user has it, and nothing in them is sent.
  static let unknownUser: UserRow = -1

  let database: Database
  let databaseID: DatabaseID
  let globals: CacheGlobals

  // MARK: Users

  /// The row of a user; nil before the first write.
  func row(of user: String?) throws -> UserRow? {
    try row(userKey: Self.userKey(user))
  }

  func makeRow(userKey: String) throws -> UserRow {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    if let row = try row(userKey: userKey) { return row }
    try database.update("INSERT INTO cache_users (user_key) VALUES (?)", .text(userKey))
    guard let row = try row(userKey: userKey) else {
      throw CacheError.corruptRecord(table: "cache_users", row: userKey, reason: "the new row is missing")
    }
    try checkIsNobodys(row)
    return row
  }

  private func row(userKey: String) throws -> UserRow? {
    let row = try database.firstRow("SELECT user_id FROM cache_users WHERE user_key = ?", .text(userKey)) {
      try $0.int64(at: 0)
    }
    // A user with a damaged key is not one without a row.
    if row == nil { try checkKeys() }
    return row
  }

  /// The users that have pending batches, in order. Its cost grows with their number, not with that of all users or of the batches.
  func usersWithPendingBatches() throws -> [UserRow] {
    var rows: [UserRow] = []
    try database.forEachRow(
      """
      \(Self.owners(in: "cache_mutation_batches"))
      SELECT id FROM owners WHERE id IN (SELECT user_id FROM cache_users) ORDER BY id
      """
    ) {
      rows.append(try $0.int64(at: 0))
      return true
    }
    return rows
  }

  func hasPendingBatches(userKey: String) throws -> Bool {
    guard let row = try row(userKey: userKey) else { return false }
    return try database.firstRow(
      "SELECT 1 FROM cache_mutation_batches WHERE user_id = ? LIMIT 1", .integer(row)
    ) { _ in true } ?? false
  }

  /// The key in the table of the identity with this name. See `OutboxOwner`.
  static func userKey(_ user: String?) -> String { OutboxOwner.key(ofName: user) }

  // MARK: Batches

  /// Appends a batch under the next batch id.
  func append(
    _ mutations: [Mutation], baseMutations: [Mutation], localWriteTime: Timestamp, identity: BatchIdentity?,
    keepsOutcome: Bool, keepsBases: Bool, _ kept: KeptBases, user: UserRow
  ) throws -> MutationBatch {
    assert(!mutations.isEmpty, "a batch without mutations is queued, and no answer would end it")
    assert(keepsBases || kept.guards == nil, "a batch is sent under conditions that no rule for conflicts asks for")
    let batch = MutationBatch(
      batchID: try globals.takeBatchID(), identity: identity, localWriteTime: localWriteTime,
      baseMutations: baseMutations, mutations: mutations, keepsOutcome: keepsOutcome, keepsBases: keepsBases,
      guards: kept.guards, views: kept.views)
    batch.assertInvariants()
    try insert(batch, user: user)
    return batch
  }

  /// Stores a batch under the id that it carries. It may come from another file, whose contents prove nothing.
  func insert(_ batch: MutationBatch, user: UserRow) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try database.update(
      "INSERT INTO cache_mutation_batches (batch_id, user_id, batch) VALUES (?, ?, ?)",
      .integer(batch.batchID), .integer(user), .blob(CacheCodec.encode(batch: batch, database: databaseID)))
    for key in batch.keys.sorted() {
      try database.update(
        "INSERT INTO cache_batch_documents (user_id, path, batch_id) VALUES (?, ?, ?)",
        .integer(user), .text(key.canonicalString), .integer(batch.batchID))
    }
    try receipts.insert(batch)
  }

  private var receipts: ReceiptTable { ReceiptTable(database: database) }

  /// Rebuilds the table of receipts from the readable batches.
  func rebuildReceipts() throws {
    try receipts.removeAll()
    try database.forEachRow("SELECT batch_id, batch FROM cache_mutation_batches ORDER BY batch_id") {
      if let batch = try? decode($0) { try receipts.insert(batch) }
      return true
    }
  }

  /// Stores a batch with other base mutations or guards in the place of its row.
  func replace(_ batch: MutationBatch) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try database.update(
      "UPDATE cache_mutation_batches SET batch = ? WHERE batch_id = ?",
      .blob(CacheCodec.encode(batch: batch, database: databaseID)), .integer(batch.batchID))
    guard database.changedRowCount == 1 else { throw Self.isOnlyInOnePlace(batch.batchID) }
  }

  func remove(_ batch: MutationBatch, user: UserRow) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try database.update("DELETE FROM cache_mutation_batches WHERE batch_id = ?", .integer(batch.batchID))
    for key in batch.keys.sorted() {
      try database.update(
        "DELETE FROM cache_batch_documents WHERE user_id = ? AND path = ? AND batch_id = ?",
        .integer(user), .text(key.canonicalString), .integer(batch.batchID))
    }
    try receipts.remove(batch)
  }

  /// Returns whether the queue of the user, or of anybody, holds the batch, readable or not, and no other one under its number: where an older
  /// copy of the file has taken its place, numbers are given again.
  ///
  /// - Parameter identity: Nil to ask for the number only.
  func holds(_ batchID: BatchID, _ identity: BatchIdentity?, of user: UserRow? = nil) throws -> Bool {
    let place = try database.firstRow(
      """
      SELECT coalesce(instr(batch, ?2), 0) FROM cache_mutation_batches
      WHERE batch_id = ?1 AND \(user == nil ? "?3 = 0" : "user_id = ?3")
      """,
      .integer(batchID), .blob(identity?.bytes ?? []), .integer(user ?? 0)
    ) { try $0.int64(at: 0) }
    guard let place else {
      if let user { try checkAbsence(of: batchID, user: user) }
      return false
    }
    if user == nil { try checkOwner(of: batchID) }
    guard let identity, place == 0 else { return true }
    // A row that cannot be read is not taken for another batch.
    let stored = try? database.firstRow(
      "SELECT batch_id, batch FROM cache_mutation_batches WHERE batch_id = ?", .integer(batchID), body: decode)
    return stored?.identity == nil || stored?.identity == identity
  }

  func batch(_ batchID: BatchID, user: UserRow) throws -> MutationBatch? {
    let batch = try database.firstRow(
      "SELECT batch_id, batch FROM cache_mutation_batches WHERE batch_id = ? AND user_id = ?",
      .integer(batchID), .integer(user), body: decode)
    if batch == nil { try checkAbsence(of: batchID, user: user) }
    return batch
  }

  /// The first batch behind `batchID` in the user's queue.
  func batch(after batchID: BatchID, user: UserRow) throws -> MutationBatch? {
    try database.firstRow(
      """
      SELECT batch_id, batch FROM cache_mutation_batches
      WHERE user_id = ? AND batch_id > ? ORDER BY batch_id LIMIT 1
      """, .integer(user), .integer(batchID)
    ) { try decode($0, after: batchID) }
  }

  /// At most `limit` batches behind `batchID`, in order.
  func batches(after batchID: BatchID, limit: Int64, user: UserRow) throws -> [MutationBatch] {
    var batches: [MutationBatch] = []
    try database.forEachRow(
      """
      SELECT batch_id, batch FROM cache_mutation_batches
      WHERE user_id = ? AND batch_id > ? ORDER BY batch_id LIMIT ?
      """,
      .integer(user), .integer(batchID), .integer(limit)
    ) {
      batches.append(try decode($0, after: batches.last?.batchID ?? batchID))
      return true
    }
    return batches
  }

  /// A row that is not behind the one before it came through an index that belongs to other rows.
  private func decode(_ row: Statement, after batchID: BatchID) throws -> MutationBatch {
    let found = try row.int64(at: 0)
    guard found > batchID else {
      throw Self.pagesAreDamaged("The index of cache_mutation_batches gives batch \(found) behind batch \(batchID).")
    }
    return try decode(row)
  }

  func batchCount(user: UserRow) throws -> Int {
    try database.firstRow("SELECT count(*) FROM cache_mutation_batches WHERE user_id = ?", .integer(user)) {
      Int(clamping: try $0.int64(at: 0))
    } ?? 0
  }

  /// The batch of a write with a receipt that has this identity, of any user. Reads two rows, however long the queue is.
  func batchID(of identity: BatchIdentity) throws -> BatchID? {
    guard let batchID = try receipts.batchID(of: identity) else { return nil }
    let batch = try database.firstRow(
      "SELECT batch_id, batch FROM cache_mutation_batches WHERE batch_id = ?", .integer(batchID), body: decode)
    return batch?.identity == identity ? batchID : nil
  }

  /// The batches with these identities, of any user, with a receipt or without. Reads the whole queue once, however many they are.
  func batchIDs(of identities: Set<BatchIdentity>) throws -> [BatchIdentity: BatchID] {
    var found: [BatchIdentity: BatchID] = [:]
    try database.forEachRow("SELECT batch_id, batch FROM cache_mutation_batches") {
      if let batch = try? decode($0), let identity = batch.identity, identities.contains(identity) {
        found[identity] = batch.batchID
      }
      return found.count < identities.count
    }
    return found
  }

  func highestBatchID(user: UserRow, notAfter limit: BatchID = .max) throws -> BatchID? {
    try database.firstRow(
      "SELECT batch_id FROM cache_mutation_batches WHERE user_id = ? AND batch_id <= ? ORDER BY batch_id DESC LIMIT 1",
      .integer(user), .integer(limit)
    ) { try $0.int64(at: 0) }
  }

  /// The last batch up to a number among those that wait and those that cannot be read, which may come back into the queue.
  func highestKnownBatchID(user: UserRow, notAfter limit: BatchID) throws -> BatchID? {
    let unreadable = try database.firstRow(
      "SELECT batch_id FROM cache_unreadable_batches WHERE user_id = ? AND batch_id <= ? ORDER BY batch_id DESC LIMIT 1",
      .integer(user), .integer(limit)
    ) { try $0.int64(at: 0) }
    let waiting = try highestBatchID(user: user, notAfter: limit)
    return [unreadable, waiting].compactMap(\.self).max()
  }

  // MARK: Batches that cannot be read

  /// The batches of all users that cannot be read, in order. Reads all queues.
  func unreadableBatches() throws -> [UnreadableBatch] {
    var batches: [UnreadableBatch] = []
    try database.forEachRow("SELECT batch_id, batch, user_id FROM cache_mutation_batches ORDER BY batch_id") {
      do {
        _ = try decode($0)
      } catch CacheError.unreadableBatch(let batchID, let reason) {
        let user = try $0.int64(at: 2)
        guard try isIndexed(batchID, user: user) else { throw Self.isOnlyInOnePlace(batchID) }
        batches.append(
          UnreadableBatch(batchID: batchID, reason: reason, user: user, keys: try keys(of: batchID, user: user)))
      }
      return true
    }
    return batches
  }

  /// The documents of a batch, without those whose row is damaged as well.
  private func keys(of batchID: BatchID, user: UserRow) throws -> [DocumentKey] {
    var keys: [DocumentKey] = []
    try database.forEachRow(
      "SELECT path FROM cache_batch_documents WHERE user_id = ? AND batch_id = ?", .integer(user), .integer(batchID)
    ) {
      if let key = try? $0.documentKey(at: 0, table: "cache_batch_documents") { keys.append(key) }
      return true
    }
    return keys
  }

  /// Takes a batch out of its queue and keeps its row.
  func setAside(_ batch: UnreadableBatch) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try setAside(batch.batchID, from: "cache_mutation_batches", owner: nil, reason: batch.reason)
    try database.update(
      "DELETE FROM cache_batch_documents WHERE user_id = ? AND batch_id = ?", .integer(batch.user),
      .integer(batch.batchID))
  }

  /// Moves a row to the unreadable batches: under its number, or a free one if another batch is kept under that.
  ///
  /// - Parameter owner: The user of the row there; nil for that of the row here.
  func setAside(_ batchID: BatchID, from table: String, owner: UserRow?, reason: String) throws {
    assert(database.isInWriteTransaction, "the queue changes outside of a write transaction")
    try database.update(
      """
      INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason)
      SELECT CASE WHEN batch_id IN (SELECT batch_id FROM cache_unreadable_batches)
          THEN \(CacheGlobals.highestUsedBatchID) + 1 ELSE batch_id END, \(owner.map { "\($0)" } ?? "user_id"), batch, ?
      FROM \(table) WHERE batch_id = ?
      """, .text(reason), .integer(batchID))
    try database.update("DELETE FROM \(table) WHERE batch_id = ?", .integer(batchID))
    try receipts.remove(batchID: batchID)
  }

  // MARK: Batches by document

  /// The ids of the user's pending batches for each of the documents that has any, ascending.
  func pendingBatchIDs(for keys: some Sequence<DocumentKey>, user: UserRow) throws -> [DocumentKey: [BatchID]] {
    var pending: [DocumentKey: [BatchID]] = [:]
    for key in keys {
      try database.forEachRow(
        "SELECT batch_id FROM cache_batch_documents WHERE user_id = ? AND path = ? ORDER BY batch_id",
        .integer(user), .text(key.canonicalString)
      ) {
        pending[key, default: []].append(try $0.int64(at: 0))
        return true
      }
    }
    return pending
  }

  /// Nil if the user has no pending batch for the document.
  func lastPendingBatchID(for key: DocumentKey, user: UserRow) throws -> BatchID? {
    try database.firstRow(
      "SELECT batch_id FROM cache_batch_documents WHERE user_id = ? AND path = ? ORDER BY batch_id DESC LIMIT 1",
      .integer(user), .text(key.canonicalString)
    ) { try $0.int64(at: 0) }
  }

  /// Returns the documents, among some, for which the user has pending batches.
  ///
  /// Reads at most one row and does at most one look-up per key. With fewer pending batches than keys, it reads their rows
  /// and looks up what is among them.
  func keysWithPendingBatches(among keys: [DocumentKey], user: UserRow) throws -> Set<DocumentKey> {
    var paths: Set<String> = []
    var rows = 0
    try database.forEachRow(
      "SELECT path FROM cache_batch_documents WHERE user_id = ? LIMIT ?",
      .integer(user), .integer(Int64(keys.count))
    ) {
      rows += 1
      // A damaged row names none of the documents.
      if let path = try? $0.string(at: 0) { paths.insert(path) }
      return true
    }
    // All rows are read when there were fewer than asked for. Equal strings may still differ in their bytes.
    let candidates = rows < keys.count ? keys.filter { paths.contains($0.canonicalString) } : keys
    return try Set(candidates.filter { try firstPendingBatchID(for: $0, user: user) != nil })
  }

  func firstPendingBatchID(for key: DocumentKey, user: UserRow) throws -> BatchID? {
    try firstPendingBatchIDs(1, for: key, user: user).first
  }

  /// The ids of the user's oldest pending batches for the document, at most so many, ascending.
  func firstPendingBatchIDs(_ count: Int64, for key: DocumentKey, user: UserRow) throws -> [BatchID] {
    var first: [BatchID] = []
    try database.forEachRow(
      "SELECT batch_id FROM cache_batch_documents WHERE user_id = ? AND path = ? ORDER BY batch_id LIMIT ?",
      .integer(user), .text(key.canonicalString), .integer(count)
    ) {
      first.append(try $0.int64(at: 0))
      return true
    }
    return first
  }

  /// Returns whether another user has a pending batch for a document at a path or anywhere below it; the empty path has all of them below it.
  ///
  /// One statement: a look-up for each user who has pending batches, and two more for each of the others. Users who have none cost nothing: a
  /// gateway knows thousands.
  func hasPendingBatch(ofOthersThan user: UserRow?, below path: ResourcePath) throws -> Bool {
    // "0" is the character after "/".
    try database.firstRow(
      """
      \(Self.owners(in: "cache_batch_documents"))
      SELECT 1 FROM owners WHERE id != ?1 AND (?2 = ''
        OR EXISTS (SELECT 1 FROM cache_batch_documents WHERE user_id = id AND path = ?2)
        OR EXISTS (SELECT 1 FROM cache_batch_documents WHERE user_id = id AND path >= ?2 || '/' AND path < ?2 || '0'))
      LIMIT 1
      """, .integer(user ?? Self.unknownUser), .text(path.canonicalString)
    ) { _ in true } ?? false
  }

  /// Returns whether any user has a pending batch for the document.
  func hasPendingBatch(for key: DocumentKey) throws -> Bool {
    try database.firstRow("SELECT 1 WHERE \(Self.isPending("?1"))", .text(key.canonicalString)) { _ in true } ?? false
  }

  /// In SQL: the users that have rows in a table with an index that begins with `user_id`. Each is found from the one before: a gateway knows
  /// thousands of users, and has writes of few.
  private static func owners(in table: String) -> String {
    """
    WITH RECURSIVE owners (id) AS (
      SELECT min(user_id) FROM \(table) UNION ALL
      SELECT (SELECT min(user_id) FROM \(table) WHERE user_id > id) FROM owners WHERE id IS NOT NULL)
    """
  }

  /// In SQL: true if any user has a pending batch for the document.
  ///
  /// - Parameter path: In SQL, the document's path.
  static func isPending(_ path: String) -> String {
    """
    EXISTS (\(owners(in: "cache_batch_documents"))
      SELECT 1 FROM owners CROSS JOIN cache_batch_documents AS b ON b.user_id = id AND b.path = \(path))
    """
  }

  func decode(_ statement: Statement) throws -> MutationBatch {
    let batchID = try statement.int64(at: 0)
    let batch: MutationBatch
    do {
      batch = try CacheCodec.decodeBatch(try statement.bytes(at: 1), database: databaseID)
    } catch let error as WireError {
      throw CacheError.unreadableBatch(batchID, reason: error.description)
    } catch let error as StoreError where error.kind == .corrupt {
      throw CacheError.unreadableBatch(batchID, reason: error.message)
    }
    guard batch.batchID == batchID else {
      throw CacheError.unreadableBatch(batchID, reason: "the batch inside says id \(batch.batchID)")
    }
    return batch
  }
}
