#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "The upkeep of a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterUpkeepTests {
    private func count(_ table: String, in cluster: ClusterFixture) async throws -> Int64 {
      try await cluster.execute("SELECT count(*) FROM \(table)").only().int64(0)
    }

    @Test("history beyond its time goes, whole versions at a time, and reads of it are refused")
    func history() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let storages = try await cluster.storages(2)
        let old = try await storages[0].set("c/a", ["n": 1.value])
        for number in 0..<50 { try await storages[number % 2].set("c/\(number)") }
        clock.advance(seconds: 3_000)
        let kept = try await storages[0].set("c/a", ["n": 2.value])
        clock.advance(seconds: 1_000)
        let present = try await storages[1].set("c/a", ["n": 3.value])
        await storages[1].trimHistory()
        #expect(try await count("hearth_changes", in: cluster) == 2)
        #expect(try await storages[0].number("c/a") == 3)
        let past = try await storages[0].documents(for: [key("c/a")], at: kept).documents[0]
        #expect(try past.fields.decoded()["n"] == .integer(2))
        let error = await #expect(throws: StatusError.self) {
          try await storages[0].documents(for: [key("c/a")], at: old)
        }
        #expect(error?.code == .failedPrecondition)
        // The newest version stays, however old it is.
        clock.advance(seconds: 100_000)
        await storages[1].trimHistory()
        #expect(try await storages[0].currentVersion() == present)
        #expect(try await count("hearth_changes", in: cluster) == 0)
      }
    }

    @Test("all history beyond its time goes, however much many writers have added since the last upkeep")
    func longHistory() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let storage = try await cluster.node().storage()
        let first = try await storage.set("c/a").microseconds
        // As if these documents had been changed a microsecond apart.
        try await cluster.execute(
          """
          INSERT INTO hearth_changes SELECT (jsonb_populate_record(c, jsonb_build_object('version', c.version - n))).*
          FROM hearth_changes c, generate_series(1, 150000) AS n WHERE c.version = \(first)
          """)
        // And many documents with one commit.
        try await cluster.execute(
          """
          INSERT INTO hearth_changes SELECT (jsonb_populate_record(c, jsonb_build_object('collection', c.collection + n))).*
          FROM hearth_changes c, generate_series(1, 5000) AS n WHERE c.version = \(first)
          """)
        clock.advance(seconds: 100_000)
        try await storage.set("c/a", ["n": 1.value])
        let present = try await count("hearth_changes", in: cluster)
        #expect(present == 155_002)
        await storage.trimHistory()
        let left = try await count("hearth_changes", in: cluster)
        #expect(left == 1)
      }
    }

    @Test("versions that a database without commits has shown go, too, and the newest one stays")
    func emptyDatabase() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let storage = try await cluster.node().storage()
        for _ in 0..<20 {
          clock.advance(seconds: 10)
          _ = try await storage.snapshot(at: Timestamp(microseconds: clock.clock.now().microseconds))
        }
        #expect(try await count("hearth_commits", in: cluster) == 21)
        let latest = try await storage.currentVersion()
        clock.advance(seconds: 100_000)
        await storage.trimHistory()
        #expect(try await count("hearth_commits", in: cluster) == 1)
        #expect(try await storage.currentVersion() == latest)
        #expect(try await storage.set("c/a") > latest)
      }
    }

    @Test("history beyond its size goes before its time")
    func historyBytes() async throws {
      try await ClusterFixture.withCluster { cluster in
        var limits = DatabaseLimits()
        limits.historyBytes = 50_000
        let storage = try await cluster.node().storage(limits: limits)
        let text = Value.string(String(repeating: "x", count: 5_000))
        for number in 0..<40 { try await storage.set("c/a", ["n": number.value, "text": text]) }
        await storage.trimHistory()
        #expect((5...12).contains(try await count("hearth_changes", in: cluster)))
        #expect((25_000...50_000).contains(storage.use().historyBytes))
      }
    }

    @Test("one node at a time does the work")
    func lease() async throws {
      try await ClusterFixture.withCluster { cluster in
        var limits = DatabaseLimits()
        limits.historyTime = .zero
        let nodes = [try await cluster.node(), try await cluster.node()]
        var storages: [ClusterStorage] = []
        for node in nodes { storages.append(try await node.storage(limits: limits)) }
        try await storages[0].set("c/a")
        await storages[0].trimHistory()
        try await storages[1].set("c/b")
        await storages[1].trimHistory()
        #expect(try await count("hearth_changes", in: cluster) == 1)
        await storages[0].trimHistory()
        #expect(try await count("hearth_changes", in: cluster) == 0)
      }
    }

    @Test(
      "answers to labelled requests beyond their number, their bytes and their time go, the oldest of a client first")
    func responses() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let engine = try await cluster.node().engine
        let storage = try await ClusterStorage.open(
          ServerFixture.database, in: engine,
          responseRetention: .init(microseconds: 1_000_000_000, countPerClient: 5, count: 12))
        func commit(_ number: UInt64, of client: String) async throws -> SnapshotVersion {
          let mutations = [Mutation.set(key("c/\(client)"), ["n": Int(number).value])]
          let label = RequestLabel(
            BatchLabel(cacheID: client, identity: BatchIdentity(high: 7, low: number)), mutations: mutations,
            database: ServerFixture.database)
          return try await storage.commit(CommitRequest(mutations: mutations, label: label)).version
        }
        var versions: [SnapshotVersion] = []
        for number in UInt64(0)..<8 { versions.append(try await commit(number, of: "a")) }
        for number in UInt64(0)..<3 { _ = try await commit(100 + number, of: "b") }
        await storage.trimHistory()
        #expect(try await count("hearth_batch_responses", in: cluster) == 8)
        #expect(try await commit(7, of: "a") == versions[7])
        #expect(try await commit(0, of: "a") > versions[7])
        for client in 0..<3 { for number in UInt64(0)..<4 { _ = try await commit(1_000 + number, of: "c\(client)") } }
        await storage.trimHistory()
        #expect(try await count("hearth_batch_responses", in: cluster) <= 12)
        clock.advance(seconds: 2_000)
        await storage.trimHistory()
        #expect(try await count("hearth_batch_responses", in: cluster) == 0)
      }
    }

    @Test("the answers of a quiet client stay when those of busy ones are too many in all")
    func quietClient() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await ClusterStorage.open(
          ServerFixture.database, in: try await cluster.node().engine, responseRetention: .init(count: 100))
        func commit(_ number: UInt64, of client: String) async throws -> SnapshotVersion {
          let mutations = [increment("c/\(client)")]
          let label = RequestLabel(
            BatchLabel(cacheID: client, identity: BatchIdentity(high: 7, low: number)), mutations: mutations,
            database: ServerFixture.database)
          return try await storage.commit(CommitRequest(mutations: mutations, label: label)).version
        }
        let first = try await commit(0, of: "quiet")
        for number in UInt64(1)...150 { _ = try await commit(number, of: "busy\(number % 2)") }
        await storage.trimHistory()
        #expect(try await count("hearth_batch_responses", in: cluster) == 100)
        #expect(try await commit(0, of: "quiet") == first)
        #expect(try await storage.number("c/quiet") == 1)
        #expect(try await commit(150, of: "busy0") < storage.currentVersion().next())
        #expect(try await storage.number("c/busy0") == 75)
      }
    }

    @Test("transactions that have ended go with what they have read")
    func transactions() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let node = try await cluster.transactions(1)[0]
        try await node.storage.set("c/a")
        for _ in 0..<3 {
          let id = try await node.begin(.optimistic, repeating: [], at: nil)
          _ = try await node.read(id, keys: (0..<10).map { key("c/\($0)") }, query: nil)
        }
        let ended = try await node.begin(.optimistic, repeating: [], at: nil)
        _ = try await node.read(ended, keys: [key("c/a")], query: nil)
        _ = try await node.commit(CommitRequest(mutations: [increment("c/a")]), ending: ended)
        await node.storage.trimHistory()
        #expect(try await count("hearth_transactions", in: cluster) == 4)
        clock.advance(seconds: 300)
        await node.storage.trimHistory()
        #expect(try await count("hearth_transactions", in: cluster) == 0)
        #expect(try await count("hearth_reads", in: cluster) == 0)
      }
    }
  }
#endif
