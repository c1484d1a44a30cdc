internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The resolved conflicts of each user, with the changes that were dropped, until the application discards them.
///
/// The first conflict makes the table (`ConflictSchema`). Users stand there by their keys, so that nothing of it depends on the numbers of their
/// rows.
struct ResolvedConflictTable {
  let database: Database
  let databaseID: DatabaseID

  /// Conflicts are kept for this time of the cache's own scale (`KeepingTime`),
  static let maximumAgeSeconds: Int64 = 30 * 24 * 3600
  /// and at most this many of each user, the oldest go first.
  static let maximumCount: Int64 = 1000

  /// Keeps what one resolution has made of the documents of a write. Those that are too old or too many go.
  func insert(
    _ reports: [ConflictReport], of batch: MutationBatch, _ identity: BatchIdentity, user: String, at time: Timestamp,
    _ globals: CacheGlobals
  ) throws {
    assert(database.isInWriteTransaction, "a kept conflict changes outside of a write transaction")
    try ConflictSchema.schema.migrate(database)
    let now = try globals.keepingTime(at: time)
    let (number, bytes) = (OutcomeTable.number(of: identity), identity.bytes)
    var ordinal = try database.firstRow(Self.nextOrdinal, .integer(number), .blob(bytes)) { try $0.int64(at: 0) } ?? 0
    for report in reports {
      let conflict = KeptConflict(
        id: KeptConflict.ID(identity: identity, number: ordinal), batchID: batch.batchID, resolvedAt: time,
        report: report)
      try database.update(
        """
        INSERT INTO cache_resolved_conflicts (user_key, number, identity, ordinal, kept_at, conflict)
        VALUES (?, ?, ?, ?, ?, ?)
        """, .text(user), .integer(number), .blob(bytes), .integer(ordinal), .integer(now),
        .blob(CacheCodec.encode(conflict: conflict, database: databaseID)))
      ordinal += 1
    }
    try database.update(
      """
      DELETE FROM cache_resolved_conflicts WHERE user_key = ?1 AND (kept_at < ?2 OR conflict_id <= (
        SELECT conflict_id FROM cache_resolved_conflicts WHERE user_key = ?1
        ORDER BY conflict_id DESC LIMIT 1 OFFSET ?3))
      """, .text(user), .integer(now &- Self.maximumAgeSeconds), .integer(Self.maximumCount))
  }

  /// The conflicts of a user, oldest first.
  func conflicts(of user: String) throws -> [KeptConflict] {
    guard try exists else { return [] }
    var conflicts: [KeptConflict] = []
    try database.forEachRow("\(Self.select) WHERE user_key = ? ORDER BY conflict_id", .text(user)) {
      conflicts.append(try decode($0))
      return true
    }
    return conflicts
  }

  /// The conflicts of one write, oldest first.
  func conflicts(of identity: BatchIdentity) throws -> [KeptConflict] {
    guard try exists else { return [] }
    var conflicts: [KeptConflict] = []
    try database.forEachRow(
      "\(Self.select) WHERE number = ? AND identity = ? ORDER BY conflict_id",
      .integer(OutcomeTable.number(of: identity)), .blob(identity.bytes)
    ) {
      conflicts.append(try decode($0))
      return true
    }
    return conflicts
  }

  /// Calls `body` with each row, oldest first, also with those that cannot be read.
  ///
  /// - Parameters:
  ///   - user: The key of a user; nil for the conflicts of all.
  ///   - body: Gets the key of the user, nil if it is damaged, and reads the conflict; returns false to stop.
  func forEach(
    of user: String?, _ body: (_ user: String?, _ conflict: () throws -> KeptConflict) throws -> Bool
  ) throws {
    guard try exists else { return }
    let condition = user == nil ? "" : " WHERE user_key = ?"
    let statement = try database.prepare(
      "\(Self.select)\(condition) ORDER BY conflict_id", user.map { [.text($0)] } ?? [])
    while try statement.step() {
      guard try body(try? statement.string(at: 1), { try decode(statement) }) else { return }
    }
  }

  /// The number of conflicts of each user, by keys; nil stands for damaged ones. Reads no conflict.
  func counts() throws -> [String?: Int] {
    guard try exists else { return [:] }
    var counts: [String?: Int] = [:]
    try database.forEachRow("SELECT user_key, count(*) FROM cache_resolved_conflicts GROUP BY user_key") {
      counts[try? $0.string(at: 0), default: 0] += Int(clamping: try $0.int64(at: 1))
      return true
    }
    return counts
  }

  /// - Parameter ids: Nil for all of the user.
  func remove(_ ids: [KeptConflict.ID]?, of user: String) throws {
    assert(database.isInWriteTransaction, "a kept conflict changes outside of a write transaction")
    guard try exists else { return }
    guard let ids else {
      return try database.update("DELETE FROM cache_resolved_conflicts WHERE user_key = ?", .text(user))
    }
    for id in ids {
      try database.update(
        """
        DELETE FROM cache_resolved_conflicts WHERE user_key = ? AND number = ? AND identity = ? AND ordinal = ?
        """, .text(user), .integer(OutcomeTable.number(of: id.identity)), .blob(id.identity.bytes), .integer(id.number))
    }
  }

  /// Removes the rows that cannot be read. Those that are left age from now on if they say a time that has not come.
  ///
  /// - Returns: Their number.
  func repair() throws -> Int {
    assert(database.isInWriteTransaction, "a kept conflict changes outside of a write transaction")
    guard try exists else { return 0 }
    let unreadable = try self.unreadable()
    for row in unreadable {
      try database.update("DELETE FROM cache_resolved_conflicts WHERE conflict_id = ?", .integer(row))
    }
    try database.update(
      """
      UPDATE cache_resolved_conflicts SET kept_at = (SELECT keeping_seconds FROM cache_globals)
      WHERE typeof(kept_at) <> 'integer' OR kept_at > (SELECT keeping_seconds FROM cache_globals)
      """)
    return unreadable.count
  }

  /// The rows that cannot be read.
  func unreadable() throws -> [Int64] {
    guard try exists else { return [] }
    var unreadable: [Int64] = []
    try database.forEachRow("\(Self.select) ORDER BY conflict_id") { row in
      if (try? decode(row)) == nil { unreadable.append(try row.int64(at: 0)) }
      return true
    }
    return unreadable
  }

  private var exists: Bool {
    get throws {
      let table = "SELECT 1 FROM sqlite_master WHERE name = 'cache_resolved_conflicts'"
      return try database.firstRow(table) { _ in true } != nil
    }
  }

  /// A damaged number is none to count on from.
  private static let nextOrdinal = """
    SELECT coalesce(max(ordinal), -1) + 1 FROM cache_resolved_conflicts
    WHERE number = ? AND identity = ? AND \(CountedNumber.condition("ordinal", in: CountedNumber.bases))
    """

  private static let select = "SELECT conflict_id, user_key, identity, ordinal, conflict FROM cache_resolved_conflicts"

  private func decode(_ row: Statement) throws -> KeptConflict {
    let id = try row.int64(at: 0)
    func damage(_ reason: String) -> CacheError {
      .corruptRecord(table: "cache_resolved_conflicts", row: "\(id)", reason: reason)
    }
    // Behind the largest number of all, SQLite gives new rows any free number, and the order would be lost.
    guard CountedNumber.bases.contains(id) else { throw damage("the number of the row is not counted") }
    guard OutboxOwner.isKey(try row.string(at: 1)) else { throw damage("its user is none") }
    let ordinal = try row.int64(at: 3)
    guard CountedNumber.bases.contains(ordinal) else { throw damage("\(ordinal) conflicts are not counted") }
    guard let identity = BatchIdentity(bytes: try row.bytes(at: 2)) else { throw damage("its identity is none") }
    do {
      return try CacheCodec.decodeConflict(
        row.bytes(at: 4), id: KeptConflict.ID(identity: identity, number: ordinal), database: databaseID)
    } catch let error as WireError {
      throw damage(error.description)
    }
  }
}
