package import HearthModel
internal import HearthStore

/// Brings the user's pending writes into a result that the backend has computed without them.
///
/// Equation: result = the backend's result − the documents with pending writes as the backend has them + the same documents with those
/// writes. All of the backend's part must be of one version.
package struct PendingAdjustment: Sendable {
  /// With more documents than this it is cheaper to run the query itself.
  package static let maximumDocuments = 1_000

  private let query: Query
  /// The aggregations that the backend has to be asked for.
  package let aggregations: [Aggregation]
  private let mutations: [DocumentKey: Mutation]
  /// The documents that the backend has to be asked for, in key order.
  package let keys: [DocumentKey]

  /// Fails if the adjustment would need too many documents or aggregations.
  ///
  /// - Parameter mutations: The net mutation of each document with pending writes in the query's collections.
  package init?(of query: Query, _ aggregations: [Aggregation], for mutations: [DocumentKey: Mutation]) {
    guard mutations.count <= Self.maximumDocuments, let adjustable = AggregationTotals.adjustable(aggregations) else {
      return nil
    }
    self.query = Aggregation.query(query, for: aggregations)
    self.aggregations = adjustable
    self.mutations = mutations
    keys = mutations.keys.sorted()
  }

  /// Returns the adjusted result; nil if it cannot be computed from the backend's values, see ``AggregationTotals/adjust(_:removing:adding:)``,
  /// or if documents beyond the limit might take part.
  ///
  /// - Parameters:
  ///   - values: The backend's values of ``aggregations``.
  ///   - documents: The backend's documents of ``keys`` at the same version.
  /// - Throws: An error of the storage for a pending write that cannot be read.
  package func adjust(
    _ values: [String: Value], documents: [Document], version: SnapshotVersion
  ) throws -> AggregateResult? {
    var removed = AggregationTotals(aggregations)
    var added = AggregationTotals(aggregations)
    for document in documents {
      if query.matches(document) { try removed.add(document) }
      var local = document
      if let mutation = mutations[document.key] { try local.apply(overlay: mutation) }
      if query.matches(local) { try added.add(local) }
    }
    guard query.limit == nil || (removed.documentCount == 0 && added.documentCount == 0),
      let adjusted = AggregationTotals.adjust(values, removing: removed, adding: added)
    else { return nil }
    return AggregateResult(
      values: adjusted, isFromCache: false, hasPendingWrites: added.pendingCount > 0,
      completeness: .complete(asOf: version))
  }
}
