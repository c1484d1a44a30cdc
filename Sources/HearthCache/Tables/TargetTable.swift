internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The targets that the cache knows, and the documents that the backend has confirmed for each.
struct TargetTable {
  let database: Database
  let databaseID: DatabaseID
  let globals: CacheGlobals

  // MARK: Targets

  func target(_ target: Target) throws -> TargetData? {
    var found: TargetData?
    try database.forEachRow(
      "SELECT \(Self.columns) FROM cache_targets WHERE canonical_id = ? ORDER BY target_id", .text(target.canonicalID)
    ) {
      let data = try decode($0)
      guard data.target == target else { return true }
      found = data
      return false
    }
    return found
  }

  func targetData(_ targetID: TargetID) throws -> TargetData? {
    try database.firstRow(
      "SELECT \(Self.columns) FROM cache_targets WHERE target_id = ?", .integer(Int64(targetID)), body: decode)
  }

  func insert(_ data: TargetData) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      """
      INSERT INTO cache_targets
      (target_id, canonical_id, target, sequence_number, snapshot_seconds, snapshot_nanos,
       limbo_free_seconds, limbo_free_nanos, resume_token)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      .integer(Int64(data.targetID)), .text(data.target.canonicalID),
      .blob(CacheCodec.encode(target: data.target, database: databaseID)), .integer(data.sequenceNumber),
      .integer(data.snapshotVersion.timestamp.seconds),
      .integer(Int64(data.snapshotVersion.timestamp.nanoseconds)),
      .integer(data.lastLimboFreeSnapshotVersion.timestamp.seconds),
      .integer(Int64(data.lastLimboFreeSnapshotVersion.timestamp.nanoseconds)), .blob(data.resumeToken))
    try globals.addToTargetCount(1)
  }

  /// Writes everything that changes in the life of a target.
  func update(_ data: TargetData) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      """
      UPDATE cache_targets SET sequence_number = ?, snapshot_seconds = ?, snapshot_nanos = ?,
        limbo_free_seconds = ?, limbo_free_nanos = ?, resume_token = ?
      WHERE target_id = ?
      """,
      .integer(data.sequenceNumber), .integer(data.snapshotVersion.timestamp.seconds),
      .integer(Int64(data.snapshotVersion.timestamp.nanoseconds)),
      .integer(data.lastLimboFreeSnapshotVersion.timestamp.seconds),
      .integer(Int64(data.lastLimboFreeSnapshotVersion.timestamp.nanoseconds)), .blob(data.resumeToken),
      .integer(Int64(data.targetID)))
  }

  /// Writes the last use alone.
  func setSequenceNumber(_ number: Int64, of targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      "UPDATE cache_targets SET sequence_number = ? WHERE target_id = ?", .integer(number), .integer(Int64(targetID)))
  }

  /// Writes the limbo-free version alone: the token in the row stays as old as it is.
  func setLimboFreeVersion(_ version: SnapshotVersion, of targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      "UPDATE cache_targets SET limbo_free_seconds = ?, limbo_free_nanos = ? WHERE target_id = ?",
      .integer(version.timestamp.seconds), .integer(Int64(version.timestamp.nanoseconds)),
      .integer(Int64(targetID)))
  }

  /// Removes the target and its keys.
  func remove(_ targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update("DELETE FROM cache_target_documents WHERE target_id = ?", .integer(Int64(targetID)))
    try database.update("DELETE FROM cache_targets WHERE target_id = ?", .integer(Int64(targetID)))
    try globals.addToTargetCount(-1)
  }

  // MARK: Documents of targets

  /// The number of keys a target has; counting stops at `limit`.
  func keyCount(of targetID: TargetID, limit: Int) throws -> Int {
    try database.firstRow(
      "SELECT count(*) FROM (SELECT 1 FROM cache_target_documents WHERE target_id = ? LIMIT ?)",
      .integer(Int64(targetID)), .integer(Int64(limit))
    ) { Int(clamping: try $0.int64(at: 0)) } ?? 0
  }

  func keys(of targetID: TargetID) throws -> Set<DocumentKey> {
    var keys: Set<DocumentKey> = []
    try database.forEachRow(
      "SELECT path FROM cache_target_documents WHERE target_id = ? ORDER BY path", .integer(Int64(targetID))
    ) {
      keys.insert(try $0.documentKey(at: 0, table: "cache_target_documents"))
      return true
    }
    return keys
  }

  /// The next keys of a target, in the order of their paths.
  ///
  /// - Parameter position: the key to continue behind; nil for the beginning.
  func keys(of targetID: TargetID, after position: DocumentKey?, limit: Int) throws -> [DocumentKey] {
    var keys: [DocumentKey] = []
    try database.forEachRow(
      "SELECT path FROM cache_target_documents WHERE target_id = ? AND path > ? ORDER BY path LIMIT ?",
      .integer(Int64(targetID)), .text(position?.canonicalString ?? ""), .integer(Int64(limit))
    ) {
      keys.append(try $0.documentKey(at: 0, table: "cache_target_documents"))
      return true
    }
    return keys
  }

  /// - Parameter sequenceNumber: the last use that this counts as.
  func add(_ key: DocumentKey, to targetID: TargetID, sequenceNumber: Int64) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      """
      INSERT INTO cache_target_documents (target_id, path, sequence_number) VALUES (?, ?, ?)
      ON CONFLICT (target_id, path) DO UPDATE SET sequence_number = excluded.sequence_number
      """,
      .integer(Int64(targetID)), .text(key.canonicalString), .integer(sequenceNumber))
  }

  func remove(_ key: DocumentKey, from targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_target_documents WHERE target_id = ? AND path = ?",
      .integer(Int64(targetID)), .text(key.canonicalString))
  }

  /// The targets that hold a document, also those whose row was removed.
  func targetIDs(of key: DocumentKey) throws -> [TargetID] {
    var targetIDs: [TargetID] = []
    try database.forEachRow(
      "SELECT target_id FROM cache_target_documents WHERE path = ? ORDER BY target_id", .text(key.canonicalString)
    ) {
      targetIDs.append(try Self.targetID($0, table: "cache_target_documents"))
      return true
    }
    return targetIDs
  }

  /// Takes a document away from all targets. Their tokens must be gone.
  func removeFromAll(_ key: DocumentKey) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update("DELETE FROM cache_target_documents WHERE path = ?", .text(key.canonicalString))
  }

  private static func targetID(_ row: Statement, table: String) throws -> TargetID {
    let number = try row.int64(at: 0)
    guard let targetID = TargetID(exactly: number) else {
      throw CacheError.corruptRecord(table: table, row: "\(number)", reason: "a target id has 32 bits")
    }
    return targetID
  }

  func hasTarget(for key: DocumentKey) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_target_documents WHERE path = ? LIMIT 1", .text(key.canonicalString)
    ) { _ in true } ?? false
  }

  // MARK: Garbage collection

  /// A place in the order of last use.
  struct Position: Equatable {
    var sequenceNumber: Int64
    var targetID: TargetID

    static let start = Position(sequenceNumber: .min, targetID: .min)
  }

  /// At most `limit` targets behind a position, the one longest without use first.
  func leastRecentlyUsed(after position: Position, upTo bound: Int64, limit: Int) throws -> [Position] {
    var found: [Position] = []
    try database.forEachRow(
      """
      SELECT target_id, sequence_number FROM cache_targets
      WHERE (sequence_number, target_id) > (?, ?) AND sequence_number <= ?
      ORDER BY sequence_number, target_id LIMIT ?
      """,
      .integer(position.sequenceNumber), .integer(Int64(position.targetID)), .integer(bound), .integer(Int64(limit))
    ) {
      let targetID = try Self.targetID($0, table: "cache_targets")
      found.append(Position(sequenceNumber: try $0.int64(at: 1), targetID: targetID))
      return true
    }
    return found
  }

  /// The number of these targets that have rows.
  func rowCount(of targetIDs: Set<TargetID>) throws -> Int64 {
    guard !targetIDs.isEmpty else { return 0 }
    let list = targetIDs.sorted().map(String.init).joined(separator: ",")
    return try database.firstRow("SELECT count(*) FROM cache_targets WHERE target_id IN (\(list))") {
      try $0.int64(at: 0)
    } ?? 0
  }

  /// The sequence number of the `rank`th least recently used of targets and unneeded documents, counted from 1; nil
  /// when there are fewer.
  ///
  /// - Parameter kept: targets that do not count.
  func sequenceNumber(at rank: Int64, except kept: Set<TargetID> = []) throws -> Int64? {
    let excluded = kept.sorted().map(String.init).joined(separator: ",")
    let condition = kept.isEmpty ? "" : "WHERE target_id NOT IN (\(excluded)) "
    return try database.firstRow(
      """
      SELECT sequence_number FROM (
        SELECT * FROM (SELECT sequence_number FROM cache_targets \(condition)ORDER BY sequence_number LIMIT ?1)
        UNION ALL
        SELECT * FROM (
          SELECT sequence_number FROM cache_document_uses INDEXED BY cache_unneeded_documents
          WHERE is_unneeded = 1 ORDER BY sequence_number LIMIT ?1))
      ORDER BY sequence_number LIMIT 1 OFFSET ?1 - 1
      """, .integer(rank)
    ) { try $0.int64(at: 0) }
  }

  /// Removes the target with its resume token. Its documents stay marked as its own, for
  /// `removeSomeKeysOfRemovedTargets(_:)`; the number is never given again.
  func removeRow(_ targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try noteDropped(targetID)
    try database.update("DELETE FROM cache_targets WHERE target_id = ?", .integer(Int64(targetID)))
    try database.update("INSERT OR IGNORE INTO cache_removed_targets (target_id) VALUES (?)", .integer(Int64(targetID)))
    try globals.addToTargetCount(-1)
  }

  private func noteDropped(_ targetID: TargetID) throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    do {
      guard let data = try targetData(targetID), data.completeVersion > .none else { return }
      try database.update(
        "INSERT OR REPLACE INTO cache_dropped_targets (hash, sequence_number) VALUES (?, ?)",
        .integer(Self.hash(of: data.target)), .integer(data.sequenceNumber))
    } catch CacheError.corruptRecord {
      // A row that cannot be read goes like the others.
    }
  }

  /// So many dropped targets are remembered.
  private static let droppedTargetLimit: Int64 = 1000

  /// Forgets the dropped targets beyond those that were used last.
  func trimDroppedTargets() throws {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    try database.update(
      """
      DELETE FROM cache_dropped_targets WHERE hash IN (
        SELECT hash FROM cache_dropped_targets ORDER BY sequence_number DESC, hash LIMIT -1 OFFSET ?)
      """, .integer(Self.droppedTargetLimit))
  }

  /// True if the target was in sync once and its row was removed since, as far as that is remembered.
  func wasDropped(_ target: Target) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_dropped_targets WHERE hash = ?", .integer(Self.hash(of: target))
    ) { _ in true } ?? false
  }

  /// FNV-1a, the same in every release. Two targets with one hash do no harm: this only tells why a result is not complete.
  private static func hash(of target: Target) -> Int64 {
    Int64(
      bitPattern: target.canonicalID.utf8.reduce(0xcbf2_9ce4_8422_2325) {
        ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
      })
  }

  /// Takes some documents away from a target whose row was removed, and notes which of them nothing needs any more. Their
  /// last use remains what it was.
  ///
  /// - Returns: True if there may be more to do.
  func removeSomeKeysOfRemovedTargets(_ limit: Int) throws -> Bool {
    assert(database.isInWriteTransaction, "a target changes outside of a write transaction")
    guard
      let target = try database.firstRow(
        "SELECT target_id FROM cache_removed_targets ORDER BY target_id LIMIT 1", body: { try $0.int64(at: 0) })
    else { return false }
    let last = try database.firstRow(
      "SELECT path FROM cache_target_documents WHERE target_id = ? ORDER BY path LIMIT 1 OFFSET ?",
      .integer(target), .integer(Int64(max(limit, 1) - 1))
    ) { try $0.string(at: 0) }
    let range = last == nil ? "" : " AND path <= ?2"
    let parameters: [Statement.Parameter] = [.integer(target)] + (last.map { [.text($0)] } ?? [])
    try database.update(
      """
      INSERT INTO cache_document_uses (path, sequence_number, is_unneeded)
      SELECT path, sequence_number,
        NOT EXISTS (SELECT 1 FROM cache_target_documents AS t WHERE t.path = d.path AND t.target_id <> ?1)
        AND NOT \(MutationQueue.isPending("d.path"))
      FROM cache_target_documents AS d WHERE target_id = ?1\(range)
      ON CONFLICT (path) DO UPDATE SET is_unneeded = excluded.is_unneeded,
        sequence_number = max(cache_document_uses.sequence_number, excluded.sequence_number)
      """, parameters)
    try database.update("DELETE FROM cache_target_documents WHERE target_id = ?1\(range)", parameters)
    if last == nil {
      try database.update("DELETE FROM cache_removed_targets WHERE target_id = ?", .integer(target))
    }
    return true
  }

  // MARK: Rows

  /// Calls `body` with the numbers of the rows that do not hold what the schema says.
  func forEachDamaged(_ body: (Int64) -> Void) throws {
    try database.forEachRow("SELECT \(Self.columns) FROM cache_targets") { row in
      let number = try row.int64(at: 0)
      do {
        let data = try decode(row)
        if data.sequenceNumber < 0 || data.sequenceNumber >= CountedNumber.limit { body(number) }
      } catch {
        guard case .rows? = CacheDamage(error) else { throw error }
        body(number)
      }
      return true
    }
  }

  private static let columns = """
    target_id, target, sequence_number, snapshot_seconds, snapshot_nanos, limbo_free_seconds, limbo_free_nanos, \
    resume_token
    """

  private func decode(_ statement: Statement) throws -> TargetData {
    let number = try statement.int64(at: 0)
    let row = "\(number)"
    guard let targetID = TargetID(exactly: number) else {
      throw CacheError.corruptRecord(table: "cache_targets", row: row, reason: "a target id has 32 bits")
    }
    let target: Target
    do {
      target = try CacheCodec.decodeTarget(try statement.bytes(at: 1), database: databaseID)
    } catch {
      throw CacheError.corruptRecord(table: "cache_targets", row: row, reason: "\(error)")
    }
    return TargetData(
      target: target, targetID: targetID, sequenceNumber: try statement.int64(at: 2),
      snapshotVersion: try statement.version(at: 3, table: "cache_targets", row: row),
      lastLimboFreeSnapshotVersion: try statement.version(at: 5, table: "cache_targets", row: row),
      resumeToken: try statement.bytes(at: 7))
  }
}
