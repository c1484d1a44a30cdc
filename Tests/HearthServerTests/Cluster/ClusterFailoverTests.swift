#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "A failover of PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterFailoverTests {
    /// A node that finds the primary among two servers.
    private func engine(of cluster: ClusterFixture, beside standby: PostgresServer) throws -> ClusterEngine {
      var location = cluster.location
      let hosts = "127.0.0.1:\(cluster.server.port),127.0.0.1:\(standby.port)"
      location.url = location.url.replacing("127.0.0.1:\(cluster.server.port)", with: hosts) + "?connect_timeout=1"
      return try ClusterEngine(location, clock: .system, logger: ServerFixture.quietLogger)
    }

    @Test("sessions to a former primary that is awake are used for no read and no commit once the new one is known")
    func formerPrimary() async throws {
      let primary = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: primary) { cluster in
        let standby = try await primary.startStandby()
        let engine = try engine(of: cluster, beside: standby)
        let storage = try await ClusterStorage.open(ServerFixture.database, in: engine)
        try await storage.set("c/a", ["n": 1.value])
        // Some sessions are idle in the pools, and one pool has to open another.
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<20 { group.addTask { _ = try await storage.number("c/a") } }
          try await group.waitForAll()
        }
        let version = try await storage.currentVersion()
        try await waitUntil { try await latest(standby, of: cluster) == version }
        let relaxed = "FROM pg_stat_activity WHERE application_name = 'hearth transactions'"
        try await cluster.execute("SELECT pg_terminate_backend(pid) \(relaxed)")
        try await waitUntil { try await cluster.execute("SELECT 1 \(relaxed)").isEmpty }
        // The primary takes no new sessions; those that are open stay.
        try primary.pause()
        try await standby.promote()
        let facts = try await engine.relaxed.withSession(deadline: .now + .seconds(30)) { try $0.facts() }
        #expect(facts.timeline == 2)
        let new = try await storage.set("c/a", ["n": 2.value])
        #expect(new > version)
        #expect(engine.reads.use.open > 0)
        #expect(try await latest(standby, of: cluster) == new)
        for _ in 0..<10 { #expect(try await storage.number("c/a") == 2) }
        try primary.resume()
        for _ in 0..<10 { #expect(try await storage.number("c/a") == 2) }
        await engine.close()
        try await standby.stop(.immediate)
      }
      try await primary.stop(.immediate)
    }

    private func url(_ server: PostgresServer, of cluster: ClusterFixture) -> String {
      cluster.location.url.replacing(":\(cluster.server.port)", with: ":\(server.port)")
        + "?target_session_attrs=any"
    }

    /// The newest version at a server.
    private func latest(_ server: PostgresServer, of cluster: ClusterFixture) async throws -> SnapshotVersion {
      try await withPostgresSession(url(server, of: cluster)) { session in
        let row = try session.run(PostgresStatement("test", "SELECT max(version) FROM hearth_commits").call()).only()
        return SnapshotVersion(microseconds: try row.int64(0))
      }
    }
  }
#endif
