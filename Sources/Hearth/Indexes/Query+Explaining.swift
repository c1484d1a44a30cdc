internal import HearthModel
internal import HearthStore

extension Query {
  /// Runs the query on the cache and tells how it was answered: which way it went, which index with which bounds, how much was
  /// read, and how long each step took.
  ///
  /// ```swift
  /// print(try await db.collection("cities").whereField("state", isEqualTo: "CA").explain())
  /// ```
  ///
  /// The backend is never asked, so this works offline, and no index is made. The client does nothing else meanwhile and uses one
  /// processor, so that the times are those of the query alone; large queries otherwise run beside the client, on several.
  /// Addition to the official API.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func explain() async throws -> QueryExplanation {
    requireRunnable()
    let outcome = Outcome<QueryExecution>()
    firestore.runtime().explain(model) { outcome.resolve($0.mapError { $0 }) }
    return QueryExplanation(query: model.inWords, try await outcome.value())
  }
}
