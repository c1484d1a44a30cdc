import HearthModel
import TestSupport
import Testing

@Suite("Queries, generated")
struct QueryPropertyTests {
  @Test("matching in place agrees with matching on decoded values", arguments: 0..<400)
  func matching(seed: Int) throws {
    var generator = ModelGenerator(seed: seed)
    for _ in 0..<10 {
      let query = generator.query()
      for _ in 0..<20 {
        let document = generator.document()
        let expected = NaiveQuery(query).matches(NaiveDocument(key: document.key, fields: document.values))
        #expect(query.matches(document) == expected, "\(query) on \(document.key) \(document.values)")
      }
    }
  }

  @Test("the order of a query is total and reversed by its mirror", arguments: 0..<150)
  func ordering(seed: Int) {
    var generator = ModelGenerator(seed: seed)
    var query = generator.query(bounded: false)
    query.limit = nil
    let documents = generator.some(3..<12) { $0.document() }
    for a in documents {
      #expect(query.compare(a, a) == .same)
      for b in documents {
        #expect(query.compare(a, b) == query.compare(b, a).reversed)
        for c in documents where query.compare(a, b) != .descending && query.compare(b, c) != .descending {
          #expect(query.compare(a, c) != .descending)
        }
      }
    }
    let mirror = query.with(limit: 1, type: .last).target.query
    let sorted = documents.sorted { query.compare($0, $1) == .ascending }
    for (a, b) in zip(sorted, sorted.dropFirst()) {
      #expect(query.compare(a, b) != .descending)
      #expect(mirror.compare(a, b) == query.compare(a, b).reversed)
    }
  }

  @Test("the target of a query holds the same documents", arguments: 0..<150)
  func targets(seed: Int) {
    var generator = ModelGenerator(seed: seed)
    let query = generator.query()
    let target = query.target
    #expect(target.query.target == target)
    for _ in 0..<30 {
      let document = generator.document()
      #expect(query.matches(document) == target.query.matches(document), "\(query)")
    }
  }

  @Test("the disjunctive normal form has the same matches", arguments: 0..<200)
  func disjunctions(seed: Int) throws {
    var generator = ModelGenerator(seed: seed)
    var query = Query(path: path("c"), filters: generator.some(0..<4) { $0.filter() })
    // The ordered fields of all generated filters are the same on both sides.
    let terms = try #require(query.disjunctions(atMost: 100_000))
    for _ in 0..<30 {
      var document = generator.document()
      document.key = key("c/a")
      let filters = query.filters
      let whole = holds(.and(filters), document)
      let parts = terms.contains { term in holds(.and(term.map(Filter.field)), document) }
      #expect(whole == parts, "\(filters) on \(document.values)")
    }
    // Equal where nothing is left out of the normal form, as nulls in lists are, and no membership of it stands twice.
    let memberships = terms.map { $0.filter { $0.op == .arrayContains } }
    let (all, distinct) = (memberships.map(\.count).max() ?? 0, memberships.map { Set($0).count }.max() ?? 0)
    #expect(terms.count < query.disjunctionCount || query.membershipCount <= all)
    #expect(query.membershipCount >= distinct)
    query.filters = []
    #expect(query.disjunctions(atMost: 1) == [[]])
  }

  @Test("canonical ids are the same exactly for equal queries", arguments: 0..<60)
  func canonicalIDs(seed: Int) {
    var generator = ModelGenerator(seed: seed)
    let queries = generator.some(40..<41) { generator in
      var query = generator.query()
      // Few parts, so that equal ones come up.
      query.filters = query.filters.prefix(1).filter { _ in generator.chance(2) }
      if generator.chance(2) { query.startAt = nil }
      return query
    }
    for a in queries {
      for b in queries {
        #expect((a == b) == (a.canonicalID == b.canonicalID))
        if a == b { #expect(a.hashValue == b.hashValue) }
      }
    }
  }

  private func holds(_ filter: Filter, _ document: Document) -> Bool {
    document.fields.withUnsafeBytes { bytes in
      (try? filter.matches(key: document.key, fields: EncodedFieldsView(bytes))) ?? false
    }
  }
}
