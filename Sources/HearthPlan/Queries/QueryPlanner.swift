package import HearthModel

/// An access path to the documents that may match one of a query's alternatives, without looking at other documents.
package enum QueryAccess {
  /// The document with this key and no other.
  case document(DocumentKey)
  case index(IndexAccess)
}

/// A range of an index.
package struct IndexAccess {
  package var index: StoredIndex
  package var range: IndexRange
  /// The conditions that the range stands for, as text.
  package var bounds: [String]
  /// True if the range, read in the direction of ``isBackward``, has the order of the query. Then a limit holds for it.
  package var isOrdered: Bool
  package var isBackward: Bool
  /// True if the range stands for all conditions. A document in it may still not match: if an inequality meets NaN or null, or if it lacks
  /// a field that the query orders by behind the key.
  package var isExact: Bool
  /// Ranges of other indexes that hold every document of the alternative too.
  package var others: [IndexAccess] = []

  fileprivate var score: Int
}

/// Finds out which indexes can answer a query.
package struct QueryPlanner {
  /// Alternatives that are looked at; more would be slower than a scan.
  private static let maximumAlternatives = 100

  private let query: Query
  private let indexes: [StoredIndex]
  private let scope: CollectionScope
  /// True if the query looks into all collections of its group.
  private let isOfWholeGroup: Bool
  /// True to use an index only in the order of the query.
  private let isOrderNeeded: Bool

  package init(_ query: Query, indexes: [StoredIndex], isOrderNeeded: Bool = false) {
    self.query = query
    self.indexes = indexes
    self.isOrderNeeded = isOrderNeeded
    scope = CollectionScope(of: query)
    isOfWholeGroup = if case .group(_, under: let path) = scope { path.isEmpty } else { false }
  }

  package enum Decision {
    case use([QueryAccess])
    case scan(reason: String)
  }

  /// One access for each alternative of the query's conditions in disjunctive normal form; together they lead to every
  /// document of the result, and mostly to some others.
  package func decide() throws -> Decision {
    if query.matchesAllDocuments { return .scan(reason: "the query asks for all documents") }
    guard let alternatives = query.disjunctions(atMost: Self.maximumAlternatives) else {
      return .scan(reason: "its conditions have more than \(Self.maximumAlternatives) alternatives")
    }
    var accesses: [QueryAccess] = []
    for filters in alternatives {
      if let key = Self.key(in: filters) {
        accesses.append(.document(key))
      } else if var access = try best(for: filters) {
        access.others = try others(for: filters, beside: access)
        accesses.append(.index(access))
      } else if indexes.isEmpty {
        return .scan(reason: "there is no index of this collection group")
      } else {
        return .scan(reason: "no index serves \(inWords(filters))")
      }
    }
    return .use(accesses)
  }

  /// The text of an alternative for messages.
  private func inWords(_ filters: [FieldFilter]) -> String {
    let conditions = filters.map(\.inWords).joined(separator: " and ")
    let orders = query.orders.filter { !$0.path.isDocumentKey }.map(\.inWords)
    let order = orders.isEmpty ? [] : ["order by \(orders.joined(separator: ", "))"]
    return ((conditions.isEmpty ? [] : [conditions]) + order).joined(separator: " ")
  }

  /// The best indexes for the alternatives that have no index, or only one that serves them in part. Indexes that would not be used are
  /// left out: those for `!=`, and for an order of all documents.
  ///
  /// - Parameters:
  ///   - effort: Only indexes that lead to the documents of the result in its order: to no others if pieces are read directly.
  ///   - usesGroupIndexes: True if only an index of the collection group serves a query of all its collections well.
  package func missingIndexes(
    forPieces effort: PieceEffort? = nil, usesGroupIndexes: Bool = false
  ) throws -> [IndexDefinition] {
    let wantedScope: IndexDefinition.Scope = usesGroupIndexes && isOfWholeGroup ? .collectionGroup : .collection
    guard !query.matchesAllDocuments, let group = query.collectionGroup ?? query.path.last, !group.isEmpty,
      let alternatives = query.disjunctions(atMost: Self.maximumAlternatives)
    else { return [] }
    var missing: [IndexDefinition] = []
    for filters in alternatives where Self.key(in: filters) == nil {
      guard let definition = try bestDefinition(for: filters, group: group, wantedScope), !missing.contains(definition),
        let wanted = try access(StoredIndex(proposed: definition), filters),
        effort == nil || wanted.isOrdered && (wanted.isExact || effort == .patient),
        try !indexes.contains(where: { try serves($0, filters, as: wanted) })
      else { continue }
      missing.append(definition)
    }
    return missing
  }

  private static func key(in filters: [FieldFilter]) -> DocumentKey? {
    for filter in filters where filter.path.isDocumentKey && filter.op == .equal {
      if case .reference(let reference) = filter.value { return reference.key }
    }
    return nil
  }

  // MARK: - One alternative

  private func best(for filters: [FieldFilter]) throws -> IndexAccess? {
    var best: IndexAccess?
    for index in indexes {
      guard let access = try access(index, filters), access.isOrdered || !isOrderNeeded else { continue }
      if let best, best.score >= access.score { continue }
      best = access
    }
    return best
  }

  /// The accesses that bind conditions which the best one leaves open. They are of no use where the limit ends the reading. Only indexes
  /// that hold all documents are taken.
  private func others(for filters: [FieldFilter], beside best: IndexAccess) throws -> [IndexAccess] {
    guard best.bounds.count < filters.count, !(best.isOrdered && query.limit != nil) else { return [] }
    var bound = Set(best.bounds)
    var others: [IndexAccess] = []
    for index in indexes where index.filledThrough == StoredIndex.complete && index.number != best.index.number {
      guard index.isOfGroup == best.index.isOfGroup else { continue }
      guard let access = try access(index, filters), !bound.isSuperset(of: access.bounds) else { continue }
      bound.formUnion(access.bounds)
      others.append(access)
    }
    return others
  }

  /// - Returns: nil if the index lacks documents of the result, or would be read from end to end for nothing.
  private func access(_ index: StoredIndex, _ filters: [FieldFilter]) throws -> IndexAccess? {
    // The documents of one collection, or of some, are a small part of a group's index.
    guard !index.isOfGroup || isOfWholeGroup else { return nil }
    var prefix = OrderedValueWriter()
    var bounds: [String] = []
    if let member = index.member {
      guard let filter = filters.first(where: { $0.path == member && $0.op == .arrayContains }) else { return nil }
      try prefix.append(filter.value)
      bounds.append(filter.inWords)
    }
    var rest = index.components[...]
    var fixed: Set<FieldPath> = []
    while let component = rest.first,
      let filter = filters.first(where: { $0.path == component.path && $0.op == .equal })
    {
      try prefix.append(filter.value, descending: component.direction == .descending)
      // An index may have a field twice, which binds no further condition.
      if fixed.insert(component.path).inserted { bounds.append(filter.inWords) }
      rest.removeFirst()
    }
    guard rest.allSatisfy({ isRequired($0.path, by: filters) }) else { return nil }
    let equalities = bounds.count

    let order = order(of: rest, index.definition.keyDirection, filters)
    var range = IndexRange(prefix: prefix.bytes)
    if let first = rest.first { try cut(&range, behind: prefix, first, filters, &bounds) }
    var isExact = bounds.count == filters.count
    if let order, !order.skipsOrders {
      let isWhole = try cut(&range, behind: prefix, rest, index, isReversed: order.isReversed, &bounds)
      isExact = isExact && isWhole
    } else if query.startAt != nil || query.endAt != nil {
      isExact = false
    }
    let isOrdered = order != nil
    if bounds.isEmpty, !(isOrdered && query.limit != nil) { return nil }
    let isReversed = order?.isReversed ?? false
    // In this order: more equalities; more inequalities; an order that lets the limit end the reading; a single range for the documents of
    // all collections.
    let score =
      16 * equalities + 4 * min(bounds.count - equalities, 2) + (isOrdered && query.limit != nil ? 2 : 0)
      + (index.isOfGroup ? 1 : 0)
    return IndexAccess(
      index: index, range: range, bounds: bounds, isOrdered: isOrdered,
      isBackward: isReversed != query.isLimitToLast, isExact: isExact, score: score)
  }

  /// Returns whether all documents of this alternative have the field.
  private func isRequired(_ path: FieldPath, by filters: [FieldFilter]) -> Bool {
    filters.contains { $0.path == path } || query.orders.contains { $0.path == path }
  }

  /// Compares the order of the index behind its equalities with that of the query; nil if they do not agree.
  private func order(
    of rest: ArraySlice<OrderBy>, _ keyDirection: OrderBy.Direction, _ filters: [FieldFilter]
  ) -> (isReversed: Bool, skipsOrders: Bool)? {
    let fixed = filters.filter { $0.op == .equal }.map(\.path)
    var wanted = query.orders
    if let key = wanted.firstIndex(where: \.path.isDocumentKey) { wanted.removeSubrange((key + 1)...) }
    let count = wanted.count
    wanted.removeAll { !$0.path.isDocumentKey && fixed.contains($0.path) }
    let given = rest.filter { !fixed.contains($0.path) } + [OrderBy(path: .documentKey, direction: keyDirection)]
    guard given.count == rest.count + 1, given.count == wanted.count else { return nil }
    let skipsOrders = wanted.count < count
    if given == wanted { return (false, skipsOrders) }
    if given == wanted.map(\.reversed) { return (true, skipsOrders) }
    return nil
  }

  // MARK: - Bounds

  /// Keeps what the inequalities on the first field behind the equalities allow.
  private func cut(
    _ range: inout IndexRange, behind prefix: OrderedValueWriter, _ component: OrderBy, _ filters: [FieldFilter],
    _ bounds: inout [String]
  ) throws {
    let isDescending = component.direction == .descending
    for filter in filters where filter.path == component.path {
      var value = prefix
      try value.append(filter.value, descending: isDescending)
      var ofClass = prefix
      ofClass.appendClass(of: filter.value, descending: isDescending)
      let afterValue = OrderedValueWriter.end(of: value.bytes)
      switch (filter.op, isDescending) {
      case (.lessThan, false): range.cut(to: value.bytes)
      case (.lessThan, true): range.cut(from: afterValue)
      case (.lessThanOrEqual, false): range.cut(to: afterValue)
      case (.lessThanOrEqual, true): range.cut(from: value.bytes)
      case (.greaterThan, false): range.cut(from: afterValue)
      case (.greaterThan, true): range.cut(to: value.bytes)
      case (.greaterThanOrEqual, false): range.cut(from: value.bytes)
      case (.greaterThanOrEqual, true): range.cut(to: afterValue)
      default: continue
      }
      // Values of other types are not met.
      range.cut(from: ofClass.bytes, to: OrderedValueWriter.end(of: ofClass.bytes))
      bounds.append(filter.inWords)
    }
  }

  /// Keeps what the cursors allow; only for an order that agrees with the index position by position.
  ///
  /// - Returns: True if they allow all keys that are left.
  private func cut(
    _ range: inout IndexRange, behind prefix: OrderedValueWriter, _ rest: ArraySlice<OrderBy>, _ index: StoredIndex,
    isReversed: Bool, _ bounds: inout [String]
  ) throws -> Bool {
    var isExact = true
    for (bound, isStart) in [(query.startAt, true), (query.endAt, false)] {
      guard let bound, !bound.position.isEmpty else { continue }
      let (position, isWhole) = try encode(bound, behind: prefix, rest, index)
      isExact = isExact && isWhole
      let includesPosition = bound.isInclusive || !isWhole
      let isLower = isStart != isReversed
      if isLower {
        range.cut(from: includesPosition ? position : OrderedValueWriter.end(of: position))
      } else {
        range.cut(to: includesPosition ? OrderedValueWriter.end(of: position) : position)
      }
      bounds.append(bound.inWords(isStart: isStart))
    }
    return isExact
  }

  /// - Returns: the bytes that all documents at the position begin with, and whether all that begin so are at it.
  private func encode(
    _ bound: Bound, behind prefix: OrderedValueWriter, _ rest: ArraySlice<OrderBy>, _ index: StoredIndex
  ) throws -> (bytes: [UInt8], isWhole: Bool) {
    var position = prefix
    for (value, component) in zip(bound.position, rest) {
      try position.append(value, descending: component.direction == .descending)
    }
    if bound.position.count <= rest.count { return (position.bytes, true) }
    guard case .reference(let reference) = bound.position[rest.count] else { return (position.bytes, false) }
    let isDescending = index.definition.keyDirection == .descending
    if index.isOfGroup {
      position.append(documentKey: reference.key, descending: isDescending)
    } else if case .collection(let path) = scope, reference.key.collectionPath == path {
      position.append(documentID: reference.key.id, descending: isDescending)
    } else {
      // The index has only the id of the document: its order holds inside one collection.
      return (position.bytes, false)
    }
    // Values behind the key belong to orders that no index has.
    return (position.bytes, bound.position.count == rest.count + 1)
  }

  // MARK: - The best index

  /// Equalities, at most one array membership, then the fields of the order.
  private func bestDefinition(
    for filters: [FieldFilter], group: String, _ scope: IndexDefinition.Scope
  ) throws -> IndexDefinition? {
    let equalities = FieldMask(filters.filter { $0.op == .equal }.map(\.path)).paths
    var fields = equalities.map { IndexDefinition.Field(path: $0, kind: .ascending) }
    if let member = filters.first(where: { $0.op == .arrayContains }) {
      fields.append(.init(path: member.path, kind: .contains))
    }
    for order in query.orders where !equalities.contains(order.path) {
      fields.append(.init(path: order.path, kind: order.direction == .ascending ? .ascending : .descending))
    }
    let definition = try IndexDefinition(collectionGroup: group, scope: scope, fields: fields)
    return definition.fields.isEmpty ? nil : definition
  }

  /// Returns whether an index binds and orders as much as a wanted one would, and in as few ranges.
  private func serves(_ index: StoredIndex, _ filters: [FieldFilter], as wanted: IndexAccess) throws -> Bool {
    guard let found = try access(index, filters) else { return false }
    return found.score >= wanted.score && index.definition.fields.count >= wanted.index.definition.fields.count
  }
}
