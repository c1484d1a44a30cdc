import HearthModel
import HearthPlan
import TestSupport
import Testing

/// The promises of a plan, compared with documents and their keys in memory: no storage is needed.
@Suite("Plans of queries")
struct QueryPlannerTests {
  /// `HEARTH_TEST_SEED` repeats one world.
  @Test("the ranges of a plan lead to each document of the result, and keep what is said of their order")
  func ranges() throws {
    var counts = Counts()
    for seed in SeededGenerator.seeds(40) {
      var generator = CaseGenerator(seed: seed)
      var world: [DocumentKey: NaiveDocument] = [:]
      for _ in 0..<60 {
        let key = generator.key()
        world[key] = NaiveDocument(key: key, fields: generator.fields())
      }
      let documents = world.values.sorted { $0.key < $1.key }
      for _ in 0..<60 {
        let query = generator.query(documents: documents)
        guard query.documentAtPath == nil, let group = query.collectionGroup ?? query.path.last, !group.isEmpty else {
          continue
        }
        var definitions = (0..<4).map { _ in generator.index(for: query) }
        definitions.removeAll { $0.fields.isEmpty || $0.collectionGroup != group }
        if generator.chance(50) {
          definitions += try QueryPlanner(query, indexes: []).missingIndexes(usesGroupIndexes: generator.chance(50))
        }
        let indexes = definitions.enumerated().map { number, definition in
          StoredIndex(
            number: Int64(number + 1), definition: definition, origin: .declared, filledThrough: StoredIndex.complete,
            localFilledThrough: StoredIndex.complete)
        }
        let comparison = PlanComparison(query, documents, "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query))")
        try comparison.check(try QueryPlanner(query, indexes: indexes).decide(), &counts)
      }
    }
    guard SeededGenerator.askedSeed == nil else { return }
    #expect(counts.plans >= 500 && counts.ordered >= 200 && counts.exact >= 200 && counts.others >= 20, "\(counts)")
  }

  @Test("an index that has a field twice binds its condition once")
  func fieldTwice() throws {
    let fields = [
      IndexDefinition.Field(path: try FieldPath(["a"]), kind: .ascending),
      .init(path: try FieldPath(["a"]), kind: .descending),
    ]
    let index = StoredIndex(proposed: try IndexDefinition(collectionGroup: "c", fields: fields))
    let query = try Query(
      path: ResourcePath(["c"]), filters: [.field(FieldPath(["a"]), .equal, 0), .field(FieldPath(["b"]), .equal, 0)])
    guard case .use(let accesses) = try QueryPlanner(query, indexes: [index]).decide(),
      case .index(let access)? = accesses.first
    else {
      Issue.record("no index is used")
      return
    }
    #expect(access.bounds == ["a == 0"])
    #expect(!access.isExact)
  }

  @Test("a plan without an index says why")
  func reasons() throws {
    let query = try Query(path: ResourcePath(["c"]), filters: [.field(FieldPath(["n"]), .equal, 1)])
    func reason(_ query: Query, _ indexes: [StoredIndex]) throws -> String? {
      if case .scan(let reason) = try QueryPlanner(query, indexes: indexes).decide() { reason } else { nil }
    }
    let other = StoredIndex(
      proposed: try IndexDefinition(collectionGroup: "c", fields: [.init(path: FieldPath(["m"]), kind: .ascending)]))
    #expect(try reason(Query(path: ResourcePath(["c"])), [other]) == "the query asks for all documents")
    #expect(try reason(query, []) == "there is no index of this collection group")
    #expect(try reason(query, [other]) == "no index serves n == 1")
    let numbers = (0..<11).map { Value.integer(Int64($0)) }
    let many = try query.with(filter: .field(FieldPath(["a"]), .in, .array(numbers)))
      .with(filter: .field(FieldPath(["b"]), .in, .array(numbers)))
    #expect(try reason(many, [other]) == "its conditions have more than 100 alternatives")
  }

  @Test("an index that is missing serves its query in order, and is missing no more")
  func missing() throws {
    let query = try Query(path: ResourcePath(["c"]), filters: [.field(FieldPath(["n"]), .equal, 1)])
      .with(order: OrderBy(path: FieldPath(["m"]), direction: .descending)).with(limit: 3)
    let missing = try QueryPlanner(query, indexes: []).missingIndexes()
    let index = StoredIndex(proposed: try #require(missing.first))
    #expect(missing.map(\.description) == ["c: n ASCENDING, m DESCENDING"])
    let planner = QueryPlanner(query, indexes: [index], isOrderNeeded: true)
    guard case .use(let accesses) = try planner.decide(), case .index(let access)? = accesses.first else {
      Issue.record("the index is not used")
      return
    }
    #expect(accesses.count == 1 && access.isOrdered && access.isExact && !access.isBackward && !access.range.isEmpty)
    #expect(try planner.missingIndexes(forPieces: .direct).isEmpty)
  }
}

private struct Counts {
  var plans = 0
  var ordered = 0
  var exact = 0
  var others = 0
}

/// Compares the plan of a query with documents in memory.
private struct PlanComparison {
  private let query: Query
  private let documents: [NaiveDocument]
  private let matches: [DocumentKey]
  private let place: Comment

  init(_ query: Query, _ documents: [NaiveDocument], _ place: Comment) {
    (self.query, self.documents, self.place) = (query, documents, place)
    var all = query
    all.limit = nil
    matches = NaiveQuery(all).answer(documents)
  }

  func check(_ decision: QueryPlanner.Decision, _ counts: inout Counts) throws {
    guard case .use(let accesses) = decision else { return }
    counts.plans += 1
    var reached: Set<DocumentKey> = []
    for access in accesses {
      switch access {
      case .document(let key): reached.insert(key)
      case .index(let access): reached.formUnion(self.reached(by: access))
      }
    }
    #expect(reached.isSuperset(of: matches), place)
    for case .index(let access) in accesses {
      if access.isOrdered { checkOrder(of: access, &counts) }
      // If there are several alternatives, each leads to documents of its own.
      guard accesses.count == 1 else { continue }
      for other in access.others {
        counts.others += 1
        #expect(self.reached(by: other).isSuperset(of: matches), place)
      }
      if access.isOrdered, access.isExact, isDecidedByRanges {
        counts.exact += 1
        #expect(Set(entries(in: access).map(\.key)).isSubset(of: matches), place)
      }
    }
  }

  /// False if a document in an exact range may still not match: for NaN or null in an inequality, or for a field that it lacks, which the
  /// query orders by behind the key.
  private var isDecidedByRanges: Bool {
    let mayMeetNaN = query.filters.flatMap(\.flattened).contains { filter in
      filter.op.isInequality && (filter.value == .null || filter.value.typeOrder == Value.integer(0).typeOrder)
    }
    return !mayMeetNaN && query.orders.last?.path.isDocumentKey == true
  }

  /// The documents of the scope that a run along the access looks at: those of its range, and those without values.
  private func reached(by access: IndexAccess) -> Set<DocumentKey> {
    var found: Set<DocumentKey> = []
    for document in documents where CollectionScope(of: query).contains(document.key) {
      let keys = keys(of: document, access.index)
      if keys.contains(where: { access.range.holds($0) || IndexRange.withoutValues.holds($0) }) {
        found.insert(document.key)
      }
    }
    return found
  }

  /// Within one collection, or within the group, the range has the order of the query.
  private func checkOrder(of access: IndexAccess, _ counts: inout Counts) {
    counts.ordered += 1
    let entries = entries(in: access)
    let isBackward = access.isBackward != query.isLimitToLast
    let lists =
      access.index.isOfGroup ? [entries] : Dictionary(grouping: entries, by: \.key.collectionPath).values.map { $0 }
    for list in lists {
      let sorted = list.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.key)
      let ordered = (isBackward ? sorted.reversed() : sorted).filter(Set(matches).contains)
      #expect(ordered == matches.filter(Set(ordered).contains), place)
    }
  }

  private func entries(in access: IndexAccess) -> [(key: DocumentKey, bytes: [UInt8])] {
    documents.filter { CollectionScope(of: query).contains($0.key) }.flatMap { document in
      keys(of: document, access.index).filter(access.range.holds).map { (document.key, $0) }
    }
  }

  private func keys(of document: NaiveDocument, _ index: StoredIndex) -> [[UInt8]] {
    var keys = IndexKeys(index)
    let name = document.key.canonicalString
    return keys.keys(of: EncodedFields(document.fields), document.key, identity: IndexKeys.identity(of: name))
  }
}

extension IndexRange {
  fileprivate func holds(_ key: [UInt8]) -> Bool {
    !key.lexicographicallyPrecedes(start) && (end.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}
