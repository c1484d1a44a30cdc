internal import HearthModel
internal import HearthPlan
internal import HearthStore

/// Reads one database through one connection: the writer's, or one of its own.
///
/// Confined to the user of the connection.
final class StorageReader {
  let database: Database
  let store: DocumentStore
  let changes: LoggedChanges
  let queries: QueryExecutor
  /// For results that have to be sorted.
  let sortBudget: SortBudget

  /// One state of the database, as a transaction sees it.
  struct Snapshot {
    let reader: StorageReader
    /// The present of this state.
    let version: SnapshotVersion
    /// The change log holds everything that came after this.
    let logStart: SnapshotVersion
    /// See ``CallSender``.
    let sender: String
  }

  /// - Parameter database: Its tables are there.
  init(_ database: Database, store: DocumentStore? = nil, sortBudget: SortBudget) {
    self.database = database
    self.sortBudget = sortBudget
    self.store = store ?? DocumentStore(reading: database)
    changes = LoggedChanges(database: database, store: self.store)
    queries = QueryExecutor(documents: self.store, walksKeys: true, usesGroupIndexes: true)
  }

  /// Runs `body` on the present state.
  ///
  /// - Parameter known: A version up to which everything is durable, from before this call. The state's own version may be older if nothing
  ///   was committed in between; then this one is its version too.
  func read<Result>(
    _ name: String, known: SnapshotVersion, for sender: String = "", _ body: (Snapshot) throws -> Result
  ) throws -> Result {
    try database.readTransaction(name) {
      let state = try database.prepare(
        "SELECT \(ServerState.newestVersion), log_start, index_state FROM server_state WHERE id = 1")
      guard try state.step() else { throw StoreError(kind: .corrupt, message: "server_state has no row") }
      let version = SnapshotVersion(microseconds: try state.int64(at: 0))
      let logStart = SnapshotVersion(microseconds: try state.int64(at: 1))
      store.indexes.use(try state.int64(at: 2))
      return try body(Snapshot(reader: self, version: max(version, known), logStart: logStart, sender: sender))
    }
  }
}

extension StorageReader.Snapshot {
  /// A stored document, or a missing one.
  func presentDocument(_ key: DocumentKey) throws -> Document {
    let document = try reader.store.document(for: key)
    return document.isFound ? document : .missing(key, version: version)
  }

  /// A document as it was at a version, which is not above that of the snapshot and to which the log reaches back.
  func document(_ key: DocumentKey, at past: SnapshotVersion) throws -> Document {
    if past < version, let former = try reader.changes.formerDocument(key, at: past) { return former }
    return try presentDocument(key)
  }

  func documents(for keys: [DocumentKey], at past: SnapshotVersion?) throws -> QueryAnswer {
    try requireLog(since: past)
    let readVersion = past ?? version
    let documents = try keys.map { key in
      let document = try document(key, at: readVersion)
      return document.isFound ? document : .missing(key, version: readVersion, readTime: readVersion)
    }
    return QueryAnswer(documents: documents, readVersion: readVersion, execution: nil)
  }

  /// The first of some documents, as many as make a piece: about as many bytes as a page of a query has, and one at least.
  func firstDocuments(of keys: ArraySlice<DocumentKey>, at past: SnapshotVersion?) throws -> QueryAnswer {
    try requireLog(since: past)
    let readVersion = past ?? version
    var documents: [Document] = []
    var byteCount = 0
    for key in keys {
      var document = try self.document(key, at: readVersion)
      if !document.isFound { document = .missing(key, version: readVersion, readTime: readVersion) }
      documents.append(document)
      byteCount += document.fields.bytes.count + Self.bytesPerName
      if byteCount >= PieceSizes().bytes { break }
    }
    return QueryAnswer(documents: documents, readVersion: readVersion, execution: nil)
  }

  /// The approximate size of a document without its fields.
  private static let bytesPerName = 256

  // MARK: - Former documents

  /// Returns false if a version is the present one for a scope: nothing in it has changed since.
  func hasChanged(_ scope: ChangeScope, since past: SnapshotVersion?) throws -> Bool {
    try requireLog(since: past)
    guard let past, past < version else { return false }
    switch scope {
    case .documents(let keys): return try keys.contains { try reader.changes.hasChanged($0, after: past) }
    case .collections(let scope):
      return try reader.changes.count(in: scope, after: past, through: version, upTo: 1) > 0
    }
  }

  /// Passes each document of a scope that has changed since a version, once, as it was then. Nothing is kept but the document that is passed,
  /// however much has changed.
  func forEachFormerDocument(
    of scope: ChangeScope, at past: SnapshotVersion, _ body: (Document) throws -> Void
  ) throws {
    try requireLog(since: past)
    guard past < version else { return }
    switch scope {
    case .documents(let keys):
      for key in keys {
        if let former = try reader.changes.formerDocument(key, at: past) { try body(former) }
      }
    case .collections(let scope):
      _ = try reader.changes.walk(scope, asOf: past, after: past, through: version) { row in
        if row.isInScope, let former = try reader.changes.formerDocument(row, at: past) { try body(former) }
        return true
      }
    }
  }
}

// MARK: - Queries

extension StorageReader.Snapshot {
  func run(_ query: Query, at past: SnapshotVersion?) throws -> QueryAnswer {
    let scope = ChangeScope(of: query)
    guard let past, try hasChanged(scope, since: past) else {
      let (documents, execution) = try reader.queries.run(query)
      return QueryAnswer(documents: documents, readVersion: past ?? version, execution: execution)
    }
    // The result in the past is the present result without the documents that changed since, plus their old versions that
    // match. The limit is widened by their number, because as many of the present result may drop out.
    var former = FormerResult(of: query)
    try forEachFormerDocument(of: scope, at: past) { former.add($0) }
    var (documents, execution) = try reader.queries.run(query.widened(by: former.changeCount))
    documents.removeAll { $0.version > past }
    documents = former.merged(with: documents)
    execution.resultCount = documents.count
    return QueryAnswer(documents: documents, readVersion: past, execution: execution)
  }
}

extension PieceSource {
  /// - Throws: FAILED_PRECONDITION if the log does not reach back to a version that is read.
  func requireLog(since past: SnapshotVersion?) throws {
    if let past, try past < version, try past < logStart { throw StatusError.readTimeTooOld(start: try logStart) }
  }

  /// Adds up a result: where its documents lie, or with a limit or an offset piece by piece.
  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, in database: DatabaseID,
    at past: SnapshotVersion?
  ) throws -> AggregateAnswer {
    let readVersion = try past ?? version
    guard query.limit == nil else {
      var totals = AggregationTotals(aggregations)
      var skipped = 0
      let execution = try forEachDocument(of: query.widened(by: offset), in: database, at: past) { document in
        if skipped < offset { skipped += 1 } else { try totals.add(document) }
      }
      return AggregateAnswer(totals: totals, readVersion: readVersion, execution: execution)
    }
    let (totals, execution) = try totals(of: aggregations, over: query, at: past)
    var answer = AggregateAnswer(totals: totals, readVersion: readVersion, execution: execution)
    guard offset > 0 else { return answer }
    answer.skippedExecution = try forEachDocument(of: query.with(limit: offset), in: database, at: past) { document in
      try answer.totals.remove(document)
    }
    return answer
  }

  /// Passes the documents of a result in its order, one piece of them in memory.
  private func forEachDocument(
    of query: Query, in database: DatabaseID, at past: SnapshotVersion?, _ body: (Document) throws -> Void
  ) throws -> QueryExecution? {
    var execution: QueryExecution?
    var cursor: QueryCursor?
    repeat {
      let page = try page(of: query, after: cursor, in: database, at: past, PieceSizes())
      for document in page.answer.documents { try body(document) }
      if let more = page.answer.execution { execution = execution?.adding(more) ?? more }
      cursor = page.next
    } while cursor != nil
    return execution
  }
}

/// The former versions of the documents of a past result that have changed since. For a result with a limit, no more are kept than the
/// limit.
private struct FormerResult {
  private let query: Query
  private var documents: [Document] = []
  /// The number of documents of the query's scope that have changed.
  private(set) var changeCount = 0

  init(of query: Query) {
    self.query = query
  }

  mutating func add(_ document: Document) {
    changeCount += 1
    guard query.matches(document) else { return }
    documents.append(document)
    // Halves instead of doubling, because a limit may be as large as an integer can be.
    if let limit = query.limit, documents.count >= 64, documents.count / 2 >= limit { cut() }
  }

  /// The result, with the documents that have not changed.
  func merged(with unchanged: [Document]) -> [Document] {
    var result = self
    result.documents += unchanged
    result.cut()
    return result.documents
  }

  private mutating func cut() {
    documents.sort { query.compare($0, $1) == .ascending }
    if let limit = query.limit, documents.count > limit { documents.removeLast(documents.count - limit) }
  }
}
