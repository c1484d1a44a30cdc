#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging
  internal import Synchronization

  extension ClusterStorage {
    /// Called every now and then by each node that has the database open. One of them does the work.
    func trimHistory() async {
      await tendIndexes()
      let known = self.known
      // Also the empty database: each version that a database without commits shows adds a row to it.
      guard !state.withLock({ $0.isClosed }) else { return }
      let janitor = ClusterJanitor(
        database: known.number, history: HistoryRetention(limits), responses: responseRetention, engine: engine)
      do {
        let report = try await engine.commits.withSession(deadline: .now + .seconds(60)) { try janitor.run(on: $0) }
        guard let report else { return }
        state.withLock { $0.historyBytes = Int(clamping: report.historyBytes) }
        guard report.isCut else { return }
        metrics?.exceeded(.historyBytes)
        logger.warning(
          "change log is at its limit",
          metadata: ["database": .escaped(databaseID), "limit-bytes": "\(limits.historyBytes)"])
      } catch {
        logger.error(
          "history cannot be trimmed", metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      }
    }
  }
#endif
