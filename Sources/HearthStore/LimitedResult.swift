internal import HearthModel

/// Collects the documents of a result in query order and keeps no more of them than the limit needs.
///
/// Documents are gathered to twice the limit, then sorted and cut, so that adding costs O(log limit) comparisons on
/// average.
struct LimitedResult {
  private let query: Query
  private let limit: Int?
  private var gathered: [Document] = []
  /// The outermost of as many documents as the limit allows: whatever sorts beyond it cannot be in the result. Nil while
  /// there are fewer, or no limit.
  private(set) var edge: Document?

  init(of query: Query) {
    self.query = query
    limit = query.limit.map { max($0, 0) }
  }

  mutating func add(_ document: Document) {
    gathered.append(document)
    // Halves instead of doubling, because a limit may be as large as an integer can be.
    guard let limit, gathered.count >= 16, gathered.count / 2 >= limit else { return }
    cut(to: limit)
  }

  /// The result in the order of the query, with the limit applied.
  mutating func finish() -> [Document] {
    cut(to: limit ?? gathered.count)
    return gathered
  }

  private mutating func cut(to limit: Int) {
    gathered.sort { query.compare($0, $1) == .ascending }
    guard gathered.count > limit else { return }
    if query.limitType == .first {
      gathered.removeLast(gathered.count - limit)
      edge = gathered.last
    } else {
      gathered.removeFirst(gathered.count - limit)
      edge = gathered.first
    }
  }
}
