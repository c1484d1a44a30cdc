#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Removes what a database keeps beyond its limits: history, answers to labelled requests, and ended transactions.
  ///
  /// The start of the log is raised in a transaction of its own before rows are removed. Each read of the past takes it from its own snapshot,
  /// so none uses a part of the log.
  struct ClusterJanitor: Sendable {
    let database: Int64
    let history: HistoryRetention
    let responses: ResponseRetention
    let engine: ClusterEngine

    /// The result of a round.
    struct Report: Sendable {
      /// The bytes of the history that is left.
      var historyBytes: Int64
      /// True if history was dropped before its time.
      var isCut: Bool
      /// True if the next round has more to remove.
      var hasMore: Bool
    }

    /// The rows that one statement removes at most.
    private static let rowsAtOnce: Int64 = 1_000
    /// The statements of each kind in one round.
    private static let stepsOfRound = 100
    /// Rows of `hearth_commits` are kept for this time at least: a node may look for the outcome of its commit.
    private static let commitMicroseconds: Int64 = 60_000_000
    /// Transactions are kept for this time after their end.
    private static let graceMicroseconds: Int64 = 10_000_000
    /// Other nodes do not begin a round for this time.
    private static let leaseSeconds: Int64 = 30

    /// - Returns: Nil if another node has begun a round.
    func run(on session: PostgresSession) throws -> Report? {
      let lease = try session.run(
        ClusterTask.trimming.lease(of: database, by: engine.node, seconds: Self.leaseSeconds))
      guard lease.affectedCount > 0 else { return nil }
      let row = try session.run(Self.present.call(.int8(database))).only()
      let (logStart, latest) = (try row.int64(0), try row.int64(1))
      let now = engine.clock.time(server: Timestamp(microseconds: try row.microseconds(2))).microseconds
      let (start, isCut) = try start(logStart: logStart, now: now, on: session)
      if start > logStart {
        _ = try ClusterOrder.begin(database, on: session)
        _ = try session.run([Self.raise.call(.int8(database), .int8(start)), .commit])
      }
      let ends = [
        try removeChanges(through: start, on: session),
        try remove(Self.commits, through: min(start, latest - 1, now - Self.commitMicroseconds), on: session),
        try removeResponses(now: now, on: session), try removeTransactions(now: now, on: session),
      ]
      return Report(
        historyBytes: try bytes(after: start, on: session), isCut: isCut, hasMore: ends.contains(false))
    }

    // MARK: - History

    /// The version after which history is kept.
    private func start(
      logStart: Int64, now: Int64, on session: PostgresSession
    ) throws -> (version: Int64, isCut: Bool) {
      let aged = try session.run(Self.latestBefore.call(.int8(database), .int8(now - history.microseconds)))
      let start = max(logStart, try aged.first?.int64(0) ?? 0)
      guard try bytes(after: start, on: session) > history.bytes,
        let cut = try session.run(Self.cut.call(.int8(database), .int8(start), .int8(history.bytes))).first
      else { return (start, false) }
      return (max(start, try cut.int64(0)), true)
    }

    private func bytes(after version: Int64, on session: PostgresSession) throws -> Int64 {
      try session.run(Self.bytes.call(.int8(database), .int8(version))).only().int64(0)
    }

    /// Removes the changes up to a version, at most those of a round. One version may have any number of them.
    ///
    /// - Returns: False if there are more.
    private func removeChanges(through version: Int64, on session: PostgresSession) throws -> Bool {
      for _ in 0..<Self.stepsOfRound {
        let bound = try session.run(
          Self.boundOfChanges.call(.int8(database), .int8(version), .int8(Self.rowsAtOnce))
        ).first
        guard let bound else {
          _ = try session.run(Self.changes.delete.call(.int8(database), .int8(version)))
          return true
        }
        _ = try session.run(
          Self.trimChangesBefore.call(
            .int8(database), .int8(try bound.int64(0)), .int8(try bound.int64(1)), .bytea(try bound.bytes(2))))
      }
      return false
    }

    /// Removes the rows of a table up to a version, at most those of a round.
    ///
    /// - Returns: False if there are more.
    private func remove(_ table: VersionedTable, through version: Int64, on session: PostgresSession) throws -> Bool {
      for _ in 0..<Self.stepsOfRound {
        // Whole versions: a bound of some rows costs one look into the index.
        let bound = try session.run(
          table.bound.call(.int8(database), .int8(version), .int8(Self.rowsAtOnce))
        ).first?.int64(0)
        _ = try session.run(table.delete.call(.int8(database), .int8(bound ?? version)))
        if bound == nil { return true }
      }
      return false
    }

    // MARK: - Answers and transactions

    private func removeResponses(now: Int64, on session: PostgresSession) throws -> Bool {
      guard try remove(Self.responses, through: now - responses.microseconds, on: session) else { return false }
      let (own, ofMany) = (responses.share(ofMany: false), responses.share(ofMany: true))
      _ = try session.run(
        Self.trimClients.call(
          .int8(database), .int8(own.count), .int8(own.bytes), .int8(ofMany.count), .int8(ofMany.bytes)))
      _ = try session.run(
        Self.trimResponses.call(
          .int8(database), .int8(responses.count), .int8(responses.bytes), .int8(Int64(ResponseRetention.fairCount))))
      return true
    }

    private func removeTransactions(now: Int64, on session: PostgresSession) throws -> Bool {
      // A commit that ends a transaction whose time is nearly over removes the same rows in another order.
      let end = now - Self.graceMicroseconds
      for _ in 0..<Self.stepsOfRound {
        let removed = try session.run([
          Self.removeReads.call(.int8(end), .int8(Self.rowsAtOnce)),
          Self.removeTransactions.call(.int8(end), .int8(Self.rowsAtOnce)),
        ])
        if removed.allSatisfy({ $0.affectedCount < Int(Self.rowsAtOnce) }) { return true }
      }
      return false
    }
  }
#endif
