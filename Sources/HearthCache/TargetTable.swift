internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The targets that the cache knows, and which documents the backend has confirmed for each.
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

  /// Writes the limbo-free version alone: the token in the row stays as old as it is.
  func setLimboFreeVersion(_ version: SnapshotVersion, of targetID: TargetID) throws {
    try database.update(
      "UPDATE cache_targets SET limbo_free_seconds = ?, limbo_free_nanos = ? WHERE target_id = ?",
      .integer(version.timestamp.seconds), .integer(Int64(version.timestamp.nanoseconds)),
      .integer(Int64(targetID)))
  }

  /// Removes the target and its keys.
  func remove(_ targetID: TargetID) throws {
    try database.update("DELETE FROM cache_target_documents WHERE target_id = ?", .integer(Int64(targetID)))
    try database.update("DELETE FROM cache_targets WHERE target_id = ?", .integer(Int64(targetID)))
    try globals.addToTargetCount(-1)
  }

  // MARK: Documents of targets

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

  func add(_ key: DocumentKey, to targetID: TargetID) throws {
    try database.update(
      "INSERT OR IGNORE INTO cache_target_documents (target_id, path) VALUES (?, ?)",
      .integer(Int64(targetID)), .text(key.canonicalString))
  }

  func remove(_ key: DocumentKey, from targetID: TargetID) throws {
    try database.update(
      "DELETE FROM cache_target_documents WHERE target_id = ? AND path = ?",
      .integer(Int64(targetID)), .text(key.canonicalString))
  }

  func hasTarget(for key: DocumentKey) throws -> Bool {
    try database.firstRow(
      "SELECT 1 FROM cache_target_documents WHERE path = ? LIMIT 1", .text(key.canonicalString)
    ) { _ in true } ?? false
  }

  // MARK: Last use of documents

  func markUse(of key: DocumentKey, sequenceNumber: Int64) throws {
    try database.update(
      "INSERT OR REPLACE INTO cache_document_uses (path, sequence_number) VALUES (?, ?)",
      .text(key.canonicalString), .integer(sequenceNumber))
  }

  func lastUse(of key: DocumentKey) throws -> Int64? {
    try database.firstRow(
      "SELECT sequence_number FROM cache_document_uses WHERE path = ?", .text(key.canonicalString)
    ) { try $0.int64(at: 0) }
  }

  // MARK: Rows

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
