internal import HearthModel

/// The result of a query.
struct ResultContents {
  /// In the order of the query; empty where only totals were asked for.
  var documents: [Document]
  /// The totals of an aggregation; nil for a query for documents.
  var totals: AggregationTotals?

  var documentCount: Int { totals?.documentCount ?? documents.count }
}

/// Collects the documents of a result in query order and keeps no more of them than the limit needs: none for an
/// aggregation without a limit, which is added up where the documents lie.
///
/// Documents are gathered to twice the limit, then sorted and cut, so that adding costs O(log limit) comparisons on
/// average.
struct LimitedResult {
  private let query: Query
  private let limit: Int?
  private let aggregations: [Aggregation]
  private var gathered: [Document] = []
  private var totals: AggregationTotals?
  /// The outermost of as many documents as the limit allows: whatever sorts beyond it cannot be in the result. Nil while
  /// there are fewer, or no limit.
  private(set) var edge: Document?

  /// - Parameter aggregations: The values to compute of the result; none for its documents.
  init(of query: Query, _ aggregations: [Aggregation] = []) {
    self.query = query
    self.aggregations = aggregations
    limit = query.limit.map { max($0, 0) }
    if !aggregations.isEmpty, limit == nil { totals = AggregationTotals(aggregations) }
  }

  /// Adds a document that lies in the database.
  ///
  /// - Returns: True if it was copied out.
  mutating func add(_ stored: StoredDocument, key: DocumentKey) throws -> Bool {
    if totals != nil {
      try stored.withFields { try totals?.add($0) }
      return false
    }
    gather(try stored.document(key: key))
    return true
  }

  /// Adds a document in memory, whose fields were read before.
  mutating func add(_ document: Document) throws {
    if totals != nil {
      try document.readable { document throws(WireFormatError) in try totals?.add(document) }
    } else {
      gather(document)
    }
  }

  private mutating func gather(_ document: Document) {
    gathered.append(document)
    // Halves instead of doubling, because a limit may be as large as an integer can be.
    guard let limit, gathered.count >= 16, gathered.count / 2 >= limit else { return }
    cut(to: limit)
  }

  /// The result in the order of the query, with the limit applied, or what is computed of it.
  mutating func finish() throws -> ResultContents {
    if let totals { return ResultContents(documents: [], totals: totals) }
    cut(to: limit ?? gathered.count)
    guard !aggregations.isEmpty else { return ResultContents(documents: gathered) }
    var totals = AggregationTotals(aggregations)
    for document in gathered {
      try document.readable { document throws(WireFormatError) in try totals.add(document) }
    }
    return ResultContents(documents: [], totals: totals)
  }

  private mutating func cut(to limit: Int) {
    gathered.sort { query.compare($0, $1) == .ascending }
    guard gathered.count > limit else { return }
    if query.limitType == .first {
      gathered.removeLast(gathered.count - limit)
    } else {
      gathered.removeFirst(gathered.count - limit)
    }
    edge = query.edge(first: gathered.first, last: gathered.last)
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
