#if PostgreSQL
  import HearthModel
  import HearthPlan
  import HearthPostgres
  import HearthStore
  import Synchronization
  import TestSupport

  @testable import HearthServer

  extension ClusterStorage {
    /// Keeps indexes from being filled in the background, so that a test can do it step by step.
    func holdFilling() { indexes.isFilling.store(true, ordering: .relaxed) }

    /// Does steps of filling until all indexes hold everything.
    ///
    /// - Parameter steps: At most so many.
    func fillIndexes(_ limits: ClusterIndexFilling.Limits = .init(), steps: Int = .max) async throws {
      for _ in 0..<steps {
        let number = known.number
        let hasMore = try await engine.commits.withSession(deadline: .now + .seconds(30)) { [self] session in
          try ClusterIndexFilling(reader: reader(number), node: engine.node).step(on: session, limits)
        }
        if !hasMore { return }
      }
    }

    /// Runs `body` on one state of the database.
    func snapshot<Result: Sendable>(
      at version: SnapshotVersion? = nil, _ body: @escaping @Sendable (ClusterSnapshot) throws -> Result
    ) async throws -> Result {
      try await reading { [self] session, number in try reader(number).read(on: session, at: version, body) }
    }

    /// The whole result of a query.
    func run(_ query: Query, at version: SnapshotVersion?) async throws -> QueryAnswer {
      try await snapshot(at: version) { try $0.run(query, at: version) }
    }

    /// Reads a result piece by piece.
    ///
    /// - Parameter between: Called before each piece but the first.
    func pieces(
      of query: Query, at version: SnapshotVersion? = nil, firstCount: Int = PieceSizes().firstCount,
      bytes: Int = PieceSizes().bytes, keptBytes: Int = PieceSizes().keptBytes,
      between: (Int) async throws -> Void = { _ in }
    ) async throws -> [QueryAnswer] {
      let sizes = PieceSizes(firstCount: firstCount, bytes: bytes, keptBytes: keptBytes)
      return try await allPieces(at: version, between: between) { try await page(of: query, after: $0, at: $1, sizes) }
    }

    /// Commits writes in requests of a few hundred.
    func commitAll(_ mutations: [Mutation]) async throws {
      for start in stride(from: 0, to: mutations.count, by: 400) {
        _ = try await commit(CommitRequest(mutations: Array(mutations[start...].prefix(400))))
      }
    }

    /// The indexes that a query would have, had its scan been expensive.
    func missingIndexes(for query: Query) async throws -> [IndexDefinition] {
      try await snapshot { try $0.missingIndexes(for: query, forPieces: nil) }
    }
  }

  extension ClusterSnapshot {
    /// The definitions of the snapshot, whatever the node has known before.
    var presentDefinitions: ClusterDefinitions {
      get throws {
        _ = try state
        return try definitions
      }
    }
  }
#endif
