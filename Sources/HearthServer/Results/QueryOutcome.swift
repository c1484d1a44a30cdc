internal import HearthModel
internal import HearthPlan
internal import HearthRPC
internal import HearthStore

/// The answer to a query, its cost, and the indexes that it lacks.
struct QueryOutcome<Answer: Sendable>: Sendable {
  private let query: Query
  private let result: Result<Answer, SortBudgetExceeded>
  /// Nil if there is no answer, or its cost is not known.
  let execution: QueryExecution?
  let missing: [IndexDefinition]

  /// Answers a query in one state of a database.
  ///
  /// - Parameter body: Returns also what the query has cost.
  static func of<Source: PieceSource>(
    _ query: Query, in source: Source, _ body: (Source) throws -> (Answer, QueryExecution?)
  ) throws -> QueryOutcome {
    do {
      let (answer, execution) = try body(source)
      return QueryOutcome(
        query: query, result: .success(answer), execution: execution,
        missing: try source.missingIndexes(for: query, after: execution))
    } catch let error as SortBudgetExceeded {
      return QueryOutcome(
        query: query, result: .failure(error), execution: nil,
        missing: try source.missingIndexes(forPiecesOf: query, .patient))
    }
  }

  /// - Throws: RESOURCE_EXHAUSTED, with the missing index, for a result that cannot be sorted in the memory for that.
  func answer(_ metrics: ServerMetrics?) throws(StatusError) -> Answer {
    switch result {
    case .success(let answer): return answer
    case .failure(let error):
      metrics?.exceeded(.sortBytes)
      throw StatusError(tooMuchToSort: query, error, missing: missing)
    }
  }
}
