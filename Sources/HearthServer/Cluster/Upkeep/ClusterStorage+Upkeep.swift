#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging
  internal import Synchronization

  extension ClusterStorage {
    /// The time in microseconds after which other databases have their turn. The next upkeep comes a minute after the last one.
    private static let upkeepTime: Int64 = 45_000_000

    /// Called every now and then by each node that has the database open. One of them does the work.
    func trimHistory() async {
      await tendIndexes()
      let end = engine.clock.node.elapsedMicroseconds + Self.upkeepTime
      do {
        var isCut = false
        // As many rounds as there is something to remove: what many writers add in a minute is more than a round removes.
        while let report = try await trimOnce() {
          state.withLock { $0.historyBytes = Int(clamping: report.historyBytes) }
          isCut = isCut || report.isCut
          guard report.hasMore else { break }
          guard engine.clock.node.elapsedMicroseconds < end else {
            logger.warning(
              "history grows faster than it is removed", metadata: ["database": .escaped(databaseID)])
            break
          }
        }
        guard isCut else { return }
        metrics?.exceeded(.historyBytes)
        logger.warning(
          "change log is at its limit",
          metadata: ["database": .escaped(databaseID), "limit-bytes": "\(limits.historyBytes)"])
      } catch {
        logger.error(
          "history cannot be trimmed", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      }
    }

    /// - Returns: Nil if another node has begun a round, or the database is closed.
    private func trimOnce() async throws -> ClusterJanitor.Report? {
      // Also the empty database: each version that a database without commits shows adds a row to it.
      guard !state.withLock({ $0.isClosed }) else { return nil }
      let janitor = ClusterJanitor(
        database: known.number, history: HistoryRetention(limits), responses: responseRetention, engine: engine)
      return try await engine.commits.withSession(deadline: .now + .seconds(60)) { try janitor.run(on: $0) }
    }
  }
#endif
