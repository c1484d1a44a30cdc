package import HearthModel

/// What a scan of one part of the documents has found: no more than the limit of the query, in its order.
package struct PartialResult: Sendable {
  var documents: [Document]
  var execution: QueryExecution
}

extension QueryExecutor {
  /// Scans one part of the documents that a query looks into, see ``DocumentStore/parts(of:count:)``.
  ///
  /// - Throws: as ``run(_:previous:)``.
  package func scan(_ query: Query, part: DocumentPart) throws -> PartialResult {
    try documents.database.readTransaction("Execute query") {
      let (documents, execution) = try runScan(query, part: part)
      return PartialResult(documents: documents, execution: execution)
    }
  }

  /// The result of a query from the scans of all parts, with the limit applied to the whole.
  package static func merge(
    _ results: [PartialResult], of query: Query
  ) -> (documents: [Document], execution: QueryExecution) {
    var execution = QueryExecution(plan: .scan)
    var merged = LimitedResult(of: query)
    for result in results {
      execution.rowsRead += result.execution.rowsRead
      execution.documentsDecoded += result.execution.documentsDecoded
      // In order one after the other, which the sort at the end finds out and merges.
      for document in result.documents { merged.add(document) }
    }
    let documents = results.count == 1 ? results[0].documents : merged.finish()
    execution.resultCount = documents.count
    return (documents, execution)
  }
}
