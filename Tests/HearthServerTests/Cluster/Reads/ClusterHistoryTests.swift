#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import HearthStore
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// The same random commits in a cluster's database and in an embedded one, and the states after each.
  private struct TwinHistory {
    let cluster: ClusterStorage
    let embedded: EmbeddedStorage
    var generator: CaseGenerator
    /// The versions of the same commits, from the creation of the databases on.
    var versions: [(cluster: SnapshotVersion, embedded: SnapshotVersion)] = []
    /// The documents after each commit.
    var states: [[DocumentKey: MapValue]] = []

    init(_ cluster: ClusterStorage, seed: UInt64) async throws {
      self.cluster = cluster
      embedded = try StorageFixture(fillsIndexes: false).storage
      generator = CaseGenerator(seed: seed)
      // The first commit creates the database.
      try await commit([.set(key("c/d0"), generator.fields())])
    }

    mutating func commit(_ mutations: [Mutation]) async throws {
      let version = try await cluster.commit(CommitRequest(mutations: mutations)).version
      let other = try await embedded.commit(CommitRequest(mutations: mutations)).version
      var state = states.last ?? [:]
      for mutation in mutations {
        if case .set(let fields) = mutation.operation {
          state[mutation.key] = try fields.decoded()
        } else {
          state[mutation.key] = nil
        }
      }
      versions.append((version, other))
      states.append(state)
    }

    /// Commits writes and deletes of few documents, so that each changes often.
    mutating func commitSome(_ count: Int) async throws {
      for _ in 0..<count {
        let mutations = (0...generator.below(3)).map { _ -> Mutation in
          let key = generator.chance(50) ? key("c/d\(generator.below(6))") : generator.key()
          return generator.chance(70) ? .set(key, generator.fields()) : .delete(key)
        }
        try await commit(mutations)
      }
    }

    mutating func element() -> Int { generator.below(versions.count) }
  }

  @Suite(
    "The past over PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(10)))
  struct ClusterHistoryTests {
    private static func withHistory(
      _ seed: UInt64, commits: Int = 60, _ body: (inout TwinHistory) async throws -> Void
    ) async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        var history = try await TwinHistory(storage, seed: seed)
        try await history.commitSome(commits)
        try await body(&history)
      }
    }

    @Test("documents by key are as they were at each version", arguments: SeededGenerator.seeds(3))
    func documents(seed: UInt64) async throws {
      try await Self.withHistory(seed) { history in
        let keys = Set(history.states.flatMap(\.keys)).sorted() + [key("no/such"), key("c/neither")]
        for (index, version) in history.versions.enumerated() {
          let answer = try await history.cluster.documents(for: keys, at: version.cluster)
          #expect(answer.readVersion == version.cluster)
          #expect(answer.documents.map(\.key) == keys)
          for document in answer.documents {
            let expected = history.states[index][document.key].map(EncodedFields.init)
            #expect(document.isFound == (expected != nil), "seed \(seed), commit \(index), \(document.key)")
            if let expected { #expect(document.fields == expected, "seed \(seed), commit \(index)") }
          }
          var first: [Document] = []
          while first.count < keys.count {
            let part = try await history.cluster.firstDocuments(of: keys[first.count...], at: version.cluster).documents
            #expect(!part.isEmpty)
            first += part
          }
          #expect(first == answer.documents)
        }
      }
    }

    @Test("a difference names the documents that the embedded storage names", arguments: SeededGenerator.seeds(4))
    func differences(seed: UInt64) async throws {
      try await Self.withHistory(seed) { history in
        var found = 0
        for _ in 0..<200 {
          let (start, end) = (history.element(), history.element())
          guard start < end else { continue }
          let known = history.states[end].map { NaiveDocument(key: $0.key, fields: $0.value) }
          let query = history.generator.query(documents: known.sorted { $0.key < $1.key })
          guard query.limit == nil else { continue }
          let place: Comment = "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query)), \(start) to \(end)"
          let source = WatchSource.query(query)
          let expected = try await Self.difference(
            of: source, in: history.embedded, history.versions[start].embedded, history.versions[end].embedded)
          for size in [DifferencePiece.Size(), DifferencePiece.Size(bytes: 1), DifferencePiece.Size(visits: 3)] {
            let difference = try await Self.difference(
              of: source, in: history.cluster, history.versions[start].cluster, history.versions[end].cluster, size)
            #expect(difference == expected, place)
          }
          found += expected.changes.count
          let count = try await history.cluster.changeCount(
            of: query, after: history.versions[start].cluster, through: history.versions[end].cluster, upTo: 20)
          let others = try await history.embedded.changeCount(
            of: query, after: history.versions[start].embedded, through: history.versions[end].embedded, upTo: 20)
          #expect(count == others, place)
        }
        #expect(found > 20)
      }
    }

    @Test("a difference of documents names those that have changed", arguments: SeededGenerator.seeds(3))
    func documentDifferences(seed: UInt64) async throws {
      try await Self.withHistory(seed) { history in
        for _ in 0..<30 {
          let (start, end) = (history.element(), history.element())
          guard start < end else { continue }
          let source = WatchSource.documents(
            (0..<6).map { key("c/d\($0)") } + [history.generator.key(), key("no/such")])
          let expected = try await Self.difference(
            of: source, in: history.embedded, history.versions[start].embedded, history.versions[end].embedded)
          for size in [DifferencePiece.Size(), DifferencePiece.Size(visits: 2)] {
            let difference = try await Self.difference(
              of: source, in: history.cluster, history.versions[start].cluster, history.versions[end].cluster, size)
            #expect(difference == expected, "HEARTH_TEST_SEED=\(seed), \(start) to \(end)")
          }
        }
      }
    }

    @Test("counts are those of each version", arguments: SeededGenerator.seeds(3))
    func counts(seed: UInt64) async throws {
      try await Self.withHistory(seed) { history in
        let everything = Query(path: ResourcePath(), collectionGroup: "")
        for (index, version) in history.versions.enumerated() {
          let state = history.states[index].map { NaiveDocument(key: $0.key, fields: $0.value) }
          var query = history.generator.query(documents: state.sorted { $0.key < $1.key })
          query.limit = nil
          for query in [query, Query(path: path("c")), Query(path: ResourcePath(), collectionGroup: "s"), everything] {
            let count = try await history.cluster.count(of: query, at: version.cluster)
            #expect(
              count == NaiveQuery(query).answer(state).count,
              "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query)), commit \(index)")
          }
        }
      }
    }

    @Test("whatever is written between the pieces, they are the result as it was", arguments: SeededGenerator.seeds(6))
    func pieces(seed: UInt64) async throws {
      try await Self.withHistory(seed, commits: 30) { history in
        for _ in 0..<12 {
          let known = (history.states.last ?? [:]).map { NaiveDocument(key: $0.key, fields: $0.value) }
          var query = history.generator.query(documents: known.sorted { $0.key < $1.key })
          query.limitType = .first
          let version = try #require(history.versions.last).cluster
          // Former documents are dropped and read again when there is room for few of them.
          let keptBytes = history.generator.element([0, 200, 1_000, 100_000])
          let bytes = history.generator.element([1, 200, 1_000, 100_000])
          let firstCount = 1 + history.generator.below(3)
          try await history.commitSome(3)
          let pieces = try await history.cluster.pieces(
            of: query, at: version, firstCount: firstCount, bytes: bytes, keptBytes: keptBytes
          ) { _ in try await history.commitSome(1) }
          #expect(
            pieces.flatMap(\.documents).map(\.key) == NaiveQuery(query).answer(known),
            "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query))")
        }
      }
    }

    @Test("what the log no longer tells is FAILED_PRECONDITION, and a version that is not there yet UNAVAILABLE")
    func bounds() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        let first = try await storage.set("c/d")
        let last = try await storage.set("c/d", ["n": 1])
        try await cluster.execute("UPDATE hearth_databases SET log_start = \(last.microseconds)")
        let later = SnapshotVersion(microseconds: last.microseconds + 1_000)
        for (version, code) in [(first, StatusCode.failedPrecondition), (later, .unavailable)] {
          let query = Query(path: path("c"))
          for read in [
            { _ = try await storage.documents(for: [key("c/d")], at: version) },
            { _ = try await storage.page(of: query, after: nil, at: version) },
            { _ = try await storage.aggregate([], over: query, skipping: 0, at: version) },
            { _ = try await storage.collectionIDs(under: ResourcePath(), after: nil, limit: 1, at: version) },
            { _ = try await storage.partitionPoints(of: query, count: 1, minimumSize: 1, at: version) },
          ] as [() async throws -> Void] {
            let error = await #expect(throws: StatusError.self) { try await read() }
            #expect(error?.code == code)
          }
        }
        let difference = try await storage.difference(
          of: .query(Query(path: path("c"))), after: first, through: last, from: nil, edges: nil)
        #expect(difference == nil)
      }
    }

    // MARK: - Differences

    /// All pieces of a difference, in a form that two storages share.
    private struct Difference: Equatable {
      struct Change: Equatable {
        var key: DocumentKey
        var isIn: Bool
        var fields: EncodedFields?
      }

      var changes: [Change] = []
      var growth = 0

      mutating func add(_ piece: DifferencePiece) {
        growth += piece.growth
        for change in piece.changes {
          let fields = change.document.isFound ? change.document.fields : nil
          changes.append(Change(key: change.document.key, isIn: change.isIn, fields: fields))
        }
      }

      mutating func finish() { changes.sort { $0.key < $1.key } }
    }

    private static func difference(
      of source: WatchSource, in storage: some DifferencingStorage, _ start: SnapshotVersion, _ end: SnapshotVersion,
      _ size: DifferencePiece.Size = .init()
    ) async throws -> Difference {
      var difference = Difference()
      var cursor: DifferenceCursor?
      repeat {
        let piece = try #require(
          try await storage.difference(
            of: source, after: start, through: end, from: cursor, edges: nil, size: size))
        difference.add(piece)
        cursor = piece.next
      } while cursor != nil
      difference.finish()
      return difference
    }
  }

  /// A storage whose differences have pieces of chosen sizes.
  private protocol DifferencingStorage {
    func difference(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion,
      from cursor: DifferenceCursor?,
      edges: WindowEdges?, size: DifferencePiece.Size
    ) async throws(StatusError) -> DifferencePiece?
  }

  extension ClusterStorage: DifferencingStorage {}
  extension EmbeddedStorage: DifferencingStorage {}
#endif
