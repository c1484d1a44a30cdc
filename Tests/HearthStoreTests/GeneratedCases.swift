import HearthModel
import HearthStore

/// Draws documents, local mutations and queries from a small world, so that they meet often.
struct CaseGenerator {
  private var numbers: SeededGenerator

  init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

  static let collections = ["c", "d", "c/x/s", "d/__id3__/s", "s", "c/x/s/y/s"]
  static let ids = ["a", "b", "é", "e\u{301}", "__id3__", "__id20__", "x", "Z"] + (0..<16).map { "d\($0)" }
  static let fieldNames = ["n", "m", "o.p"]

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &numbers) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  mutating func element<T>(_ array: [T]) -> T { array[below(array.count)] }

  mutating func key() -> DocumentKey {
    HearthStoreTests.key("\(element(Self.collections))/\(element(Self.ids))")
  }

  mutating func value(depth: Int = 0) -> Value {
    switch below(depth > 1 ? 8 : 11) {
    case 0: .null
    case 1: .boolean(chance(50))
    case 2, 3, 4: .integer(Int64(below(4)))
    case 5: .double(element([0.0, -0.0, 1.0, 1.5, .nan, -.infinity]))
    case 6: .string(element(["", "a", "é", "e\u{301}"]))
    case 7: .timestamp(Timestamp(microseconds: Int64(below(3))))
    case 8, 9: .array((0..<below(3)).map { _ in value(depth: depth + 1) })
    default: .map(MapValue(["k": value(depth: depth + 1)]))
    }
  }

  mutating func fields() -> MapValue {
    var map = MapValue()
    for name in Self.fieldNames where chance(80) { map.set(value(), at: field(name)) }
    return map
  }

  /// A document, or what is known in its place, that was read at its version.
  mutating func document(_ key: DocumentKey, version number: Int64) -> Document {
    switch below(10) {
    case 0: return .missing(key, version: version(number), readTime: version(number))
    case 1:
      var document = Document.foundWithUnknownContents(key, version: version(number))
      document.readTime = version(number)
      return document
    default:
      var document = Document.found(
        key, version: version(number), readTime: version(number), fields: EncodedFields(fields()))
      if chance(10) { document.mutationState = .hasCommittedMutations }
      return document
    }
  }

  mutating func mutation(_ key: DocumentKey) -> Mutation {
    switch below(5) {
    case 0: return .delete(key)
    case 1, 2: return .set(key, fields())
    default:
      let mask = FieldMask(Self.fieldNames.filter { _ in chance(50) }.map { field($0) })
      return .patch(key, fields(), mask: mask, precondition: chance(50) ? .none : .exists(true))
    }
  }

  // MARK: - Queries

  mutating func query() -> Query {
    let isGroup = chance(30)
    var query =
      isGroup
      ? Query(path: path(element(["", "", "c", "c/x"])), collectionGroup: "s")
      : Query(path: path(element(Self.collections)))
    for _ in 0..<below(3) { query = query.with(filter: filter()) }
    for _ in 0..<below(3) {
      query = query.with(order: OrderBy(path: fieldPath(), direction: chance(50) ? .ascending : .descending))
    }
    if chance(20) { query = query.with(startAt: bound(query)) }
    if chance(20) { query = query.with(endAt: bound(query)) }
    if chance(50) { query = query.with(limit: 1 + below(5), type: chance(50) ? .first : .last) }
    return query
  }

  private mutating func fieldPath() -> FieldPath { field(element(Self.fieldNames)) }

  private mutating func reference() -> Value {
    .reference(ReferenceValue(database: DatabaseID(projectID: "p"), key: key()))
  }

  private mutating func filter(depth: Int = 0) -> Filter {
    if depth < 2, chance(15) {
      let filters = (0...below(2)).map { _ in filter(depth: depth + 1) }
      return chance(50) ? .and(filters) : .or(filters)
    }
    if chance(10) {
      let op = element([FieldFilter.Operator.equal, .lessThan, .greaterThanOrEqual, .notEqual])
      return .field(.documentKey, op, reference())
    }
    let op = element(FieldFilter.Operator.allCases)
    switch op {
    case .in, .notIn, .arrayContainsAny:
      return .field(fieldPath(), op, .array((0...below(3)).map { _ in value() }))
    default:
      return .field(fieldPath(), op, value())
    }
  }

  private mutating func bound(_ query: Query) -> Bound {
    let orders = query.orders.prefix(1 + below(query.orders.count))
    return Bound(
      position: orders.map { $0.path.isDocumentKey ? reference() : value() }, isInclusive: chance(50))
  }
}

/// What a query has to answer, computed from the model alone.
func naiveAnswer(_ query: Query, _ documents: [DocumentKey: Document], _ overlays: Overlays) throws -> [Document] {
  var view = documents
  for (key, mutation) in overlays.mutations {
    var document = view[key] ?? .unknown(key)
    _ = try mutation.applyToLocalView(
      &document, previousMask: .empty, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0))
    view[key] = document
  }
  let matching = view.values.filter(query.matches).sorted { query.compare($0, $1) == .ascending }
  guard let limit = query.limit else { return matching }
  return query.limitType == .first ? Array(matching.prefix(limit)) : Array(matching.suffix(limit))
}
