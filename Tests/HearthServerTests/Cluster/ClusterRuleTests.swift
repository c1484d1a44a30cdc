#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Testing

  @testable import HearthServer

  @Suite("Rules and commits in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct ClusterRuleTests {
    private static let keys = (0..<6).map { key("notes/\($0)") }

    private func setNotes(_ storage: ClusterStorage) async throws {
      for key in Self.keys {
        let text = Value.string(String(repeating: "x", count: 400_000))
        try await storage.commit(.set(key, ["owner": .string("alice"), "text": text]))
      }
    }

    @Test("before its guard is asked, no more is read for a commit than one document may have")
    func prefetch() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await setNotes(storage)
        func bytes(guarded: Set<DocumentKey>) async throws -> Int {
          try await storage.engine.commits.withSession(deadline: .now + .seconds(30)) { session in
            let number = storage.known.number
            let found = try GroupReads(
              database: number, databaseID: storage.databaseID, keys: Self.keys, guardedKeys: guarded, labels: [],
              ends: [], clock: storage.engine.clock
            ).run(on: session, since: storage.basis(number))
            _ = try session.run(.rollback)
            #expect(found.documents.count == Self.keys.count && found.documents.values.allSatisfy(\.document.isFound))
            return found.documents.values.map(\.document).fieldsBytes
          }
        }
        #expect(try await bytes(guarded: []) > 2_400_000)
        let ofGuarded = try await bytes(guarded: Set(Self.keys))
        #expect(ofGuarded > 400_000 && ofGuarded <= DocumentLimits.maximumDocumentBytes)
        #expect(try await bytes(guarded: [Self.keys[0]]) > 2_400_000)
      }
    }

    @Test("large documents are merged if the rules allow that, and none of them if one is not allowed")
    func merges() async throws {
      try await ClusterFixture.withCluster { cluster in
        let database = try await cluster.node().hosted()
        let storage = try #require(database.storage as? ClusterStorage)
        try await setNotes(storage)
        func session(_ name: String) throws -> Session {
          Session(
            database, of: .named(name), accessGuard: AccessRules(try RulesFixture.rules(RulesFixture.owned)),
            seal: CallerSeal())
        }
        let merges = Self.keys.reversed().map { Mutation.patch($0, ["n": 1.value], mask: FieldMask([field("n")])) }
        let before = try await storage.currentVersion()
        for (name, writes) in [("bob", merges), ("alice", merges + [.set(key("other/a"), [:])])] {
          let error = await #expect(throws: StatusError.self) {
            _ = try await session(name).commit(CommitRequest(mutations: writes))
          }
          #expect(error?.code == .permissionDenied)
        }
        #expect(try await storage.currentVersion() == before)
        _ = try await session("alice").commit(CommitRequest(mutations: merges))
        for document in try await storage.documents(for: Self.keys, at: nil).documents {
          let fields = try document.fields.decoded()
          #expect(fields["n"] == 1.value && fields["owner"] == .string("alice") && fields["text"] != nil)
        }
      }
    }
  }
#endif
