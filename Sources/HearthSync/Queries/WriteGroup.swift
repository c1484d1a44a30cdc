internal import HearthCache
internal import HearthModel

/// The results of queries after each of several writes that were stored together, in a cache that holds all of them.
///
/// Views show such writes one after the other. A view that is cut off by a limit must run its query again, and must not get the state of a
/// later write.
///
/// Equation: the result after some of the writes = (the matching documents that no write of the group changes + the documents that the
/// group changes, in their state after these writes), cut to the limit. The first part is the same for all writes, so each query runs once.
struct WriteGroup {
  /// The documents that the group changes, as the local view has them after the writes that are shown.
  private var documents: DocumentMap
  /// For each query that was asked for: all documents that may come into its result, and match now.
  private var candidates: [Query: DocumentSet] = [:]

  /// - Parameter former: The documents that the group changes, as they were before its first write.
  init(former: DocumentMap) {
    documents = former
  }

  /// Takes note that another write is shown.
  ///
  /// - Parameter changes: The documents of the write, as the local view has them after it.
  mutating func advance(by changes: DocumentMap) {
    for (key, document) in changes { documents[key] = document }
    // The keys by themselves, and each set taken out, so that nothing is copied when it changes.
    for query in Array(candidates.keys) {
      guard var matching = candidates.removeValue(forKey: query) else { continue }
      for (key, document) in changes {
        if query.matches(document) { matching.insert(document) } else { matching.remove(key) }
      }
      candidates[query] = matching
    }
  }

  /// Returns the query's result after the writes that are shown.
  ///
  /// - Parameter execute: Runs a query on the cache.
  mutating func result(of query: Query, execute: (Query) throws -> DocumentMap) throws -> DocumentMap {
    let matching = try candidates[query] ?? findCandidates(for: query, execute)
    candidates[query] = matching
    let count = min(matching.count, query.limit.map { max($0, 0) } ?? matching.count)
    let shown = matching.documents.dropFirst(query.isLimitToLast ? matching.count - count : 0).prefix(count)
    return DocumentMap(shown.lazy.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func findCandidates(for query: Query, _ execute: (Query) throws -> DocumentMap) throws -> DocumentSet {
    var widened = query
    if let limit = query.limit {
      // As many of the result as are left out below.
      let (sum, isTooLarge) = max(limit, 0).addingReportingOverflow(documents.count)
      widened.limit = isTooLarge ? nil : sum
    }
    var matching = DocumentSet(query: query)
    matching.insert(contentsOf: try execute(widened).values.filter { documents[$0.key] == nil })
    matching.insert(contentsOf: documents.values.filter(query.matches))
    return matching
  }
}
