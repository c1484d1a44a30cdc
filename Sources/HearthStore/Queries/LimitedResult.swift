package import HearthModel

/// The result of a query.
package struct ResultContents {
  /// In the order of the query; empty where only totals were asked for.
  package var documents: [Document]
  /// The totals of an aggregation; nil for a query for documents.
  package var totals: AggregationTotals?
  /// The keys of the result, if it has more bytes than may be kept; then there are no documents.
  package var keys: SortedKeys?
  /// True if the result was cut because its documents have more bytes than may be kept.
  package var isCut = false

  package var documentCount: Int { totals?.documentCount ?? keys?.count ?? documents.count }
}

/// Collects the documents of a result in query order and keeps no more than the limit needs. For an aggregation without a limit it keeps
/// none, because documents are added up in place.
///
/// Documents are gathered to twice the limit, then sorted and cut, so that adding costs O(log limit) comparisons on
/// average. With ``ResultBounds`` their bytes are limited in the same way.
package struct LimitedResult {
  private let query: Query
  private let limit: Int?
  private let aggregations: [Aggregation]
  private let bounds: ResultBounds?
  private var gathered: [Document] = []
  private var gatheredBytes = 0
  private var totals: AggregationTotals?
  /// In place of documents, once these were too large.
  private var keys: SortKeyList?
  private var isCut = false
  /// The outermost of as many documents as the limit allows: whatever sorts beyond it cannot be in the result. Nil while
  /// there are fewer, or no limit.
  package private(set) var edge: Document?
  /// The bytes of all documents that were ever added, for a result with bounds.
  package private(set) var addedBytes = 0

  /// - Parameters:
  ///   - aggregations: The values to compute of the result; none for its documents.
  ///   - bounds: Nil to keep a result of any size. Not together with aggregations.
  package init(of query: Query, _ aggregations: [Aggregation] = [], within bounds: ResultBounds? = nil) {
    assert(bounds == nil || aggregations.isEmpty, "the documents of an aggregation are not kept piece by piece")
    self.query = query
    self.aggregations = aggregations
    self.bounds = bounds
    limit = query.limit.map { max($0, 0) }
    if !aggregations.isEmpty, limit == nil { totals = AggregationTotals(aggregations) }
  }

  /// Adds a document that lies in the database.
  ///
  /// - Returns: True if it was copied out.
  package mutating func add(_ stored: some DocumentInPlace, key: DocumentKey) throws -> Bool {
    if totals != nil {
      try stored.withFields { try totals?.add($0) }
      return false
    }
    if keys != nil {
      try stored.withFields { try keys?.add(key, $0) }
      return false
    }
    try gather(try stored.document(key: key))
    return true
  }

  /// Adds a document in memory, whose fields were read before.
  package mutating func add(_ document: Document) throws {
    if totals != nil {
      try document.readable { document throws(WireFormatError) in try totals?.add(document) }
    } else if keys != nil {
      try addKey(of: document)
    } else {
      try gather(document)
    }
  }

  private mutating func gather(_ document: Document) throws {
    gathered.append(document)
    // Halves instead of doubling, because a limit may be as large as an integer can be.
    if let limit, gathered.count >= 16, gathered.count / 2 >= limit { cut(to: limit) }
    guard let bounds else { return }
    addedBytes += document.fields.bytes.count
    gatheredBytes += document.fields.bytes.count
    if gatheredBytes > bounds.documentBytes, gathered.count > 1 { try reduce(to: bounds) }
  }

  private mutating func reduce(to bounds: ResultBounds) throws {
    switch bounds.excess {
    case .cut:
      // Twice the bound, so that sorting does not start again with each document.
      if gatheredBytes > 2 * bounds.documentBytes { cut(to: limit ?? gathered.count) }
    case .sortKeys(let account):
      cut(to: limit ?? gathered.count)
      guard gatheredBytes > bounds.documentBytes / 2, gathered.count > 1 else { return }
      keys = SortKeyList(of: query, account: account)
      for document in gathered { try addKey(of: document) }
      (gathered, gatheredBytes, edge) = ([], 0, nil)
    }
  }

  private mutating func addKey(of document: Document) throws {
    do {
      try document.fields.withUnsafeBytes { try keys?.add(document.key, EncodedFieldsView($0)) }
    } catch let error as WireFormatError {
      throw StoreError.corrupt("Document \(document.key): fields are malformed: \(error)")
    }
  }

  /// True if the documents so far are all that the bound allows. For documents that are added in the order of the query: those behind them
  /// are then left out.
  package mutating func isFull() -> Bool {
    guard let bounds, case .cut = bounds.excess, gatheredBytes >= bounds.documentBytes else { return false }
    isCut = true
    return true
  }

  /// The result in the order of the query, with the limit applied, or what is computed of it.
  package mutating func finish() throws -> ResultContents {
    if let totals { return ResultContents(documents: [], totals: totals) }
    if keys != nil { return ResultContents(documents: [], keys: keys?.finish()) }
    cut(to: limit ?? gathered.count)
    guard !aggregations.isEmpty else { return ResultContents(documents: gathered, isCut: isCut) }
    var totals = AggregationTotals(aggregations)
    for document in gathered {
      try document.readable { document throws(WireFormatError) in try totals.add(document) }
    }
    return ResultContents(documents: [], totals: totals)
  }

  private mutating func cut(to limit: Int) {
    assert(limit >= 0, "a result is cut to \(limit) documents")
    gathered.sort { query.compare($0, $1) == .ascending }
    let count = min(limit, countWithinBytes())
    guard gathered.count > count else { return }
    if query.limitType == .first {
      gathered.removeLast(gathered.count - count)
    } else {
      gathered.removeFirst(gathered.count - count)
    }
    if bounds != nil { gatheredBytes = gathered.reduce(0) { $0 + $1.fields.bytes.count } }
    assert(gathered.count == count, "\(gathered.count) documents are left of a result that was cut to \(count)")
    edge = query.edge(first: gathered.first, last: gathered.last)
  }

  /// The number of first documents up to the one that exceeds the bound.
  private mutating func countWithinBytes() -> Int {
    guard let bounds, case .cut = bounds.excess, gatheredBytes >= bounds.documentBytes else { return .max }
    var bytes = 0
    let end = gathered.firstIndex { document in
      bytes += document.fields.bytes.count
      return bytes >= bounds.documentBytes
    }
    guard let end, end + 1 < gathered.count else { return .max }
    isCut = true
    return end + 1
  }
}

extension Document {
  /// Calls `body` with the document. Fields that cannot be read are reported as a corrupt database.
  fileprivate func readable(_ body: (Document) throws(WireFormatError) -> Void) throws(StoreError) {
    do throws(WireFormatError) {
      try body(self)
    } catch {
      throw .corrupt("Document \(key): fields are malformed: \(error)")
    }
  }
}
