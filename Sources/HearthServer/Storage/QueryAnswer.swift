internal import HearthModel
internal import HearthPlan

/// The result of a read with the version that it shows.
struct QueryAnswer: Sendable {
  var documents: [Document]
  var readVersion: SnapshotVersion
  /// The plan and the effort of a query; nil for documents by key.
  var execution: QueryExecution?
}

/// The result of an aggregation.
struct AggregateAnswer: Sendable {
  var totals: AggregationTotals
  var readVersion: SnapshotVersion
  var execution: QueryExecution?
  /// The effort of finding what is skipped, where that was a query of its own.
  var skippedExecution: QueryExecution?
}

/// Keys that divide the documents of a collection group.
struct PartitionAnswer: Sendable {
  var points: [DocumentKey]
  var readVersion: SnapshotVersion
}

extension Query {
  /// The query that also gives so many more results.
  func widened(by count: Int) -> Query {
    guard count > 0, let limit else { return self }
    var query = self
    let (sum, overflow) = limit.addingReportingOverflow(count)
    query.limit = overflow ? nil : sum
    return query
  }
}
