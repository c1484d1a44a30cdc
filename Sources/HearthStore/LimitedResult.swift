internal import HearthModel

/// Collects the documents of a result in query order and keeps no more of them than the limit needs.
///
/// Adding costs O(log limit) comparisons on average: documents are gathered to twice the limit, then sorted and cut.
struct LimitedResult {
  private let query: Query
  private let limit: Int?
  private var gathered: [Document] = []

  init(of query: Query) {
    self.query = query
    limit = query.limit.map { max($0, 0) }
  }

  mutating func add(_ document: Document) {
    gathered.append(document)
    // Halves instead of doubling, because a limit may be as large as an integer can be.
    guard let limit, gathered.count >= 64, gathered.count / 2 >= limit else { return }
    cut()
  }

  /// The result in the order of the query, with the limit applied.
  mutating func finish() -> [Document] {
    cut()
    return gathered
  }

  private mutating func cut() {
    gathered.sort { query.compare($0, $1) == .ascending }
    guard let limit, gathered.count > limit else { return }
    if query.limitType == .first {
      gathered.removeLast(gathered.count - limit)
    } else {
      gathered.removeFirst(gathered.count - limit)
    }
  }
}
