#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import HearthRPC
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Rows that this release has not written, and rows that are gone.
  @Suite(
    "Rows of others in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterDamageTests {
    private static let all = Query(path: path("c"))

    @Test("a number that is no version fails what reads it, and nothing else", arguments: [Int64.max, -1])
    func versions(number: Int64) async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/a")
        let other = try await ClusterStorage.open(
          DatabaseID(projectID: "other"), in: try await cluster.node().engine)
        try await other.set("c/a")
        try await cluster.execute("UPDATE hearth_commits SET version = \(number) WHERE database = 1")
        #expect(await #expect(throws: StatusError.self) { try await storage.set("c/b") }?.code == .internal)
        #expect(await #expect(throws: StatusError.self) { try await storage.document("c/a") }?.code == .internal)
        #expect(await #expect(throws: StatusError.self) { try await storage.catchUpFeed(seen: nil) }?.code == .internal)
        try await other.set("c/b")
      }
    }

    @Test("a number that is no version keeps a node from no other database, also in sessions that are opened later")
    func laterSessions() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let (damaged, sound) = (try await node.storage(), try await node.storage(DatabaseID(projectID: "other")))
        for storage in [damaged, sound] { try await storage.set("c/a") }
        try await cluster.execute("UPDATE hearth_commits SET version = \(Int64.max) WHERE database = 1")
        try await cluster.execute(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()
          """)
        try await retried { try await sound.set("c/b", ["n": 1.value]) }
        #expect(try await sound.number("c/b") == 1)
      }
    }

    @Test("listeners of a damaged database are woken, and those of the node's other databases hear what changes")
    func damagedListener() async throws {
      try await ClusterFixture.withCluster { cluster in
        let served = try await cluster.served([DatabaseID(projectID: "other"), ServerFixture.database])
        let (damaged, sound) = (served[0], served[1])
        for one in served { try await one.storage.set("c/a") }
        let wakes = WakeCounter()
        _ = damaged.feed.join(.query(Self.all), by: damaged.feed.subscribe { wakes.count() })
        var lucky = Listener(sound)
        _ = try await lucky.add(Self.all)
        try await cluster.execute(
          "INSERT INTO hearth_commits (database, version, node, mark, bytes) VALUES (1, \(Int64.max), 0, 0, 0)")
        try await waitUntil { wakes.value > 0 }
        let error = await #expect(throws: StatusError.self) { try await damaged.storage.document("c/a") }
        #expect(error?.code == .internal)
        let other = try await cluster.node().storage()
        for number in 0..<3 {
          let version = try await other.set("c/\(number)")
          let feed = sound.feed
          try await waitUntil { feed.latestVersion >= version }
          #expect(try await lucky.catchUp() == ["c/\(number) in 2", "snapshot"])
        }
        #expect(damaged.storage.engine.availability.isAvailable)
      }
    }

    /// A node that looks for commits of others once, when it has begun to listen to hints, and the hooks of nodes that send it none.
    private static func standingNode(_ cluster: ClusterFixture) async throws -> (ServedDatabase, ClusterEngine.Hooks) {
      var hooks = ClusterEngine.Hooks()
      hooks.sendsHints = false
      return (try await cluster.served(polling: .seconds(3_600)), hooks)
    }

    @Test("a row of the log that cannot be read ends the listeners that need it, and no others")
    func damagedLog() async throws {
      try await ClusterFixture.withCluster { cluster in
        // A node may read a row as soon as it is committed.
        try await cluster.execute(
          """
          CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN IF NEW.old_version > 0 THEN NEW.old_fields = NULL; END IF; RETURN NEW; END'
          """)
        try await cluster.execute(
          "CREATE TRIGGER damage BEFORE INSERT ON hearth_changes FOR EACH ROW EXECUTE FUNCTION damage()")
        let (standing, hooks) = try await Self.standingNode(cluster)
        let other = try await cluster.node(hooks: hooks).storage()
        for path in ["good/a", "bad/a"] { try await other.set(path) }
        var (sound, unlucky) = (Listener(standing), Listener(standing))
        _ = try await sound.add(Query(path: path("good")))
        _ = try await unlucky.add(Query(path: path("bad")))
        try await other.set("bad/a", ["n": 1.value])
        try await other.set("good/b")
        try await standing.storage.catchUpFeed(seen: nil)
        #expect(try await sound.catchUp() == ["good/b in 2", "snapshot"])
        let heard = try await unlucky.catchUp()
        #expect(heard.first?.hasPrefix("remove 2 (15: ") == true, "\(heard)")
      }
    }

    @Test("the last version that there is has no next one")
    func lastVersion() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/a")
        let last = SnapshotVersion.latestOfCluster.microseconds
        try await cluster.execute("UPDATE hearth_commits SET version = \(last) WHERE database = 1")
        #expect(await #expect(throws: StatusError.self) { try await storage.set("c/b") }?.code == .internal)
      }
    }

    @Test("a number of documents that cannot be is damage", arguments: [Int64.max, -1])
    func documents(count: Int64) async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/a")
        try await cluster.execute("UPDATE hearth_collections SET documents = \(count)")
        let error = await #expect(throws: StatusError.self) {
          try await storage.partitionPoints(of: Self.all, count: 2, minimumSize: 1, at: nil)
        }
        #expect(error?.code == .dataLoss)
      }
    }

    @Test("a server that does not understand an index writes nothing, keeps its entries, and answers queries")
    func newerIndexes() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        try await storage.set("c/a", ["n": 1.value])
        let index = try IndexDefinition(collectionGroup: "c", fields: [.init(path: field("n"), kind: .ascending)])
        await storage.declare([index])
        try await storage.fillIndexes()
        try await cluster.execute("UPDATE hearth_indexes SET state = 9")
        try await cluster.execute(
          "UPDATE hearth_databases SET index_generation = 100, index_state = 100 WHERE number = 1")
        let other = try await cluster.node().storage()
        #expect(await #expect(throws: StatusError.self) { try await other.set("c/b") }?.code == .unavailable)
        #expect(await #expect(throws: StatusError.self) { try await other.clear(ResourcePath()) }?.code == .unavailable)
        other.holdFilling()
        try await other.fillIndexes()
        #expect(try await cluster.execute("SELECT count(*) FROM hearth_entries").only().int64(0) == 1)
        let query = Self.all.with(filter: .field(field("n"), .equal, 1))
        #expect(try await other.run(query, at: nil).documents.map(\.key) == [key("c/a")])
      }
    }

    @Test("a listener of a node that stood still while history was removed misses no commit")
    func trimmedLog() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (standing, hooks) = try await Self.standingNode(cluster)
        var limits = DatabaseLimits()
        limits.historyTime = .zero
        let other = try await cluster.node(hooks: hooks).storage(limits: limits)
        try await other.set("c/0")
        var listener = Listener(standing)
        _ = try await listener.add(Self.all)
        for number in 1..<4 { try await other.set("c/\(number)") }
        await other.trimHistory()
        try await other.set("c/4")
        try await standing.storage.catchUpFeed(seen: nil)
        let heard = try await listener.catchUp()
        for number in 1...4 { #expect(heard.contains { $0.hasPrefix("c/\(number) in") }, "\(heard)") }
      }
    }

    @Test("a sorted result of the past whose history is removed between its pieces is too old, and no damage")
    func trimmedPieces() async throws {
      try await ClusterFixture.withCluster { cluster in
        var limits = DatabaseLimits()
        limits.historyTime = .zero
        let storage = try await cluster.node().storage(limits: limits)
        for number in 0..<40 { try await storage.set("c/\(number)", ["n": number.value, "m": (number % 7).value]) }
        let version = try await storage.currentVersion()
        let query = Self.all.with(order: OrderBy(path: field("m"), direction: .descending))
        let error = await #expect(throws: StatusError.self) {
          _ = try await storage.pieces(of: query, at: version, firstCount: 4, bytes: 200) { piece in
            guard piece == 1 else { return }
            for number in 0..<40 { try await storage.set("c/\(number)") }
            await storage.trimHistory()
          }
        }
        #expect(error?.code == .failedPrecondition)
      }
    }
  }
#endif
