internal import HearthModel
internal import HearthPlan

extension Query {
  /// Runs the query on the cache and reports how it was answered: the plan, the index and its bounds, the amount that was read, and the
  /// time of each step.
  ///
  /// ```swift
  /// print(try await db.collection("cities").whereField("state", isEqualTo: "CA").explain())
  /// ```
  ///
  /// The backend is not asked, so this works offline, and no index is created. The query runs on one processor while the client does
  /// nothing else, so the times are those of the query alone. (Otherwise large queries run in the background, on several processors.)
  /// Addition to the official API.
  ///
  /// - Throws: Errors of the cache's file.
  nonisolated(nonsending) public func explain() async throws -> QueryExplanation {
    try checkRunnable()
    let outcome = Outcome<QueryExecution>()
    firestore.runtime().explain(model) { outcome.resolve($0.mapError { $0 }) }
    return QueryExplanation(query: model.inWords, try await outcome.value())
  }
}
