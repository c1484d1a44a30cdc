internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The queries that the application has pinned: garbage collection spares their targets and the documents of these.
///
/// A pin names a query, not a target: the row of its target may be removed and created again.
struct PinTable {
  let database: Database
  let databaseID: DatabaseID

  func queries() throws -> [Query] {
    var queries: [Query] = []
    try database.forEachRow("\(Self.select) ORDER BY pin_id") {
      queries.append(try decode($0))
      return true
    }
    return queries
  }

  func contains(_ target: Target) throws -> Bool { try queries().contains { $0.target == target } }

  /// The targets of pinned queries that have rows.
  func targetIDs(in targets: TargetTable) throws -> Set<TargetID> {
    Set(try queries().compactMap { try targets.target($0.target)?.targetID })
  }

  /// - Returns: False if the query was pinned before.
  func insert(_ query: Query) throws -> Bool {
    assert(database.isInWriteTransaction, "a pin changes outside of a write transaction")
    guard try !queries().contains(where: { $0 == query }) else { return false }
    try database.update(
      "INSERT INTO cache_pinned_queries (target, is_limit_to_last) VALUES (?, ?)",
      .blob(CacheCodec.encode(target: query.fromTheBeginning.target, database: databaseID)),
      .integer(query.isLimitToLast ? 1 : 0))
    return true
  }

  /// - Returns: False if the query was not pinned.
  func remove(_ query: Query) throws -> Bool {
    assert(database.isInWriteTransaction, "a pin changes outside of a write transaction")
    var number: Int64?
    try database.forEachRow(Self.select) {
      guard try decode($0) == query else { return true }
      number = try $0.int64(at: 0)
      return false
    }
    guard let number else { return false }
    try database.update("DELETE FROM cache_pinned_queries WHERE pin_id = ?", .integer(number))
    return true
  }

  /// The rows that cannot be read.
  func unreadable() throws -> [Int64] {
    var unreadable: [Int64] = []
    try database.forEachRow(Self.select) { row in
      if (try? decode(row)) == nil { unreadable.append(try row.int64(at: 0)) }
      return true
    }
    return unreadable
  }

  private static let select = "SELECT pin_id, target, is_limit_to_last FROM cache_pinned_queries"

  private func decode(_ row: Statement) throws -> Query {
    let query: Query
    do {
      query = try CacheCodec.decodeTarget(try row.bytes(at: 1), database: databaseID).query
    } catch {
      throw CacheError.corruptRecord(
        table: "cache_pinned_queries", row: "\(try row.int64(at: 0))", reason: "\(error)")
    }
    guard try row.int64(at: 2) != 0, let limit = query.limit else { return query }
    return query.with(limit: limit, type: .last)
  }
}

extension Query {
  /// The query with its limit at the beginning, wherever it counts from: the form in which it is stored.
  fileprivate var fromTheBeginning: Query { limit.map { with(limit: $0, type: .first) } ?? self }
}
