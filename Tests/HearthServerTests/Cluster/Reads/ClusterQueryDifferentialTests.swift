#if PostgreSQL
  import Foundation
  import HearthModel
  import HearthPlan
  import HearthPostgres
  import HearthStore
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// The documents and their order are those of the plain evaluation and of the embedded storage, for every plan that is chosen for a query, at
  /// the present or in the past, whole or piece by piece.
  ///
  /// `HEARTH_TEST_SEED` repeats one history, and `HEARTH_TEST_HISTORIES` makes a run longer.
  @Suite(
    "Generated queries over PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .timeLimit(.minutes(30)))
  struct ClusterQueryDifferentialTests {
    private static let histories = UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 8
    private static let queriesPerCheckpoint = 40

    /// A database with a history.
    private struct Play {
      let seed: UInt64
      let storage: ClusterStorage
      /// Gets the same commits.
      let embedded: EmbeddedStorage
      var generator: CaseGenerator
      var present: [DocumentKey: MapValue] = [:]
      var ways = QueryWays()

      mutating func commit(_ mutations: [Mutation]) async throws {
        try await storage.commitAll(mutations)
        _ = try await embedded.commit(CommitRequest(mutations: mutations))
        for mutation in mutations {
          if case .set(let fields) = mutation.operation {
            present[mutation.key] = try fields.decoded()
          } else {
            present[mutation.key] = nil
          }
        }
      }

      var documents: [NaiveDocument] {
        present.map { NaiveDocument(key: $0.key, fields: $0.value) }.sorted { $0.key < $1.key }
      }
    }

    @Test("index, scan, walk along the keys, pieces and the past agree with the plain evaluation")
    func agreement() async throws {
      let seeds = SeededGenerator.askedSeed.map { [$0] } ?? Array(1...Self.histories)
      var counts: [String: Int] = [:]
      for seed in seeds {
        let more = try await ClusterFixture.withCluster { cluster in
          // The keys of few documents, or of all.
          let budget = SortBudget(maximumBytes: seed % 4 == 0 ? 4_000 : 1 << 20)
          let node = try await cluster.node()
          let storage = try await ClusterStorage.open(
            ServerFixture.database, in: node.engine, sortBudget: budget)
          storage.holdFilling()
          let fixture = try StorageFixture(fillsIndexes: false)
          var play = Play(
            seed: seed, storage: storage, embedded: fixture.storage, generator: CaseGenerator(seed: seed))
          try await Self.run(&play)
          // The last cursor goes when its reader lets go of it.
          try await waitUntil { budget.usedBytes == 0 }
          return play.ways.counts
        }
        counts.merge(more) { $0 + $1 }
      }
      guard SeededGenerator.askedSeed == nil, Self.histories >= 8 else { return }
      let least = [
        "pairs": 300, "found": 100, "index": 60, "scan": 60, "keys": 15, "merged": 3, "several ranges": 20, "past": 200,
        "pieces": 30, "totals": 600, "sorted by keys": 8, "index of a group": 20,
      ]
      let rare = least.filter { counts[$0.key, default: 0] < $0.value }
      #expect(rare.isEmpty, "\(counts)")
    }

    private static func run(_ play: inout Play) async throws {
      var past: Past?
      for _ in 0..<3 {
        try await change(&play)
        let known = play.documents
        var queries = (0..<queriesPerCheckpoint).map { _ in asked(play.generator.query(documents: known)) }
        for _ in 0..<4 { queries.append(narrow(&play.generator)) }
        for _ in 0..<6 {
          var query = asked(play.generator.query(documents: known))
          (query.path, query.collectionGroup) = (ResourcePath(), "s")
          queries.append(query)
        }
        try await declareSome(queries, &play)
        for query in queries { try await compare(query, known, past: past, &play) }
        past = Past(
          version: try await play.storage.currentVersion(), embedded: try play.embedded.currentVersion(),
          documents: known)
      }
    }

    private struct Past {
      var version: SnapshotVersion
      /// The same state of the embedded storage.
      var embedded: SnapshotVersion
      var documents: [NaiveDocument]
    }

    private static func compare(_ query: Query, _ known: [NaiveDocument], past: Past?, _ play: inout Play) async throws
    {
      let place: Comment = "HEARTH_TEST_SEED=\(play.seed), query \(CaseText.text(query))"
      let bytes = play.generator.element([1, 200, 500, 2_000])
      try await compare(query, at: nil, known, embedded: nil, &play, place)
      guard let past else { return }
      try await compare(query, at: past.version, past.documents, embedded: past.embedded, &play, place)
      switch play.generator.below(4) {
      case 0: try await compareSmallPieces(of: bytes, query, at: nil, known, &play, place)
      case 1: try await compareSmallPieces(of: bytes, query, at: past.version, past.documents, &play, place)
      default: break
      }
    }

    // MARK: - Documents

    private static func change(_ play: inout Play) async throws {
      // Many documents with few values, which some ranges share.
      var writes: [Mutation] = []
      for number in 0..<30 {
        let fields: MapValue = [
          "a": play.generator.below(2).value, "b": play.generator.below(2).value,
          "t": .array([play.generator.below(3).value]),
        ]
        writes.append(.set(key("c/n\(number)"), fields))
      }
      try await play.commit(writes)
      for _ in 0..<25 { try await changeGroup(&play) }
      for _ in 0..<40 {
        let key = play.generator.key()
        let isSet = play.generator.chance(85)
        try await play.commit([isSet ? .set(key, play.generator.fields()) : .delete(key)])
      }
    }

    /// Changes a document of one of many collections with one id, or takes the collection out.
    private static func changeGroup(_ play: inout Play) async throws {
      let collection = path("w/\(play.generator.below(30))/s")
      if play.generator.chance(20) {
        let keys = play.present.keys.filter { $0.collectionPath == collection }.sorted()
        try await play.commit(keys.map { .delete($0) })
      } else {
        let key = key("\(collection.canonicalString)/x\(play.generator.below(2))")
        try await play.commit([.set(key, play.generator.fields())])
      }
    }

    // MARK: - Queries

    /// A query whose conditions several indexes serve, each a part.
    private static func narrow(_ generator: inout CaseGenerator) -> Query {
      var query = Query(path: path("c"))
      query = query.with(filter: .field(field("a"), .equal, generator.below(2).value))
      query = query.with(filter: .field(field("b"), .equal, generator.below(2).value))
      if generator.chance(50) {
        query = query.with(filter: .field(field("t"), .arrayContains, generator.below(3).value))
      }
      return query
    }

    /// A query as the server gets it: a limit to the last documents is one of the reversed order.
    private static func asked(_ query: Query) -> Query {
      var query = query
      query.limitType = .first
      return query
    }

    private static func declareSome(_ queries: [Query], _ play: inout Play) async throws {
      if play.generator.chance(20) { return }
      var wanted: Set<IndexDefinition> = []
      for _ in 0..<3 + play.generator.below(10) {
        let query = play.generator.element(queries)
        if play.generator.chance(40) {
          wanted.formUnion(try await play.storage.missingIndexes(for: query))
        } else {
          // Indexes of single fields, which are merged.
          let filters = query.filters.flatMap(\.flattened).filter { !$0.path.isDocumentKey }
          for filter in filters.prefix(3) {
            let kind: IndexDefinition.Kind = filter.op == .arrayContains ? .contains : .ascending
            let group = query.collectionGroup ?? query.path.last ?? ""
            guard !group.isEmpty else { continue }
            let isOfGroup = query.collectionGroup != nil && play.generator.chance(60)
            wanted.insert(
              try IndexDefinition(
                collectionGroup: group, scope: isOfGroup ? .collectionGroup : .collection,
                fields: [.init(path: filter.path, kind: kind)]))
          }
        }
      }
      await play.storage.declare(Array(wanted))
      let isPartial = play.generator.chance(30)
      let limits = ClusterIndexFilling.Limits(documents: isPartial ? 1 + play.generator.below(20) : 1_000)
      try await play.storage.fillIndexes(limits, steps: isPartial ? 1 + play.generator.below(4) : 60)
    }

    // MARK: - Comparing

    private static func compare(
      _ query: Query, at version: SnapshotVersion?, _ documents: [NaiveDocument], embedded: SnapshotVersion?,
      _ play: inout Play, _ place: Comment
    ) async throws {
      let storage = play.storage
      let expected = NaiveQuery(query).answer(documents)
      play.ways.note(version == nil ? "pairs" : "past")
      if !expected.isEmpty { play.ways.note("found") }
      let answer = try await storage.run(query, at: version)
      play.ways.note(answer.execution)
      #expect(answer.documents.map(\.key) == expected, place)
      let other = try await play.embedded.run(query, at: embedded)
      #expect(answer.documents.map(\.fields) == other.documents.map(\.fields), place)

      let count = Aggregation(alias: "count", operation: .count(upTo: nil))
      let totals = try await storage.aggregate([count], over: query, skipping: 0, at: version).totals
      play.ways.note("totals")
      #expect(totals.documentCount == expected.count, place)

      let sums = [count, Aggregation(alias: "sum", operation: .sum(field("a")))]
      let skipped = 1 + expected.count / 3
      let rest = try await storage.aggregate(sums, over: query, skipping: skipped, at: version).totals
      let all =
        query.limit == nil
        ? answer.documents : try await storage.run(query.widened(by: skipped), at: version).documents
      #expect(rest.values == (try AggregationTotals(sums, over: all.dropFirst(skipped)).values), place)

      let pieces = try await storage.pieces(of: query, at: version, firstCount: 2)
      for _ in pieces.dropFirst() { play.ways.note("pieces") }
      #expect(pieces.flatMap(\.documents).map(\.key) == expected, place)
    }

    /// Compares pieces of so few bytes that results without an order of their own are sorted by their keys.
    private static func compareSmallPieces(
      of bytes: Int, _ query: Query, at version: SnapshotVersion?, _ documents: [NaiveDocument], _ play: inout Play,
      _ place: Comment
    ) async throws {
      do {
        let pieces = try await play.storage.pieces(
          of: query, at: version, firstCount: 2, bytes: bytes, keptBytes: bytes)
        play.ways.note(pieces.first?.execution)
        #expect(pieces.flatMap(\.documents).map(\.key) == NaiveQuery(query).answer(documents), place)
      } catch let error as StatusError {
        play.ways.note("exhausted")
        #expect(error.code == .resourceExhausted && error.message.contains("--max-sort-bytes"), place)
      }
    }
  }
#endif
