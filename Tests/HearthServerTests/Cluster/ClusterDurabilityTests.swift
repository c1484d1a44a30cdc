#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Acknowledged commits after a crash of PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .timeLimit(.minutes(5)))
  struct ClusterDurabilityTests {
    /// A way to turn `synchronous_commit` off.
    enum Weakening: String, CaseIterable, Sendable {
      case role = "ALTER ROLE postgres SET synchronous_commit = off"
      case server = "ALTER SYSTEM SET synchronous_commit = off"
    }

    /// The server writes what is committed asynchronously as late as it can.
    private static let settings = ["wal_writer_delay": "10s", "wal_writer_flush_after": "1GB", "autovacuum": "off"]

    @Test(
      "synchronous_commit = off, set before a node starts or while its sessions are open, loses nothing that was acknowledged",
      arguments: Weakening.allCases, [true, false])
    func asynchronousCommit(weakening: Weakening, isBeforeStart: Bool) async throws {
      let server = try await PostgresServer.start(isDurable: true, settings: Self.settings)
      try await ClusterFixture.withCluster(on: server, isDurable: true) { cluster in
        if isBeforeStart { try await weaken(server, weakening, cluster) }
        let storage = try await cluster.node().storage()
        try await storage.set("c/first")
        if !isBeforeStart { try await weaken(server, weakening, cluster) }
        for number in 0..<5 { try await storage.set("c/\(number)") }
        try await storage.clear(path("c/0"))
        let version = try await storage.snapshot(at: try await now(cluster))
        try await server.stop(.immediate)
        try await server.start()
        let present = try await cluster.node().storage()
        for number in 0..<5 { #expect(try await present.document("c/\(number)").isFound == (number != 0)) }
        #expect(try await present.currentVersion() >= version)
      }
      try await server.stop()
    }

    /// Returns when new sessions have the setting. Open ones have it before their next statement then.
    private func weaken(_ server: PostgresServer, _ weakening: Weakening, _ cluster: ClusterFixture) async throws {
      try await server.execute(weakening.rawValue)
      try await server.execute("SELECT pg_reload_conf()")
      try await waitUntil {
        try await cluster.execute("SELECT current_setting('synchronous_commit') = 'off'").only().bool(0)
      }
    }

    /// The time of the cluster.
    private func now(_ cluster: ClusterFixture) async throws -> Timestamp {
      let server = try await cluster.execute("SELECT clock_timestamp()").only().microseconds(0)
      return ClusterClock(.system).time(server: Timestamp(microseconds: server))
    }
  }
#endif
