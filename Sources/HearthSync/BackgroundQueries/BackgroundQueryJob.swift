internal import HearthCache
package import HearthModel
internal import HearthPlan

/// Names one query that runs in the background; chosen by the engine, never used twice in its life.
package struct BackgroundQueryID: Hashable, Comparable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  package static func < (a: BackgroundQueryID, b: BackgroundQueryID) -> Bool { a.rawValue < b.rawValue }
}

/// A big query that runs in the background. It sees the state of the cache at the time of the engine's request.
///
/// The runtime calls ``run(concurrently:)`` on any thread and posts the result as ``SyncEvent/backgroundQueryEnded(_:_:)``. All work that
/// grows with the result is done there, so that little work is left for the loop.
package struct BackgroundQueryJob: Equatable, Sendable {
  enum Purpose {
    /// The answer to a one-time read, with what is known of the query's target.
    case read(ResultKnowledge)
    /// The answer to a one-time aggregation, with what is known of the query's target.
    case aggregate([Aggregation], ResultKnowledge)
    /// The first state of a view.
    case listen
  }

  package let id: BackgroundQueryID
  private let backgroundQuery: BackgroundQuery
  private let purpose: Purpose

  init(id: BackgroundQueryID, backgroundQuery: BackgroundQuery, purpose: Purpose) {
    self.id = id
    self.backgroundQuery = backgroundQuery
    self.purpose = purpose
  }

  package var query: Query { backgroundQuery.query }

  /// Runs the query and lets go of its connections.
  ///
  /// - Parameter concurrently: calls its second argument with each number below its first one, on as many threads as it
  ///   likes, and returns when all calls have returned.
  package func run(
    concurrently: (_ count: Int, _ body: @Sendable (Int) -> Void) -> Void
  ) -> Result<BackgroundQueryResult, any Error> {
    Result {
      let answer = try backgroundQuery.run(concurrently: concurrently)
      let content: BackgroundQueryResult.Content =
        switch purpose {
        case .read(let knowledge): .snapshot(ViewSnapshot(query: query, cachedResult: answer.documents, knowledge))
        case .aggregate(let aggregations, let knowledge):
          .aggregation(
            try answer.totals.map { AggregateResult(cached: $0, of: query, knowledge) }
              ?? AggregateResult(aggregations, ofCached: answer.documents, of: query, knowledge))
        case .listen:
          .view(InitialViewState(query: query, result: answer.documents, confirmedKeys: answer.confirmedKeys))
        }
      return BackgroundQueryResult(content, query: query, execution: answer.execution)
    }
  }

  /// Makes the run fail, now or as soon as it begins. Returns at once.
  package func cancel() {
    backgroundQuery.cancel()
  }

  /// Cancels, and returns when no connection is open any more.
  package func close() {
    backgroundQuery.close()
  }

  package static func == (a: BackgroundQueryJob, b: BackgroundQueryJob) -> Bool {
    a.backgroundQuery === b.backgroundQuery
  }
}

/// The result of a query that ran in the background.
package struct BackgroundQueryResult: Sendable {
  enum Content: Sendable {
    case snapshot(ViewSnapshot)
    case aggregation(AggregateResult)
    case view(InitialViewState)
  }

  let content: Content
  let query: Query
  let execution: QueryExecution

  init(_ content: Content, query: Query, execution: QueryExecution) {
    self.content = content
    self.query = query
    self.execution = execution
  }
}
