#if PostgreSQL
  import GRPCCore
  import HearthModel
  import HearthPostgres
  import HearthWire
  import Metrics
  import MetricsTestKit
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthRPC
  @testable import HearthServer

  @Suite(
    "Servers of a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterServerTests {
    private static let all = Query(path: path("c"))

    /// Runs `body` against two servers over the same PostgreSQL database.
    private func withServers<Result: Sendable>(
      of cluster: ClusterFixture, polling: Duration = .milliseconds(20), port: Int? = nil,
      metrics: (any MetricsFactory)? = nil,
      _ body: (ServerFixture, ServerFixture) async throws -> Result
    ) async throws -> Result {
      var location = cluster.location
      location.polling = polling
      var other = location
      if let port { other.url = other.url.replacing(":\(cluster.server.port)/", with: ":\(port)/") }
      return try await ServerFixture.withServerAlone(storage: .cluster(location)) {
        if let metrics { $0.metrics = metrics }
      } _: { one in
        try await ServerFixture.withServerAlone(storage: .cluster(other)) { _ in
        } _: { two in
          try await ServerFixture.withClient(of: one) { first in
            try await ServerFixture.withClient(of: two) { second in try await body(first, second) }
          }
        }
      }
    }

    private var addTarget: Google_Firestore_V1_ListenRequest {
      let request = TargetRequest(
        targetID: 2, target: Self.all.target, purpose: .listen, resumeToken: [], readTime: nil, expectedCount: nil)
      var message = ServerFixture.translator.encode(WatchRequest.addTarget(request))
      message.database = ServerFixture.database.resourceName
      return message
    }

    @Test("what is written at one server is read, queried and listened to at the other")
    func sharedDatabase() async throws {
      try await ClusterFixture.withCluster { cluster in
        try await withServers(of: cluster) { one, two in
          try await one.set("c/a", ["n": 1.value])
          #expect(try await two.get("c/a").fields["n"]?.integerValue == 1)
          #expect(try await two.ids(Self.all) == ["a"])
          #expect(try await two.server.databaseNames() == [ServerFixture.database])
          let seen = Mutex<[String]>([])
          try await two.listen([addTarget]) { response in
            if case .documentChange(let change) = try ServerFixture.translator.decode(response) {
              seen.withLock { $0.append(change.key.id) }
            }
            if case .targetChange(let change) = response.responseType, change.targetChangeType == .current {
              try await one.set("c/b")
            }
            return seen.withLock { $0.count } < 2
          }
          #expect(seen.withLock { $0 } == ["a", "b"])
        }
      }
    }

    @Test("no counter of many clients at two servers loses an increase")
    func counters() async throws {
      try await ClusterFixture.withCluster { cluster in
        try await withServers(of: cluster) { one, two in
          try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
              let server = writer.isMultiple(of: 2) ? one : two
              group.addTask { for _ in 0..<10 { try await server.commit([increment("c/n")]) } }
            }
            try await group.waitForAll()
          }
          #expect(try await one.get("c/n").fields["n"]?.integerValue == 80)
        }
      }
    }

    @Test(
      "a server that does not reach PostgreSQL says so, ends its listeners, and serves again; the other one goes on")
    func unreachable() async throws {
      try await ClusterFixture.withCluster { cluster in
        let proxy = try FaultyProxy(to: cluster.server.port)
        defer { proxy.close() }
        try await withServers(of: cluster, port: proxy.port) { one, two in
          try await one.set("c/a")
          #expect(try await status(of: two) == 1)
          let ending = Task {
            try await two.listen([addTarget]) { _ in
              proxy.refuse(true)
              proxy.cutAll()
              return true
            }
          }
          try await waitUntil { try await status(of: two) == 2 }
          #expect(try await status(of: one) == 1)
          #expect(try await page(of: one) == 200)
          #expect(try await page(of: two) == 503)
          try await one.set("c/b")
          let error = await #expect(throws: RPCError.self) { try await ending.value }
          #expect(error?.code == .unavailable)
          await #expect(throws: RPCError.self) { try await two.set("c/c") }
          proxy.refuse(false)
          try await waitUntil { try await status(of: two) == 1 }
          #expect(try await two.ids(Self.all) == ["a", "b"])
          #expect(try await page(of: two) == 200)
        }
      }
    }

    @Test("a node's metrics tell of its sessions, its groups of commits and the delay of the commits of others")
    func metrics() async throws {
      try await ClusterFixture.withCluster { cluster in
        let metrics = TestMetrics()
        try await withServers(of: cluster, metrics: metrics) { one, two in
          try await one.set("c/a")
          try await one.listen([addTarget]) { response in
            if case .targetChange(let change) = response.responseType, change.targetChangeType == .current {
              try await two.set("c/b")
            }
            if case .documentChange(let change) = try ServerFixture.translator.decode(response) {
              return change.key.id != "b"
            }
            return true
          }
          one.server.reportUse()
          func gauge(_ name: String, _ labels: [(String, String)] = []) throws -> Double? {
            try metrics.expectGauge("hearth.server.storage.\(name)", labels).lastValue
          }
          #expect(try gauge("available") == 1)
          for pool in ["commits", "reads", "polls"] {
            #expect(try gauge("sessions", [("pool", pool), ("state", "open")]) ?? 0 >= 1)
          }
          #expect(try gauge("sessions", [("pool", "commits"), ("state", "waiting")]) == 0)
          #expect(try metrics.expectRecorder("hearth.server.commit.group.size").values.contains(1))
          try await waitUntil {
            try metrics.expectTimer("hearth.server.commit.delay").values.contains { $0 > 0 }
          }
        }
      }
    }

    /// The status of `GET /`.
    private func page(of server: ServerFixture) async throws -> Int? {
      try await RawHTTP1Client.withConnection(to: server.server) { try await $0.request("GET", "/").status }
    }

    /// The status that the health service gives: 1 for SERVING, 2 for NOT_SERVING.
    private func status(of server: ServerFixture) async throws -> UInt8? {
      try await server.client.unary(
        request: ClientRequest(message: [UInt8]()),
        descriptor: MethodDescriptor(
          service: ServiceDescriptor(fullyQualifiedService: "grpc.health.v1.Health"), method: "Check"),
        serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
      ) { try $0.message }.last
    }

    @Test("a server does not start over tables that are missing or newer, with a reason that says what to do")
    func schemas() async throws {
      let server = try await PostgresServer.shared()
      let location = ClusterLocation(url: try await server.createDatabase())
      func reason() async -> String {
        do {
          try await ServerFixture.withServerAlone(storage: .cluster(location)) { _ in
          } _: { _ in
          }
          return ""
        } catch {
          return (error as? ServerError)?.description ?? "\(error)"
        }
      }
      #expect(await reason().contains("hearth storage create"))
      try await ClusterSetup(location).create()
      await #expect(throws: ServerError.self) { try await ClusterSetup(location).create() }
      // The servers of tests are not durable.
      #expect(await reason().contains("fsync"))
      let cluster = try await ClusterFixture.make()
      try await cluster.execute("UPDATE hearth_schema SET version = 99, minimum_node = 99")
      let error = await #expect(throws: ServerError.self) {
        try await ServerFixture.withServerAlone(storage: .cluster(cluster.location)) { _ in
        } _: { _ in
        }
      }
      #expect(error?.description.contains("newer release") == true)
    }

    @Test("a role that may only read serves nothing, and one without a session for commits is not healthy")
    func roles() async throws {
      try await ClusterFixture.withCluster { cluster in
        let role = "role_\(UInt64.random(in: 0 ... .max))"
        try await cluster.execute("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 2")
        try await cluster.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role)")
        var location = cluster.location
        location.url = location.url.replacing("postgres://postgres@", with: "postgres://\(role)@")
        let error = await #expect(throws: ServerError.self) { try await ClusterSetup(location).checkSchema() }
        #expect(error?.description.contains("may not read, insert, update and delete rows of hearth_schema") == true)
        try await cluster.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO \(role)")
        try await ClusterSetup(location).checkSchema()
        // One session looks for commits, and another one hears of them.
        let engine = try ClusterEngine(location, clock: .system, logger: ServerFixture.quietLogger)
        let follower = ClusterFollower(engine) { [] }
        try follower.begin()
        try await waitUntil { !engine.availability.isAvailable }
        try await cluster.execute("ALTER ROLE \(role) CONNECTION LIMIT 20")
        try await waitUntil { engine.availability.isAvailable }
        await follower.close()
        await engine.close()
      }
    }

    @Test("the check of a server finds the order kept and notifications heard, and what is not durable")
    func check() async throws {
      let cluster = try await ClusterFixture.make()
      let found = Mutex<[String]>([])
      let report = try await ClusterCheck(cluster.location, historySeconds: 1).run { line in
        found.withLock { $0.append(line) }
      }
      let lines = found.withLock { $0 }
      #expect(lines.contains { $0.hasPrefix("ok  order") && $0.hasSuffix(" 0 late versions") }, "\(lines)")
      #expect(lines.contains("ok  notifications: heard"))
      #expect(lines.contains("BAD fsync: off"))
      #expect(!report.isGood)
      let areas = ContractCheck<SeededGenerator>.Area.allCases.map(\.rawValue)
      for area in areas {
        #expect(
          lines.contains { $0.hasPrefix("ok  \(area): ") && $0.hasSuffix(" answers compared, 0 differ") }, "\(lines)")
      }
      let history = lines.last ?? ""
      #expect(history.hasPrefix("ok  history: ") && history.hasSuffix("strictly serialisable"), "\(history)")
      for table in ["documents", "changes", "entries", "collections"] {
        let count = try await cluster.execute("SELECT 1 FROM hearth_\(table)").count
        #expect(count == 0, "\(table)")
      }
      // The number is given to no other database.
      let numbers = try await cluster.execute("SELECT number FROM hearth_databases ORDER BY number").map {
        try $0.int64(0)
      }
      #expect(numbers == [0, 1])
      #expect(try await cluster.execute("SELECT 1 FROM hearth_commits WHERE database = 1").count == 1)
    }

    @Test(
      "the check names what a table lacks, or has too much",
      arguments: [
        ("ALTER TABLE hearth_documents SET UNLOGGED", "hearth_documents: the table is unlogged, and must be logged"),
        ("ALTER TABLE hearth_era SET LOGGED", "hearth_era: the table is logged, and must be unlogged"),
        (
          "ALTER TABLE hearth_commits DROP CONSTRAINT hearth_commits_pkey",
          "hearth_commits: index hearth_commits_pkey is missing"
        ),
        ("DROP INDEX hearth_deletes", "hearth_changes: index hearth_deletes is missing"),
        ("ALTER TABLE hearth_tasks DROP COLUMN until", "hearth_tasks: column until is missing"),
        (
          "ALTER TABLE hearth_tasks ALTER holder TYPE int",
          "hearth_tasks: column holder is integer NOT NULL, and must be bigint"
        ),
        ("DELETE FROM hearth_cluster", "hearth_cluster: the row that hearth storage create makes is missing"),
        ("DELETE FROM hearth_databases", "hearth_databases: the row"),
      ])
    func tables(statement: String, fault: String) async throws {
      try await ClusterFixture.withCluster { cluster in
        func check() async throws -> [String] {
          let found = Mutex<[String]>([])
          _ = try await ClusterCheck(cluster.location, historySeconds: nil).run { line in
            found.withLock { $0.append(line) }
          }
          return found.withLock { $0 }.filter { $0.contains(" tables: ") }
        }
        let schemas = "SELECT 1 FROM pg_namespace WHERE nspname LIKE 'hearth%'"
        #expect(try await check() == ["ok  tables: schema 1"])
        try await cluster.execute(statement)
        let lines = try await check()
        #expect(lines.contains { $0.hasPrefix("BAD tables: \(fault)") }, "\(lines)")
        #expect(try await cluster.execute(schemas).isEmpty)
      }
    }

    @Test("a check empties the databases of checks that were interrupted long ago, and no other one, whatever its name")
    func interruptedChecks() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let names = ["check-long-ago", "check-in-progress", "check-of-a-user"]
        var numbers: [Int64] = []
        for name in names {
          let storage = try await node.storage(DatabaseID(projectID: "hearth-check", database: name))
          try await storage.set("c/a")
          numbers.append(storage.known.number)
        }
        try await cluster.execute(
          """
          INSERT INTO hearth_tasks (database, kind, holder, until) VALUES
            (\(numbers[0]), 3, 0, now() - interval '1 second'), (\(numbers[1]), 3, 0, now() + interval '1 hour')
          """)
        _ = try await ClusterCheck(cluster.location, historySeconds: 1).run { _ in }
        let left = try await cluster.execute("SELECT DISTINCT database FROM hearth_documents ORDER BY 1").map {
          try $0.int64(0)
        }
        #expect(left == Array(numbers.dropFirst()))
        try await ServerFixture.withServerAlone(storage: .cluster(cluster.location)) { _ in
        } _: { server in
          let listed = try await server.databaseNames()
          #expect(listed.map(\.database) == ["check-of-a-user"])
        }
      }
    }

    @Test("a node whose client reads the database of a check takes its end for no loss of commits, and lists it not")
    func checkInUse() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let storage = try await node.storage()
        let written = try await storage.set("c/a")
        let check = Task {
          try await ClusterCheck(cluster.location, historySeconds: 1).run { _ in }
        }
        var names: [DatabaseID] = []
        while names.isEmpty {
          names = try await cluster.execute("SELECT project, name FROM hearth_databases WHERE number > 1").map {
            DatabaseID(
              projectID: String(decoding: try $0.bytes(0), as: UTF8.self),
              database: String(decoding: try $0.bytes(1), as: UTF8.self))
          }
        }
        let read = try await node.storage(names[0])
        let seen = try await read.currentVersion()
        _ = try await check.value
        #expect(try await read.currentVersion() >= seen)
        #expect(try await storage.currentVersion() == written)
        // A session that is opened now compares what the node has seen.
        let epochs = storage.epochs.all.map(\.id)
        let later = try await cluster.node().storage()
        #expect(later.epochs.all.map(\.id) == epochs)
        try await ServerFixture.withServerAlone(storage: .cluster(cluster.location)) { _ in
        } _: { server in
          let names = try await server.databaseNames()
          #expect(names == [ServerFixture.database])
        }
      }
    }
  }
#endif
