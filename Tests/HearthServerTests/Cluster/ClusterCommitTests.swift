#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Testing

  @testable import HearthServer

  @Suite("Commits in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct ClusterCommitTests {
    @Test("a database exists from its first commit on, and reads of it leave nothing behind")
    func creation() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (one, two) = (try await cluster.node(), try await cluster.node())
        let (first, second) = (try await one.storage(), try await two.storage())
        #expect(try await first.document("c/a").isMissing)
        let blank = try await first.currentVersion()
        #expect(first.known.number == ClusterSchema.emptyDatabase)
        #expect(try await cluster.execute("SELECT 1 FROM hearth_databases").count == 1)

        let version = try await first.set("c/a", ["n": 1.value])
        #expect(version > blank)
        #expect(first.known.number != ClusterSchema.emptyDatabase)
        #expect(try await second.number("c/a") == 1)
        #expect(try await second.currentVersion() == version)
        #expect(second.known.number == first.known.number)
        #expect(second.known.incarnation == first.known.incarnation)
      }
    }

    @Test("two nodes that create a database at once create it once")
    func concurrentCreation() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storages = try await cluster.storages(4)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (number, storage) in storages.enumerated() {
            group.addTask { try await storage.set("c/\(number)") }
          }
          try await group.waitForAll()
        }
        #expect(try await cluster.execute("SELECT 1 FROM hearth_databases").count == 2)
        for number in 0..<4 { #expect(try await storages[0].document("c/\(number)").isFound) }
      }
    }

    @Test("a commit that changes nothing creates no database, and its version is above all that were given out")
    func commitWithoutChanges() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        let before = try await storage.currentVersion()
        let version = try await storage.commit(.delete(key("c/none")))
        #expect(version > before)
        #expect(try await storage.currentVersion() == version)
        #expect(storage.known.number == ClusterSchema.emptyDatabase)
        #expect(try await storage.set("c/a") > version)
      }
    }

    @Test("a request that fails stores nothing, and the others of its group go on")
    func failingRequests() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/there")
        let outcomes = await withTaskGroup(of: (Int, StatusCode?).self) { group in
          for number in 0..<40 {
            group.addTask {
              do {
                let second: Mutation =
                  number.isMultiple(of: 4)
                  ? .set(key("c/there"), [:], precondition: .exists(false)) : increment("c/sum")
                try await storage.commit(.set(key("d/\(number)"), [:]), second)
                return (number, nil)
              } catch {
                return (number, (error as? StatusError)?.code)
              }
            }
          }
          return await group.reduce(into: [:]) { $0[$1.0] = .some($1.1) }
        }
        for number in 0..<40 {
          let isFailed = number.isMultiple(of: 4)
          #expect(outcomes[number] == .some(isFailed ? .alreadyExists : nil))
          #expect(try await storage.document("d/\(number)").isFound != isFailed)
        }
        #expect(try await storage.number("c/sum") == 30)
      }
    }

    @Test("a document that a group writes several times has each of its states in the log")
    func repeatedWrites() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.set("c/a", ["n": 0.value])
        let versions = try await withThrowingTaskGroup(of: SnapshotVersion.self) { group in
          for _ in 0..<30 { group.addTask { try await storage.commit(increment("c/a")) } }
          return try await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(Set(versions).count == 30)
        #expect(try await storage.number("c/a") == 30)
        let rows = try await cluster.execute(
          "SELECT version, old_version FROM hearth_changes ORDER BY version")
        let changed = try rows.map { try $0.int64(0) }
        #expect(changed.dropFirst() == versions.map(\.microseconds)[...])
        #expect(try rows.dropFirst().map { try $0.int64(1) } == changed.dropLast())
      }
    }

    @Test("documents are counted by collection, over creations and deletes of one group too")
    func counts() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.commit(.set(key("c/a"), [:]), .set(key("c/b"), [:]), .set(key("c/a/d/x"), [:]))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<20 {
            group.addTask {
              try await storage.set("c/\(number)")
              if number < 15 { try await storage.commit(.delete(key("c/\(number)"))) }
            }
          }
          try await group.waitForAll()
        }
        try await storage.commit(.delete(key("c/a")), .delete(key("c/none")))
        let rows = try await cluster.execute("SELECT path, documents FROM hearth_collections ORDER BY number")
        #expect(try rows.map { String(decoding: try $0.bytes(0), as: UTF8.self) } == ["c", "c/a/d"])
        #expect(try rows.map { try $0.int64(1) } == [6, 1])
        #expect(try await cluster.execute("SELECT 1 FROM hearth_documents").count == 7)
      }
    }
  }

  extension ClusterFixture {
    /// Storages of the same database, each on a node of its own.
    func storages(_ count: Int) async throws -> [ClusterStorage] {
      var storages: [ClusterStorage] = []
      for _ in 0..<count { storages.append(try await node().storage()) }
      return storages
    }
  }
#endif
