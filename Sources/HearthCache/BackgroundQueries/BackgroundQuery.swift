package import HearthModel
package import HearthPlan
internal import HearthStore
internal import Synchronization

/// A query that runs in the background of a client, on connections of its own. It sees the state of the cache at the time when
/// ``CacheQueries`` created it.
///
/// It is created on the loop, and used once, from any thread. Its answer equals that of ``CacheQueries/run(_:usePreviousResults:)`` on the
/// loop at that moment.
package final class BackgroundQuery: Sendable {
  package struct Answer: Sendable {
    /// In the order of the query, with its limit applied.
    package var documents: [Document]
    /// The confirmed keys of the target; empty if they were not asked for.
    package var confirmedKeys: Set<DocumentKey>
    /// The totals of an aggregation; nil for a query for documents.
    package var totals: AggregationTotals?
    package var execution: QueryExecution
  }

  /// The work of one of the connections.
  enum Step: Sendable {
    /// Scans a part of the documents.
    case scan(DocumentPart)
    /// Reads the keys of a target.
    case confirmedKeys(TargetID)
    /// Lets the planner choose and starts from the previous result of the target.
    case plan(TargetData?)
  }

  /// The result of one of the connections.
  private enum Finding: Sendable {
    case scanned(PartialResult)
    case confirmedKeys(Set<DocumentKey>)
    case complete(Answer)
  }

  package let query: Query
  /// The aggregations to compute of the result; empty for its documents.
  private let aggregations: [Aggregation]
  private let scope: CollectionScope
  private let databaseID: DatabaseID
  private let user: MutationQueue.UserRow?
  private let steps: [(step: Step, snapshot: PinnedSnapshot)]

  /// - Parameter steps: all with snapshots of the same state.
  init(
    query: Query, aggregations: [Aggregation], databaseID: DatabaseID, user: MutationQueue.UserRow?,
    steps: [(step: Step, snapshot: PinnedSnapshot)]
  ) {
    self.query = query
    self.aggregations = aggregations
    self.scope = CollectionScope(of: query)
    self.databaseID = databaseID
    self.user = user
    self.steps = steps
  }

  /// Returns whether a document lies where the query looks for documents.
  package func covers(_ key: DocumentKey) -> Bool { scope.contains(key) }

  /// The number of connections it holds.
  package var connectionCount: Int { steps.count }

  /// Runs the query, then closes its connections, also when it fails.
  ///
  /// - Parameter concurrently: calls its second argument with each number below its first one, on as many threads as it
  ///   likes, and returns when all calls have returned.
  /// - Throws: `StoreError`: `unavailable` after ``cancel()``; `CacheError`.
  package func run(concurrently: (_ count: Int, _ body: @Sendable (Int) -> Void) -> Void) throws -> Answer {
    let findings = Findings()
    concurrently(steps.count) { index in
      do {
        findings.add(try self.run(self.steps[index]), of: index)
      } catch {
        findings.fail(error)
        // The others would work for nothing.
        self.cancel()
      }
    }
    return try answer(of: findings.inOrder(count: steps.count))
  }

  /// Makes the present run fail, and every later one. Returns at once.
  package func cancel() {
    for (_, snapshot) in steps { snapshot.interrupt() }
  }

  /// Cancels, and returns when no connection is open any more.
  package func close() {
    cancel()
    for (_, snapshot) in steps { snapshot.close() }
  }

  // MARK: - Steps

  private func run(_ step: (step: Step, snapshot: PinnedSnapshot)) throws -> Finding {
    try step.snapshot.read { database in
      switch step.step {
      case .scan(let part):
        .scanned(try self.executor(on: database).aggregate(self.aggregations, over: self.query, part: part))
      case .confirmedKeys(let targetID): .confirmedKeys(try self.targets(on: database).keys(of: targetID))
      case .plan(let data): .complete(try self.answer(on: database, data))
      }
    }
  }

  private func answer(on database: Database, _ data: TargetData?) throws -> Answer {
    let keys = try data.map { try targets(on: database).keys(of: $0.targetID) } ?? []
    let previous = data.flatMap { CacheQueries.previousResult(of: $0, keys: keys) }
    guard aggregations.isEmpty else {
      let result = try executor(on: database).aggregate(aggregations, over: query, previous: previous)
      return Answer(documents: [], confirmedKeys: keys, totals: result.totals, execution: result.execution)
    }
    let result = try executor(on: database).run(query, previous: previous)
    return Answer(documents: result.documents, confirmedKeys: keys, execution: result.execution)
  }

  private func executor(on database: Database) -> QueryExecutor {
    QueryExecutor(
      documents: DocumentStore(reading: database),
      localMutations: UserOverlays(table: OverlayTable(database: database, databaseID: databaseID), user: user))
  }

  private func targets(on database: Database) -> TargetTable {
    TargetTable(database: database, databaseID: databaseID, globals: CacheGlobals(database: database))
  }

  private func answer(of findings: [Finding]) throws -> Answer {
    var parts: [PartialResult] = []
    var confirmedKeys: Set<DocumentKey> = []
    for finding in findings {
      switch finding {
      case .scanned(let part): parts.append(part)
      case .confirmedKeys(let keys): confirmedKeys = keys
      case .complete(let answer): return answer
      }
    }
    let (documents, totals, execution) = try QueryExecutor.merge(parts, of: query)
    return Answer(documents: documents, confirmedKeys: confirmedKeys, totals: totals, execution: execution)
  }

  /// Gathers the findings of several threads.
  private final class Findings: Sendable {
    private struct State {
      var findings: [Int: Finding] = [:]
      var failure: (any Error)?
    }

    private let state = Mutex(State())

    func add(_ finding: Finding, of index: Int) {
      state.withLock { $0.findings[index] = finding }
    }

    /// The first failure counts: it makes the others fail.
    func fail(_ error: any Error) {
      state.withLock { if $0.failure == nil { $0.failure = error } }
    }

    func inOrder(count: Int) throws -> [Finding] {
      try state.withLock { state in
        if let failure = state.failure { throw failure }
        return try (0..<count).map { index in
          guard let finding = state.findings[index] else {
            throw StoreError(kind: .misuse, message: "Step \(index) of \(count) of a query was not run.")
          }
          return finding
        }
      }
    }
  }
}
