internal import HearthModel
internal import HearthPlan

/// Answers a query that is ordered by the key alone: walks along the keys of its collections from a cursor until the limit is reached.
struct KeyWalk {
  private let executor: QueryExecutor
  private let query: Query
  private let bounds: KeyBounds

  /// - Returns: nil for a query that has no ``KeyBounds``.
  init?(_ query: Query, _ executor: QueryExecutor) {
    guard let bounds = KeyBounds(of: query) else { return nil }
    self.executor = executor
    self.query = query
    self.bounds = bounds
  }

  /// See ``Query/mayLeaveOutAlongKeys``.
  var mayLeaveOut: Bool { query.mayLeaveOutAlongKeys }

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
    let limit = bounds.limit
    guard limit > 0 else { return (try result.finish(), execution) }
    var filter = executor.filter(of: query)
    var found = 0
    var isComplete = true
    var walk = try KeyOrder(
      executor.documents, bounds.scope, from: bounds.lower, to: bounds.upper, isBackward: bounds.isBackward)
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
    let (fewMore, overflow) = bounds.limit.addingReportingOverflow(500)
    // The documents of many collections are not counted, because that reads all of the collections.
    guard case .collection(let path) = bounds.scope, !mayLeaveOut else { return overflow ? .max : fewMore }
    guard let number = try executor.documents.number(of: path) else { return 0 }
    // As for an index: reading along the keys costs about as much as scanning eight documents.
    return max(500, try executor.documents.estimatedDocumentCount(of: [(path, number)]) / 8)
  }
}
