internal import HearthCache
internal import HearthModel

/// The first state of a view: the result of running its query, in a form that a view adopts at once.
struct InitialViewState: Sendable {
  let query: Query
  private(set) var documents: DocumentSet
  private(set) var mutatedKeys: Set<DocumentKey>
  /// The documents that the backend has confirmed for the target.
  var confirmedKeys: Set<DocumentKey>

  /// - Parameter result: in the order of the query, with its limit applied.
  init(query: Query, result: [Document], confirmedKeys: Set<DocumentKey>) {
    self.query = query
    self.confirmedKeys = confirmedKeys
    documents = DocumentSet(query: query, sorted: result)
    mutatedKeys = Set(result.lazy.filter(\.hasLocalMutations).map(\.key))
  }

  /// Brings a state that was made on an earlier state of the cache up to date.
  ///
  /// While the result was below the limit, or there is none, it held every document that matched. With a full result, those
  /// that it left out sort beyond its outermost document; so what is up to that edge is still known, and if that is
  /// enough to fill the limit again, it is the result.
  ///
  /// - Parameter changes: every document of the query's collections whose local view has changed, as it is now.
  /// - Returns: false when documents may be missing now; then the state must not be used.
  mutating func update(_ changes: DocumentMap) -> Bool {
    let limit = query.limit.map { max($0, 0) }
    let edge = limit.flatMap { documents.count >= $0 ? outermost : nil }
    var matching: [Document] = []
    for (key, document) in changes {
      mutatedKeys.remove(key)
      if query.matches(document) {
        matching.append(document)
        if document.hasLocalMutations { mutatedKeys.insert(key) }
      } else {
        documents.remove(key)
      }
    }
    documents.insert(contentsOf: matching)
    guard let limit else { return true }
    while documents.count > limit, let outside = outermost {
      documents.remove(outside.key)
      mutatedKeys.remove(outside.key)
    }
    guard let edge else { return true }
    guard documents.count == limit, let outermost else { return false }
    return !query.sorts(outermost, beyond: edge)
  }

  /// The document at the end where the limit cuts off.
  private var outermost: Document? {
    query.edge(first: documents.first, last: documents.last)
  }
}
