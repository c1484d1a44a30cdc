internal import HearthModel
internal import HearthPlan

/// Answers a query that is ordered by the key alone: walks along the keys of its collections from a cursor until the limit is reached.
struct KeyWalk {
  private let executor: QueryExecutor
  private let query: Query
  private let scope: CollectionScope
  private let limit: Int
  private let isBackward: Bool
  /// Keys between which the result lies; each document is tested against the whole query all the same.
  private var lower: DocumentKey?
  private var upper: DocumentKey?

  /// - Returns: nil for a query that is not ordered so, that has no limit, or whose path is not of the kind that its scope needs.
  init?(_ query: Query, _ executor: QueryExecutor) {
    guard query.isOrderedByKeyOnly, let limit = query.limit, let order = query.orders.first else { return nil }
    scope = CollectionScope(of: query)
    // One collection, or all below a document or the root.
    guard query.path.count.isMultiple(of: 2) == (query.collectionGroup != nil) else { return nil }
    self.executor = executor
    self.query = query
    self.limit = max(limit, 0)
    let isDescending = order.direction == .descending
    isBackward = isDescending != query.isLimitToLast
    if let key = key(of: query.startAt?.position.first) { narrow(key, isLower: !isDescending) }
    if let key = key(of: query.endAt?.position.first) { narrow(key, isLower: isDescending) }
    for case .field(let filter) in query.filters where filter.path.isDocumentKey {
      guard let key = key(of: filter.value) else { continue }
      switch filter.op {
      case .greaterThan, .greaterThanOrEqual: narrow(key, isLower: true)
      case .lessThan, .lessThanOrEqual: narrow(key, isLower: false)
      default: continue
      }
    }
  }

  private func key(of value: Value?) -> DocumentKey? {
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

  /// True if conditions on fields may leave out many of the documents along the way.
  var mayLeaveOut: Bool { !query.filters.allSatisfy { $0.flattened.allSatisfy(\.path.isDocumentKey) } }

  /// - Returns: nil if a scan takes less, because few of the documents match.
  func answer() throws -> (ResultContents, QueryExecution)? {
    try answer(atMost: try rowBudget())
  }

  /// The first documents of a result, however many are left out on the way. If the result has bounds, they are kept.
  func piece() throws -> (ResultContents, QueryExecution)? {
    try answer(atMost: .max)
  }

  /// - Parameter budget: The number of documents to look at.
  private func answer(atMost budget: Int) throws -> (ResultContents, QueryExecution)? {
    var execution = QueryExecution(plan: .keys)
    var result = try executor.newResult(of: query)
    guard limit > 0 else { return (try result.finish(), execution) }
    var filter = executor.filter(of: query)
    var found = 0
    var isComplete = true
    var walk = try KeyOrder(executor.documents, scope, from: lower, to: upper, isBackward: isBackward)
    try walk.forEach { stored in
      guard execution.rowsRead < budget else {
        isComplete = false
        return false
      }
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: nil) else { return true }
      if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
      // Keys come in order: behind the first match, all satisfy `startAt`, which need not be tested any more.
      if found == 0, query.startAt != nil, !query.isLimitToLast {
        var rest = query
        rest.startAt = nil
        filter = executor.filter(of: rest)
      }
      found += 1
      return found < limit && !result.isFull()
    }
    return isComplete ? (try result.finish(), execution) : nil
  }

  /// The number of documents to read along the keys before a scan takes less.
  private func rowBudget() throws -> Int {
    let (fewMore, overflow) = limit.addingReportingOverflow(500)
    // The documents of many collections are not counted, because that reads all of the collections.
    guard case .collection(let path) = scope, !mayLeaveOut else { return overflow ? .max : fewMore }
    guard let number = try executor.documents.number(of: path) else { return 0 }
    // As for an index: reading along the keys costs about as much as scanning eight documents.
    return max(500, try executor.documents.estimatedDocumentCount(of: [(path, number)]) / 8)
  }
}
