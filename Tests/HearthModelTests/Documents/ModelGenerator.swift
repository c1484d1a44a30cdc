import HearthModel

/// Makes documents, mutations and queries from a seed, out of few names and values, so that they meet often.
struct ModelGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: Int) { state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
  mutating func some<T>(_ count: Range<Int>, _ make: (inout ModelGenerator) -> T) -> [T] {
    (0..<Int.random(in: count, using: &self)).map { _ in make(&self) }
  }

  static let scalars: [Value] = [
    .null, .boolean(false), .boolean(true), .integer(0), .integer(1), .integer(2), .integer(.max), .integer(.min),
    .integer(9_007_199_254_740_993), .double(9_007_199_254_740_992), .double(0), .double(-0.0), .double(1),
    .double(1.5), .double(.nan), .double(.infinity), .double(-.infinity), .string(""), .string("a"), .string("b"),
    .string("\u{e9}"), .string("e\u{301}"), .string("\u{1F600}"), .string("\u{FFFD}"), .bytes([]), .bytes([1, 0xFF]),
    .timestamp(Timestamp(seconds: 1, nanoseconds: 0)), .timestamp(Timestamp(seconds: -1, nanoseconds: 5)),
    .geoPoint(GeoPoint(latitude: 1, longitude: 2)), .vector([1, 2]), .vector([3]), .array([]), .map([:]),
    .pendingServerTimestamp(localWriteTime: Timestamp(seconds: 9, nanoseconds: 0), previousValue: .integer(1)),
    reference("c/a"), reference("c/__id7__"),
  ]

  mutating func value(depth: Int = 2) -> Value {
    switch depth > 0 ? below(6) : 2 {
    case 0: .array(some(0..<4) { $0.value(depth: depth - 1) })
    case 1: .map(map(depth: depth - 1))
    default: pick(Self.scalars)
    }
  }

  mutating func map(depth: Int = 2) -> MapValue {
    var map = MapValue([:])
    for name in ["a", "b", "c"] where !chance(3) { map[name] = value(depth: depth) }
    return map
  }

  mutating func fieldPath() -> FieldPath {
    field(pick(["a", "b", "c", "a.a", "a.b", "a.b.c", "b.a", "c.c.c", "`a.b`"]))
  }

  mutating func documentKey() -> DocumentKey {
    key(pick(["c/a", "c/b", "c/__id7__", "c/__id12__", "d/a", "c/a/c/a", "c/a/c/z", "d/x/c/y"]))
  }

  mutating func document() -> Document {
    .found(documentKey(), version: version(5), fields: EncodedFields(map()))
  }

  // MARK: Queries

  mutating func fieldFilter() -> FieldFilter {
    let isKey = chance(6)
    let op = pick(FieldFilter.Operator.allCases)
    let operand = { (generator: inout ModelGenerator) -> Value in
      isKey ? .reference(.init(database: DatabaseID(projectID: "p"), key: generator.documentKey())) : generator.value()
    }
    let value: Value =
      switch op {
      case .in, .notIn, .arrayContainsAny: .array(some(1..<4, operand))
      default: operand(&self)
      }
    return FieldFilter(path: isKey ? .documentKey : fieldPath(), op: op, value: value)
  }

  mutating func filter(depth: Int = 2) -> Filter {
    switch depth > 0 ? below(5) : 4 {
    case 0: .and(some(1..<4) { $0.filter(depth: depth - 1) })
    case 1, 2: .or(some(1..<4) { $0.filter(depth: depth - 1) })
    default: .field(fieldFilter())
    }
  }

  mutating func bound(for orders: [OrderBy]) -> Bound {
    let count = below(orders.count) + 1
    let position = orders.prefix(count).map { order -> Value in
      order.path.isDocumentKey
        ? .reference(.init(database: DatabaseID(projectID: "p"), key: documentKey())) : value()
    }
    return Bound(position: position, isInclusive: chance(2))
  }

  mutating func query(bounded: Bool = true) -> Query {
    var query = Query(path: path("c"))
    if chance(3) {
      query.path = pick([ResourcePath(), path("c/a")])
      query.collectionGroup = "c"
    }
    query.filters = some(0..<3) { $0.filter() }
    query.explicitOrders = some(0..<3) {
      OrderBy(path: $0.chance(5) ? .documentKey : $0.fieldPath(), direction: $0.chance(2) ? .ascending : .descending)
    }
    if bounded, chance(3) { query.startAt = bound(for: query.orders) }
    if bounded, chance(3) { query.endAt = bound(for: query.orders) }
    if chance(4) { query = query.with(limit: below(3) + 1, type: chance(2) ? .first : .last) }
    return query
  }

  // MARK: Mutations

  mutating func transformOperation() -> TransformOperation {
    let numbers: [Value] = [.integer(1), .integer(-7), .integer(.max), .double(0.5), .double(.nan), .double(-0.0)]
    return switch below(6) {
    case 0: .serverTimestamp
    case 1: .increment(pick(numbers))
    case 2: .arrayUnion(some(1..<4) { $0.pick(Self.scalars) })
    case 3: .arrayRemove(some(1..<4) { $0.pick(Self.scalars) })
    case 4: .minimum(pick(numbers))
    default: .maximum(pick(numbers))
    }
  }

  mutating func transforms() -> [FieldTransform] {
    some(0..<3) { FieldTransform(path: $0.fieldPath(), operation: $0.transformOperation()) }
  }

  mutating func mutation(of key: DocumentKey) -> Mutation {
    switch below(6) {
    case 0: .set(key, map(), transforms: transforms())
    case 1: .delete(key)
    default:
      .patch(
        key, map(), mask: FieldMask(some(0..<4) { $0.fieldPath() }),
        precondition: pick([.none, .none, .exists(true), .exists(false)]), transforms: transforms())
    }
  }

  mutating func batch(_ id: BatchID, of key: DocumentKey) -> MutationBatch {
    MutationBatch(
      batchID: id, localWriteTime: Timestamp(seconds: 100 + id, nanoseconds: 0),
      mutations: some(1..<4) { $0.mutation(of: key) })
  }
}
