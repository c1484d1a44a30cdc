import HearthModel

/// Answers a query that is ordered by the key alone by walking along the keys, from a cursor until there are as many documents as the limit
/// allows: of one collection, of a collection group, or of all collections.
///
/// In the order of keys, a document comes before what lies below it, and that before the next document of its collection. So the walk goes
/// along one collection, and into those that lie between two of its documents. Their paths are read and sorted for each walk: a page
/// of a result costs its documents and the names of the collections, whatever they hold.
struct KeyWalk {
  private let documents: DocumentStore
  private let query: Query
  private let scope: CollectionScope
  private let limit: Int
  private let isBackward: Bool
  /// Keys between which the result lies, both included; each document is tested against the whole query all the same.
  private var lower: DocumentKey?
  private var upper: DocumentKey?

  /// - Returns: nil for a query that is not ordered so, that has no limit, or that is for one document.
  init?(_ query: Query, _ documents: DocumentStore) {
    guard query.isOrderedByKeyOnly, let limit = query.limit, let order = query.orders.first else { return nil }
    scope = CollectionScope(of: query)
    if case .collection(let path) = scope, (try? DocumentKey(path)) != nil { return nil }
    self.documents = documents
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
    guard case .reference(let reference)? = value else { return nil }
    return reference.key
  }

  private mutating func narrow(_ key: DocumentKey, isLower: Bool) {
    if isLower {
      if lower.map({ $0 < key }) ?? true { lower = key }
    } else {
      if upper.map({ key < $0 }) ?? true { upper = key }
    }
  }

  /// True if conditions on fields may leave out many of the documents along the way.
  var mayLeaveOut: Bool { !query.filters.allSatisfy { $0.flattened.allSatisfy(\.path.isDocumentKey) } }

  /// - Returns: nil if a scan takes less, because few of the documents match.
  func answer(_ aggregations: [Aggregation]) throws -> (ResultContents, QueryExecution)? {
    var execution = QueryExecution(plan: .keys)
    var result = LimitedResult(of: query, aggregations)
    guard limit > 0 else { return (try result.finish(), execution) }
    var walk = CollectionsWalk(try walks(), isBackward: isBackward)
    let budget = try budget(walk)
    let filter = InPlaceFilter(query)
    var found = 0
    let isWhole = try walk.forEach { stored in
      guard execution.rowsRead < budget else { return false }
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: nil) else { return true }
      if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
      found += 1
      return found < limit
    }
    guard isWhole || found == limit else { return nil }
    return (try result.finish(), execution)
  }

  /// The number of documents after which a scan takes less.
  private func budget(_ walk: CollectionsWalk) throws -> Int {
    let (fewMore, overflow) = limit.addingReportingOverflow(500)
    if mayLeaveOut { return overflow ? .max : fewMore }
    // As for an index: reading along the keys costs about as much as scanning eight documents. Of several collections the number of
    // documents is not known without looking at each.
    guard case .collection = scope, let walk = walk.next else { return .max }
    return max(500, try documents.estimatedDocumentCount(of: [(walk.path, walk.number)]) / 8)
  }

  /// The collections with documents between the bounds.
  private func walks() throws -> [CollectionWalk] {
    try documents.collections(in: scope).compactMap { path, number in
      var walk = CollectionWalk(documents: documents, path: path, number: number, isBackward: isBackward)
      if let lower {
        if path.isPrefix(of: lower.path) {
          walk.lower = lower.path.segments[path.count]
        } else if path < lower.path {
          return nil
        }
      }
      if let upper {
        if path.isPrefix(of: upper.path) {
          walk.upper = upper.path.segments[path.count]
        } else if upper.path < path {
          return nil
        }
      }
      return walk
    }
  }
}

/// A walk along several collections whose paths may lie within each other, in the order of the keys of all their documents.
private struct CollectionsWalk {
  private let isBackward: Bool
  /// Those that were not begun. The next one is the last.
  private var rest: [CollectionWalk]

  init(_ walks: [CollectionWalk], isBackward: Bool) {
    self.isBackward = isBackward
    // Backward, a collection comes before those below it, too: it may have documents behind all of theirs.
    rest = walks.sorted { a, b in
      if isBackward, a.path.count != b.path.count, a.path.isPrefix(of: b.path) || b.path.isPrefix(of: a.path) {
        return b.path.isPrefix(of: a.path)
      }
      return isBackward ? a.path < b.path : b.path < a.path
    }
  }

  var next: CollectionWalk? { rest.last }

  /// - Returns: False if `body` has stopped the walk.
  mutating func forEach(_ body: (StoredDocument) throws -> Bool) throws -> Bool {
    while let walk = rest.popLast() {
      guard try forEach(along: walk, body) else { return false }
    }
    return true
  }

  private mutating func forEach(along walk: CollectionWalk, _ body: (StoredDocument) throws -> Bool) throws -> Bool {
    try walk.forEach { stored in
      while let next, try isBefore(next, stored) {
        rest.removeLast()
        guard try forEach(along: next, body) else { return false }
      }
      return try body(stored)
    }
  }

  /// Returns whether a collection's documents come before a document of another one.
  private func isBefore(_ walk: CollectionWalk, _ stored: StoredDocument) throws -> Bool {
    let path = try stored.key.path
    return isBackward ? path < walk.path : walk.path < path
  }
}
