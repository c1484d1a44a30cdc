package import HearthModel

extension CaseGenerator {
  /// A query with any operators, orders, bounds and limit.
  ///
  /// - Parameter documents: some bounds and operands are taken from these, so that they hit exactly, and most of the
  ///   queries that find none of them are drawn again.
  package mutating func query(documents: [NaiveDocument] = []) -> Query {
    while true {
      let query = anyQuery(documents)
      if audience == .backend, !BackendRules.accept(query) { continue }
      if documents.isEmpty || chance(35) || documents.contains(where: NaiveQuery(query).matches) { return query }
    }
  }

  private mutating func anyQuery(_ documents: [NaiveDocument]) -> Query {
    var query = scope()
    if audience == .cache, chance(3) { return Query(path: key().path) }
    for _ in 0..<element([0, 1, 1, 1, 2, 2, 2, 3, 4]) { query = query.with(filter: filter(documents)) }
    for _ in 0..<element([0, 0, 1, 1, 1, 2, 3]) { query = query.with(order: order()) }
    if chance(25) { query.startAt = bound(query, documents) }
    if chance(25) { query.endAt = bound(query, documents) }
    if chance(50) { query = query.with(limit: limit(), type: chance(60) ? .first : .last) }
    return query
  }

  private mutating func scope() -> Query {
    if chance(28) {
      let group = element(["s", "s", "s", "c", "d"])
      return Query(path: path(element(["", "", "", "c/x", "d/__id3__"])), collectionGroup: group)
    }
    return Query(path: path(element(Self.collections)))
  }

  private func path(_ text: String) -> ResourcePath {
    ResourcePath(text.split(separator: "/").map(String.init))
  }

  private mutating func limit() -> Int {
    chance(10) ? element([20, 1_000, Int(Int32.max)]) : 1 + below(6)
  }

  private mutating func order() -> OrderBy {
    OrderBy(path: chance(8) ? .documentKey : fieldPath(), direction: chance(55) ? .ascending : .descending)
  }

  // MARK: - Filters

  private mutating func filter(_ documents: [NaiveDocument], depth: Int = 0) -> Filter {
    if depth < 3, chance(depth == 0 ? 22 : 15) {
      let filters = (0...below(3)).map { _ in filter(documents, depth: depth + 1) }
      return chance(40) ? .and(filters) : .or(filters)
    }
    return chance(8) ? keyFilter(documents) : fieldFilter(documents)
  }

  private mutating func keyFilter(_ documents: [NaiveDocument]) -> Filter {
    let op = element(FieldFilter.Operator.allCases.filter { $0 != .arrayContains && $0 != .arrayContainsAny })
    switch op {
    case .in, .notIn:
      return .field(.documentKey, op, .array((0...below(3)).map { _ in reference(anyKey(documents)) }))
    default: return .field(.documentKey, op, reference(anyKey(documents)))
    }
  }

  private mutating func anyKey(_ documents: [NaiveDocument]) -> DocumentKey {
    !documents.isEmpty && chance(70) ? element(documents).key : key()
  }

  private mutating func fieldFilter(_ documents: [NaiveDocument]) -> Filter {
    let path = fieldPath()
    var op = element(
      FieldFilter.Operator.allCases + [.equal, .equal, .equal, .greaterThanOrEqual, .lessThan, .in])
    if path == Self.tags, chance(50) { op = element([.arrayContains, .arrayContainsAny]) }
    switch op {
    case .in, .notIn, .arrayContainsAny:
      let count = chance(5) ? 8 : 1 + below(4)
      return .field(path, op, .array((0..<count).map { _ in operand(path, op, documents) }))
    default: return .field(path, op, operand(path, op, documents))
    }
  }

  private mutating func operand(
    _ path: FieldPath, _ op: FieldFilter.Operator, _ documents: [NaiveDocument]
  ) -> Value {
    guard !documents.isEmpty, chance(55), let stored = element(documents).fields[path] else { return value() }
    if op == .arrayContains || op == .arrayContainsAny, case .array(let elements) = stored, !elements.isEmpty {
      return element(elements)
    }
    return stored
  }

  // MARK: - Bounds

  /// A position that one of the documents has, or any; for all orders or the first ones, with the key or without.
  private mutating func bound(_ query: Query, _ documents: [NaiveDocument]) -> Bound? {
    let orders = query.orders.prefix(1 + below(query.orders.count))
    let inScope = documents.filter { query.holds($0.key) }
    let document = inScope.isEmpty || chance(25) ? nil : element(inScope)
    let position = orders.map { order in
      if order.path.isDocumentKey { return reference(document?.key ?? boundKey(query)) }
      return document?.fields[order.path] ?? value()
    }
    return Bound(position: position, isInclusive: chance(50))
  }

  private mutating func boundKey(_ query: Query) -> DocumentKey {
    if query.isCollectionGroupQuery { return key() }
    return key("\(query.path.canonicalString)/\(element(Self.ids))")
  }
}
