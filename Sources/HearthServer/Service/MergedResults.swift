internal import HearthModel

/// The result of a query for several collections, merged from the results of each.
struct MergedResults {
  private let query: Query
  private let offset: Int
  /// The most documents that can be needed; nil without a limit.
  private let end: Int?
  private var documents: [Document] = []

  /// - Parameter offset: The number of first documents that are not part of the result.
  init(of query: Query, skipping offset: Int) {
    self.query = query
    self.offset = offset
    end = query.limit.map { $0.addingReportingOverflow(offset) }.flatMap { $0.overflow ? nil : $0.partialValue }
  }

  /// Adds documents of one collection. No kept document is further back than the limit and the offset together reach, or twice as far.
  mutating func add(_ more: [Document]) {
    documents += more
    if let end, documents.count / 2 > end { sort(upTo: end) }
  }

  /// Documents that are part of the result whatever follows: all of them if nothing depends on the order.
  mutating func takeSettled() -> [Document] {
    guard offset == 0, end == nil else { return [] }
    defer { documents = [] }
    return documents
  }

  /// The result but for what was taken, in the query's order.
  mutating func finish() -> ArraySlice<Document> {
    sort(upTo: end ?? documents.count)
    return documents.dropFirst(offset)
  }

  private mutating func sort(upTo count: Int) {
    documents.sort { query.compare($0, $1) == .ascending }
    documents.removeLast(max(0, documents.count - count))
  }
}
