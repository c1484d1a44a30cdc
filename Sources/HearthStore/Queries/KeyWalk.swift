internal import HearthModel

/// Answers a query that is ordered by the key alone by walking along the keys of its collection, from a cursor until there are as many
/// documents as the limit allows.
///
/// Ids of the form `__id<number>__` come before all others in the order of keys, by number, and not in the order of the table's index.
/// They are rare, so those of a collection are read first and sorted.
struct KeyWalk {
  private let documents: DocumentStore
  private let query: Query
  private let path: ResourcePath
  private let limit: Int
  private let isBackward: Bool
  /// Ids between which the result lies; each document is tested against the whole query all the same.
  private var lower: String?
  private var upper: String?

  /// - Returns: nil for a query that is not ordered so, that has no limit, or that is not for one collection.
  init?(_ query: Query, _ documents: DocumentStore) {
    guard query.isOrderedByKeyOnly, let limit = query.limit, case .collection(let path) = CollectionScope(of: query),
      let order = query.orders.first, (try? DocumentKey(path)) == nil
    else { return nil }
    self.documents = documents
    self.query = query
    self.path = path
    self.limit = max(limit, 0)
    let isDescending = order.direction == .descending
    isBackward = isDescending != query.isLimitToLast
    if let id = id(of: query.startAt?.position.first) { narrow(id, isLower: !isDescending) }
    if let id = id(of: query.endAt?.position.first) { narrow(id, isLower: isDescending) }
    for case .field(let filter) in query.filters where filter.path.isDocumentKey {
      guard let id = id(of: filter.value) else { continue }
      switch filter.op {
      case .greaterThan, .greaterThanOrEqual: narrow(id, isLower: true)
      case .lessThan, .lessThanOrEqual: narrow(id, isLower: false)
      default: continue
      }
    }
  }

  private func id(of value: Value?) -> String? {
    guard case .reference(let reference)? = value, reference.key.collectionPath == path else { return nil }
    return reference.key.id
  }

  private mutating func narrow(_ id: String, isLower: Bool) {
    if isLower {
      if lower.map({ PathSegment.compare($0, id) == .ascending }) ?? true { lower = id }
    } else {
      if upper.map({ PathSegment.compare($0, id) == .descending }) ?? true { upper = id }
    }
  }

  /// True if conditions on fields may leave out many of the documents along the way.
  var mayLeaveOut: Bool { !query.filters.allSatisfy { $0.flattened.allSatisfy(\.path.isDocumentKey) } }

  /// - Returns: nil if a scan takes less, because few of the documents match.
  func answer(_ aggregations: [Aggregation]) throws -> (ResultContents, QueryExecution)? {
    var execution = QueryExecution(plan: .keys)
    var result = LimitedResult(of: query, aggregations)
    guard limit > 0, let number = try documents.number(of: path) else { return (try result.finish(), execution) }
    // As for an index: reading along the keys costs about as much as scanning eight documents.
    let count = try documents.estimatedDocumentCount(of: [(path, number)])
    let (fewMore, overflow) = limit.addingReportingOverflow(500)
    let budget = mayLeaveOut ? (overflow ? .max : fewMore) : max(500, count / 8)
    let filter = InPlaceFilter(query)
    var found = 0
    func visit(_ stored: StoredDocument) throws -> Bool {
      guard execution.rowsRead < budget else { return false }
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: nil) else { return true }
      if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
      found += 1
      return found < limit
    }
    for isNumericPart in [!isBackward, isBackward] where found < limit && execution.rowsRead < budget {
      try isNumericPart ? forEachNumeric(number, visit) : forEachOther(number, visit)
    }
    guard found == limit || execution.rowsRead < budget else { return nil }
    return (try result.finish(), execution)
  }

  private func forEachNumeric(_ number: Int64, _ body: (StoredDocument) throws -> Bool) throws {
    let ids = try documents.database.prepare(
      "SELECT id FROM documents INDEXED BY documents_by_id WHERE collection = ? AND id >= '__id' AND id < '__ie'",
      .integer(number))
    var numeric: [String] = []
    while try ids.step() {
      let id = try ids.string(at: 0)
      if PathSegment.numericID(id) != nil, !isOutside(id) { numeric.append(id) }
    }
    guard !numeric.isEmpty else { return }
    numeric.sort { PathSegment.compare($0, $1) == (isBackward ? .descending : .ascending) }
    let statement = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents WHERE collection = ? AND id = ?")
    let stored = StoredDocument(statement: statement, collection: path)
    for id in numeric {
      statement.reset()
      try statement.bind(1, number)
      try statement.bind(2, id)
      guard try statement.step() else { continue }
      guard try body(stored) else { return }
    }
  }

  private func isOutside(_ id: String) -> Bool {
    if let lower, PathSegment.compare(id, lower) == .ascending { return true }
    if let upper, PathSegment.compare(id, upper) == .descending { return true }
    return false
  }

  private static let numericPrefix = Array("__id".utf8)

  private func forEachOther(_ number: Int64, _ body: (StoredDocument) throws -> Bool) throws {
    // All ids of this part lie behind every numeric one.
    if let upper, PathSegment.numericID(upper) != nil { return }
    var condition = ""
    var parameters: [Statement.Parameter] = [.integer(number)]
    if let lower, PathSegment.numericID(lower) == nil {
      condition += " AND id >= ?"
      parameters.append(.text(lower))
    }
    if let upper {
      condition += " AND id <= ?"
      parameters.append(.text(upper))
    }
    let statement = try documents.database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_id WHERE collection = ?\(condition) "
        + "ORDER BY id\(isBackward ? " DESC" : "")", parameters)
    let stored = StoredDocument(statement: statement, collection: path)
    while try statement.step() {
      let mayBeNumeric = try statement.withUTF8(at: 0) { $0.starts(with: Self.numericPrefix) }
      if mayBeNumeric, PathSegment.numericID(try statement.string(at: 0)) != nil { continue }
      guard try body(stored) else { return }
    }
  }
}
