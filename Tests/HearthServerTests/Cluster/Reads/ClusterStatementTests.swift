#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import HearthStore
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// The statements that nodes run in the databases of a cluster, as their sessions have prepared them.
  @Suite(
    "Statements over PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(10)))
  struct ClusterStatementTests {
    /// Does everything that a storage does, and gives the plans of the statements that its sessions have prepared.
    private static func plans(of storage: ClusterStorage, prefix: String) async throws -> [String: [String]] {
      try await useEverything(storage, prefix)
      var plans: [String: [String]] = [:]
      for pool in [storage.engine.reads, storage.engine.commits, storage.engine.relaxed] {
        let more = try await pool.withSession(deadline: .now + .seconds(60)) { session in try explain(session) }
        plans.merge(more) { first, _ in first }
      }
      return plans
    }

    private static func explain(_ session: PostgresSession) throws -> [String: [String]] {
      if session.isInTransaction { _ = try session.run(.rollback) }
      let prepared = try session.run(
        PostgresStatement(
          "prepared statements",
          "SELECT name, statement, cardinality(parameter_types)::bigint FROM pg_prepared_statements WHERE NOT from_sql"
        ).call())
      var plans: [String: [String]] = [:]
      for row in prepared {
        let (name, sql) = (try row.text(0), try row.text(1))
        guard sql.contains("hearth_") else { continue }
        let nulls = Array(repeating: "NULL", count: Int(try row.int64(2))).joined(separator: ", ")
        let parameters = nulls.isEmpty ? "" : "(\(nulls))"
        let rows = try session.run(
          PostgresStatement("explain", "EXPLAIN (COSTS OFF) EXECUTE \"\(name)\"\(parameters)").call())
        plans[sql] = withoutWaysOfSorting(try rows.map { try $0.text(0) })
      }
      return plans
    }

    /// Rows that were read may be sorted whole or range by range. That depends on how many the statistics of the moment promise, not on what is
    /// read.
    private static func withoutWaysOfSorting(_ plan: [String]) -> [String] {
      plan.filter { !$0.contains("Presorted Key: ") }.map { $0.replacing("Incremental Sort", with: "Sort") }
    }

    private static func useEverything(_ storage: ClusterStorage, _ prefix: String) async throws {
      storage.holdFilling()
      let paths = ["\(prefix)/a", "\(prefix)/b", "\(prefix)/a/\(prefix)/x"]
      let first = try await storage.commit(CommitRequest(mutations: paths.map { .set(key($0), ["n": 1, "m": [1]]) }))
        .version
      func index(_ path: String, _ kind: IndexDefinition.Kind, _ scope: IndexDefinition.Scope) throws -> IndexDefinition
      {
        try IndexDefinition(collectionGroup: prefix, scope: scope, fields: [.init(path: field(path), kind: kind)])
      }
      await storage.declare([try index("n", .ascending, .collectionGroup)])
      await storage.declare([try index("n", .ascending, .collection), try index("m", .contains, .collection)])
      try await storage.fillIndexes()
      try await storage.set("\(prefix)/a", ["n": 2])
      try await storage.commit(.delete(key("\(prefix)/b")))
      let last = try await storage.currentVersion()
      _ = try await storage.documents(for: paths.map { key($0) }, at: nil)
      _ = try await storage.documents(for: paths.map { key($0) }, at: first)
      let collection = Query(path: path(prefix))
      let group = Query(path: ResourcePath(), collectionGroup: prefix)
      let all = Query(path: ResourcePath(), collectionGroup: "")
      let count = Aggregation(alias: "count", operation: .count(upTo: nil))
      for query in [collection, group, all] {
        var queries = [query]
        queries.append(query.with(filter: .field(field("n"), .greaterThan, 0)))
        queries.append(
          query.with(filter: .field(field("n"), .equal, 1)).with(filter: .field(field("m"), .arrayContains, 1)))
        queries.append(query.with(filter: .field(field("x"), .equal, 1)))
        for direction in [OrderBy.Direction.ascending, .descending] {
          queries.append(query.with(order: OrderBy(path: .documentKey, direction: direction)))
          queries.append(query.with(order: OrderBy(path: field("n"), direction: direction)))
        }
        for query in queries {
          for version in [nil, first] {
            _ = try await storage.pieces(of: query, at: version, firstCount: 1, bytes: 1)
            _ = try await storage.pieces(of: query.with(limit: 2), at: version)
            _ = try await storage.aggregate([count], over: query, skipping: 0, at: version)
          }
          _ = try await storage.difference(of: .query(query), after: first, through: last, from: nil, edges: nil)
          _ = try await storage.changeCount(of: query, after: first, through: last, upTo: 10)
        }
        for version in [nil, first] {
          _ = try await storage.partitionPoints(of: query, count: 2, minimumSize: 1, at: version)
        }
      }
      _ = try await storage.difference(
        of: .documents(paths.map { key($0) }), after: first, through: last, from: nil, edges: nil)
      for parent in [ResourcePath(), path(prefix), path("\(prefix)/a")] {
        for version in [nil, first] {
          _ = try await storage.collectionIDs(under: parent, after: nil, limit: 10, at: version)
        }
      }
      try await useTransactions(storage, prefix)
      await storage.trimHistory()
    }

    /// Transactions that wait, are ended by others, and are repeated.
    private static func useTransactions(_ storage: ClusterStorage, _ prefix: String) async throws {
      let node = ClusterTransactions(of: storage, limits: DatabaseLimits(), metrics: nil)
      let (path, query) = (key("\(prefix)/a"), Query(path: path(prefix)))
      let write = CommitRequest(mutations: [increment("\(prefix)/a")])
      var former: [UInt8] = []
      for isolation in [TransactionIsolation.pessimistic, .optimistic] {
        let (old, young) = (
          try await node.begin(isolation, repeating: former, at: nil),
          try await node.begin(isolation, repeating: [], at: nil)
        )
        for id in [old, young] { _ = try await node.read(id, keys: [path], query: query) }
        let waiting = Task { try? await node.commit(write, ending: young) }
        if isolation == .pessimistic { try await waitUntil { node.use().waitingRequests == 1 } }
        _ = try? await node.commit(write, ending: old)
        _ = await waiting.value
        former = young
      }
      let last = try await node.begin(.pessimistic, repeating: [], at: nil)
      _ = try await node.read(last, keys: [path], query: query)
      _ = try await node.commit(CommitRequest(mutations: []), ending: last)
      try await node.rollback(last)
      try await node.abortAll()
    }

    /// The nodes of plans that read along an index, or not from a table.
    private static let allowed = [
      "Index Scan", "Index Only Scan", "Nested Loop", "Append", "Limit", "Sort", "WindowAgg",
      "Aggregate",
      "Subquery Scan", "Function Scan", "Result", "CTE Scan", "WorkTable Scan", "Recursive Union", "Insert on",
      "Update on", "Delete on", "LockRows", "Tid Scan", "Append",
    ]

    private static func isAllowed(_ line: String) -> Bool {
      let node = line.drop { $0 == " " || $0 == "-" || $0 == ">" }
      guard line.contains("->") || !line.hasPrefix(" ") else { return true }
      return allowed.contains { node.hasPrefix($0) }
    }

    /// Tables that a node reads as a whole, because they have a row or two.
    private static let small = ["hearth_schema", "hearth_cluster"]

    /// Statements that only PostgreSQL understands. Another engine needs another form of these statements: PostgreSQL plans a delete of rows by keys from an array
    /// as a read of the whole table while that is small, and by the places of rows it does not. Its setting says if a commit is durable.
    private static let dialect = [
      "DELETE FROM hearth_entries WHERE ctid = ANY", "DELETE FROM hearth_documents WHERE ctid = ANY",
      "SELECT version, clock_timestamp(), current_setting('synchronous_commit')",
    ]

    private static func isOfDialect(_ sql: String) -> Bool { dialect.contains { sql.hasPrefix($0) } }

    @Test("all statements have the same plans on empty, small and large tables, and read along indexes")
    func plans() async throws {
      try await ClusterFixture.withCluster { cluster in
        // A node of its own each time: its sessions plan the statements anew.
        let empty = try await Self.plans(of: try await cluster.node().storage(), prefix: "c")
        try await cluster.execute("ANALYZE")
        let small = try await Self.plans(of: try await cluster.node().storage(), prefix: "d")
        try await Self.fill(cluster)
        let large = try await Self.plans(of: try await cluster.node().storage(), prefix: "e")
        #expect(large.count > 40)
        for (sql, plan) in large.sorted(by: { $0.key < $1.key }) {
          if Self.small.contains(where: sql.contains) { continue }
          let text = "\(sql)\n\(plan.joined(separator: "\n"))"
          #expect(plan.allSatisfy(Self.isAllowed), "\(text)")
          for others in [empty, small] {
            guard let other = others[sql] else { continue }
            #expect(other == plan, "\(text)\n\(other.joined(separator: "\n"))")
          }
        }
      }
    }

    /// Adds rows that other databases might have.
    private static func fill(_ cluster: ClusterFixture) async throws {
      for sql in [
        """
        INSERT INTO hearth_databases SELECT n, ('p' || n)::bytea, 'd', 'x', 0, 1, 1 FROM generate_series(100, 400) n
        """,
        """
        INSERT INTO hearth_commits SELECT d, v, 1, 1, 1 FROM generate_series(100, 110) d, generate_series(1, 2000) v
        """,
        """
        INSERT INTO hearth_collections
        SELECT 100, n, ('c' || n)::bytea, sha256(('c' || n)::bytea), ('c' || n)::bytea, 'g', 20 FROM generate_series(1, 2000) n
        """,
        """
        INSERT INTO hearth_documents
        SELECT 100, c, '\\x01'::bytea || (lpad(i::text, 8, '0'))::bytea, i, i, convert_to(repeat('x', 100), 'utf8')
        FROM generate_series(1, 500) c, generate_series(1, 60) i
        """,
        """
        INSERT INTO hearth_entries
        SELECT 100, n, collection, '\\x20'::bytea || sha256(id) || id, collection, id
        FROM hearth_documents, generate_series(1, 2) n WHERE database = 100
        """,
        """
        INSERT INTO hearth_changes SELECT 100, i, c, '\\x01'::bytea || (lpad(i::text, 8, '0'))::bytea, i % 10 = 0, 0, 0, NULL
        FROM generate_series(1, 20) c, generate_series(1, 2000) i
        """,
        """
        INSERT INTO hearth_transactions
        SELECT sha256(n::text::bytea), sha256((n % 20)::text::bytea), 3, n % 5, 1, 1, 0, 10, n
        FROM generate_series(1, 20000) n
        """,
        """
        INSERT INTO hearth_reads
        SELECT id, sha256(n::text::bytea), 1, 'x', sha256((n % 7)::text::bytea) FROM hearth_transactions, generate_series(1, 3) n
        """,
        "ANALYZE",
      ] {
        try await cluster.execute(sql)
      }
    }

    @Test("statements stay in the part of SQL that engines with the protocol of PostgreSQL share")
    func subset() async throws {
      let forbidden = [
        "ctid", "xmin", "pg_advisory", "notify", "listen ", "collate", "set local", "set session", "pg_try",
        "tablesample",
        "create temp", "partition of", "current_setting", "txid_", "nextval", "for share", "copy ",
      ]
      try await ClusterFixture.withCluster { cluster in
        let plans = try await Self.plans(of: try await cluster.node().storage(), prefix: "c")
        for sql in plans.keys where !Self.isOfDialect(sql) {
          let text = sql.lowercased()
          let found = forbidden.filter { text.contains($0) }
          #expect(found.isEmpty, "\(sql)")
        }
      }
    }
  }
#endif
