package import HearthModel

/// The part of the order of keys in which the result of a query lies that is ordered by the key alone.
package struct KeyBounds: Sendable {
  package let scope: CollectionScope
  package let limit: Int
  /// True if the result is found from its end.
  package let isBackward: Bool
  /// Keys between which the result lies; each document is tested against the whole query all the same.
  package private(set) var lower: DocumentKey?
  package private(set) var upper: DocumentKey?

  /// - Returns: nil for a query with another order, without a limit, or with a path that is not of the kind that its scope needs.
  package init?(of query: Query) {
    guard query.isOrderedByKeyOnly, let limit = query.limit, let order = query.orders.first else { return nil }
    scope = CollectionScope(of: query)
    // One collection, or all below a document or the root.
    guard query.path.count.isMultiple(of: 2) == (query.collectionGroup != nil) else { return nil }
    self.limit = max(limit, 0)
    let isDescending = order.direction == .descending
    isBackward = isDescending != query.isLimitToLast
    if let key = Self.key(of: query.startAt?.position.first, query) { narrow(key, isLower: !isDescending) }
    if let key = Self.key(of: query.endAt?.position.first, query) { narrow(key, isLower: isDescending) }
    for case .field(let filter) in query.filters where filter.path.isDocumentKey {
      guard let key = Self.key(of: filter.value, query) else { continue }
      switch filter.op {
      case .greaterThan, .greaterThanOrEqual: narrow(key, isLower: true)
      case .lessThan, .lessThanOrEqual: narrow(key, isLower: false)
      default: continue
      }
    }
  }

  private static func key(of value: Value?, _ query: Query) -> DocumentKey? {
    guard case .reference(let reference)? = value, query.path.isPrefix(of: reference.key.path) else { return nil }
    return reference.key
  }

  private mutating func narrow(_ key: DocumentKey, isLower: Bool) {
    if isLower {
      lower = lower.map { max($0, key) } ?? key
    } else {
      upper = upper.map { min($0, key) } ?? key
    }
  }
}

extension Query {
  /// True if conditions on fields may leave out many of the documents that lie along the keys.
  package var mayLeaveOutAlongKeys: Bool { !filters.allSatisfy { $0.flattened.allSatisfy(\.path.isDocumentKey) } }
}
