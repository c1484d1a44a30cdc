#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Restores that leave the identifier of the server, its timeline and the incarnation of databases as they were.
  @Suite(
    "A restored PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterRestoreTests {
    private static let all = Query(path: path("c"))

    /// A way back to an earlier state.
    enum Restore: CaseIterable, Sendable {
      /// The files of the stopped server, as in a snapshot of its machine.
      case files
      /// A dump, while the sessions of nodes stay open.
      case dump
    }

    /// Runs `body` with two nodes: one that has listeners, and one that only reads and commits. `body` gets what brings the state of the moment
    /// back later.
    private func withRestore(
      _ restore: Restore,
      _ body: (ClusterFixture, ServedDatabase, ClusterStorage, _ save: () async throws -> () async throws -> Void)
        async throws -> Void
    ) async throws {
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server) { cluster in
        let (node, idle) = (try await cluster.served(), try await cluster.node().storage())
        try await body(cluster, node, idle) {
          switch restore {
          case .files:
            try await server.stop()
            let files = try await server.copyFiles()
            try await server.start()
            return {
              try await server.stop()
              try await server.restore(files)
              try await server.start()
            }
          case .dump:
            let dump = try await server.dump(cluster.location.url)
            return { try await server.restore(dump, to: cluster.location.url) }
          }
        }
      }
      try await server.stop()
    }

    @Test(
      "running nodes answer from the restored state, end their listeners, and give no version out twice",
      arguments: Restore.allCases, [true, false])
    func runningNodes(restore: Restore, isNewNodeFirst: Bool) async throws {
      try await withRestore(restore) { cluster, node, idle, save in
        try await node.storage.set("c/a", ["n": 1.value])
        let bringBack = try await save()
        // Lost, with the number of the collection, which the node has in memory.
        try await retried { try await idle.set("lost/x", ["n": 2.value]) }
        let latest = try await retried { try await node.storage.set("c/a", ["n": 2.value]) }
        var listener = try await retried {
          var listener = Listener(node)
          _ = try await listener.add(Self.all)
          return listener
        }
        let token = listener.token
        #expect(try await retried { try await idle.number("lost/x") } == 2)
        #expect(try await idle.number("lost/x") == 2)
        try await bringBack()
        if isNewNodeFirst {
          // It knows nothing of what is lost, and its commits are above it.
          let other = try await cluster.node().storage()
          #expect(try await retried { try await other.set("other/x", ["n": 3.value]) } > latest)
          try await retried { try await other.set("c/b") }
        }
        #expect(try await retried { try await idle.document("lost/x") }.isMissing)
        #expect(try await retried { try await idle.number("c/a") } == 1)
        #expect(try await retried { try await idle.set("another/x") } > latest)
        #expect(try await retried { try await node.storage.number("c/a") } == 1)
        #expect(try await retried { try await node.storage.document("lost/x") }.isMissing)
        #expect(try await retried { try await node.storage.number("other/x") } == (isNewNodeFirst ? 3 : nil))
        let error = await #expect(throws: StatusError.self) { try await listener.catchUp() }
        #expect(error?.code == .unavailable)
        for reader in [node, try await cluster.served()] {
          let messages = try await retried {
            var next = Listener(reader)
            return try await next.add(Self.all, token: token)
          }
          #expect(messages.prefix(2) == ["add 2", "reset 2"])
        }
        let versions = try await cluster.execute(
          "SELECT version FROM hearth_commits WHERE version = \(latest.microseconds)")
        #expect(versions.isEmpty)
      }
    }

    @Test(
      "a new node resets listeners whose tokens are of lost commits, also after it has raised the version for one of them",
      arguments: Restore.allCases)
    func newNode(restore: Restore) async throws {
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server) { cluster in
        let url = cluster.location.url
        let first = try await cluster.served()
        try await first.storage.set("c/a")
        var early = Listener(first)
        _ = try await early.add(Self.all)
        let dump = try await server.dump(url)
        try await server.stop()
        let files = try await server.copyFiles()
        try await server.start()
        var tokens: [[UInt8]] = []
        for number in 0..<3 {
          try await retried { try await first.storage.set("c/lost\(number)") }
          tokens.append(
            try await retried {
              var listener = Listener(first)
              _ = try await listener.add(Self.all)
              return listener.token
            })
        }
        let latest = try await retried { try await first.storage.currentVersion() }
        // The nodes that know what is lost are gone.
        await cluster.close()
        switch restore {
        case .files:
          try await server.stop()
          try await server.restore(files)
          try await server.start()
        case .dump: try await server.restore(dump, to: url)
        }
        let node = try await cluster.served()
        // The latest one has the version raised above all of them.
        for token in tokens.reversed() {
          let messages = try await retried {
            var listener = Listener(node)
            return try await listener.add(Self.all, token: token)
          }
          #expect(messages == ["add 2", "reset 2", "c/a in 2", "current 2", "snapshot"])
          #expect(node.feed.latestVersion > latest)
        }
        var listener = Listener(node)
        #expect(try await listener.add(Self.all, token: early.token) == ["add 2", "current 2", "snapshot"])
        #expect(try await node.storage.set("c/b") > latest)
        #expect(try await listener.catchUp() == ["c/b in 2", "snapshot"])
      }
      try await server.stop()
    }
  }
#endif
