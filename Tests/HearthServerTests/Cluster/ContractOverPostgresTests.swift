#if PostgreSQL
  import PostgresSupport
  import Testing

  @testable import HearthServer

  /// Says that the suites with the trait `everyStorage` run over PostgreSQL, too, or why they do not.
  @Suite("The contract of storages over PostgreSQL")
  struct ContractOverPostgresTests {
    @Test(
      "the tests of the contract run over PostgreSQL, too",
      .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
    func storages() async throws {
      #expect(try await TestedDatabase().storage is EmbeddedStorage)
      let database = try await TestedStorage.$current.withValue(.cluster) { try await TestedDatabase() }
      #expect(database.storage is ClusterStorage)
    }
  }
#endif
