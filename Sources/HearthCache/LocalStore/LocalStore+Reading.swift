package import HearthModel
package import HearthPlan

/// The usual ways to read the local view. ``CacheQueries`` has the others.
extension LocalStore {
  /// Runs a query once on the local view, without a listener.
  ///
  /// - Returns: the matching documents in the order of the query, with its limit applied, and how it was answered.
  package func read(_ query: Query) throws -> (documents: [Document], execution: QueryExecution) {
    try queries.read(query)
  }

  /// Runs a query on the local view.
  ///
  /// - Parameter usePreviousResults: start from the documents that the backend confirmed for the target earlier, where
  ///   the planner finds that safe.
  /// - Returns: the matching documents in the order of the query (limit applied), the keys that the backend has
  ///   confirmed for the target, and how the query was answered.
  package func run(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: [Document], confirmedKeys: Set<DocumentKey>, execution: QueryExecution)
  {
    try queries.run(query, usePreviousResults: usePreviousResults)
  }

  /// As ``run(_:usePreviousResults:)``, with the documents by key.
  package func execute(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: DocumentMap, confirmedKeys: Set<DocumentKey>)
  {
    try queries.execute(query, usePreviousResults: usePreviousResults)
  }

  /// One document of the local view, `.unknown` if the cache knows nothing of it.
  package func readDocument(_ key: DocumentKey) throws -> Document { try queries.document(key) }

  /// The documents that the backend has confirmed for a target.
  package func confirmedKeys(for targetID: TargetID) throws -> Set<DocumentKey> {
    try queries.confirmedKeys(for: targetID)
  }

  /// The state of a target, with or without a listener; nil if the cache has no row for it.
  package func targetData(for target: Target) throws -> TargetData? { try queries.targetData(for: target) }
}
