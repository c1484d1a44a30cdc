#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import Testing

  @Suite("Smoke", .enabled(if: PostgresServer.isAvailable))
  struct SmokeTests {
    @Test("round trip")
    func roundTrip() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let pool = PostgresPool(try PostgresConfiguration(url: url), label: "t", size: 2)
      let facts = try await pool.withSession(deadline: .now + .seconds(10)) { try $0.facts() }
      print(facts)
      await pool.close()
    }
  }
#endif
