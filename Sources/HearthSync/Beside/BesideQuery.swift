internal import HearthCache
package import HearthModel
internal import HearthStore

/// Names one query that runs beside the engine; chosen by the engine, never used twice in its life.
package struct BesideID: Hashable, Comparable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  package static func < (a: BesideID, b: BesideID) -> Bool { a.rawValue < b.rawValue }
}

/// A big query that runs beside the engine, on the state that the cache had when the engine asked for it.
///
/// The runtime calls ``run(concurrently:)`` on any thread and posts the result as ``SyncEvent/besideEnded(_:_:)``. All work
/// that grows with the result is done there, so that little is left for the loop.
package struct BesideQuery: Equatable, Sendable {
  enum Purpose {
    /// The answer to a one-time read.
    case read
    /// The answer to a one-time aggregation.
    case aggregate
    /// The first state of a view.
    case listen
  }

  package let id: BesideID
  private let detached: DetachedQuery
  private let purpose: Purpose

  init(id: BesideID, detached: DetachedQuery, purpose: Purpose) {
    self.id = id
    self.detached = detached
    self.purpose = purpose
  }

  package var query: Query { detached.query }

  /// Runs the query and lets go of its connections.
  ///
  /// - Parameter concurrently: calls its second argument with each number below its first one, on as many threads as it
  ///   likes, and returns when all calls have returned.
  package func run(
    concurrently: (_ count: Int, _ body: @Sendable (Int) -> Void) -> Void
  ) -> Result<BesideResult, any Error> {
    Result {
      let answer = try detached.run(concurrently: concurrently)
      let content: BesideResult.Content =
        switch purpose {
        case .read: .snapshot(ViewSnapshot(query: query, cachedResult: answer.documents))
        case .aggregate: .values(answer.totals?.values ?? [:])
        case .listen: .view(PreparedView(query: query, result: answer.documents, confirmedKeys: answer.remoteKeys))
        }
      return BesideResult(content, query: query, execution: answer.execution)
    }
  }

  /// Makes the run fail, now or as soon as it begins. Returns at once.
  package func cancel() {
    detached.cancel()
  }

  /// Cancels, and returns when no connection is open any more.
  package func close() {
    detached.close()
  }

  package static func == (a: BesideQuery, b: BesideQuery) -> Bool { a.detached === b.detached }
}

/// The result of a query that ran beside the engine.
package struct BesideResult: Sendable {
  enum Content: Sendable {
    case snapshot(ViewSnapshot)
    case values([String: Value])
    case view(PreparedView)
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
