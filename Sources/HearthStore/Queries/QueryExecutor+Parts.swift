package import HearthModel
package import HearthPlan

/// The result of a scan of one part of the documents: no more than the limit of the query, in its order.
package struct PartialResult: Sendable {
  var documents: [Document]
  var totals: AggregationTotals?
  var execution: QueryExecution
}

extension QueryExecutor {
  /// Scans one part of the documents that a query looks into, see ``DocumentStore/parts(of:count:)``.
  ///
  /// - Throws: as ``run(_:previous:clock:)``.
  package func scan(_ query: Query, part: DocumentPart) throws -> PartialResult {
    try documents.database.readTransaction("Execute query") {
      let (contents, execution) = try runScan(query, part: part)
      return PartialResult(documents: contents.documents, totals: contents.totals, execution: execution)
    }
  }

  /// As ``scan(_:part:)``, for an aggregation; with no aggregations the same. A limit holds for all parts together, so such a
  /// query is not aggregated in parts.
  package func aggregate(
    _ aggregations: [Aggregation], over query: Query, part: DocumentPart
  ) throws -> PartialResult {
    try computing(aggregations).scan(query, part: part)
  }

  /// The result of a query from the scans of all parts, with the limit applied to the whole.
  package static func merge(
    _ results: [PartialResult], of query: Query
  ) throws -> (documents: [Document], totals: AggregationTotals?, execution: QueryExecution) {
    var execution = QueryExecution(plan: .scan)
    var merged = LimitedResult(of: query)
    var totals: AggregationTotals?
    for result in results {
      execution.rowsRead += result.execution.rowsRead
      execution.documentsDecoded += result.execution.documentsDecoded
      if let more = result.totals {
        totals?.add(more)
        totals = totals ?? more
      }
      // Each part is in order; the sort at the end recognizes such runs and merges them.
      for document in result.documents { try merged.add(document) }
    }
    let documents = results.count == 1 ? results[0].documents : try merged.finish().documents
    execution.resultCount = totals?.documentCount ?? documents.count
    return (documents, totals, execution)
  }
}
