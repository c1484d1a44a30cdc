import HearthModel
import Testing

private func asc(_ path: String) -> OrderBy { OrderBy(path: field(path)) }
private func desc(_ path: String) -> OrderBy { OrderBy(path: field(path), direction: .descending) }
private func filter(_ path: String, _ op: FieldFilter.Operator, _ value: Value = .integer(1)) -> Filter {
  .field(field(path), op, value)
}

@Suite("Queries")
struct QueryTests {
  @Test("a collection query holds the direct children of its collection")
  func collection() {
    let query = Query(path: path("c"))
    #expect(query.matches(found("c/a", [:])))
    #expect(!query.matches(found("c/a/c/a", [:])) && !query.matches(found("d/a", [:])))
    #expect(!query.matches(.missing(key("c/a"), version: version(1))) && !query.matches(.unknown(key("c/a"))))
    #expect(!query.matches(.foundWithUnknownContents(key("c/a"), version: version(1))))
    #expect(query.matchesAllDocuments && query.documentKey == nil && !query.isCollectionGroupQuery)
  }

  @Test("a collection group holds collections of that id at any depth below its path")
  func collectionGroup() {
    let everywhere = Query(path: ResourcePath(), collectionGroup: "c")
    #expect(everywhere.matches(found("c/a", [:])) && everywhere.matches(found("x/y/c/a", [:])))
    #expect(!everywhere.matches(found("c/a/d/a", [:])))
    let below = Query(path: path("x/y"), collectionGroup: "c")
    #expect(below.matches(found("x/y/c/a", [:])) && !below.matches(found("c/a", [:])))
    #expect(everywhere.isCollectionGroupQuery)
  }

  @Test("ids of collection groups are compared by bytes")
  func collectionGroupBytes() {
    let composed = Query(path: ResourcePath(), collectionGroup: "\u{e9}")
    let decomposed = Query(path: ResourcePath(), collectionGroup: "e\u{301}")
    #expect(composed != decomposed)
    #expect(composed.canonicalID != decomposed.canonicalID)
    #expect(!composed.matches(found("e\u{301}/a", [:])))
  }

  @Test("a document query holds one document")
  func document() {
    let query = Query(path: path("c/a"))
    #expect(query.documentKey == key("c/a") && query.target.isDocumentTarget)
    #expect(query.matches(found("c/a", [:])) && !query.matches(found("c/a/c/b", [:])))
    #expect(Query(path: path("c/a"), collectionGroup: "d").documentKey == nil)
    #expect(query.with(filter: filter("a", .equal)).documentKey == nil)
    #expect(Query(path: ResourcePath()).documentKey == nil)
  }

  @Test("a document lacking an ordered field is not in the result")
  func orderedFieldsExist() {
    let query = Query(path: path("c")).with(order: asc("a"))
    #expect(!query.matches(found("c/a", ["b": .null])) && query.matches(found("c/a", ["a": .null])))
  }

  @Test("implicit orders: inequalities in the order of paths, then the key, in the last explicit direction")
  func implicitOrders() {
    #expect(Query(path: path("c")).orders == [asc("__name__")])
    #expect(Query(path: path("c"), explicitOrders: [desc("a")]).orders == [desc("a"), desc("__name__")])
    let query = Query(
      path: path("c"),
      filters: [
        filter("z", .greaterThan), .or([filter("b.c", .notEqual), filter("b", .notIn, .array([]))]),
        filter("q", .equal), filter("r", .in, .array([])), filter("a", .lessThanOrEqual),
        filter("__name__", .lessThan, reference("c/a")),
      ], explicitOrders: [asc("x"), desc("a")])
    #expect(
      query.orders == [asc("x"), desc("a"), desc("b"), desc("b.c"), desc("z"), desc("__name__")])
    #expect(query.inequalityFields == ["__name__", "a", "b", "b.c", "z"].map(field))
    let byKey = Query(path: path("c"), filters: [filter("a", .lessThan)], explicitOrders: [desc("__name__"), asc("b")])
    #expect(byKey.orders == [desc("__name__"), asc("b"), asc("a")])
    var changed = Query(path: path("c"))
    changed.filters = [filter("a", .lessThan)]
    #expect(changed.orders == [asc("a"), asc("__name__")])
    changed.explicitOrders = [desc("b")]
    #expect(changed.orders == [desc("b"), desc("a"), desc("__name__")])
  }

  @Test("bounds, by prefix of the orders, inclusive or not, in both directions")
  func bounds() {
    let documents = [1, 2, 2, 3].enumerated().map { index, n in
      found("c/\(index)", ["n": .integer(Int64(n))])
    }
    func ids(_ query: Query) -> [String] { documents.filter(query.matches).map(\.key.id) }
    let up = Query(path: path("c"), explicitOrders: [asc("n")])
    let down = Query(path: path("c"), explicitOrders: [desc("n")])
    let two: [Value] = [.double(2)]
    #expect(ids(up.with(startAt: Bound(position: two, isInclusive: true))) == ["1", "2", "3"])
    #expect(ids(up.with(startAt: Bound(position: two, isInclusive: false))) == ["3"])
    #expect(ids(up.with(endAt: Bound(position: two, isInclusive: true))) == ["0", "1", "2"])
    #expect(ids(up.with(endAt: Bound(position: two, isInclusive: false))) == ["0"])
    #expect(ids(down.with(startAt: Bound(position: two, isInclusive: true))) == ["0", "1", "2"])
    #expect(ids(down.with(endAt: Bound(position: two, isInclusive: false))) == ["3"])
    let exact: [Value] = [.integer(2), reference("c/1")]
    #expect(ids(up.with(startAt: Bound(position: exact, isInclusive: true))) == ["1", "2", "3"])
    #expect(ids(up.with(startAt: Bound(position: exact, isInclusive: false))) == ["2", "3"])
    #expect(ids(down.with(startAt: Bound(position: exact, isInclusive: false))) == ["0"])
    // A position with more values than orders, or of the wrong type for the key, is no reason to crash.
    #expect(ids(up.with(startAt: Bound(position: exact + [.null], isInclusive: true))) == ["1", "2", "3"])
    #expect(ids(up.with(endAt: Bound(position: [.integer(2), .string("1")], isInclusive: true))) == ["0"])
    #expect(ids(up.with(startAt: Bound(position: [], isInclusive: true))) == ["0", "1", "2", "3"])
  }

  @Test("documents are ordered by the orders and then by key in the last direction")
  func ordering() {
    let documents = [
      found("c/a", ["n": .integer(1)]), found("c/b", ["n": .integer(2)]), found("c/__id9__", ["n": .double(1)]),
      found("c/c", ["n": .string("x")]), found("c/d", ["n": .null]),
    ]
    func ids(_ query: Query) -> [String] {
      documents.sorted { query.compare($0, $1) == .ascending }.map(\.key.id)
    }
    #expect(ids(Query(path: path("c"), explicitOrders: [asc("n")])) == ["d", "__id9__", "a", "b", "c"])
    #expect(ids(Query(path: path("c"), explicitOrders: [desc("n")])) == ["c", "b", "a", "__id9__", "d"])
    #expect(
      ids(Query(path: path("c"), explicitOrders: [desc("n"), asc("__name__")])) == ["c", "b", "__id9__", "a", "d"])
  }

  @Test("a limit to the last documents asks the backend for the first ones of the mirrored query")
  func limitToLast() {
    let start = Bound(position: [.integer(1)], isInclusive: true)
    let end = Bound(position: [.integer(9)], isInclusive: false)
    let query = Query(
      path: path("c"), explicitOrders: [asc("n")], limit: 3, limitType: .last, startAt: start, endAt: end)
    let target = query.target
    #expect(target.orders == [desc("n"), desc("__name__")])
    #expect(target.startAt == end && target.endAt == start && target.limit == 3)
    let mirror = Query(
      path: path("c"), explicitOrders: [desc("n")], limit: 3, startAt: end, endAt: start)
    #expect(mirror.target == target && mirror.target.canonicalID == target.canonicalID)
    #expect(mirror != query && mirror.canonicalID != query.canonicalID)
    #expect(target.query == mirror && target.query.target == target)
  }

  @Test("the kind of limit does not count without a limit, nor does it matter how an order came about")
  func equality() {
    #expect(Query(path: path("c"), limitType: .last) == Query(path: path("c")))
    #expect(Query(path: path("c")).with(order: asc("__name__")) == Query(path: path("c")))
    let inequality = Query(path: path("c")).with(filter: filter("a", .lessThan))
    #expect(inequality.with(order: asc("a")) == inequality)
    #expect(inequality.with(order: asc("a")).canonicalID == inequality.canonicalID)
    #expect(inequality.with(order: desc("a")) != inequality)
    #expect(Query(path: path("c")).with(limit: 1).with(limit: 2, type: .last).limit == 2)
  }

  static let lookalikes: [Query] = {
    let c = Query(path: path("c"))
    let values: [Value] = [
      .integer(1), .double(1), .double(1.04), .double(1.01), .string("1"), .boolean(true), .null, .string("null"),
      .double(0), .double(-0.0), .double(.nan), .string("a,b"), .array([.string("a"), .string("b")]),
      .array([.string("a,b")]), .array([.array([.string("a")])]), .map(["a": .string("b")]), .map([:]), .array([]),
      .map(["a:b": .null]), .map(["a": .map(["b": .null])]), .bytes([0x61]), .string("a"), .string("a|last"),
      .timestamp(Timestamp(seconds: 1, nanoseconds: 0)), .timestamp(Timestamp(seconds: 1, nanoseconds: 1)),
      .geoPoint(GeoPoint(latitude: 1.04, longitude: 1)), .geoPoint(GeoPoint(latitude: 1.01, longitude: 1)),
      .string("\u{e9}"), .string("e\u{301}"), .string("%C3%A9"), .vector([1]), .array([.double(1)]),
      reference("c/a"), .string("c/a"), .string(""), .string("\0"), .string("%00"), .integer(.min),
    ]
    let bounds = [
      Bound(position: [.integer(1)], isInclusive: true), Bound(position: [.integer(1)], isInclusive: false),
      Bound(position: [.integer(1), .integer(1)], isInclusive: true), Bound(position: [], isInclusive: true),
    ]
    let a = filter("a", .equal)
    let b = filter("b", .equal)
    return values.map { c.with(filter: .field(field("a"), .equal, $0)) }
      + FieldFilter.Operator.allCases.dropFirst(3).map { c.with(filter: filter("x", $0, .array([.null]))) }
      + bounds.map { c.with(startAt: $0) } + bounds.map { c.with(endAt: $0) }
      + [
        c, Query(path: path("c/a")), Query(path: path("c/a/b")), Query(path: ResourcePath(), collectionGroup: "c"),
        Query(path: path("a/b"), collectionGroup: "c"), c.with(limit: 1), c.with(limit: 1, type: .last),
        c.with(limit: 11), c.with(order: asc("a")), c.with(order: desc("a")), c.with(order: asc("a.b")),
        c.with(order: asc("`a.b`")), c.with(filter: .and([a, b])), c.with(filter: .or([a, b])),
        c.with(filter: a).with(filter: b), c.with(filter: b).with(filter: a), c.with(filter: .and([])),
        c.with(filter: .or([])), c.with(filter: .and([a, .or([b])])), c.with(filter: .and([a])).with(filter: .or([b])),
        c.with(filter: .and([.and([a]), b])),
      ]
  }()

  @Test("queries that look alike have canonical ids of their own")
  func canonicalIDs() {
    let ids = Self.lookalikes.map(\.canonicalID)
    #expect(Set(ids).count == ids.count)
    #expect(Set(Self.lookalikes).count == ids.count)
    #expect(ids.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
  }

  @Test("a collection group below a document does not hold that document itself")
  func groupBelowDocument() {
    let query = Query(path: path("a/1"), collectionGroup: "a")
    #expect(!query.holds(key("a/1")))
    #expect(!query.holds(key("a/2/a/1")))
    #expect(query.holds(key("a/1/a/1")) && query.holds(key("a/1/b/1/a/1")))
  }

  @Test("NaNs of any bits give one canonical id")
  func canonicalNaN() {
    let quiet = Query(path: path("c")).with(filter: filter("a", .equal, .double(.nan)))
    let other = Query(path: path("c")).with(
      filter: filter("a", .equal, .double(Double(bitPattern: 0xFFF8_0000_0000_0001))))
    #expect(quiet == other && quiet.canonicalID == other.canonicalID)
  }

  @Test("the disjunctive normal form is bounded and leaves nulls of in out")
  func disjunctions() {
    let c = Query(path: path("c"))
    #expect(c.disjunctions(atMost: 1) == [[]])
    let either = Filter.or([filter("a", .equal), filter("b", .in, .array([.integer(1), .null, .integer(2)]))])
    #expect(c.with(filter: either).disjunctions(atMost: 3)?.map { $0.map(\.op) } == [[.equal], [.equal], [.equal]])
    #expect(c.with(filter: either).disjunctions(atMost: 2) == nil)
    let product = c.with(filter: either).with(filter: either).with(filter: filter("z", .equal))
    #expect(product.disjunctions(atMost: 9)?.count == 9 && product.disjunctions(atMost: 8) == nil)
    let explosion = (0..<60).reduce(c) { query, _ in query.with(filter: either) }
    #expect(explosion.disjunctions(atMost: 30) == nil)
    // As a backend counts them, nulls included.
    #expect(c.disjunctionCount == 1 && c.with(filter: either).disjunctionCount == 4)
    #expect(product.disjunctionCount == 16 && explosion.disjunctionCount == .max)
    #expect(c.with(filter: .or([])).disjunctions(atMost: 30) == [])
    // The backend refuses two memberships in a conjunction, also in one that finds nothing.
    let hidden = Filter.or([
      filter("a", .equal), .and([filter("b", .in, .array([.null])), filter("t", .arrayContains)]),
    ])
    #expect(c.with(filter: hidden).membershipCount == 1)
    #expect(c.with(filter: hidden).with(filter: filter("t", .arrayContains)).membershipCount == 2)
  }

  @Test("a membership that stands twice side by side counts once, as Google's emulator counts it")
  func repeatedMemberships() {
    let (one, two) = (filter("t", .arrayContains), filter("t", .arrayContains, .integer(2)))
    let either = filter("t", .arrayContainsAny, [1, 2])
    let other = filter("a", .equal)
    func count(_ filters: Filter...) -> Int { Query(path: path("c"), filters: filters).membershipCount }
    #expect(count(one, one) == 1 && count(one, other, one) == 1 && count(one, two) == 2)
    #expect(count(either, filter("t", .arrayContainsAny, [2, 1, 2])) == 1 && count(one, either) == 2)
    #expect(count(.or([one, other]), .or([other, one])) == 1 && count(.or([one, other]), one) == 2)
    #expect(count(one, .and([one, other])) == 2)
  }
}
