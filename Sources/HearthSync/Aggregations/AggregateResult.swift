package import HearthModel

/// The values of the aggregations of a query's result, with the known completeness of that result.
package struct AggregateResult: Equatable, Sendable {
  /// By alias.
  package var values: [String: Value]
  /// True if the result may differ from the backend's.
  package var isFromCache: Bool
  /// True if a document of the result shows writes that the backend has not confirmed.
  package var hasPendingWrites: Bool
  package var completeness: ResultCompleteness

  package init(
    values: [String: Value], isFromCache: Bool, hasPendingWrites: Bool, completeness: ResultCompleteness
  ) {
    self.values = values
    self.isFromCache = isFromCache
    self.hasPendingWrites = hasPendingWrites
    self.completeness = completeness
  }
}

extension AggregateResult {
  /// The result of an aggregation on the cache without a limit.
  ///
  /// - Parameter knowledge: The state of the query's target, not newer than the totals.
  init(cached totals: AggregationTotals, of query: Query, _ knowledge: ResultKnowledge) {
    self.init(
      values: totals.values, isFromCache: true, hasPendingWrites: totals.pendingCount > 0,
      completeness: knowledge.completeness(of: [], of: query))
  }

  /// The result of an aggregation on the cache, from the documents of the query's result.
  init(
    _ aggregations: [Aggregation], ofCached documents: [Document], of query: Query, _ knowledge: ResultKnowledge
  ) throws {
    let totals = try AggregationTotals(aggregations, over: documents)
    self.init(
      values: totals.values, isFromCache: true, hasPendingWrites: totals.pendingCount > 0,
      completeness: knowledge.completeness(of: documents, of: query))
  }
}
