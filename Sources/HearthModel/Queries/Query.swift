/// A request for documents of one path or collection group, filtered, ordered, bounded and limited.
///
/// Two queries are equal when their form guarantees the same result in the same order: orders are compared including the implicit ones, and
/// the kind of limit only counts if there is a limit.
package struct Query: Sendable {
  /// The end of the order that a limit keeps.
  package enum LimitType: Hashable, Sendable {
    case first
    case last
  }

  /// A collection, a document, or with ``collectionGroup`` the path below which the group's collections are.
  package var path: ResourcePath
  /// The id of the collections whose documents are asked for, at any depth below ``path``; the empty id stands for all
  /// collections, which only backends are asked for.
  package var collectionGroup: String?
  /// All of these must be met.
  package var filters: [Filter] {
    didSet { orders = Self.normalizedOrders(explicit: explicitOrders, filters: filters) }
  }
  /// The explicit orders.
  package var explicitOrders: [OrderBy] {
    didSet { orders = Self.normalizedOrders(explicit: explicitOrders, filters: filters) }
  }
  package var limit: Int?
  package var limitType: LimitType
  package var startAt: Bound?
  package var endAt: Bound?
  /// The complete order: the explicit orders, then the fields of inequalities that they lack, in the order of field
  /// paths, then the document key. Added orders take the direction of the last explicit order.
  package private(set) var orders: [OrderBy] {
    didSet { keyDirection = Self.keyDirection(of: orders) }
  }
  /// The direction of a query that is ordered by nothing but the document key, nil for all others.
  private(set) var keyDirection: OrderBy.Direction?
  /// True if a document has the same place whatever its contents.
  package var isOrderedByKeyOnly: Bool { keyDirection != nil }

  package init(
    path: ResourcePath, collectionGroup: String? = nil, filters: [Filter] = [], explicitOrders: [OrderBy] = [],
    limit: Int? = nil, limitType: LimitType = .first, startAt: Bound? = nil, endAt: Bound? = nil
  ) {
    self.path = path
    self.collectionGroup = collectionGroup
    self.filters = filters
    self.explicitOrders = explicitOrders
    self.limit = limit
    self.limitType = limitType
    self.startAt = startAt
    self.endAt = endAt
    orders = Self.normalizedOrders(explicit: explicitOrders, filters: filters)
    keyDirection = Self.keyDirection(of: orders)
  }

  /// The fields of inequalities, in the order of field paths.
  package var inequalityFields: [FieldPath] { Self.inequalityFields(of: filters) }

  /// The document that the query names, if it names one and sets no further condition.
  package var documentKey: DocumentKey? { target.documentKey }

  /// The document that the query's path names, also if the query has conditions that the document may not meet; nil for a query of
  /// collections.
  package var documentAtPath: DocumentKey? { collectionGroup == nil ? try? DocumentKey(path) : nil }

  package var isCollectionGroupQuery: Bool { collectionGroup != nil }

  /// True if the query holds every document of its collection, in the order of their keys.
  package var matchesAllDocuments: Bool {
    filters.isEmpty && limit == nil && startAt == nil && endAt == nil && explicitOrders.allSatisfy(\.path.isDocumentKey)
  }

  /// True if the limit keeps the end of the order.
  package var isLimitToLast: Bool { limit != nil && limitType == .last }

  private static func inequalityFields(of filters: [Filter]) -> [FieldPath] {
    FieldMask(filters.flatMap(\.flattened).filter(\.op.isInequality).map(\.path)).paths
  }

  private static func keyDirection(of orders: [OrderBy]) -> OrderBy.Direction? {
    orders.first.flatMap { $0.path.isDocumentKey ? $0.direction : nil }
  }

  private static func normalizedOrders(explicit: [OrderBy], filters: [Filter]) -> [OrderBy] {
    var orders = explicit
    let direction = explicit.last?.direction ?? .ascending
    let inequalities = inequalityFields(of: filters)
    if !inequalities.isEmpty {
      // A set: a request may have as many orders and filters as fit in it, and they are counted on the query only later.
      let ordered = Set(explicit.map(\.path))
      for path in inequalities where !path.isDocumentKey && !ordered.contains(path) {
        orders.append(OrderBy(path: path, direction: direction))
      }
    }
    if !explicit.contains(where: \.path.isDocumentKey) {
      orders.append(OrderBy(path: .documentKey, direction: direction))
    }
    return orders
  }
}

// MARK: - Building

extension Query {
  /// The number of times that the fields of a document may be looked through to find its place in the result.
  package var comparisonCount: Int {
    max(filters.reduce(explicitOrders.count) { $0 + $1.comparisonCount }, 1)
  }

  package func with(filter: Filter) -> Query {
    var query = self
    query.filters.append(filter)
    return query
  }

  package func with(order: OrderBy) -> Query {
    var query = self
    query.explicitOrders.append(order)
    return query
  }

  /// The query with this limit in place of any other.
  package func with(limit: Int, type: LimitType = .first) -> Query {
    var query = self
    query.limit = limit
    query.limitType = type
    return query
  }

  package func with(startAt bound: Bound) -> Query {
    var query = self
    query.startAt = bound
    return query
  }

  package func with(endAt bound: Bound) -> Query {
    var query = self
    query.endAt = bound
    return query
  }
}

// MARK: - Identity

extension Query: Hashable {
  /// The target that the backend is asked for. A limit to the last documents becomes a limit to the first ones of the reversed order, with
  /// the bounds exchanged.
  package var target: Target {
    guard isLimitToLast else {
      return Target(
        path: path, collectionGroup: collectionGroup, filters: filters, orders: orders, limit: limit,
        startAt: startAt, endAt: endAt)
    }
    return Target(
      path: path, collectionGroup: collectionGroup, filters: filters, orders: orders.map(\.reversed), limit: limit,
      startAt: endAt, endAt: startAt)
  }

  /// A text that is equal for two queries exactly when they are equal; see ``Target/canonicalID``.
  package var canonicalID: String { target.canonicalID + (isLimitToLast ? "|last" : "") }

  package static func == (a: Query, b: Query) -> Bool {
    a.isLimitToLast == b.isLimitToLast && a.target == b.target
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(isLimitToLast)
    hasher.combine(target)
  }
}
