#if PostgreSQL
  import HearthModel
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "The comparison of random requests", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ContractCheckTests {
    private typealias Check = ContractCheck<SeededGenerator>

    /// Runs `body` with an empty database in memory.
    private static func withReference(_ body: (HostedDatabase) async throws -> Void) async throws {
      let databases = try await StorageLocation.memory.open(
        limits: DatabaseLimits(), clock: .system, openFiles: nil, metrics: nil, logger: ServerFixture.quietLogger)
      let result: Result<Void, any Error>
      do {
        result = .success(try await body(try await databases.database(ServerFixture.database)))
      } catch {
        result = .failure(error)
      }
      await databases.close()
      try result.get()
    }

    @Test("all nodes of a cluster answer as the storage in memory does", arguments: SeededGenerator.seeds(3))
    func agreement(seed: UInt64) async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = [try await cluster.node().hosted(), try await cluster.node().hosted()]
        try await Self.withReference { reference in
          var check = Check(reference: reference, nodes: nodes, random: SeededGenerator(seed: seed))
          for _ in 0..<150 { try await check.step() }
          for (area, found) in check.found {
            #expect(found.compared > 0, "\(area)")
            #expect(found.different == 0, "seed \(seed), \(area): \(found.firstDifference ?? "")")
          }
        }
      }
    }

    @Test("nodes that do not share their documents are found out in every area")
    func plantedMistake() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let nodes = [try await node.hosted(), try await node.hosted(DatabaseID(projectID: "other"))]
        try await Self.withReference { reference in
          var check = Check(reference: reference, nodes: nodes, random: SeededGenerator(seed: 1))
          for _ in 0..<150 { try await check.step() }
          for (area, found) in check.found where area != .collections { #expect(found.different > 0, "\(area)") }
        }
      }
    }
  }
#endif
