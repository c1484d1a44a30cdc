#if PostgreSQL
  internal import Foundation
  internal import HearthHistory
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging

  /// Lets three nodes work over a PostgreSQL server, in a database that is emptied afterwards, and compares what they answer with what they should.
  struct EngineTrial: Sendable {
    private let location: ClusterLocation
    private let historySeconds: Int
    private let id: DatabaseID

    /// The time after the planned end in which the database counts as in use.
    private static let reservedSeconds = 3_600
    /// The random requests of the comparison.
    private static let requestCount = 400
    private static let clientCount = 16
    /// With fewer transactions, nothing was tried.
    private static let leastCommits = 50
    /// The time that a history with fewer transactions lasts longer.
    private static let longestExtension = Duration.seconds(60)

    init(_ location: ClusterLocation, historySeconds: Int) {
      (self.location, self.historySeconds) = (location, historySeconds)
      let number = String(UInt64.random(in: 0 ... .max), radix: 36)
      id = DatabaseID(projectID: "hearth-check", database: "check-\(number)")
    }

    func run(_ report: inout ClusterCheck.Report) async throws(ServerError) {
      let quiet = Logger(label: "check") { _ in SwiftLogNoOpLogHandler() }
      try await ClusterSetup(location).perform { try Self.removeFormer(on: $0) }
      var opened: [any Databases] = []
      var found: Result<Void, any Error> = .success(())
      do {
        for place in [StorageLocation.memory] + (1...3).map(location(ofNode:)) {
          opened.append(
            try await place.open(
              limits: DatabaseLimits(), clock: .system, openFiles: nil, metrics: nil, logger: quiet))
        }
        var databases: [HostedDatabase] = []
        for place in opened { databases.append(try await place.database(id)) }
        try await compareRequests(databases[0], Array(databases.dropFirst()), &report)
        try await checkHistory(Array(databases.dropFirst()), &report)
      } catch {
        found = .failure(error)
      }
      for place in opened { await place.close() }
      do {
        try await ClusterSetup(location).perform { session in
          if let number = try Self.number(of: id, on: session) { try Self.remove(number, on: session) }
        }
        try found.get()
      } catch {
        throw ServerError(storage: error)
      }
    }

    private func location(ofNode number: Int) -> StorageLocation {
      var location = location
      location.nodeName = "check \(number)"
      return .cluster(location)
    }

    private func compareRequests(
      _ reference: HostedDatabase, _ nodes: [HostedDatabase], _ report: inout ClusterCheck.Report
    ) async throws {
      var check = ContractCheck(reference: reference, nodes: nodes, random: SystemRandomNumberGenerator())
      var isClaimed = false
      for _ in 0..<Self.requestCount {
        try await check.step()
        if !isClaimed { isClaimed = try await claim() }
      }
      for area in ContractCheck<SystemRandomNumberGenerator>.Area.allCases {
        guard let found = check.found[area] else { continue }
        var text = "\(found.compared) answers compared, \(found.different) differ"
        if let first = found.firstDifference { text += ", for instance \(first.prefix(1_000))" }
        report.add(area.rawValue, text, isGood: found.different == 0 && found.compared > 0)
      }
    }

    private func checkHistory(_ nodes: [HostedDatabase], _ report: inout ClusterCheck.Report) async throws {
      let check = HistoryCheck(nodes: nodes, clients: Self.clientCount)
      let begin = ContinuousClock.now
      let end = begin + .seconds(historySeconds)
      // On a slow or busy server a short history would have too few transactions to say anything.
      let last = end + Self.longestExtension
      await check.run { _ in
        SystemRandomNumberGenerator()
      } until: { committed in
        ContinuousClock.now >= (committed < Self.leastCommits ? last : end)
      }
      let seconds = (ContinuousClock.now - begin).components.seconds
      let findings = try await check.findings()
      let committed = await check.history.committedCount
      var text =
        "\(committed) transactions of \(Self.clientCount) clients at \(nodes.count) nodes in \(seconds) s, "
      text +=
        findings.isEmpty ? "strictly serialisable" : "\(findings.count) contradictions, for instance \(findings[0])"
      report.add("history", text, isGood: findings.isEmpty && committed >= Self.leastCommits)
    }

    // MARK: - Removing

    /// Says in the tables that the database is that of a check, as soon as its first commit has created it. A later check empties those of checks that
    /// were interrupted, and nothing else, whatever its name.
    ///
    /// - Returns: False if the database is not there yet.
    private func claim() async throws -> Bool {
      try await ClusterSetup(location).perform { [self] session in
        guard let number = try Self.number(of: id, on: session) else { return false }
        let seconds = Int64(historySeconds + Self.reservedSeconds)
        _ = try session.run(ClusterTask.check.lease(of: number, by: Self.holder, seconds: seconds))
        return true
      }
    }

    private static func number(of id: DatabaseID, on session: PostgresSession) throws -> Int64? {
      try session.run(
        number.call(.bytea(Array(id.projectID.utf8)), .bytea(Array(id.database.utf8)))
      ).first?.int64(0)
    }

    /// Removes everything that a database holds.
    ///
    /// Its row and its newest version stay. A node that has seen the version, because a client of it has read the database in between, would take a
    /// server without it for one that has lost commits. And no other database gets its number.
    private static func remove(_ number: Int64, on session: PostgresSession) throws {
      let removals = tables.map { table in
        PostgresStatement("remove \(table) of check", "DELETE FROM \(table) WHERE database = $1", [.int8])
      }
      _ = try ClusterOrder.begin(number, on: session)
      _ = try session.run(
        (removals + [endOfLog, commits]).map { $0.call(.int8(number)) }
          + [ClusterTask.check.lease(of: number, by: holder, seconds: 0), .commit])
    }

    /// Empties the databases of checks that were interrupted. Those of others may go on.
    private static func removeFormer(on session: PostgresSession) throws {
      for row in try session.run(former.call(.int2(ClusterTask.check.rawValue))) {
        try remove(row.int64(0), on: session)
      }
    }

    /// The same for all checks, so that a later one may end what another has begun.
    private static let holder: Int64 = 0
    private static let former = PostgresStatement(
      "databases of former checks",
      """
      SELECT t.database FROM hearth_tasks t WHERE t.kind = $1 AND t.until < clock_timestamp()
        AND EXISTS (SELECT 1 FROM hearth_collections c WHERE c.database = t.database)
      """, [.int2])
    private static let tables = [
      "hearth_documents", "hearth_changes", "hearth_entries", "hearth_indexes", "hearth_index_files",
      "hearth_collections", "hearth_batch_responses",
    ]
    private static let number = PostgresStatement(
      "number of check", "SELECT number FROM hearth_databases WHERE project = $1 AND name = $2", [.bytea, .bytea])
    private static let endOfLog = PostgresStatement(
      "end log of check",
      """
      UPDATE hearth_databases SET index_generation = index_generation + 1, index_state = index_state + 1, log_start = (
        SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1)
      WHERE number = $1
      """, [.int8])
    private static let commits = PostgresStatement(
      "remove commits of check",
      """
      DELETE FROM hearth_commits WHERE database = $1 AND version < (
        SELECT d.log_start FROM hearth_databases d WHERE d.number = $1)
      """, [.int8])
  }
#endif
