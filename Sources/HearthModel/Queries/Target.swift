/// A query in the form that the backend watches or runs: with its complete order, and with a limit counted from the start. Queries that
/// differ only in how they present the result share a target.
package struct Target: Sendable {
  package var path: ResourcePath
  package var collectionGroup: String?
  package var filters: [Filter]
  /// Complete: ends with the document key.
  package var orders: [OrderBy]
  package var limit: Int?
  package var startAt: Bound?
  package var endAt: Bound?

  package init(
    path: ResourcePath, collectionGroup: String? = nil, filters: [Filter] = [], orders: [OrderBy] = [],
    limit: Int? = nil, startAt: Bound? = nil, endAt: Bound? = nil
  ) {
    self.path = path
    self.collectionGroup = collectionGroup
    self.filters = filters
    self.orders = orders
    self.limit = limit
    self.startAt = startAt
    self.endAt = endAt
  }

  /// True if the target is one document.
  package var isDocumentTarget: Bool { documentKey != nil }

  /// The document that the target is, nil for a query.
  package var documentKey: DocumentKey? {
    guard collectionGroup == nil, filters.isEmpty else { return nil }
    return try? DocumentKey(path)
  }

  /// The query that presents this target as it is, with any limit to the first documents.
  package var query: Query {
    Query(
      path: path, collectionGroup: collectionGroup, filters: filters, explicitOrders: orders, limit: limit,
      startAt: startAt, endAt: endAt)
  }
}

extension Target: Hashable {
  package static func == (a: Target, b: Target) -> Bool {
    a.path == b.path && a.hasSameCollectionGroup(as: b) && a.filters == b.filters && a.orders == b.orders
      && a.limit == b.limit && a.startAt == b.startAt && a.endAt == b.endAt
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(collectionGroup)
    hasher.combine(filters)
    hasher.combine(orders)
    hasher.combine(limit)
    hasher.combine(startAt)
    hasher.combine(endAt)
  }

  /// Ids are the same only if their bytes are: Swift's `==` also unites composed and decomposed characters.
  private func hasSameCollectionGroup(as other: Target) -> Bool {
    switch (collectionGroup, other.collectionGroup) {
    case (nil, nil): true
    case (let mine?, let others?): ByteOrder.areEqual(mine, others)
    default: false
    }
  }
}
