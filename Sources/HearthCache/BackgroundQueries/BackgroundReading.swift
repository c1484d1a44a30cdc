package import HearthModel
package import HearthPlan
package import HearthStore

/// One reading of the cache outside the loop of a client. It sees the state of the cache at the time when ``LocalStore`` created it.
///
/// It is created on the loop, and used once, from any thread.
package final class BackgroundReading<Answer: Sendable>: Sendable {
  private let snapshot: PinnedSnapshot
  private let body: @Sendable (Database) throws -> Answer

  init(on snapshot: PinnedSnapshot, _ body: @escaping @Sendable (Database) throws -> Answer) {
    self.snapshot = snapshot
    self.body = body
  }

  /// Reads, then closes the connection, also when that fails.
  ///
  /// - Throws: `StoreError`: `unavailable` after ``close()``; `CacheError`.
  package func run() throws -> Answer { try snapshot.read(body) }

  /// Makes the present reading fail, and every later one. Returns when the connection is closed.
  package func close() {
    snapshot.interrupt()
    snapshot.close()
  }
}

extension CacheIndexes {
  /// Takes ``listings()`` away from the loop.
  ///
  /// - Returns: nil when it has to run on the loop, because the cache is in memory.
  package func backgroundListings() throws -> BackgroundReading<[IndexListing]>? {
    guard case .file = transactions.tables.database.location else { return nil }
    return BackgroundReading(on: try PinnedSnapshot(of: transactions.tables.database)) { database in
      try DocumentStore(reading: database).indexes.listings()
    }
  }
}

extension CacheQueries {
  /// Takes ``explain(_:clock:)`` away from the loop.
  ///
  /// - Parameter documentsOnLoop: a query that touches no more documents than this runs on the loop.
  /// - Returns: nil when it should run on the loop: it is quick, or the cache is in memory.
  package func backgroundExplanation(
    of query: Query, documentsOnLoop: Int, clock: @escaping @Sendable () -> Duration
  ) throws -> BackgroundReading<QueryExecution>? {
    guard case .file = transactions.tables.database.location else { return nil }
    if query.documentAtPath != nil { return nil }
    return try transactions.read("Begin background explanation") {
      guard try !isSmall(CollectionScope(of: query), limit: documentsOnLoop) else { return nil }
      // The keys of a query for all documents are all there are, and the planner does not ask for them.
      let target = query.matchesAllDocuments ? nil : try plannedTarget(of: query)
      let (user, databaseID) = (try transactions.user.row(), transactions.tables.databaseID)
      return BackgroundReading(on: try PinnedSnapshot(of: transactions.tables.database)) { database in
        let overlays = OverlayTable(database: database, databaseID: databaseID)
        let targets = TargetTable(
          database: database, databaseID: databaseID, globals: CacheGlobals(database: database))
        let executor = QueryExecutor(
          documents: DocumentStore(reading: database), localMutations: UserOverlays(table: overlays, user: user))
        let previous = try target.flatMap {
          CacheQueries.previousResult(of: $0, keys: try targets.keys(of: $0.targetID))
        }
        var execution = try executor.run(query, previous: previous, clock: clock).execution
        execution.missingIndexes = try executor.missingIndexes(for: query)
        return execution
      }
    }
  }

  /// Returns whether the collections hold no more documents than the limit, stored ones and those with pending writes together.
  func isSmall(_ scope: CollectionScope, limit: Int) throws -> Bool {
    guard let count = try documents.estimatedDocumentCount(in: scope), count <= limit else { return false }
    guard let user = try transactions.user.row() else { return true }
    return try overlays.hasNoMore(than: limit - count, in: scope, user: user)
  }
}

extension OverlayTable {
  /// Counts at most one overlay more than the limit. For a collection group all of the user's count.
  fileprivate func hasNoMore(than limit: Int, in scope: CollectionScope, user: UserRow) throws -> Bool {
    let path = if case .collection(let path) = scope { path.canonicalString } else { "" }
    let range = path.isEmpty ? "path >= ?2" : "path >= ?2 || '/' AND path < ?2 || '0'"
    let count = try database.firstRow(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM cache_overlays INDEXED BY cache_overlays_by_path WHERE user_id = ?1 AND \(range) LIMIT ?3)
      """, .integer(user), .text(path), .integer(Int64(limit) + 1)
    ) { try $0.int64(at: 0) }
    return count.map { $0 <= Int64(limit) } ?? true
  }
}
