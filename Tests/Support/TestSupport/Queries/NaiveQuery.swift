package import HearthModel

/// A document as the plain evaluation reads it.
package struct NaiveDocument: Sendable {
  package var key: DocumentKey
  package var fields: MapValue

  package init(key: DocumentKey, fields: MapValue) {
    self.key = key
    self.fields = fields
  }
}

/// A second, plain implementation of queries, on decoded values: all documents are filtered, sorted and cut.
///
/// It shares with the code under test the order of single values, which ``ValueZoo`` pins, and nothing else.
package struct NaiveQuery {
  package let query: Query
  /// The complete order, worked out here and not by the query.
  private let orders: [OrderBy]

  package init(_ query: Query) {
    self.query = query
    var orders = query.explicitOrders
    let direction = orders.last?.direction ?? .ascending
    let inequalities = query.filters.flatMap(\.flattened).filter { Self.isInequality($0.op) }.map(\.path)
    for path in inequalities.sorted() where !path.isDocumentKey && !orders.contains(where: { $0.path == path }) {
      orders.append(OrderBy(path: path, direction: direction))
    }
    if !orders.contains(where: \.path.isDocumentKey) {
      orders.append(OrderBy(path: .documentKey, direction: direction))
    }
    self.orders = orders
  }

  private static func isInequality(_ op: FieldFilter.Operator) -> Bool {
    [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn].contains(op)
  }

  /// The keys of the result, in its order.
  package func answer(_ documents: some Sequence<NaiveDocument>) -> [DocumentKey] {
    let sorted = documents.filter(matches).sorted { compare($0, $1) == .ascending }
    let keys = sorted.map(\.key)
    guard let limit = query.limit else { return keys }
    return Array(query.limitType == .first ? keys.prefix(limit) : keys.suffix(limit))
  }

  /// Returns true if a document belongs to the result, without regard to the limit.
  package func matches(_ document: NaiveDocument) -> Bool {
    isInPath(document.key) && query.filters.allSatisfy { meets($0, document) }
      && orders.allSatisfy { value($0.path, of: document) != nil }
      && (query.startAt.map { admits($0, document, .descending) } ?? true)
      && (query.endAt.map { admits($0, document, .ascending) } ?? true)
  }

  private func compare(_ a: NaiveDocument, _ b: NaiveDocument) -> Ordering {
    for order in orders {
      guard let x = value(order.path, of: a), let y = value(order.path, of: b) else { continue }
      let ordering = Self.order(x, y, at: order.path)
      if ordering != .same { return order.direction == .ascending ? ordering : ordering.reversed }
    }
    return .same
  }

  private func isInPath(_ key: DocumentKey) -> Bool {
    let collection = key.path.segments.dropLast().map(Text.init)
    let path = query.path.segments.map(Text.init)
    if let group = query.collectionGroup {
      // The empty group is that of all collections.
      return (group.isEmpty || collection.last == Text(group)) && collection.starts(with: path)
    }
    return collection == path || key.path.segments.map(Text.init) == path
  }

  /// A string that is equal to another only if their bytes are.
  private struct Text: Equatable {
    let bytes: [UInt8]
    init(_ string: String) { bytes = Array(string.utf8) }
  }

  private func value(_ path: FieldPath, of document: NaiveDocument) -> Value? {
    if path.isDocumentKey { return .reference(.init(database: DatabaseID(projectID: "any"), key: document.key)) }
    var value: Value? = .map(document.fields)
    for segment in path.segments {
      guard case .map(let map)? = value else { return nil }
      value = map.entries.first { Text($0.key) == Text(segment) }?.value
    }
    return value
  }

  /// Keys of documents are compared without their database, which is always that of the query.
  private static func order(_ a: Value, _ b: Value, at path: FieldPath) -> Ordering {
    if path.isDocumentKey, case .reference(let x) = a, case .reference(let y) = b { return Ordering(x.key, y.key) }
    return Value.compare(a, b)
  }

  private func meets(_ filter: Filter, _ document: NaiveDocument) -> Bool {
    switch filter {
    case .field(let filter): return meets(filter, document)
    case .composite(let composite):
      let results = composite.filters.map { meets($0, document) }
      return composite.op == .and ? !results.contains(false) : results.contains(true)
    }
  }

  private func meets(_ filter: FieldFilter, _ document: NaiveDocument) -> Bool {
    guard let value = value(filter.path, of: document) else { return false }
    let isNull = value == .null
    let ordering = Self.order(value, filter.value, at: filter.path)
    // No range finds null or NaN, or begins or ends there.
    let isInRange =
      [value, filter.value].allSatisfy { $0 != .null && !$0.isNaN } && value.typeOrder == filter.value.typeOrder
    let list: [Value] = if case .array(let elements) = filter.value { elements } else { [] }
    let stored: [Value] = if case .array(let elements) = value { elements } else { [] }
    func any(_ values: [Value], _ other: Value) -> Bool {
      values.contains { Self.order($0, other, at: filter.path) == .same }
    }
    // No list finds null or NaN, but one can exclude NaN.
    func found(_ values: [Value], _ other: Value) -> Bool { other != .null && !other.isNaN && any(values, other) }
    return switch filter.op {
    case .lessThan: isInRange && ordering == .ascending
    case .lessThanOrEqual: isInRange && ordering != .descending
    case .equal: ordering == .same
    case .notEqual: !isNull && ordering != .same
    case .greaterThan: isInRange && ordering == .descending
    case .greaterThanOrEqual: isInRange && ordering != .ascending
    case .arrayContains: found(stored, filter.value)
    case .arrayContainsAny: list.contains { found(stored, $0) }
    case .in: found(list, value)
    case .notIn: !isNull && !list.contains(.null) && !any(list, value)
    }
  }

  /// Returns true if the document is within the bound.
  private func admits(_ bound: Bound, _ document: NaiveDocument, _ right: Ordering) -> Bool {
    for (position, order) in zip(bound.position, orders) {
      var ordering = Self.order(value(order.path, of: document) ?? .null, position, at: order.path)
      if order.direction == .descending { ordering = ordering.reversed }
      if ordering != .same { return ordering == right }
    }
    return bound.isInclusive
  }
}
