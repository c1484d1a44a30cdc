package import HearthModel

/// Adds the user's pending writes to a result that the backend has computed without them.
///
/// Equation: result = the backend's result − the documents with pending writes as the backend has them + the same documents with those
/// writes. All of the backend's part must be of one version. A write that the backend has committed but not yet answered changes nothing
/// when it is applied again: increments start from the value that they had here.
package struct PendingAdjustment: Sendable {
  /// With more documents than this it is cheaper to run the query itself.
  package static let maximumDocuments = 1_000

  private let query: Query
  /// The aggregations to ask the backend for.
  package let aggregations: [Aggregation]
  private let writes: [DocumentKey: [MutationBatch]]
  /// The documents to ask the backend for, in key order.
  package let keys: [DocumentKey]

  /// Fails if one request cannot ask for what is needed.
  ///
  /// - Parameter writes: The parts of the pending batches for each document in the query's collections that has any, in order.
  package init?(of query: Query, _ aggregations: [Aggregation], for writes: [DocumentKey: [MutationBatch]]) {
    guard let adjustable = AggregationTotals.adjustable(aggregations) else { return nil }
    self.query = Aggregation.query(query, for: aggregations)
    self.aggregations = adjustable
    self.writes = writes
    keys = writes.keys.sorted()
  }

  /// Returns the adjusted result; nil if it cannot be computed from the backend's values, see ``AggregationTotals/adjust(_:removing:adding:)``,
  /// or if documents beyond the limit might take part.
  ///
  /// - Parameters:
  ///   - values: The backend's values of ``aggregations``.
  ///   - documents: The backend's documents of ``keys`` at the same version.
  package func adjust(
    _ values: [String: Value], documents: [Document], version: SnapshotVersion
  ) throws(StatusError) -> AggregateResult? {
    var removed = AggregationTotals(aggregations)
    var added = AggregationTotals(aggregations)
    for document in documents {
      do throws(WireFormatError) {
        if query.matches(document) { try removed.add(document) }
        var local = document
        var mask: FieldMask? = .empty
        for part in writes[document.key] ?? [] { mask = try part.applyToLocalView(&local, mutatedFields: mask) }
        if query.matches(local) { try added.add(local) }
      } catch {
        throw .malformed(document.key, error)
      }
    }
    guard query.limit == nil || (removed.documentCount == 0 && added.documentCount == 0),
      let adjusted = AggregationTotals.adjust(values, removing: removed, adding: added)
    else { return nil }
    return AggregateResult(
      values: adjusted, isFromCache: false, hasPendingWrites: added.pendingCount > 0,
      completeness: .complete(asOf: version))
  }
}
