internal import HearthModel
internal import HearthPlan
internal import HearthStore

extension StorageReader.Snapshot: PieceSource {
  func piece(of query: Query, bytes: Int, _ effort: PieceEffort) throws -> ResultPiece? {
    try reader.queries.piece(of: query, bytes: bytes, effort)
  }

  func sorted(_ query: Query, at past: SnapshotVersion?, bytes: Int) throws -> SortedResult {
    try queries(for: query, at: past).sorted(query, bytes: bytes, account: reader.sortBudget.account(of: sender))
  }

  func documents(taking keys: inout SortedKeys, at past: SnapshotVersion, _ sizes: PieceSizes) throws -> [Document] {
    var documents: [Document] = []
    var bytes = 0
    let present = try reader.store.reader()
    while bytes < sizes.bytes, documents.count < PieceSizes.maximumCount, let key = try keys.popFirst() {
      var document = try present.document(for: key)
      if !document.isFound || document.version > past { document = try foundDocument(key, at: past) }
      bytes += document.fields.bytes.count
      documents.append(document)
    }
    return documents
  }

  /// A document of a past result that has changed since.
  private func foundDocument(_ key: DocumentKey, at past: SnapshotVersion) throws -> Document {
    try requireLog(since: past)
    let former = try document(key, at: past)
    guard former.isFound else {
      throw StoreError(
        kind: .corrupt, message: "table server_changes, \(key): its state at \(past.microseconds) is not there")
    }
    return former
  }

  func totals(
    of aggregations: [Aggregation], over query: Query, at past: SnapshotVersion?
  ) throws -> (totals: AggregationTotals, execution: QueryExecution) {
    try queries(for: query, at: past).aggregate(aggregations, over: query)
  }

  func forEachFormer(
    in scope: CollectionScope, asOf past: SnapshotVersion, after start: SnapshotVersion,
    _ body: (Document) throws -> Void
  ) throws {
    // A document's first change since the version is the one whose former contents are not newer.
    _ = try reader.changes.walk(scope, asOf: past, after: start, through: version) { row in
      if row.isInScope, let former = try row.document(asOf: past) { try body(former) }
      return true
    }
  }

  func missingIndexes(for query: Query, forPieces effort: PieceEffort?) throws -> [IndexDefinition] {
    try reader.queries.missingIndexes(for: query, forPieces: effort)
  }

  // MARK: - The past

  /// An executor that sees the documents as they were.
  func queries(for query: Query, at past: SnapshotVersion?) throws -> QueryExecutor {
    guard let past, past < version else { return reader.queries }
    try requireLog(since: past)
    return reader.queries.seeing(
      EarlierState(version: past) { add in
        try forEachFormer(of: query, at: past) { if query.matches($0) { try add($0) } }
      })
  }

  /// Passes the documents that may match and have changed since, as they were. Nothing is kept of them.
  private func forEachFormer(of query: Query, at past: SnapshotVersion, _ body: (Document) throws -> Void) throws {
    if let key = query.documentKey {
      if let former = try reader.changes.formerDocument(key, at: past), former.isFound { try body(former) }
      return
    }
    try forEachFormer(in: CollectionScope(of: query), asOf: past, after: past, body)
  }

  // MARK: - Plans

  /// The plan of a query, which is not run.
  func plan(of query: Query) throws -> QueryAnswer {
    QueryAnswer(documents: [], readVersion: version, execution: try reader.queries.plan(of: query))
  }
}
