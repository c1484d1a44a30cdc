#if PostgreSQL
  import HearthModel
  import HearthPlan
  import HearthPostgres
  import HearthStore
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Names of all kinds, as keys of tables and in lists: numeric ids, U+0000, and paths that are longer than keys of B-trees may be.
  @Suite(
    "Names over PostgreSQL", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(10)))
  struct ClusterNamesTests {
    private static let ids = [
      "a", "b", "ab", "a!", "a/".replacing("/", with: "0"), "a\0", "a\0b", "\u{E9}", "e\u{301}", "__id3__", "__id20__",
      "__id-5__", "__id007__", "__id7__", "__id9223372036854775807__", "__id99999999999999999999__", "__idx__", "Z",
      "\u{FFFF}",
      "\u{10000}", String(repeating: "l", count: 1_490), String(repeating: "l", count: 1_490) + "m",
      String(repeating: "\0", count: 700),
    ]

    @Test("the bytes of ids are in the order of ids, and lead back to them")
    func idBytes() throws {
      for a in Self.ids {
        #expect(try ClusterNames.id(of: ClusterNames.idBytes(a), in: "test") == a)
        for b in Self.ids {
          let (x, y) = (ClusterNames.idBytes(a), ClusterNames.idBytes(b))
          let order: Ordering = x == y ? .same : x.lexicographicallyPrecedes(y) ? .ascending : .descending
          #expect(order == PathSegment.compare(a, b), "\(a.debugDescription) and \(b.debugDescription)")
        }
      }
    }

    @Test("the places of paths are in the order of paths, and those below one begin with its place")
    func pathOrder() throws {
      var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 1)
      let paths = (0..<60).map { _ in
        ResourcePath((0...generator.below(4)).map { _ in generator.element(Self.ids) })
      }
      for a in paths {
        let x = ClusterNames.order(of: a)
        #expect(ClusterNames.order(of: a.appending("z")).starts(with: x))
        for b in paths {
          let y = ClusterNames.order(of: b)
          let order: Ordering = x == y ? .same : x.lexicographicallyPrecedes(y) ? .ascending : .descending
          #expect(order == ResourcePath.compare(a, b))
          #expect(y.starts(with: x) == a.isPrefix(of: b))
        }
      }
    }

    /// Documents of nested collections with one id, some of them far down.
    private static func keys(_ generator: inout SeededGenerator, count: Int) -> Set<DocumentKey> {
      let long = String(repeating: "n", count: 900)
      let documents = ["c/a", "c/__id3__", "c/__id20__", "c/a/s/x", "c/a/s/x/s/y", "d/\(long)/e/\(long)", "d/\(long)"]
      var keys: Set<DocumentKey> = []
      while keys.count < count {
        let parent = generator.element(documents)
        let id = generator.chance(70) ? "d\(generator.below(30))" : generator.element(Self.ids)
        let collection = generator.chance(80) ? "s" : generator.element(["t", "c", "\(long)o"])
        keys.insert(key(generator.chance(20) ? "s/\(id)" : "\(parent)/\(collection)/\(id)"))
        // Many small collections.
        if generator.chance(50) { keys.insert(key("w/\(generator.below(400))/s/\(id)")) }
      }
      return keys
    }

    @Test("documents of all collections come in the order of their keys, from any bound, in both directions")
    func keyOrder() async throws {
      var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 3)
      let keys = Self.keys(&generator, count: 700)
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.commitAll(keys.sorted().map { .set($0, [:]) })
        let documents = keys.map { NaiveDocument(key: $0, fields: [:]) }
        for round in 0..<40 {
          let direction: OrderBy.Direction = generator.chance(50) ? .ascending : .descending
          let group = generator.element(["s", "s", "s", "", "t"])
          var query = Query(path: ResourcePath(), collectionGroup: group)
            .with(order: OrderBy(path: .documentKey, direction: direction))
          func bound() -> Bound {
            let key =
              generator.chance(70) ? generator.element(keys.sorted()) : key("c/a/s/\(generator.element(Self.ids))")
            let reference = Value.reference(ReferenceValue(database: ServerFixture.database, key: key))
            return Bound(position: [reference], isInclusive: generator.chance(50))
          }
          if generator.chance(60) { query.startAt = bound() }
          if generator.chance(30) { query.endAt = bound() }
          if generator.chance(60) { query = query.with(limit: 1 + generator.below(400)) }
          let expected = NaiveQuery(query).answer(documents)
          let pieces = try await storage.pieces(of: query, firstCount: 1 + generator.below(40))
          #expect(pieces.flatMap(\.documents).map(\.key) == expected, "round \(round): \(CaseText.text(query))")
          #expect(pieces.allSatisfy { $0.execution?.plan == .keys })
          guard let limit = query.limit else { continue }
          query = query.with(limit: limit, type: .last)
          let last = try await storage.run(query, at: nil)
          #expect(last.documents.map(\.key) == NaiveQuery(query).answer(documents), "round \(round)")
        }
      }
    }

    @Test("lists of ids below a path are those of the documents, at the present and in the past")
    func lists() async throws {
      var generator = SeededGenerator(seed: SeededGenerator.askedSeed ?? 5)
      let keys = Self.keys(&generator, count: 500)
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.commitAll(keys.sorted().map { .set($0, [:]) })
        let past = try await storage.currentVersion()
        // Whole collections go, and others come.
        let gone = keys.filter { $0.path.segments[0] == "w" && generator.chance(60) || $0.collectionGroup == "t" }
        let new = (0..<20).map { key("w/new\($0)/s/x") } + [key("new/x")]
        try await storage.commitAll(gone.sorted().map { .delete($0) } + new.map { .set($0, [:]) })
        let present = keys.subtracting(gone).union(new)
        let parents = Set((Array(keys) + new).flatMap { key in (0..<key.path.count).map { key.path.prefix($0) } })
        for (version, keys) in [(past, keys), (nil, present)] as [(SnapshotVersion?, Set<DocumentKey>)] {
          for parent in parents.sorted().filter({ $0.count < 2 || generator.chance(15) }) {
            let isDocument = parent.count.isMultiple(of: 2)
            let below = keys.filter {
              parent.isPrefix(of: $0.path) && $0.path.count > parent.count + (isDocument ? 0 : 1)
            }
            let expected = Set(below.map { $0.path.segments[parent.count] })
              .sorted { PathSegment.compare($0, $1) == .ascending }
            var found: [String] = []
            while true {
              let page = try await storage.collectionIDs(
                under: parent, after: found.last, limit: 1 + generator.below(60), at: version)
              if page.isEmpty { break }
              found += page
            }
            #expect(found == expected, "below \(parent.canonicalString.prefix(60)), in the past: \(version != nil)")
          }
        }
      }
    }

    @Test("points of partitions divide a group into parts of about the same size")
    func partitions() async throws {
      var generator = SeededGenerator(seed: 7)
      let keys = Self.keys(&generator, count: 600).filter { $0.collectionGroup == "s" }
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        try await storage.commitAll(keys.sorted().map { .set($0, [:]) })
        let query = Query(path: ResourcePath(), collectionGroup: "s")
        for count in [1, 3, 9, 400] {
          let answer = try await storage.partitionPoints(of: query, count: count, minimumSize: 10, at: nil)
          #expect(answer.points == answer.points.sorted())
          #expect(answer.points.count == min(count, keys.count / 10 - 1))
          let sizes = zip([nil] + answer.points, answer.points + [nil]).map { start, end in
            keys.count { key in (start.map { $0 <= key } ?? true) && (end.map { key < $0 } ?? true) }
          }
          #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)
        }
      }
    }

    @Test("documents with the longest names and values are stored, found, indexed and deleted")
    func longNames() async throws {
      try await ClusterFixture.withCluster { cluster in
        let storage = try await cluster.node().storage()
        storage.holdFilling()
        let id = String(repeating: "i", count: 1_500)
        let deep = "\(id)/\(id)/\(id)/\(id.dropLast(500))"
        let keys = [
          key("c/\(id)"), key("c/\(String(id.dropLast()))"), key(deep),
          key("c/\(String(repeating: "\0", count: 1_500))"),
        ]
        let value = Value.string(String(repeating: "v", count: 1_480))
        await storage.declare([
          try IndexDefinition(collectionGroup: "c", fields: [.init(path: field("v"), kind: .ascending)]),
          try IndexDefinition(
            collectionGroup: "c", scope: .collectionGroup, fields: [.init(path: field("v"), kind: .ascending)]),
        ])
        try await storage.commitAll(keys.map { .set($0, ["v": value]) })
        await storage.declare([
          try IndexDefinition(collectionGroup: "c", fields: [.init(path: field("v"), kind: .ascending)]),
          try IndexDefinition(
            collectionGroup: "c", scope: .collectionGroup, fields: [.init(path: field("v"), kind: .descending)]),
        ])
        try await storage.fillIndexes()
        #expect(try await storage.documents(for: keys, at: nil).documents.allSatisfy(\.isFound))
        for query in [Query(path: path("c")), Query(path: ResourcePath(), collectionGroup: "c")] {
          let narrowed = query.with(filter: .field(field("v"), .equal, value))
          let answer = try await storage.run(narrowed, at: nil)
          #expect(Set(answer.documents.map(\.key)) == Set(keys.filter { $0.collectionGroup == "c" }))
          #expect(answer.execution?.plan == .index)
        }
        try await storage.commitAll(keys.map { .delete($0) })
        #expect(try await storage.run(Query(path: path("c")), at: nil).documents.isEmpty)
        let left = try await cluster.execute("SELECT count(*) FROM hearth_entries").only().int64(0)
        #expect(left == 0)
      }
    }
  }

  extension ResourcePath {
    fileprivate func prefix(_ count: Int) -> ResourcePath { ResourcePath(Array(segments.prefix(count))) }
  }
#endif
