internal import HearthModel
internal import HearthStore

extension StorageReader.Snapshot {
  /// The next piece of a result.
  ///
  /// A result that is found in its order is read in pieces, each about as large as ``QueryCursor/bytesPerPage``. Each is a read of its own,
  /// so that neither a connection nor a state of the database is held while the caller passes it on. Any other result comes whole.
  ///
  /// - Parameters:
  ///   - firstCount: The number of documents in the first piece.
  ///   - keptBytes: The size of the former documents that are kept for the next piece.
  func page(
    of query: Query, after cursor: QueryCursor?, in database: DatabaseID, at past: SnapshotVersion?, firstCount: Int,
    keptBytes: Int
  ) throws -> QueryPage {
    let remaining = cursor.map(\.remaining) ?? query.limit
    let count = cursor?.pageCount ?? max(firstCount, 1)
    var piece = query
    if let cursor { piece.startAt = cursor.position }
    let wanted = min(count, remaining ?? .max)
    let isPast = past.map { $0 < version } ?? false
    // Of what is read in the past, many documents may have come since.
    piece.limit = isPast ? count : wanted
    guard !query.isLimitToLast, isPast || remaining ?? .max > count, try reader.queries.isReadInOrder(piece) else {
      piece.limit = remaining
      return QueryPage(answer: try run(piece, at: past), next: nil)
    }
    let answer: QueryAnswer
    let end: Document?
    var known: PastDocuments?
    if let past, isPast {
      var changed = cursor?.past ?? PastDocuments(at: past, maximumBytes: keptBytes)
      try changed.catchUp(with: self, for: piece)
      let part = try pastPiece(of: piece, atMost: wanted, changed, in: database)
      answer = QueryAnswer(documents: part.documents, readVersion: past, execution: part.execution)
      (end, known) = (part.end, changed)
    } else {
      answer = try run(piece, at: past)
      end = answer.documents.count == wanted ? answer.documents.last : nil
    }
    let rest = remaining.map { $0 - answer.documents.count }
    guard let end, rest != 0 else { return QueryPage(answer: answer, next: nil) }
    let next = QueryCursor(
      position: try Bound(after: end, of: query, in: database), remaining: rest,
      pageCount: QueryCursor.pageCount(after: answer.documents, of: count), past: known)
    return QueryPage(answer: answer, next: next)
  }

  /// The plan of a query, which is not run.
  func plan(of query: Query) throws -> QueryAnswer {
    QueryAnswer(documents: [], readVersion: version, execution: try reader.queries.plan(of: query))
  }

  /// The indexes that would have answered a query better, if they are worth their cost.
  ///
  /// An index that leads to many documents that do not match is no reason to go without a better one.
  func missingIndexes(for query: Query, after execution: QueryExecution?) throws -> [IndexDefinition] {
    guard let execution, execution.isWorthAnIndex else { return [] }
    return try reader.queries.missingIndexes(for: query)
  }
}

/// A piece of a query's result.
struct QueryPage: Sendable {
  var answer: QueryAnswer
  /// Where the next piece begins; nil for the last one.
  var next: QueryCursor?
}

/// A position in a query's result, behind a piece of it.
struct QueryCursor: Sendable {
  /// Behind the pieces so far.
  fileprivate var position: Bound
  /// The number of further documents that the query's limit allows.
  fileprivate var remaining: Int?
  /// The number of documents in the next piece.
  fileprivate var pageCount: Int
  /// The former documents that later pieces may show; nil while nothing was written after the version of the result.
  fileprivate var past: PastDocuments?

  /// The size in bytes that pieces grow to. Each stream whose client does not read holds one.
  static let bytesPerPage = 256 << 10
  /// The number of documents in the first piece, which may be of any size.
  static let firstPageCount = 32
  /// More documents in one piece are not worth the memory.
  private static let maximumPageCount = 2_000

  /// - Parameter count: The number of documents that the piece before was meant to have.
  fileprivate static func pageCount(after documents: [Document], of count: Int) -> Int {
    guard !documents.isEmpty else { return min(count * 4, maximumPageCount) }
    let bytes = documents.reduce(0) { $0 + $1.fields.bytes.count }
    let average = max(bytes / documents.count, 1)
    return min(max(bytesPerPage / average, 8), count * 4, maximumPageCount)
  }
}

extension Bound {
  /// The position behind a document of a result.
  init(after document: Document, of query: Query, in database: DatabaseID) throws {
    let position = try query.orders.map { order in
      if order.path.isDocumentKey { return Value.reference(ReferenceValue(database: database, key: document.key)) }
      return try document.fields.value(at: order.path) ?? .null
    }
    self.init(position: position, isInclusive: false)
  }
}
