#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthStore

  /// Answers queries from one state of a cluster's database, or from an earlier one.
  struct ClusterExecutor {
    let snapshot: ClusterSnapshot
    /// The aggregations to compute of the result; empty for its documents.
    private(set) var aggregations: [Aggregation] = []
    /// Nil to keep results of any size.
    private(set) var bounds: ResultBounds?
    /// Nil for the present of the snapshot.
    private(set) var past: SnapshotVersion?

    init(_ snapshot: ClusterSnapshot, at past: SnapshotVersion? = nil) {
      self.snapshot = snapshot
      self.past = past
    }

    func computing(_ aggregations: [Aggregation]) -> ClusterExecutor {
      var executor = self
      executor.aggregations = aggregations
      return executor
    }

    func within(_ bounds: ResultBounds) -> ClusterExecutor {
      var executor = self
      executor.bounds = bounds
      return executor
    }

    // MARK: - Whole results

    /// The result of a query by the plan that costs least.
    func contents(of query: Query) throws -> (ResultContents, QueryExecution) {
      var (contents, execution) = try run(query)
      execution.resultCount = contents.documentCount
      execution.isSortedByKeys = contents.keys != nil
      return (contents, execution)
    }

    private func run(_ query: Query) throws -> (ResultContents, QueryExecution) {
      if let key = query.documentAtPath { return try runDocument(query, key) }
      let reason: String
      switch try decide(query) {
      case .scan(let why): reason = why
      case .use(let accesses):
        var run = try ClusterIndexedRun(self, query, accesses)
        if let answer = try run.answer() { return answer }
        reason = "its indexes lead to a large part of the documents, which are read faster one after the other"
      }
      var answer = try ClusterKeyWalk(query, self)?.answer() ?? runScan(query)
      answer.1.reason = reason
      return answer
    }

    func decide(_ query: Query, isOrderNeeded: Bool = false) throws -> QueryPlanner.Decision {
      guard let group = query.collectionGroup ?? query.path.last, !group.isEmpty else {
        return .scan(reason: "the query asks for all collections")
      }
      let indexes = try snapshot.definitions.indexes(of: group).map(\.stored)
      return try QueryPlanner(query, indexes: indexes, isOrderNeeded: isOrderNeeded).decide()
    }

    /// The plan with which the answer to a query begins, without running it.
    func plan(of query: Query) throws -> QueryExecution {
      if let key = query.documentAtPath { return QueryExecution(plan: .document(key)) }
      switch try decide(query) {
      case .use(let accesses): return try ClusterIndexedRun(self, query, accesses).execution
      case .scan(let reason):
        var execution = QueryExecution(plan: KeyBounds(of: query) == nil ? .scan : .keys)
        execution.reason = reason
        return execution
      }
    }

    func missingIndexes(for query: Query, forPieces effort: PieceEffort?) throws -> [IndexDefinition] {
      guard query.documentKey == nil, let group = query.collectionGroup ?? query.path.last, !group.isEmpty else {
        return []
      }
      return try QueryPlanner(query, indexes: snapshot.definitions.indexes(of: group).map(\.stored))
        .missingIndexes(forPieces: effort, usesGroupIndexes: true)
    }

    // MARK: - Pieces

    /// See ``PieceSource/piece(of:bytes:_:)``.
    func piece(of query: Query, _ effort: PieceEffort) throws -> (ResultContents, QueryExecution)? {
      guard query.limit != nil, !query.isLimitToLast, query.documentKey == nil else { return nil }
      var reason: String?
      switch try decide(query, isOrderNeeded: effort == .patient) {
      case .scan(let why): reason = why
      case .use(let accesses):
        var run = try ClusterIndexedRun(self, query, accesses)
        if let piece = try run.piece(effort) { return piece }
      }
      guard let walk = ClusterKeyWalk(query, self), effort == .patient || !query.mayLeaveOutAlongKeys else {
        return nil
      }
      var piece = try walk.piece()
      piece.1.reason = reason
      return piece
    }

    // MARK: - Results

    /// A result to which present documents are added, those of ``filter(of:)``. In the past, it has those that have changed since as they were.
    func newResult(of query: Query) throws -> LimitedResult {
      var result = LimitedResult(of: query, aggregations, within: bounds)
      if let past {
        try snapshot.forEachFormer(in: CollectionScope(of: query), asOf: past, after: past) { document in
          if query.matches(document) { try result.add(document) }
        }
      }
      return result
    }

    func filter(of query: Query) -> ClusterFilter { ClusterFilter(query, asOf: past) }

    /// Returns whether a present document belongs to the result, in addition to those of ``newResult(of:)``.
    ///
    /// - Throws: DATA_LOSS for contents that cannot be read.
    func matches(_ query: Query, _ document: Document) throws -> Bool {
      guard document.isFound, past.map({ document.version <= $0 }) ?? true else { return false }
      do {
        return try document.fields.withView { fields throws(WireFormatError) in
          try query.matches(key: document.key, fields: fields)
        }
      } catch {
        throw ClusterSnapshot.damaged("table hearth_documents, \(document.key): fields are malformed: \(error)")
      }
    }

    // MARK: - Plans without an index

    private func runDocument(_ query: Query, _ key: DocumentKey) throws -> (ResultContents, QueryExecution) {
      let execution = QueryExecution(plan: .document(key), rowsRead: 1, documentsDecoded: 1)
      var result = LimitedResult(of: query, aggregations, within: bounds)
      let document = try past.map { try snapshot.documents([key], at: $0) } ?? snapshot.presentDocuments([key])
      if let document = document.first, try matches(query, document) { try result.add(document) }
      return (try result.finish(), execution)
    }

    private func runScan(_ query: Query) throws -> (ResultContents, QueryExecution) {
      var execution = QueryExecution(plan: .scan)
      var result = try newResult(of: query)
      let filter = filter(of: query)
      try ClusterScope(CollectionScope(of: query)).forEachDocument(in: snapshot) { row in
        execution.rowsRead += 1
        guard let key = try filter.matchingKey(of: row, inside: result.edge) else { return true }
        if try result.add(row, key: key) { execution.documentsDecoded += 1 }
        return true
      }
      return (try result.finish(), execution)
    }
  }
#endif
