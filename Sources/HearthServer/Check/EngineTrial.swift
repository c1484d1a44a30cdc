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

    /// The random requests of the comparison.
    private static let requestCount = 400
    private static let clientCount = 16
    /// With fewer transactions, nothing was tried.
    private static let leastCommits = 50

    init(_ location: ClusterLocation, historySeconds: Int) {
      (self.location, self.historySeconds) = (location, historySeconds)
      let number = String(UInt64.random(in: 0 ... .max), radix: 36)
      id = DatabaseID(projectID: ClusterSchema.checkProject, database: "check-\(number)")
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
        try await ClusterSetup(location).perform { try Self.remove(id, on: $0) }
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
      for _ in 0..<Self.requestCount { try await check.step() }
      for area in ContractCheck<SystemRandomNumberGenerator>.Area.allCases {
        guard let found = check.found[area] else { continue }
        var text = "\(found.compared) answers compared, \(found.different) differ"
        if let first = found.firstDifference { text += ", for instance \(first.prefix(1_000))" }
        report.add(area.rawValue, text, isGood: found.different == 0 && found.compared > 0)
      }
    }

    private func checkHistory(_ nodes: [HostedDatabase], _ report: inout ClusterCheck.Report) async throws {
      let check = HistoryCheck(nodes: nodes, clients: Self.clientCount)
      let end = ContinuousClock.now + .seconds(historySeconds)
      await check.run { _ in
        SystemRandomNumberGenerator()
      } until: { _ in
        ContinuousClock.now >= end
      }
      let findings = try await check.findings()
      let committed = await check.history.committedCount
      var text =
        "\(committed) transactions of \(Self.clientCount) clients at \(nodes.count) nodes in \(historySeconds) s, "
      text +=
        findings.isEmpty ? "strictly serialisable" : "\(findings.count) contradictions, for instance \(findings[0])"
      report.add("history", text, isGood: findings.isEmpty && committed >= Self.leastCommits)
    }

    // MARK: - Removing

    /// Removes everything that a database holds.
    ///
    /// Its row and its newest version stay. A node that has seen the version, because a client of it has read the database in between, would take a
    /// server without it for one that has lost commits. And no other database gets its number.
    private static func remove(_ id: DatabaseID, on session: PostgresSession) throws {
      let numbers = try session.run(
        number.call(.bytea(Array(id.projectID.utf8)), .bytea(Array(id.database.utf8))))
      guard let number = try numbers.first?.int64(0) else { return }
      let removals = tables.map { table in
        PostgresStatement("remove \(table) of check", "DELETE FROM \(table) WHERE database = $1", [.int8])
      }
      _ = try ClusterOrder.begin(number, on: session)
      _ = try session.run((removals + [endOfLog, commits]).map { $0.call(.int8(number)) } + [.commit])
    }

    /// Empties the databases of checks that were interrupted, at least an hour ago: those of others may go on.
    private static func removeFormer(on session: PostgresSession) throws {
      for row in try session.run(former.call(.bytea(Array(ClusterSchema.checkProject.utf8)))) {
        let name = String(decoding: try row.bytes(0), as: UTF8.self)
        try remove(DatabaseID(projectID: ClusterSchema.checkProject, database: name), on: session)
      }
    }

    private static let former = PostgresStatement(
      "databases of former checks",
      """
      SELECT d.name FROM hearth_databases d WHERE d.project = $1
        AND EXISTS (SELECT 1 FROM hearth_collections c WHERE c.database = d.number)
        AND (SELECT c.version FROM hearth_commits c WHERE c.database = d.number ORDER BY c.version DESC LIMIT 1)
          < extract(epoch FROM clock_timestamp() - interval '1 hour') * 1000000
      """, [.bytea])
    private static let tables = [
      "hearth_documents", "hearth_changes", "hearth_entries", "hearth_indexes", "hearth_index_files",
      "hearth_collections", "hearth_batch_responses", "hearth_tasks",
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
