internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The pending writes that can still be read in a damaged cache file.
///
/// Damage hits pages, and a table can be unreadable in the middle while the rest is in order. So the queue is read from its
/// beginning, where that breaks off from its end, and what lies between is looked up by every number that an index or the
/// list of documents still names. Where the pages that lead to the batches are damaged, the pages that hold them are read
/// directly; then only batches count that an index names, because a page may also hold what was answered long ago.
struct SalvagedOutbox {
  struct Entry {
    var userKey: String
    var batch: MutationBatch
  }

  /// The bytes of a batch that is not what this release writes.
  struct UnreadableEntry {
    var batchID: BatchID
    var userKey: String
    var bytes: [UInt8]
    var reason: String
  }

  /// A row of the refused batches. Nothing in it is sent, so that it is taken as it is.
  private struct RejectedRow {
    var batchID: BatchID
    var userKey: String
    var batch: [UInt8]
    var code: Int64
    var message: String
    var seconds: Int64
    var nanoseconds: Int64
    /// By the cache's own scale.
    var keptAt: Int64
  }

  private var keepingTime = KeepingTime()
  private var rejected: [RejectedRow] = []
  var rejectedCount: Int { rejected.count }
  /// False if there may be refused batches that could not be read.
  private(set) var isRejectedComplete = true
  /// What the oldest batches of documents were made for, by the key of their user.
  private var bases: [String: [DocumentKey: BaseDocument]] = [:]
  /// In order of batch id.
  private(set) var batches: [Entry] = []
  /// Kept for a release that can read them.
  private(set) var unreadable: [UnreadableEntry] = []
  /// The number of batches that were seen and of which nothing could be kept.
  private(set) var lostBatchCount = 0
  /// False when the reading broke off somewhere.
  var isComplete = true
  /// True if the file still says where the outbox lies.
  private(set) var hasTables = true
  /// Empty when it could not be read. Then the new cache gets another name, and batch ids may start over: the backend
  /// knows each batch by its own identity, which is saved with it.
  private(set) var cacheID = ""
  private(set) var highestBatchID: BatchID = 0
  private var userKeys: [Int64: String] = [:]
  /// The user's row of each batch that an index or the list of documents names; nil where they disagree.
  private var owners: [BatchID: Int64?] = [:]
  private var seen: Set<BatchID> = []
  private let databaseID: DatabaseID

  var unreadableBatchCount: Int { unreadable.count + lostBatchCount }
  /// The number of batches that were found in the tables and can be read.
  var foundCount: Int { batches.count }

  /// Reads what can be read. The file is not changed.
  ///
  /// - Parameter isImmutable: True for a file without a log that nobody writes; then no files are made beside it either.
  init(reading path: String, databaseID: DatabaseID, isImmutable: Bool = false) {
    self.databaseID = databaseID
    var options = Database.Options()
    options.isReadOnly = true
    options.toleratesDamage = true
    options.isImmutable = isImmutable
    guard let database = try? Database(.file(path: path), options: options) else {
      (isComplete, hasTables, isRejectedComplete) = (false, false, false)
      return
    }
    checkTables(database)
    readGlobals(database)
    readOwners(database)
    readUsers(database, path)
    readQueue(database)
    readSetAside(database)
    readRejected(database)
    readBases(database)
    database.close()
    readMissingBatches(of: path)
    finish()
  }

  // MARK: - Owners and counters

  private mutating func checkTables(_ database: Database) {
    let names = CacheSchema.outboxTables.map { "'\($0)'" }.joined(separator: ", ")
    let sql = "SELECT count(*) FROM sqlite_master WHERE name IN (\(names)) AND rootpage > 1"
    let count = try? database.firstRow(sql) { try $0.int64(at: 0) }
    hasTables = count == Int64(CacheSchema.outboxTables.count)
  }

  private mutating func readGlobals(_ database: Database) {
    func sql(_ column: String) -> String { "SELECT \(column) FROM cache_globals WHERE id = 1" }
    cacheID = (try? database.firstRow(sql("cache_id")) { try $0.string(at: 0) }) ?? ""
    let highest = try? database.firstRow(sql("highest_batch_id")) { try $0.int64(at: 0) }
    if let highest, CountedNumber.range.contains(highest) { highestBatchID = highest }
    if let time = try? CacheGlobals(database: database).keepingTime() { keepingTime = time }
  }

  /// From the table and from its index, each of which has all that is wanted.
  private mutating func readUsers(_ database: Database, _ path: String) {
    for source in ["NOT INDEXED", "INDEXED BY sqlite_autoindex_cache_users_1"] {
      scan(database, "SELECT user_id, user_key FROM cache_users \(source)") { outbox, row in
        // The page may be that of another table or index.
        guard let number = try? row.int64(at: 0), let key = try? row.string(at: 1), OutboxOwner.isKey(key),
          outbox.userKeys[number] == nil
        else { return }
        outbox.userKeys[number] = key
      }
    }
    // If both are damaged, from the pages. Users are never deleted, so every row that is found is right.
    let missing = Set(owners.values.compactMap { $0 }).subtracting(userKeys.keys)
    var found: [Int64: Set<String>] = [:]
    for row in DatabaseLeaves.rows(in: path, numbers: missing) {
      guard row.columns.count == 2, row.columns[0] == .null, case .text(let bytes) = row.columns[1],
        let key = String(validating: bytes, as: UTF8.self), OutboxOwner.isKey(key)
      else { continue }
      found[row.number, default: []].insert(key)
    }
    for (number, keys) in found where keys.count == 1 { userKeys[number] = keys.first }
  }

  private mutating func readOwners(_ database: Database) {
    for table in ["cache_mutation_batches INDEXED BY cache_mutation_batches_by_user", "cache_batch_documents"] {
      scan(database, "SELECT batch_id, user_id FROM \(table) WHERE user_id > 0") { outbox, row in
        guard let batchID = try? row.int64(at: 0), Self.isBatchID(batchID), let user = try? row.int64(at: 1) else {
          return
        }
        if let known = outbox.owners[batchID], known != user {
          outbox.owners[batchID] = .some(nil)
        } else {
          outbox.owners[batchID] = user
        }
      }
    }
  }

  // MARK: - Batches

  /// Numbers that no use of a cache can have given to a batch are damage, and nothing is counted from them.
  private static func isBatchID(_ number: Int64) -> Bool { number > 0 && number < CountedNumber.limit }

  private static let batch = "SELECT batch_id, user_id, batch FROM cache_mutation_batches NOT INDEXED"
  /// Below this many, every number of a gap is looked up.
  private static let gapLimit: Int64 = 50_000

  private mutating func readQueue(_ database: Database) {
    var (low, high) = (Int64(0), Int64.max)
    let isWhole = scan(database, "\(Self.batch) ORDER BY batch_id") { outbox, row in
      if let batchID = outbox.take(row) { low = batchID }
    }
    guard !isWhole else { return }
    isComplete = false
    scan(database, "\(Self.batch) WHERE batch_id > \(low) ORDER BY batch_id DESC") { outbox, row in
      if let batchID = outbox.take(row) { high = batchID }
    }
    let end = min(high, max(highestBatchID, owners.keys.max() ?? 0) + 1)
    var candidates = Set(owners.keys)
    if end > low, end - low <= Self.gapLimit { candidates.formUnion(low..<end) }
    for batchID in candidates.subtracting(seen).sorted() {
      scan(database, "\(Self.batch) WHERE batch_id = \(batchID)") { outbox, row in _ = outbox.take(row) }
    }
  }

  private mutating func readSetAside(_ database: Database) {
    scan(database, "SELECT batch_id, user_id, batch FROM cache_unreadable_batches") { outbox, row in
      _ = outbox.take(row)
    }
  }

  private mutating func readRejected(_ database: Database) {
    let columns = "batch_id, user_id, batch, code, message, rejected_seconds, rejected_nanos, kept_at"
    let isWhole = scan(database, "SELECT \(columns) FROM cache_rejected_batches") { outbox, row in
      guard let user = try? row.int64(at: 1), let userKey = outbox.userKeys[user], let batchID = try? row.int64(at: 0),
        let batch = try? row.bytes(at: 2), (try? outbox.decode(batch, batchID)) != nil,
        let code = try? row.int64(at: 3), let message = try? row.string(at: 4),
        let seconds = try? row.int64(at: 5), let nanoseconds = try? row.int64(at: 6)
      else { return outbox.isRejectedComplete = false }
      let keptAt = (try? row.int64(at: 7)).flatMap { CountedNumber.range.contains($0) ? $0 : nil }
      outbox.rejected.append(
        RejectedRow(
          batchID: batchID, userKey: userKey, batch: batch, code: code, message: message, seconds: seconds,
          nanoseconds: nanoseconds, keptAt: keptAt ?? outbox.keepingTime.seconds))
    }
    if !isWhole { isRejectedComplete = false }
  }

  /// From the beginning of the table, and if that breaks off from its end. What a batch was sent under is in its own row.
  private mutating func readBases(_ database: Database) {
    for order in ["ASC", "DESC"] {
      let isWhole = scan(database, "\(BaseDocumentTable.select) ORDER BY hash \(order)") { outbox, row in
        guard let entry = try? BaseDocumentTable.entry(row), let userKey = outbox.userKeys[entry.user] else { return }
        outbox.bases[userKey, default: [:]][entry.key] = entry.base
      }
      if isWhole { return }
    }
  }

  /// Looks through the pages of the file for batches that exist and were not found.
  private mutating func readMissingBatches(of path: String) {
    let missing = Set(owners.keys).subtracting(seen)
    guard !missing.isEmpty else { return }
    isComplete = false
    for row in DatabaseLeaves.rows(in: path, numbers: missing) where row.columns.count >= 3 {
      guard !seen.contains(row.number), let owner = owners[row.number], let user = owner,
        case .integer(user) = row.columns[1], case .blob(let bytes) = row.columns[2],
        (try? decode(bytes, row.number)) != nil
      else { continue }
      take(row.number, user: user, bytes)
    }
  }

  /// - Returns: the number of the batch, if that can be read.
  private mutating func take(_ row: Statement) -> BatchID? {
    guard let batchID = try? row.int64(at: 0), Self.isBatchID(batchID) else {
      lostBatchCount += 1
      return nil
    }
    guard !seen.contains(batchID) else { return batchID }
    let user = (try? row.int64(at: 1)) ?? owners[batchID].flatMap { $0 }
    take(batchID, user: user, (try? row.bytes(at: 2)) ?? [])
    return batchID
  }

  private mutating func take(_ batchID: BatchID, user: Int64?, _ bytes: [UInt8]) {
    seen.insert(batchID)
    let owner = owners[batchID].flatMap { $0 }
    guard let userKey = user.flatMap({ userKeys[$0] }) ?? owner.flatMap({ userKeys[$0] }) else {
      lostBatchCount += 1
      return
    }
    do {
      batches.append(Entry(userKey: userKey, batch: try decode(bytes, batchID)))
    } catch {
      unreadable.append(UnreadableEntry(batchID: batchID, userKey: userKey, bytes: bytes, reason: "\(error)"))
    }
  }

  private func decode(_ bytes: [UInt8], _ batchID: BatchID) throws -> MutationBatch {
    let batch = try CacheCodec.decodeBatch(bytes, database: databaseID)
    guard batch.batchID == batchID else {
      throw CacheError.unreadableBatch(batchID, reason: "the batch inside says id \(batch.batchID)")
    }
    return batch
  }

  private mutating func finish() {
    lostBatchCount += Set(owners.keys).subtracting(seen).count
    batches.sort { $0.batch.batchID < $1.batch.batchID }
    // Refused batches keep their numbers as well.
    let kept = rejected.lazy.map(\.batchID).filter(Self.isBatchID)
    highestBatchID = max(highestBatchID, seen.max() ?? 0, owners.keys.max() ?? 0, kept.max() ?? 0)
    // Where it was lost, it goes on from the newest of them.
    keepingTime.seconds = max(keepingTime.seconds, rejected.lazy.map(\.keptAt).max() ?? 0)
  }

  /// Calls `body` with each row until one cannot be read.
  /// - Returns: True if all could be read.
  @discardableResult
  private mutating func scan(
    _ database: Database, _ sql: String, _ body: (inout SalvagedOutbox, Statement) -> Void
  ) -> Bool {
    do {
      try database.forEachRow(sql) {
        body(&self, $0)
        return true
      }
      return true
    } catch {
      return false
    }
  }

  // MARK: - Saving

  /// Stores the outbox in an empty database, under the same batch ids, with the overlays and the base documents that go with it.
  func save(to database: Database, databaseID: DatabaseID) throws {
    let documents = try CacheSchema.migrate(database)
    let globals = CacheGlobals(database: database)
    let queue = MutationQueue(database: database, databaseID: databaseID, globals: globals)
    let overlays = OverlayTable(database: database, databaseID: databaseID)
    let localDocuments = LocalDocuments(documents: documents, queue: queue, overlays: overlays)
    try database.transaction("Save outbox", synchronous: .full) {
      try globals.restore(cacheID: cacheID, highestBatchID: highestBatchID)
      try globals.set(keepingTime)
      var keysByUser: [MutationQueue.UserRow: Set<DocumentKey>] = [:]
      for entry in batches {
        let user = try queue.makeRow(userKey: entry.userKey)
        // The process that waits for the answer may be one that opens the new file only when the answer has come.
        var batch = entry.batch
        batch.keepsOutcome = true
        try queue.insert(batch, user: user)
        keysByUser[user, default: []].formUnion(entry.batch.keys)
      }
      for entry in unreadable {
        try database.update(
          "INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason) VALUES (?, ?, ?, ?)",
          .integer(entry.batchID), .integer(queue.makeRow(userKey: entry.userKey)), .blob(entry.bytes),
          .text(entry.reason))
      }
      try saveRejected(to: database, queue)
      try saveBases(to: database, queue, keysByUser)
      // The marks may be older than the batches: all of them count as sent.
      for user in keysByUser.keys.sorted() {
        try SentMarks(database: database).setMark(highestBatchID, of: user)
      }
      for (user, keys) in keysByUser.sorted(by: { $0.key < $1.key }) {
        _ = try localDocuments.recalculate(localDocuments.remoteDocuments(for: keys), user: user)
      }
    }
  }

  /// Only for documents with a pending batch. Where the oldest one was lost, the next one counts as made for what that one was: if the backend
  /// has carried it out, the two are compared.
  private func saveBases(
    to database: Database, _ queue: MutationQueue, _ keysByUser: [MutationQueue.UserRow: Set<DocumentKey>]
  ) throws {
    let table = BaseDocumentTable(database: database)
    for (userKey, bases) in bases.sorted(by: { $0.key < $1.key }) {
      let user = try queue.makeRow(userKey: userKey)
      for (key, base) in bases.sorted(by: { $0.key < $1.key }) where keysByUser[user]?.contains(key) == true {
        try table.set(base, of: key, user: user)
      }
    }
  }

  private func saveRejected(to database: Database, _ queue: MutationQueue) throws {
    for row in rejected {
      try database.update(
        """
        INSERT OR IGNORE INTO cache_rejected_batches
          (batch_id, user_id, batch, code, message, rejected_seconds, rejected_nanos, kept_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        .integer(row.batchID), .integer(queue.makeRow(userKey: row.userKey)), .blob(row.batch), .integer(row.code),
        .text(row.message), .integer(row.seconds), .integer(row.nanoseconds), .integer(row.keptAt))
    }
  }
}
