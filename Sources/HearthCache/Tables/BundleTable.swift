internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The loaded bundles and their named queries.
struct BundleTable {
  let database: Database
  let databaseID: DatabaseID

  /// The time at which the last loaded bundle of that id was made.
  func createTime(of bundleID: String) throws -> SnapshotVersion? {
    try database.firstRow("SELECT create_seconds, create_nanos FROM bundles WHERE bundle_id = ?", .text(bundleID)) {
      try $0.version(at: 0, table: "bundles", row: bundleID)
    }
  }

  func save(_ metadata: BundleMetadata) throws {
    assert(database.isInWriteTransaction, "a bundle changes outside of a write transaction")
    try database.update(
      "INSERT OR REPLACE INTO bundles (bundle_id, format_version, create_seconds, create_nanos) VALUES (?, ?, ?, ?)",
      .text(metadata.id), .integer(Int64(metadata.version)), .integer(metadata.createTime.timestamp.seconds),
      .integer(Int64(metadata.createTime.timestamp.nanoseconds)))
  }

  /// Lets every bundle be loaded again.
  func forgetLoaded() throws {
    assert(database.isInWriteTransaction, "a bundle changes outside of a write transaction")
    try database.update("DELETE FROM bundles")
  }

  func removeAll() throws {
    assert(database.isInWriteTransaction, "a bundle changes outside of a write transaction")
    try forgetLoaded()
    try database.update("DELETE FROM named_queries")
  }

  func query(named name: String) throws -> NamedQuery? {
    try database.firstRow(
      "SELECT target, is_limit_to_last, read_seconds, read_nanos FROM named_queries WHERE name = ?", .text(name)
    ) {
      var query: Query
      do {
        query = try CacheCodec.decodeTarget(try $0.bytes(at: 0), database: databaseID).query
      } catch {
        throw CacheError.corruptRecord(table: "named_queries", row: name, reason: "\(error)")
      }
      if try $0.int64(at: 1) != 0, let limit = query.limit { query = query.with(limit: limit, type: .last) }
      return NamedQuery(
        name: name, query: query, readTime: try $0.version(at: 2, table: "named_queries", row: name))
    }
  }

  func save(_ named: NamedQuery) throws {
    assert(database.isInWriteTransaction, "a bundle changes outside of a write transaction")
    var fromTheBeginning = named.query
    if let limit = named.query.limit { fromTheBeginning = named.query.with(limit: limit, type: .first) }
    try database.update(
      """
      INSERT OR REPLACE INTO named_queries (name, target, is_limit_to_last, read_seconds, read_nanos)
      VALUES (?, ?, ?, ?, ?)
      """,
      .text(named.name), .blob(CacheCodec.encode(target: fromTheBeginning.target, database: databaseID)),
      .integer(named.query.isLimitToLast ? 1 : 0), .integer(named.readTime.timestamp.seconds),
      .integer(Int64(named.readTime.timestamp.nanoseconds)))
  }
}
