import Foundation
import HearthModel

/// A generator with a seed (SplitMix64), so that a failing run can be repeated:
/// set HEARTH_TEST_SEED to the seed that the failure names.
struct Generator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  static let seed: UInt64 =
    ProcessInfo.processInfo.environment["HEARTH_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
    bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
    return bits ^ (bits >> 31)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  mutating func bool() -> Bool { Bool.random(using: &self) }

  mutating func list<Element>(upTo count: Int, _ make: (inout Generator) -> Element) -> [Element] {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in make(&self) }
  }
}

let database = DatabaseID(projectID: "demo", database: "(default)")

extension Generator {
  static let texts = ["", "a", "name", "é", "e\u{301}", "日本", "🌵", "a.b", "`", "\\", "\u{ffff}", "x/y"]
  static let names = ["a", "name", "é", "日本", "🌵", "a.b", "`tick`", "back\\slash", "0", "with space"]
  static let ids = ["a", "SF", "__id7__", "é", "🌵", "with space", "x.y"]

  mutating func timestamp() -> Timestamp {
    Timestamp(
      seconds: pick([-62_135_596_800, -1, 0, 1, 1_700_000_000, 253_402_300_799]),
      nanoseconds: pick([0, 1, 1000, 999_999_999]))
  }

  mutating func version() -> SnapshotVersion {
    SnapshotVersion(microseconds: Int64.random(in: 1...2_000_000_000_000_000, using: &self))
  }

  mutating func key() -> DocumentKey {
    let pairs = Int.random(in: 1...3, using: &self)
    let segments = (0..<pairs * 2).map { _ in pick(Self.ids) }
    return try! DocumentKey(ResourcePath(segments))
  }

  /// The name of a document as `__name__` can be compared with.
  mutating func name() -> Value { .reference(ReferenceValue(database: database, key: key())) }

  mutating func reference() -> Value {
    .reference(
      ReferenceValue(database: pick([database, DatabaseID(projectID: "other", database: "second")]), key: key()))
  }

  mutating func value(depth: Int = 0) -> Value {
    switch Int.random(in: 0...(depth < 3 ? 11 : 9), using: &self) {
    case 0: .null
    case 1: .boolean(bool())
    case 2: .integer(pick([Int64.min, -1, 0, 1, 9_007_199_254_740_993, Int64.max]))
    case 3: .double(pick([-0.0, 0, 1, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, 1e300]))
    case 4: .timestamp(timestamp())
    case 5: .string(pick(Self.texts))
    case 6: .bytes(list(upTo: 4) { UInt8.random(in: 0...255, using: &$0) })
    case 7: reference()
    case 8: .geoPoint(GeoPoint(latitude: pick([-90, 0, 52.5]), longitude: pick([-180, 0, 13.25])))
    case 9: .vector([1, -0.5])
    case 10: .array(list(upTo: 3) { $0.value(depth: depth + 1) })
    default: .map(map(depth: depth + 1))
    }
  }

  mutating func map(depth: Int = 0) -> MapValue {
    var map: MapValue = [:]
    for _ in 0..<Int.random(in: 0...4, using: &self) {
      map[pick(Self.names)] = value(depth: depth + 1)
    }
    return map
  }

  mutating func fieldPath() -> FieldPath {
    try! FieldPath((0..<Int.random(in: 1...3, using: &self)).map { _ in pick(Self.names) })
  }

  mutating func precondition() -> Precondition {
    pick([.none, .exists(true), .exists(false), .updateTime(version())])
  }

  mutating func transform() -> FieldTransform {
    let operation: TransformOperation =
      switch Int.random(in: 0...5, using: &self) {
      case 0: .serverTimestamp
      case 1: .increment(pick([.integer(.max), .double(0.5)]))
      case 2: .minimum(pick([.integer(-3), .double(.nan)]))
      case 3: .maximum(pick([.integer(3), .double(-0.0)]))
      case 4: .arrayUnion(list(upTo: 3) { $0.value() })
      default: .arrayRemove(list(upTo: 3) { $0.value() })
      }
    return FieldTransform(path: fieldPath(), operation: operation)
  }

  mutating func mutation() -> Mutation {
    switch Int.random(in: 0...3, using: &self) {
    case 0:
      .set(key(), map(), precondition: precondition(), transforms: list(upTo: 3) { $0.transform() })
    case 1:
      .patch(
        key(), map(), mask: FieldMask(list(upTo: 4) { $0.fieldPath() }), precondition: precondition(),
        transforms: list(upTo: 3) { $0.transform() })
    case 2: .delete(key(), precondition: precondition())
    default: Mutation(key: key(), operation: .verify, precondition: precondition())
    }
  }

  mutating func fieldFilter() -> FieldFilter {
    let op = pick(FieldFilter.Operator.allCases)
    let isKey = op != .arrayContains && op != .arrayContainsAny && bool()
    let path = isKey ? FieldPath.documentKey : fieldPath()
    var operand: Value { isKey ? name() : value() }
    switch op {
    case .in, .notIn, .arrayContainsAny:
      return FieldFilter(path: path, op: op, value: .array([operand, operand]))
    default:
      return FieldFilter(path: path, op: op, value: operand)
    }
  }

  mutating func filter(depth: Int = 0) -> Filter {
    guard depth < 3, bool() else { return .field(fieldFilter()) }
    let members = (0...Int.random(in: 1...2, using: &self)).map { _ in filter(depth: depth + 1) }
    return .composite(CompositeFilter(op: depth == 0 ? .or : pick([.and, .or]), filters: members))
  }

  mutating func target() -> HearthModel.Target {
    var query: Query
    switch Int.random(in: 0...2, using: &self) {
    case 0: query = Query(path: key().path.appending("cities"))
    case 1: query = Query(path: ResourcePath(), collectionGroup: "cities")
    default: query = Query(path: ResourcePath(["cities"]))
    }
    query.filters = list(upTo: 3) { $0.filter() }
    query.explicitOrders = list(upTo: 2) {
      OrderBy(path: $0.fieldPath(), direction: $0.pick([.ascending, .descending]))
    }
    query.limit = pick([nil, 1, 25])
    if query.limit != nil, bool() {
      query.limitType = .last
    }
    let bound = { (generator: inout Generator, orders: [OrderBy]) -> Bound? in
      guard generator.bool() else { return nil }
      let position = orders.map { $0.path.isDocumentKey ? generator.name() : generator.value() }
      return Bound(position: position, isInclusive: generator.bool())
    }
    query.startAt = bound(&self, query.orders)
    query.endAt = bound(&self, query.orders)
    return query.target
  }
}
