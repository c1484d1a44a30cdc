package import HearthModel
package import HearthPlan
internal import HearthStore

/// Reading the local view: the remote documents with the active user's pending writes on top.
package final class CacheQueries {
  let transactions: CacheTransactions
  let documents: DocumentStore
  let overlays: OverlayTable
  let targets: TargetTable
  let queue: MutationQueue
  let localDocuments: LocalDocuments

  init(_ transactions: CacheTransactions) {
    self.transactions = transactions
    documents = transactions.tables.documents
    overlays = transactions.tables.overlays
    targets = transactions.tables.targets
    queue = transactions.tables.queue
    localDocuments = transactions.tables.localDocuments
  }

  // MARK: - Targets

  /// The target of a query about to run, with the known state of its result for the active user.
  func plannedTarget(of query: Query) throws -> TargetData? {
    try transactions.knownTarget(query.target).map {
      try Self.planned($0, of: query, for: transactions.user.row(), queue)
    }
  }

  /// A query's target with what is known of its result for a user; nil for one who has written nothing.
  ///
  /// A view counts as free of documents in limbo although the waiting writes of its user keep some of them from being looked up: for
  /// another user such a result is no beginning, because it leaves those documents out.
  static func planned(
    _ data: TargetData, of query: Query, for user: MutationQueue.UserRow?, _ queue: MutationQueue
  ) throws -> TargetData {
    let path = query.collectionGroup == nil ? query.path : ResourcePath()
    guard data.lastLimboFreeSnapshotVersion > .none, try queue.hasPendingBatch(ofOthersThan: user, below: path)
    else { return data }
    return data.with(lastLimboFreeSnapshotVersion: .none)
  }

  /// The state of a target, with or without a listener; nil if the cache has no row for it.
  package func targetData(for target: Target) throws -> TargetData? {
    try transactions.read("Get target data") { try transactions.knownTarget(target) }
  }

  /// True if the cache had a complete result of the target once, which was collected or cleared, as far as that is remembered.
  package func wasDropped(_ target: Target) throws -> Bool {
    try transactions.read("Look for dropped target") { try targets.wasDropped(target) }
  }

  /// The documents that the backend has confirmed for a target.
  package func confirmedKeys(for targetID: TargetID) throws -> Set<DocumentKey> {
    try transactions.read("Remote document keys") { try targets.keys(of: targetID) }
  }

  // MARK: - Queries

  /// Runs a query on the local view.
  ///
  /// - Parameter usePreviousResults: start from the documents that the backend confirmed for the target earlier, where
  ///   the planner finds that safe.
  /// - Returns: the matching documents in the order of the query (limit applied), the keys that the backend has
  ///   confirmed for the target, and how the query was answered.
  package func run(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: [Document], confirmedKeys: Set<DocumentKey>, execution: QueryExecution)
  {
    try transactions.read("Execute query") {
      let data = try usePreviousResults ? plannedTarget(of: query) : transactions.knownTarget(query.target)
      let confirmedKeys = try data.map { try targets.keys(of: $0.targetID) } ?? []
      let previous = usePreviousResults ? data.flatMap { Self.previousResult(of: $0, keys: confirmedKeys) } : nil
      let answer = try run(query, previous: previous)
      return (answer.documents, confirmedKeys, answer.execution)
    }
  }

  /// As ``run(_:usePreviousResults:)``, with the documents by key.
  package func execute(_ query: Query, usePreviousResults: Bool) throws
    -> (documents: DocumentMap, confirmedKeys: Set<DocumentKey>)
  {
    let result = try run(query, usePreviousResults: usePreviousResults)
    let documents = DocumentMap(result.documents.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    return (documents, result.confirmedKeys)
  }

  /// Runs a query once on the local view, without a listener.
  ///
  /// - Returns: the matching documents in the order of the query, with its limit applied, and how it was answered.
  package func read(_ query: Query) throws -> (documents: [Document], execution: QueryExecution) {
    try transactions.read("Execute query") { try answer(query) }
  }

  /// Adds up what a query gives on the local view.
  package func aggregate(
    _ aggregations: [Aggregation], over query: Query
  ) throws -> (totals: AggregationTotals, execution: QueryExecution) {
    try transactions.read("Execute query") {
      try executor().aggregate(aggregations, over: query, previous: previousResult(of: query))
    }
  }

  func answer(
    _ query: Query, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    try run(query, previous: previousResult(of: query), clock: clock)
  }

  private func previousResult(of query: Query) throws -> PreviousResult? {
    // The keys of a query for all documents are all there are, and the planner does not ask for them.
    guard !query.matchesAllDocuments, let data = try plannedTarget(of: query) else { return nil }
    return Self.previousResult(of: data, keys: try targets.keys(of: data.targetID))
  }

  static func previousResult(of data: TargetData, keys: Set<DocumentKey>) -> PreviousResult? {
    guard data.lastLimboFreeSnapshotVersion > .none else { return nil }
    return PreviousResult(keys: keys, limboFreeVersion: data.lastLimboFreeSnapshotVersion)
  }

  private func run(
    _ query: Query, previous: PreviousResult?, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    try executor().run(query, previous: previous, clock: clock)
  }

  private func executor() throws -> QueryExecutor {
    QueryExecutor(
      documents: documents, localMutations: UserOverlays(table: overlays, user: try transactions.user.row()))
  }

  /// One document of the local view, `.unknown` if the cache knows nothing of it.
  package func document(_ key: DocumentKey) throws -> Document {
    try transactions.read("read document") { try localDocuments.document(for: key, user: transactions.user.row()) }
  }

  /// Reads documents as the backend's last snapshot has them, and whether writes to them have an outcome there.
  package func writtenDocuments(among keys: Set<DocumentKey>) throws -> [DocumentKey: WrittenDocument] {
    try transactions.read("Synchronize views") {
      let remote = try localDocuments.remoteDocuments(for: keys)
      let local = try localDocuments.overlaid(remote, user: transactions.user.row())
      let version = try transactions.tables.globals.lastRemoteSnapshotVersion()
      return remote.mapValues { document in
        let isNewer = document.hasCommittedMutations && document.version > version
        let isPending = local[document.key]?.document.hasLocalMutations ?? false
        return WrittenDocument(
          awaitsOutcome: isNewer || isPending, confirmed: isNewer || !document.isFound ? nil : document)
      }
    }
  }

  // MARK: - Explaining

  /// Runs a query as ``read(_:)`` does and returns its plan, and the indexes that would have answered it faster.
  ///
  /// - Parameter clock: measures the steps.
  package func explain(_ query: Query, clock: () -> Duration) throws -> QueryExecution {
    try withoutActuallyEscaping(clock) { clock in
      try transactions.read("Explain query") {
        var execution = try answer(query, clock: clock).execution
        execution.missingIndexes = try QueryExecutor(documents: documents).missingIndexes(for: query)
        return execution
      }
    }
  }
}
