#if PostgreSQL
  import HearthModel
  import HearthPlan
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Index files of the nodes of a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterIndexFileTests {
    private static func ascending(_ path: String) throws -> IndexDefinition {
      try IndexDefinition(
        collectionGroup: "c", scope: .collection, fields: [.init(path: field(path), kind: .ascending)])
    }

    private static func file(_ path: String, readAt time: Int64) throws -> ClusterIndexFile {
      ClusterIndexFile(definitions: [try ascending(path)], readTime: time)
    }

    private static func declared(_ storage: ClusterStorage) async throws -> Set<IndexDefinition> {
      let definitions = try await storage.snapshot { try $0.presentDefinitions }
      return Set(definitions.active.filter { $0.stored.origin == .declared }.map(\.definition))
    }

    @Test(
      "of two different files the one that was read last counts, whoever opens the database again; both nodes say so")
    func different() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (log, otherLog) = (LogRecorder(), LogRecorder())
        let node = try await cluster.node("a", logger: log.logger)
        let other = try await cluster.node("b", logger: otherLog.logger)
        let (mine, theirs) = (try Self.file("x", readAt: 10), try Self.file("y", readAt: 20))
        let storage = try await node.storage()
        try await storage.set("c/a", ["x": 1, "y": 2])
        await storage.declare(mine)
        await (try await other.storage()).declare(theirs)
        let (x, y) = (try Self.ascending("x"), try Self.ascending("y"))
        #expect(try await Self.declared(storage) == [y])
        for _ in 0..<3 {
          let opened = try await node.storage()
          await opened.declare(mine)
          await opened.tendIndexes()
          #expect(try await Self.declared(opened) == [y])
        }
        await storage.declareAgain()
        await storage.declareAgain()
        #expect(log.lines.filter { $0.hasPrefix("error ") && $0.contains("do not count") }.count == 4)
        #expect(otherLog.lines.filter { $0.hasPrefix("warning ") }.count == 1)

        let later = try Self.file("x", readAt: 30)
        await storage.declare(later)
        #expect(try await Self.declared(storage) == [x])
        let opened = try await other.storage()
        await opened.declare(theirs)
        #expect(try await Self.declared(opened) == [x])
        #expect(otherLog.lines.contains { $0.hasPrefix("error ") && $0.contains("do not count") })
      }
    }

    @Test("nodes with the same file change nothing, and the time of the one that has read it last counts")
    func same() async throws {
      try await ClusterFixture.withCluster { cluster in
        let log = LogRecorder()
        let nodes = [
          try await cluster.node(logger: log.logger).storage(), try await cluster.node(logger: log.logger).storage(),
        ]
        try await nodes[0].set("c/a", ["x": 1])
        await nodes[0].declare(try Self.file("x", readAt: 10))
        let before = try await cluster.execute(
          "SELECT index_state, index_generation FROM hearth_databases WHERE number > 0")
        await nodes[1].declare(try Self.file("x", readAt: 30))
        await nodes[0].declare(try Self.file("x", readAt: 10))
        let after = try await cluster.execute(
          "SELECT index_state, index_generation FROM hearth_databases WHERE number > 0")
        #expect(try after.only().int64(1) == before.only().int64(1))
        let third = try await cluster.node(logger: log.logger).storage()
        await third.declare(try Self.file("y", readAt: 20))
        #expect(try await Self.declared(third) == [try Self.ascending("x")])
        #expect(log.lines.filter { $0.contains("index file") }.count == 1)
      }
    }

    @Test("a database that is created later has the indexes of the file")
    func later() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        await storage.declare(try Self.file("x", readAt: 10))
        try await storage.set("c/a", ["x": 1])
        let x = try Self.ascending("x")
        try await waitUntil { try await Self.declared(storage) == [x] }
      }
    }

    @Test("a node that was started again with a changed file is not told of itself as another node")
    func restart() async throws {
      try await ClusterFixture.withCluster { cluster in
        let log = LogRecorder()
        let storage = try await cluster.node(logger: log.logger).storage()
        try await storage.set("c/a", ["x": 1])
        await storage.declare(try Self.file("x", readAt: 10))
        let restarted = try await cluster.node(logger: log.logger).storage()
        await restarted.declare(try Self.file("y", readAt: 20))
        #expect(try await Self.declared(restarted) == [try Self.ascending("y")])
        #expect(!log.lines.contains { $0.contains("index file") })
      }
    }
  }
#endif
