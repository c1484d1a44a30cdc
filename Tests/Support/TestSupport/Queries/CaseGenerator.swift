package import HearthModel

/// Draws documents, writes, queries and indexes from a small world, so that they meet often.
///
/// A world has few collections, ids and field names, and a vocabulary of some thirty values: common ones, and runs of
/// neighbours from the ``ValueZoo``, where an order that is wrong shows.
package struct CaseGenerator: Sendable {
  /// The receiver of the drawn values and queries, which limits them.
  package enum Audience: Sendable {
    /// The local cache, which takes whatever can be encoded.
    case cache
    /// A backend, which refuses some values, names and combinations of filters.
    case backend
  }

  package var numbers: SeededGenerator
  package let audience: Audience
  /// The database that references point to.
  package let database: DatabaseID
  /// True if NaN is drawn like any other value: always for a cache, for half of the backends; see `BackendRules`.
  let hasNaN: Bool
  /// The values from which fields and operands are drawn.
  package private(set) var vocabulary: [Value] = []

  package init(seed: UInt64, audience: Audience = .cache, database: DatabaseID = DatabaseID(projectID: "p")) {
    var numbers = SeededGenerator(seed: seed)
    hasNaN = numbers.chance(50) || audience == .cache
    self.numbers = numbers
    self.audience = audience
    self.database = database
    vocabulary = makeVocabulary()
  }

  package mutating func below(_ count: Int) -> Int { numbers.below(count) }
  package mutating func chance(_ percent: Int) -> Bool { numbers.chance(percent) }
  package mutating func element<T>(_ array: [T]) -> T { numbers.element(array) }

  // MARK: - Names

  static let collections = ["c", "c", "c", "c", "d", "s", "c/x/s", "c/x/s", "d/__id3__/s", "c/x/s/y/s", "c/a/c"]
  static let ids =
    ["a", "b", "ab", "\u{E9}", "e\u{301}", "__id3__", "__id20__", "x", "y", "Z", "\u{FFFF}", "\u{10000}"]
    + (0..<14).map { "d\($0)" }
  /// The fields of single values, with more weight for the first ones; ``tags`` holds arrays most of the time.
  static let fields = ["a", "a", "a", "b", "b", "m.x", "m.y.z", "\u{E9}"].map { Self.path($0) }
  static let tags = path("t")
  static let allFields = ["a", "b", "m.x", "m.y.z", "\u{E9}", "t", "m", "t.x"].map { Self.path($0) }

  private static func path(_ text: String) -> FieldPath {
    do {
      return try FieldPath(parsingUserFormat: text)
    } catch {
      fatalError("\(error)")
    }
  }

  package mutating func key() -> DocumentKey { key("\(element(Self.collections))/\(element(Self.ids))") }

  func key(_ path: String) -> DocumentKey {
    do {
      return try DocumentKey(parsing: path)
    } catch {
      fatalError("\(error)")
    }
  }

  mutating func fieldPath() -> FieldPath {
    if chance(12) { return Self.tags }
    if chance(2) { return Self.path("nowhere") }
    return chance(4) ? element(Self.allFields) : element(Self.fields)
  }

  func reference(_ key: DocumentKey) -> Value { .reference(ReferenceValue(database: database, key: key)) }

  // MARK: - Values

  private static let common: [Value] = [
    .null, true, false, 0, 0.0, .double(-0.0), 1, 1.0, 2, 1.5, .double(.nan), "", "a", "a\0", "ab", "b", "\u{E9}",
    "e\u{301}", [], [1], ["a"], ["a", 1], ["a": 1], ["a": 1.0], [:], .vector([1]), .vector([1, 2]),
    .timestamp(Timestamp(seconds: 5, nanoseconds: 1_000)), .bytes([1]),
    // Longer than the keys of indexes.
    .string(String(repeating: "a", count: 1_600)), .string(String(repeating: "a", count: 1_599) + "b"),
  ]

  private mutating func makeVocabulary() -> [Value] {
    var values = (0..<10).map { _ in element(Self.common) }
    for _ in 0..<3 {
      let start = below(ValueZoo.ordered.count - 3)
      values += ValueZoo.ordered[start..<start + 3].flatMap { $0 }
    }
    values.append(reference(key()))
    return values.map { acceptable($0) }
  }

  package mutating func value() -> Value {
    // Some values are everywhere.
    if chance(45) { return vocabulary[below(6)] }
    if chance(75) { return element(vocabulary) }
    if chance(60) { return acceptable(element(Self.common)) }
    if chance(70) { return acceptable(element(ValueZoo.all)) }
    return acceptable(.array((0..<below(4)).map { _ in element(vocabulary) }))
  }

  /// The value, or in the place of one that the audience does not take another one.
  private mutating func acceptable(_ value: Value) -> Value {
    if audience == .cache || BackendRules.accept(value, in: database, hasNaN: hasNaN) { return value }
    return .integer(Int64(below(4)))
  }

  package mutating func fields() -> MapValue {
    var map = MapValue()
    for path in Self.allFields.prefix(5) where chance(80) { map.set(value(), at: path) }
    if chance(75) { map.set(tagValue(), at: Self.tags) }
    // Something else than a map on the way to the nested fields.
    if chance(6) { map["m"] = value() }
    return map
  }

  private mutating func tagValue() -> Value {
    if chance(15) { return value() }
    return acceptable(.array((0..<below(4)).map { _ in value() }))
  }

  // MARK: - Writes

  package mutating func mutation() -> Mutation {
    let key = key()
    switch below(7) {
    case 0: return .delete(key)
    case 1, 2: return .set(key, fields(), transforms: chance(25) ? transforms() : [])
    case 3: return .patch(key, [:], mask: .empty, precondition: precondition(), transforms: transforms())
    default:
      let mask = FieldMask(Self.allFields.filter { _ in chance(35) })
      return .patch(
        key, fields(), mask: mask, precondition: precondition(), transforms: chance(20) ? transforms() : [])
    }
  }

  private mutating func precondition() -> Precondition { chance(50) ? .none : .exists(true) }

  private mutating func transforms() -> [FieldTransform] {
    (0...below(2)).map { _ in
      switch below(4) {
      case 0: FieldTransform(path: element(Self.fields), operation: .increment(element([1, 1.5, .integer(.max)])))
      case 1: FieldTransform(path: Self.tags, operation: .arrayUnion([element(vocabulary)]))
      case 2: FieldTransform(path: Self.tags, operation: .arrayRemove([element(vocabulary)]))
      default: FieldTransform(path: element(Self.fields), operation: .serverTimestamp)
      }
    }
  }

  // MARK: - Indexes

  /// An index of one of the collections, often one that suits a given query wholly or in part.
  package mutating func index(for query: Query? = nil) -> IndexDefinition {
    var fields: [IndexDefinition.Field] = []
    if let query, chance(70) {
      for filter in query.filters.flatMap(\.flattened) where !filter.path.isDocumentKey {
        switch filter.op {
        case .equal, .in: fields.append(.init(path: filter.path, kind: chance(80) ? .ascending : .descending))
        case .arrayContains, .arrayContainsAny: fields.append(.init(path: filter.path, kind: .contains))
        default: break
        }
      }
      for order in query.orders where chance(90) {
        fields.append(.init(path: order.path, kind: order.direction == .ascending ? .ascending : .descending))
      }
      if chance(20) { fields.shuffle(using: &numbers) }
      fields = Array(fields.prefix(1 + below(4)))
    } else {
      fields = (0...below(3)).map { _ in
        let path = chance(6) ? FieldPath.documentKey : fieldPath()
        let kind: IndexDefinition.Kind =
          path == Self.tags && chance(60) ? .contains : chance(50) ? .ascending : .descending
        return .init(path: path, kind: kind)
      }
    }
    var unique: [IndexDefinition.Field] = []
    for field in fields
    where !unique.contains(where: { $0.path == field.path && ($0.kind == .contains) == (field.kind == .contains) })
      && !(field.kind == .contains && unique.contains { $0.kind == .contains })
    {
      unique.append(field)
    }
    let group = query.map { $0.collectionGroup ?? $0.path.segments.last ?? "c" } ?? element(["c", "c", "s", "d"])
    let isOfGroup = chance(query?.collectionGroup == nil ? 5 : 75)
    do {
      return try IndexDefinition(
        collectionGroup: group, scope: isOfGroup ? .collectionGroup : .collection, fields: unique)
    } catch {
      fatalError("\(error)")
    }
  }
}
