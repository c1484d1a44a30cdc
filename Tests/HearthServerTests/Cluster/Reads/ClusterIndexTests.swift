#if PostgreSQL
  import HearthModel
  import HearthPlan
  import HearthPostgres
  import HearthStore
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Indexes over PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(10)))
  struct ClusterIndexTests {
    private static func ascending(
      _ path: String, of group: String = "c", scope: IndexDefinition.Scope = .collection
    ) throws -> IndexDefinition {
      try IndexDefinition(collectionGroup: group, scope: scope, fields: [.init(path: field(path), kind: .ascending)])
    }

    private static func equal(_ path: String, _ value: Value, in collection: String = "c") -> Query {
      Query(path: ResourcePath(collection.split(separator: "/").map(String.init))).with(
        filter: .field(field(path), .equal, value))
    }

    @Test("a definition is read back from its columns, and other bytes are none")
    func columns() throws {
      var generator = CaseGenerator(seed: SeededGenerator.askedSeed ?? 1)
      for _ in 0..<300 {
        let definition = generator.index()
        guard !definition.fields.isEmpty else { continue }
        let (group, fields) = (Array(definition.collectionGroup.utf8), ClusterIndex.encodedFields(of: definition))
        #expect(ClusterIndex.definition(group: group, fields: fields) == definition)
        for count in 0..<fields.count { _ = ClusterIndex.definition(group: group, fields: Array(fields.prefix(count))) }
        for _ in 0..<10 {
          var damaged = fields
          damaged[generator.below(fields.count)] = UInt8(generator.below(256))
          _ = ClusterIndex.definition(group: group, fields: damaged)
        }
      }
      #expect(ClusterIndex.definition(group: [0x63], fields: [9, 1]) == nil)
      #expect(ClusterIndex.definition(group: [0x63], fields: [1, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    }

    /// Compares the entries of the database with those that its documents should have.
    private static func expectRightEntries(of storage: ClusterStorage, _ cluster: ClusterFixture, _ place: Comment)
      async throws
    {
      let stored = try await cluster.execute(
        "SELECT number, collection, key, target, id FROM hearth_entries ORDER BY number, collection, key")
      let entries = try stored.map { row in
        ClusterEntry(
          number: try row.int32(0), collection: try row.int64(1), key: try row.bytes(2), target: try row.int64(3),
          id: try row.bytes(4))
      }
      let expected = try await storage.snapshot { snapshot in
        var expected: [ClusterEntry] = []
        let definitions = try snapshot.presentDefinitions
        try ClusterScope(.everything(under: ResourcePath())).forEachDocument(in: snapshot) { row in
          let document = try row.document(key: row.key)
          expected +=
            definitions.changes(
              of: DocumentTransition(before: .missing(document.key, version: .none), after: document),
              collection: try row.place.collection
            ).added
          return true
        }
        return expected.sorted {
          ($0.number, $0.collection) == ($1.number, $1.collection)
            ? $0.key.lexicographicallyPrecedes($1.key) : ($0.number, $0.collection) < ($1.number, $1.collection)
        }
      }
      #expect(entries == expected, place)
    }

    @Test("entries follow documents on two nodes, while indexes come, fill and go", arguments: SeededGenerator.seeds(4))
    func entries(seed: UInt64) async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = [try await cluster.node().storage(), try await cluster.node().storage()]
        for node in nodes { node.holdFilling() }
        var generator = CaseGenerator(seed: seed)
        for _ in 0..<6 {
          for _ in 0..<25 {
            let (key, isSet) = (generator.key(), generator.chance(75))
            try await generator.element(nodes).commit(isSet ? .set(key, generator.fields()) : .delete(key))
          }
          let definitions = (0..<4).map { _ in generator.index() }.filter { !$0.fields.isEmpty }
          await generator.element(nodes).declare(definitions)
          let limits = ClusterIndexFilling.Limits(documents: 3, entries: 5)
          for _ in 0..<10 {
            try await generator.element(nodes).fillIndexes(limits, steps: 1)
            try await generator.element(nodes).commit(.set(generator.key(), generator.fields()))
          }
        }
        // A lease ends with the time, and either node goes on.
        try await waitUntil {
          for node in nodes { try await node.fillIndexes() }
          return try await nodes[0].snapshot { snapshot in
            let definitions = try snapshot.presentDefinitions
            return definitions.dropped.isEmpty && definitions.active.allSatisfy { $0.mark == nil }
          }
        }
        for node in nodes { try await Self.expectRightEntries(of: node, cluster, "HEARTH_TEST_SEED=\(seed)") }
      }
    }

    @Test("an index that another node drops or defines anew is not read along with what is remembered of it")
    func staleDefinitions() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (first, second) = (try await cluster.node().storage(), try await cluster.node().storage())
        for node in [first, second] { node.holdFilling() }
        try await first.commitAll((0..<20).map { .set(key("c/d\($0)"), ["n": ($0 % 2).value]) })
        await first.declare([try Self.ascending("n")])
        try await first.fillIndexes()
        let query = Self.equal("n", 1)
        #expect(try await second.run(query, at: nil).execution?.plan == .index)
        await first.declare([])
        try await first.fillIndexes()
        // The entries are gone by now.
        let answer = try await second.run(query, at: nil)
        #expect(answer.documents.count == 10)
        #expect(answer.execution?.plan == .scan)
        await first.declare([try Self.ascending("n")])
        try await first.fillIndexes()
        _ = try await second.run(query, at: nil)
        #expect(try await second.run(query, at: nil).execution?.plan == .index)
      }
    }

    @Test("an index that is being filled answers like a scan at every step")
    func partlyFilled() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        let keys = (0..<40).map { key("\($0 % 3 == 0 ? "c" : "w/\($0 % 5)/c")/d\($0)") }
        try await storage.commitAll(keys.enumerated().map { .set($1, ["n": ($0 % 2).value]) })
        await storage.declare([try Self.ascending("n"), try Self.ascending("n", scope: .collectionGroup)])
        let expected = Set(keys.enumerated().filter { $0.offset % 2 == 1 }.map(\.element))
        var steps = 0
        var isFilled = false
        while !isFilled {
          for limit in [nil, 5, 100] as [Int?] {
            var query = Query(path: ResourcePath(), collectionGroup: "c").with(filter: .field(field("n"), .equal, 1))
            query.limit = limit
            let answer = try await storage.run(query, at: nil)
            #expect(answer.documents.map(\.key) == Array(expected.sorted().prefix(limit ?? .max)))
            #expect(try await storage.pieces(of: query, firstCount: 3).flatMap(\.documents) == answer.documents)
            query.limit = nil
            let count = Aggregation(alias: "count", operation: .count(upTo: nil))
            let totals = try await storage.aggregate([count], over: query, skipping: 0, at: nil).totals
            #expect(totals.documentCount == expected.count)
          }
          try await storage.fillIndexes(.init(documents: 7), steps: 1)
          steps += 1
          isFilled = try await storage.snapshot { try $0.presentDefinitions.active.allSatisfy { $0.mark == nil } }
        }
        #expect(steps > 5)
      }
    }

    @Test("a query that scans much for little gets an index")
    func automatic() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.commitAll((0..<300).map { .set(key("c/d\($0)"), ["n": $0.value]) })
        let query = Self.equal("n", 7)
        let first = try await storage.page(of: query, after: nil, at: nil).answer
        #expect(first.execution?.plan == .scan)
        #expect(first.execution?.rowsRead == 300)
        try await waitUntil {
          let answer = try await storage.page(of: query, after: nil, at: nil).answer
          return answer.execution?.plan == .index && answer.execution?.rowsRead == 1
        }
        let isKept = try await storage.snapshot {
          try $0.presentDefinitions.active.allSatisfy { $0.stored.origin == .automatic }
        }
        #expect(isKept)
      }
    }

    @Test("a count along an index reads no document, and counts those that it holds without their values")
    func count() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        let long = Value.string(String(repeating: "x", count: 2_000))
        try await storage.commitAll(
          (0..<50).map { .set(key("c/d\($0)"), ["n": $0 < 30 ? 1.value : .double(.nan), "t": "a"]) }
            + [.set(key("c/long"), ["n": 1, "t": long]), .set(key("c/null"), ["n": .null])])
        await storage.declare([try Self.ascending("n"), try Self.ascending("t")])
        try await storage.fillIndexes()
        let count = Aggregation(alias: "count", operation: .count(upTo: nil))
        func execution(_ query: Query) async throws -> (count: Int, rows: Int) {
          let answer = try await storage.aggregate([count], over: query, skipping: 0, at: nil)
          #expect(answer.totals.documentCount == (try await storage.run(query, at: nil).documents.count))
          return (answer.totals.documentCount, answer.execution?.rowsRead ?? -1)
        }
        #expect(try await execution(Self.equal("n", 1)) == (31, 0))
        #expect(try await execution(Self.equal("t", "a")) == (50, 1))
        // NaN is among the numbers, but not less than one.
        let less = Query(path: path("c")).with(filter: .field(field("n"), .lessThan, 5))
        #expect(try await execution(less).count == 31)
        let more = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 0))
        #expect(try await execution(more) == (31, 0))
        #expect(try await execution(Query(path: path("c"))) == (52, 0))
      }
    }

    @Test("a result that cannot be sorted in the memory for that names the index that it lacks")
    func budget() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let storage = try await ClusterStorage.open(
          ServerFixture.database, in: node.engine, sortBudget: SortBudget(maximumBytes: 20_000))
        storage.holdFilling()
        let text = Value.string(String(repeating: "x", count: 1_000))
        try await storage.commitAll((0..<600).map { .set(key("c/d\($0)"), ["n": ($0 * 7 % 600).value, "t": text]) })
        let query = Query(path: path("c")).with(order: OrderBy(path: field("n"), direction: .ascending))
        let error = await #expect(throws: StatusError.self) { try await storage.pieces(of: query) }
        #expect(error?.code == .resourceExhausted)
        #expect(error?.message.contains("20000 bytes for them (--max-sort-bytes)") == true)
        #expect(error?.message.contains(#"{"fieldPath": "n", "order": "ASCENDING"}"#) == true)
        try await waitUntil { try await storage.snapshot { try !$0.presentDefinitions.active.isEmpty } }
        try await storage.fillIndexes()
        let pieces = try await storage.pieces(of: query)
        #expect(pieces.flatMap(\.documents).count == 600)
        #expect(pieces.allSatisfy { $0.execution?.plan == .index })
      }
    }

    @Test("pieces read what they show, by an index and along the keys")
    func effort() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        try await storage.commitAll((0..<2_000).map { .set(key("c/d\($0)"), ["n": $0.value, "m": ($0 % 2).value]) })
        await storage.declare([try Self.ascending("n")])
        try await storage.fillIndexes(steps: 60)
        for order in [field("n"), .documentKey] {
          let query = Query(path: path("c")).with(order: OrderBy(path: order, direction: .ascending))
          let pieces = try await storage.pieces(of: query)
          #expect(pieces.flatMap(\.documents).count == 2_000)
          for piece in pieces { #expect((piece.execution?.rowsRead ?? 0) <= piece.documents.count + 1) }
        }
      }
    }
  }
#endif
