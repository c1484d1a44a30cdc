#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan

  /// Random requests that touch few documents often.
  struct ContractRequests<Random: RandomNumberGenerator & Sendable>: Sendable {
    /// Ids whose order depends on bytes, and not on letters or numbers.
    private static var ids: [String] {
      ["10", "9", "A", "a", "a\u{0}", "é", "e\u{301}", "\u{1F600}", "\u{FFFD}", "_x", "a.b"]
    }
    private static var collections: [String] { ["c", "d", "c/a/c"] }

    let keys: [DocumentKey]
    let fields: [FieldPath]
    private var random: Random

    init(_ random: Random) {
      self.random = random
      keys = Self.collections.flatMap { collection in
        Self.ids.compactMap { try? DocumentKey(ResourcePath(collection.split(separator: "/").map(String.init) + [$0])) }
      }
      fields = [["x"], ["y"], ["m", "z"]].compactMap { try? FieldPath($0) }
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    private mutating func element<Element>(_ all: [Element]) -> Element { all[below(all.count)] }

    mutating func label() -> BatchLabel {
      BatchLabel(cacheID: "contract", identity: .random(using: &random))
    }

    // MARK: - Commits

    mutating func mutations() throws -> [Mutation] {
      var mutations: [Mutation] = []
      for _ in 0..<1 + below(4) { mutations.append(try mutation()) }
      return mutations
    }

    private mutating func mutation() throws -> Mutation {
      let key = element(keys)
      let precondition: Precondition = below(5) == 0 ? .exists(below(2) == 0) : .none
      switch below(10) {
      case 0...1: return .delete(key, precondition: precondition)
      case 2...4:
        let mask = FieldMask(fields.filter { _ in below(2) == 0 })
        return .patch(key, document(), mask: mask, precondition: precondition, transforms: transforms())
      default: return .set(key, document(), precondition: precondition, transforms: transforms())
      }
    }

    private mutating func document() -> MapValue {
      var fields: MapValue = [:]
      for path in self.fields where below(4) > 0 { fields.set(value(), at: path) }
      if below(100) == 0 { fields["large"] = .string(String(repeating: "x", count: 200_000)) }
      return fields
    }

    private mutating func transforms() -> [FieldTransform] {
      guard below(4) == 0 else { return [] }
      let operation: TransformOperation =
        switch below(4) {
        case 0: .increment(element([.integer(1), .integer(.max), .double(0.5)]))
        case 1: .arrayUnion([value(), .integer(3)])
        case 2: .arrayRemove([.integer(3), .double(3)])
        default: .maximum(.double(2))
        }
      return [FieldTransform(path: element(fields), operation: operation)]
    }

    private mutating func value() -> Value {
      element([
        .null, .boolean(true), .integer(Int64(below(7)) - 3), .integer(3), .double(3), .double(-0.0), .double(.nan),
        .double(.infinity), .timestamp(Timestamp(microseconds: Int64(below(3)))), .string(""), .string("é"),
        .string("e\u{301}"),
        .string("a\u{0}b"), .bytes([0, 255]), .array([]), .array([.integer(3), .string("a")]), .array([.double(3)]),
        .map([:]), .map(["a": .integer(1)]),
      ])
    }

    // MARK: - Queries

    mutating func query(isLimited: Bool = true) -> Query {
      let isGroup = below(4) == 0
      var query = Query(path: isGroup ? ResourcePath() : ResourcePath([element(["c", "d"])]))
      if isGroup { query.collectionGroup = "c" }
      let path = element(fields)
      switch below(6) {
      case 0...1:
        query.filters = [.field(path, element([.lessThan, .greaterThanOrEqual, .notEqual, .equal]), comparable())]
      case 2: query.filters = [.field(path, .in, .array([comparable(), comparable()]))]
      case 3: query.filters = [.field(path, .arrayContains, comparable())]
      case 4:
        query.filters = [
          .or([.field(path, .equal, comparable()), .field(element(fields), .greaterThan, comparable())])
        ]
      default: break
      }
      if below(2) == 0 {
        query.explicitOrders = [OrderBy(path: element(fields), direction: below(2) == 0 ? .ascending : .descending)]
      }
      if isLimited, below(3) == 0 { query.limit = 1 + below(5) }
      return query
    }

    /// A value that filters of inequality may name.
    private mutating func comparable() -> Value {
      while true {
        let value = value()
        switch value {
        case .null: continue
        case .double(let number) where number.isNaN: continue
        default: return value
        }
      }
    }

    mutating func indexes() -> [IndexDefinition] {
      var definitions: [IndexDefinition] = []
      for path in fields where below(2) == 0 {
        let scope: IndexDefinition.Scope = below(2) == 0 ? .collection : .collectionGroup
        let kind: IndexDefinition.Kind = element([.ascending, .descending, .contains])
        if let definition = try? IndexDefinition(
          collectionGroup: "c", scope: scope, fields: [.init(path: path, kind: kind)])
        {
          definitions.append(definition)
        }
      }
      return definitions
    }
  }
#endif
