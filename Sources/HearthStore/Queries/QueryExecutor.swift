package import HearthModel
package import HearthPlan

/// The keys of a query's last snapshot without documents in limbo, and that snapshot's version.
package struct PreviousResult: Equatable, Sendable {
  package var keys: Set<DocumentKey>
  package var limboFreeVersion: SnapshotVersion

  package init(keys: Set<DocumentKey>, limboFreeVersion: SnapshotVersion) {
    self.keys = keys
    self.limboFreeVersion = limboFreeVersion
  }
}

/// Answers queries from the stored documents with the local mutations applied.
package struct QueryExecutor {
  let documents: DocumentStore
  let localMutations: (any LocalMutationSource)?
  /// The aggregations to compute of the result; empty for its documents.
  private(set) var aggregations: [Aggregation] = []
  /// Nil to keep results of any size.
  private(set) var bounds: ResultBounds?
  /// Nil for the present.
  private(set) var earlier: EarlierState?
  let walksKeys: Bool
  /// True if a query of a collection group deserves an index of its own, in addition to one of the single collections.
  let usesGroupIndexes: Bool

  package init(documents: DocumentStore, localMutations: (any LocalMutationSource)? = nil) {
    self.documents = documents
    self.localMutations = localMutations
    walksKeys = false
    usesGroupIndexes = false
  }

  /// Without local mutations.
  ///
  /// - Parameters:
  ///   - walksKeys: True to answer queries that are ordered by the key alone along the keys.
  ///   - usesGroupIndexes: True to name an index of the collection group as missing where one of the single collections serves too: there
  ///     may be too many to look into each.
  package init(documents: DocumentStore, walksKeys: Bool, usesGroupIndexes: Bool = false) {
    self.documents = documents
    localMutations = nil
    self.walksKeys = walksKeys
    self.usesGroupIndexes = usesGroupIndexes
  }

  /// The existing documents that match, in the order of the query, with its limit applied.
  ///
  /// Indexes are used first, where they lead to few documents; then the previous result; else everything is read.
  ///
  /// - Parameters:
  ///   - previous: the query's previous result, if known; it is used if the outcome is the same as that of a scan and the effort is
  ///     smaller.
  ///   - clock: measures the steps.
  /// - Throws: ``StoreError``; `corrupt` names the document whose stored form cannot be read.
  package func run(
    _ query: Query, previous: PreviousResult? = nil, clock: (() -> Duration)? = nil
  ) throws -> (documents: [Document], execution: QueryExecution) {
    let (contents, execution) = try contents(of: query, previous: previous, clock: clock)
    return (contents.documents, execution)
  }

  /// Adds up what a query gives. Without a limit, no document is copied out of the database.
  ///
  /// - Parameter previous: as for ``run(_:previous:clock:)``.
  package func aggregate(
    _ aggregations: [Aggregation], over query: Query, previous: PreviousResult? = nil
  ) throws -> (totals: AggregationTotals, execution: QueryExecution) {
    let (contents, execution) = try computing(aggregations).contents(of: query, previous: previous)
    return (contents.totals ?? AggregationTotals(aggregations), execution)
  }

  /// An executor that computes these of each result.
  func computing(_ aggregations: [Aggregation]) -> QueryExecutor {
    var executor = self
    executor.aggregations = aggregations
    return executor
  }

  /// An executor that keeps no more of a result than this.
  func within(_ bounds: ResultBounds) -> QueryExecutor {
    var executor = self
    executor.bounds = bounds
    return executor
  }

  /// An executor that sees an earlier state. There are no local mutations.
  package func seeing(_ earlier: EarlierState) -> QueryExecutor {
    var executor = self
    executor.earlier = earlier
    return executor
  }

  /// A result to which the stored documents are added, those of ``filter(of:)``.
  func newResult(of query: Query) throws -> LimitedResult {
    var result = LimitedResult(of: query, aggregations, within: bounds)
    try earlier?.forEachFormer { try result.add($0) }
    return result
  }

  func filter(of query: Query) -> InPlaceFilter {
    InPlaceFilter(query, asOf: earlier?.version, in: documents.database)
  }

  func contents(
    of query: Query, previous: PreviousResult? = nil, clock: (() -> Duration)? = nil
  ) throws -> (ResultContents, QueryExecution) {
    try documents.database.readTransaction("Execute query") {
      var timer = ExecutionTimer(clock)
      var (contents, execution) = try run(query, previous, &timer)
      execution.resultCount = contents.documentCount
      execution.isSortedByKeys = contents.keys != nil
      execution.steps = timer.steps
      return (contents, execution)
    }
  }

  private func run(
    _ query: Query, _ previous: PreviousResult?, _ timer: inout ExecutionTimer
  ) throws -> (ResultContents, QueryExecution) {
    if let key = query.documentAtPath {
      defer { timer.finish("read the document") }
      return try runDocument(query, key)
    }
    let reason: String
    switch try decide(query) {
    case .scan(let why): reason = why
    case .use(let accesses):
      timer.finish("choose indexes")
      var run = try IndexedRun(self, query, accesses)
      if let answer = try run.answer(&timer) { return answer }
      reason = "its indexes lead to a large part of the documents, which are read faster one after the other"
    }
    timer.finish("choose indexes")
    if walksKeys, let walk = KeyWalk(query, self), var answer = try walk.answer() {
      timer.finish("walk along the keys")
      answer.1.reason = reason
      return answer
    }
    if let previous, var answer = try runPreviousResult(query, previous) {
      timer.finish("check the previous result")
      answer.1.reason = reason
      return answer
    }
    var answer = try runScan(query)
    timer.finish("scan")
    answer.1.reason = reason
    return answer
  }

  func decide(_ query: Query, isOrderNeeded: Bool = false) throws -> QueryPlanner.Decision {
    guard let group = query.collectionGroup ?? query.path.last, !group.isEmpty else {
      return .scan(reason: "the query asks for all collections")
    }
    let indexes = try documents.indexes.indexes(of: group)
    return try QueryPlanner(query, indexes: indexes, isOrderNeeded: isOrderNeeded).decide()
  }

  /// The plan with which the answer to a query begins, without running it. A run along indexes that lead to a large part of the documents
  /// becomes a scan on the way.
  package func plan(of query: Query) throws -> QueryExecution {
    try documents.database.readTransaction("Choose indexes") {
      if let key = query.documentAtPath {
        return QueryExecution(plan: .document(key))
      }
      switch try decide(query) {
      case .use(let accesses): return try IndexedRun(self, query, accesses).execution
      case .scan(let reason):
        var execution = QueryExecution(plan: walksKeys && KeyWalk(query, self) != nil ? .keys : .scan)
        execution.reason = reason
        return execution
      }
    }
  }

  /// The indexes that would help a query.
  package enum IndexEffort: Equatable, Sendable {
    /// None serves it.
    case none
    /// They lead to no more documents than the limit of the question.
    case small
    case unknown
  }

  /// Looks at the indexes, not at the documents.
  package func indexEffort(of query: Query, atMost limit: Int) throws -> IndexEffort {
    try documents.database.readTransaction("Estimate indexes") {
      guard case .use(let accesses) = try decide(query) else { return .none }
      return try IndexedRun(self, query, accesses).isSmall(atMost: limit) ? .small : .unknown
    }
  }

  /// The indexes that would answer the query better than those there are.
  ///
  /// - Parameter effort: Only those by which the result can be read piece by piece at this cost; nil for all.
  package func missingIndexes(for query: Query, forPieces effort: PieceEffort? = nil) throws -> [IndexDefinition] {
    guard query.documentKey == nil, let group = query.collectionGroup ?? query.path.last, !group.isEmpty else {
      return []
    }
    return try QueryPlanner(query, indexes: documents.indexes.indexes(of: group))
      .missingIndexes(forPieces: effort, usesGroupIndexes: usesGroupIndexes)
  }

  // MARK: - Document

  private func runDocument(_ query: Query, _ key: DocumentKey) throws -> (ResultContents, QueryExecution) {
    let execution = QueryExecution(plan: .document(key), rowsRead: 1, documentsDecoded: 1)
    var document = try documents.document(for: key)
    if let overlay = try localMutations?.localMutations(for: [key])[key] { try document.apply(overlay: overlay) }
    var result = try newResult(of: query)
    if try matches(query, document) { try result.add(document) }
    return (try result.finish(), execution)
  }

  // MARK: - Scan

  /// - Parameter part: only the stored documents of this part; the first one also has those with a local mutation.
  func runScan(_ query: Query, part: DocumentPart? = nil) throws -> (ResultContents, QueryExecution) {
    var execution = QueryExecution(plan: .scan)
    let scope = CollectionScope(of: query)
    let overlays = try localMutations?.localMutations(in: scope) ?? [:]
    var result = try newResult(of: query)
    if part?.isFirst ?? true { try addOverlaid(overlays, query, to: &result, &execution) }
    let filter = filter(of: query)
    func add(_ stored: StoredDocument) throws {
      guard let key = try filter.matchingKey(of: stored, inside: result.edge), overlays[key] == nil else { return }
      if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
    }
    if let conditions = filter.conditions {
      let looked = try documents.forEach(in: scope, part: part, meeting: conditions, add)
      execution.rowsRead += looked
    } else {
      try documents.forEach(in: scope, part: part) { stored in
        execution.rowsRead += 1
        try add(stored)
        return true
      }
    }
    return (try result.finish(), execution)
  }

  /// Documents with a local mutation are looked at one by one, because what is stored says nothing about whether they
  /// match; many of them are not stored at all.
  func addOverlaid(
    _ overlays: [DocumentKey: Mutation], _ query: Query, to result: inout LimitedResult,
    _ execution: inout QueryExecution
  ) throws {
    for (key, overlay) in overlays {
      var document = try documents.document(for: key)
      execution.rowsRead += 1
      execution.documentsDecoded += 1
      try document.apply(overlay: overlay)
      if try matches(query, document) { try result.add(document) }
    }
  }

  // MARK: - Previous result

  /// - Returns: nil when the previous result cannot be used and the query must be scanned.
  func runPreviousResult(
    _ query: Query, _ previous: PreviousResult
  ) throws -> (ResultContents, QueryExecution)? {
    // Nothing has been confirmed yet, or everything is wanted and a scan reads it in one sweep.
    guard previous.limboFreeVersion != .none, !query.matchesAllDocuments else { return nil }
    var execution = QueryExecution(plan: .previousResult)
    let scope = CollectionScope(of: query)
    let overlays = try localMutations?.localMutations(in: scope) ?? [:]

    var matching: [Document] = []
    for key in previous.keys {
      var document = try documents.document(for: key)
      execution.rowsRead += 1
      execution.documentsDecoded += 1
      if let overlay = overlays[key] { try document.apply(overlay: overlay) }
      if try matches(query, document) { matching.append(document) }
    }
    if needsRefill(query, matching, previous) { return nil }

    var result = try newResult(of: query)
    for document in matching { try result.add(document) }
    try addOverlaid(overlays.filter { !previous.keys.contains($0.key) }, query, to: &result, &execution)
    let filter = filter(of: query)
    try documents.forEach(in: scope, changedAfter: previous.limboFreeVersion) { stored in
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: result.edge), overlays[key] == nil,
        !previous.keys.contains(key)
      else {
        return true
      }
      if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
      return true
    }
    return (try result.finish(), execution)
  }

  /// Returns whether documents from beyond the limit may have to come in: a document of the former result is gone, or the
  /// one at the edge has changed and may now sort behind a document that was not read (firebase-ios-sdk query_engine.cc,
  /// NeedsRefill).
  private func needsRefill(_ query: Query, _ matching: [Document], _ previous: PreviousResult) -> Bool {
    guard query.limit != nil else { return false }
    if matching.count != previous.keys.count { return true }
    let edge = matching.reduce(nil as Document?) { edge, document in
      guard let edge else { return document }
      return query.sorts(document, beyond: edge) ? document : edge
    }
    guard let edge else { return false }
    return edge.hasPendingWrites || edge.version > previous.limboFreeVersion
  }

  /// Like `query.matches(document)`, but contents that cannot be read are an error and not a document less.
  func matches(_ query: Query, _ document: Document) throws -> Bool {
    guard document.isFound, earlier.map({ document.version <= $0.version }) ?? true else { return false }
    try documents.database.noteWork(bytes: document.fields.bytes.count * query.comparisonCount)
    do {
      return try document.fields.withUnsafeBytes { bytes in
        try query.matches(key: document.key, fields: EncodedFieldsView(bytes))
      }
    } catch let error as WireFormatError {
      throw StoreError.corrupt("Document \(document.key): fields are malformed: \(error)")
    }
  }
}
