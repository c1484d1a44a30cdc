internal import HearthModel
internal import HearthStore

/// Reads one database through one connection: the writer's, or one of its own.
///
/// Confined to the user of the connection.
final class StorageReader {
  let database: Database
  let store: DocumentStore
  let changes: LoggedChanges
  let queries: QueryExecutor

  /// One state of the database, as a transaction sees it.
  struct Snapshot {
    let reader: StorageReader
    /// The present of this state.
    let version: SnapshotVersion
    /// The change log holds everything that came after this.
    let logStart: SnapshotVersion
  }

  /// - Parameter database: Its tables are there.
  init(_ database: Database, store: DocumentStore? = nil) {
    self.database = database
    self.store = store ?? DocumentStore(reading: database)
    changes = LoggedChanges(database: database, store: self.store)
    queries = QueryExecutor(documents: self.store, walksKeys: true)
  }

  /// Runs `body` on the present state.
  ///
  /// - Parameter known: A version up to which everything is durable, from before this call. The state's own version may be older if nothing
  ///   was committed in between; then this one is its version too.
  func read<Result>(
    _ name: String, known: SnapshotVersion, _ body: (Snapshot) throws -> Result
  ) throws -> Result {
    try database.readTransaction(name) {
      let state = try database.prepare(
        "SELECT \(ServerState.newestVersion), log_start, index_state FROM server_state WHERE id = 1")
      guard try state.step() else { throw StoreError(kind: .corrupt, message: "server_state has no row") }
      let version = SnapshotVersion(microseconds: try state.int64(at: 0))
      let logStart = SnapshotVersion(microseconds: try state.int64(at: 1))
      store.indexes.use(try state.int64(at: 2))
      return try body(Snapshot(reader: self, version: max(version, known), logStart: logStart))
    }
  }
}

extension StorageReader.Snapshot {
  static let tooOld = StatusError(
    code: .failedPrecondition, message: "The requested 'read_time' is too old.")

  /// A stored document, or a missing one.
  private func presentDocument(_ key: DocumentKey) throws -> Document {
    let document = try reader.store.document(for: key)
    return document.isFound ? document : .missing(key, version: version)
  }

  /// The documents of `scope` that have changed since `past`, as they were then; none when it is the present.
  func documents(of scope: ChangeScope, before past: SnapshotVersion?) throws -> [DocumentKey: Document] {
    guard let past, past < version else { return [:] }
    guard past >= logStart else { throw Self.tooOld }
    return try reader.changes.documentsBefore(in: scope, after: past)
  }

  func documents(for keys: [DocumentKey], at past: SnapshotVersion?) throws -> QueryAnswer {
    let before = try documents(of: .documents(Set(keys)), before: past)
    let readVersion = past ?? version
    let documents = try keys.map { key in
      let document = try before[key] ?? presentDocument(key)
      return document.isFound ? document : .missing(key, version: readVersion, readTime: readVersion)
    }
    return QueryAnswer(documents: documents, readVersion: readVersion, execution: nil)
  }

  /// The first of some documents, as many as make a piece: about as many bytes as a page of a query has, and one at least.
  func firstDocuments(of keys: ArraySlice<DocumentKey>, at past: SnapshotVersion?) throws -> QueryAnswer {
    let readVersion = past ?? version
    var documents: [Document] = []
    var byteCount = 0
    for key in keys {
      // A key at a time: of documents that have changed since, the log holds them as they were.
      var document = try self.documents(of: .documents([key]), before: past)[key] ?? presentDocument(key)
      if !document.isFound { document = .missing(key, version: readVersion, readTime: readVersion) }
      documents.append(document)
      byteCount += document.fields.bytes.count + Self.bytesPerName
      if byteCount >= QueryCursor.bytesPerPage { break }
    }
    return QueryAnswer(documents: documents, readVersion: readVersion, execution: nil)
  }

  /// About as many bytes as a document has beside its fields.
  private static let bytesPerName = 256

  func changes(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion
  ) throws -> LoggedDifference? {
    guard start >= logStart else { return nil }
    let before = try reader.changes.documentsBefore(in: source.scope, after: start, through: end)
    guard !before.isEmpty else { return LoggedDifference(transitions: []) }
    let after = try documents(of: .documents(Set(before.keys)), before: end)
    let transitions = try before.values
      .map { DocumentTransition(before: $0, after: try after[$0.key] ?? presentDocument($0.key)) }
      .sorted { $0.key < $1.key }
    var difference = LoggedDifference(transitions: transitions)
    for transition in transitions {
      let isTold = source.matches(transition.before) || source.matches(transition.after)
      guard source.limitQuery != nil || !isTold else { continue }
      if try reader.changes.hasState(between: transition, after: start, through: end, where: source.matches) {
        difference.passing.insert(transition.key)
      }
    }
    return difference
  }
}

// MARK: - Queries

extension StorageReader.Snapshot {
  func run(_ query: Query, at past: SnapshotVersion?) throws -> QueryAnswer {
    let before = try documents(of: ChangeScope(of: query), before: past)
    let readVersion = past ?? version
    guard !before.isEmpty else {
      let (documents, execution) = try reader.queries.run(query)
      return QueryAnswer(documents: documents, readVersion: readVersion, execution: execution)
    }
    // The result in the past is the present result without the documents that changed since, plus their old versions that
    // match. The limit is widened by their number, because as many of the present result may drop out.
    var (documents, execution) = try reader.queries.run(query.widened(by: before.count))
    documents.removeAll { before[$0.key] != nil }
    documents += before.values.filter { $0.isFound && query.matches($0) }
    documents.sort { query.compare($0, $1) == .ascending }
    if let limit = query.limit { documents = Array(documents.prefix(limit)) }
    execution.resultCount = documents.count
    return QueryAnswer(documents: documents, readVersion: readVersion, execution: execution)
  }

  /// Adds up a result where it lies, if it is the present one. Only as many documents as are skipped, or as a limit and these allow, are
  /// copied out of the database.
  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at past: SnapshotVersion?
  ) throws -> AggregateAnswer {
    let isPresent = try documents(of: ChangeScope(of: query), before: past).isEmpty
    guard isPresent, offset == 0 || query.limit == nil else {
      let answer = try run(query.widened(by: offset), at: past)
      return AggregateAnswer(
        totals: try AggregationTotals(aggregations, over: answer.documents.dropFirst(offset)),
        readVersion: answer.readVersion, execution: answer.execution)
    }
    let (totals, execution) = try reader.queries.aggregate(aggregations, over: query)
    var answer = AggregateAnswer(totals: totals, readVersion: past ?? version, execution: execution)
    if offset > 0 {
      var skipped = query
      skipped.limit = offset
      let (documents, execution) = try reader.queries.run(skipped)
      for document in documents { try answer.totals.remove(document) }
      answer.skippedExecution = execution
    }
    return answer
  }
}

/// The result of a read with the version that it shows.
struct QueryAnswer: Sendable {
  var documents: [Document]
  var readVersion: SnapshotVersion
  /// The plan and the effort of a query; nil for documents by key.
  var execution: QueryExecution?
}

/// The result of an aggregation.
struct AggregateAnswer: Sendable {
  var totals: AggregationTotals
  var readVersion: SnapshotVersion
  var execution: QueryExecution?
  /// The effort of finding what is skipped, where that was a query of its own.
  var skippedExecution: QueryExecution?
}

extension Query {
  /// The query that also gives so many more results.
  func widened(by count: Int) -> Query {
    guard count > 0, let limit else { return self }
    var query = self
    let (sum, overflow) = limit.addingReportingOverflow(count)
    query.limit = overflow ? nil : sum
    return query
  }
}
