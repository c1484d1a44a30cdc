package import HearthModel
internal import HearthStore

/// The limits above which a query leaves the loop.
package struct BackgroundQueryLimits: Sendable {
  /// A query that touches no more stored documents than this runs on the loop: it takes a few milliseconds, and leaving would
  /// take about half of one.
  package var documentsOnLoop: Int
  /// The parts into which a scan is cut, each with a connection and, where there are cores, a thread of its own.
  package var partsPerScan: Int
  /// The limit of connections for all background queries together. Further queries run on the loop.
  package var connections: Int

  package init(documentsOnLoop: Int = 4_000, partsPerScan: Int, connections: Int = 10) {
    self.documentsOnLoop = documentsOnLoop
    self.partsPerScan = partsPerScan
    self.connections = connections
  }
}

extension CacheQueries {
  /// Takes a query that is expected to touch many documents away from the loop, on the state that the cache has now.
  ///
  /// - Parameters:
  ///   - aggregations: the aggregations to compute instead of returning the documents.
  ///   - wantsConfirmedKeys: the answer is to have the keys that the backend has confirmed for the target, and to start from
  ///     them, as ``run(_:usePreviousResults:)`` has; without it the answer is that of ``read(_:)``.
  ///   - connections: the maximum number of connections to open.
  /// - Returns: nil when the query should run on the loop: it is expected to be quick, the cache is in memory, or no
  ///   connection may be opened.
  /// - Throws: `StoreError`, `CacheError` when the cache cannot be read or no connection can be made.
  package func makeBackgroundQuery(
    _ query: Query, aggregations: [Aggregation] = [], wantsConfirmedKeys: Bool, limits: BackgroundQueryLimits,
    connections: Int
  ) throws -> BackgroundQuery? {
    guard case .file = transactions.tables.database.location, connections > 0, limits.partsPerScan > 0 else {
      return nil
    }
    if query.documentAtPath != nil { return nil }
    // No other client may write between two snapshots.
    let body = { [self] () throws -> BackgroundQuery? in
      let scope = CollectionScope(of: query)
      if try isSmall(scope, limit: limits.documentsOnLoop) { return nil }
      let data = try plannedTarget(of: query)
      let steps: [BackgroundQuery.Step]
      let effort = try QueryExecutor(documents: documents).indexEffort(of: query, atMost: limits.documentsOnLoop)
      if effort == .small { return nil }
      if effort == .unknown || (!aggregations.isEmpty && query.limit != nil) {
        steps = [.plan(data)]
      } else if let data, !query.matchesAllDocuments, data.lastLimboFreeSnapshotVersion > .none {
        guard try !isQuick(query, previousResultOf: data, scope, limit: limits.documentsOnLoop) else { return nil }
        steps = [.plan(data)]
      } else {
        let keys: [BackgroundQuery.Step] = wantsConfirmedKeys ? data.map { [.confirmedKeys($0.targetID)] } ?? [] : []
        guard connections > keys.count else { return nil }
        let parts = try documents.parts(of: scope, count: min(limits.partsPerScan, connections - keys.count))
        steps = keys + parts.map { .scan($0) }
      }
      return BackgroundQuery(
        query: query, aggregations: aggregations, databaseID: transactions.tables.databaseID,
        user: try transactions.user.row(),
        steps: try steps.map { ($0, try PinnedSnapshot(of: self.transactions.tables.database)) })
    }
    return try transactions.sharing.isShared
      ? transactions.run("Begin background query", body) : transactions.read("Begin background query", body)
  }

  /// Returns whether starting from the previous result of a target surely touches few documents.
  private func isQuick(
    _ query: Query, previousResultOf data: TargetData, _ scope: CollectionScope, limit: Int
  ) throws -> Bool {
    // A document that has left the result may make the planner look at all others.
    guard query.limit == nil else { return false }
    let keyCount = try targets.keyCount(of: data.targetID, limit: limit)
    guard keyCount < limit else { return false }
    let changed = try documents.changedDocumentCount(
      in: scope, after: data.lastLimboFreeSnapshotVersion, limit: limit - keyCount)
    return changed.map { keyCount + $0 < limit } ?? false
  }
}
