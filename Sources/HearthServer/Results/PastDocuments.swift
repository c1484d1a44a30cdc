internal import HearthModel
internal import HearthPlan
internal import HearthStore

/// The former versions of the documents of a past result that have changed since.
///
/// A result that is read in pieces keeps them from piece to piece, so that each piece looks only at the changes since the one before. If
/// more has changed than can be kept, and the kept documents are used up, the next piece looks again at all changes since the first.
struct PastDocuments: Sendable {
  /// The version of the result.
  let version: SnapshotVersion
  /// Changes up to here have been looked at.
  private(set) var through: SnapshotVersion
  /// In the order of the query, behind the pieces so far.
  private(set) var documents: [Document] = []
  /// Behind this document nothing is known, because too much has changed to be kept; nil if all is known.
  private(set) var end: Document?
  private var bytes = 0
  /// The bytes of all documents after the pieces so far that have changed since the version, kept or not.
  private var seenBytes = 0
  private let maximumBytes: Int

  init(at version: SnapshotVersion, maximumBytes: Int) {
    self.version = version
    through = version
    self.maximumBytes = maximumBytes
  }

  /// Takes up the changes of a snapshot.
  ///
  /// - Parameter piece: The query for the rest of the result.
  /// - Throws: FAILED_PRECONDITION if the log does not reach back to those that are needed.
  mutating func catchUp(with snapshot: some PieceSource, for piece: Query) throws {
    documents.removeFirst(documents.prefix { !piece.matches($0) }.count)
    bytes = documents.reduce(0) { $0 + Self.size($1) }
    if documents.isEmpty, end != nil { self = PastDocuments(at: version, maximumBytes: maximumBytes) }
    let start = try snapshot.logStart
    guard through >= start else { throw StatusError.readTimeTooOld(start: start) }
    try snapshot.forEachFormer(in: CollectionScope(of: piece), asOf: version, after: through) { document in
      guard piece.matches(document) else { return }
      seenBytes += Self.size(document)
      guard end.map({ piece.compare(document, $0) != .descending }) ?? true else { return }
      documents.append(document)
      bytes += Self.size(document)
      // Sorting at each multiple of the limit keeps the cost of one document small.
      if bytes > 2 * maximumBytes { shorten(for: piece) }
    }
    shorten(for: piece)
    through = try snapshot.version
  }

  /// Returns whether so many documents of the result have changed that it costs less to sort its keys once than to look at all changes for
  /// every few pieces.
  ///
  /// - Parameter remaining: The number of further documents that the query's limit allows.
  func isWorthSorting(remaining: Int?) -> Bool {
    guard end != nil, seenBytes / Self.looks > maximumBytes else { return false }
    return (remaining ?? .max) / Self.looks > documents.count
  }

  /// The looks at all changes that cost less than sorting.
  private static let looks = 16

  /// Drops what is too much to be kept, from the end. One document stays, of whatever size.
  private mutating func shorten(for query: Query) {
    documents.sort { query.compare($0, $1) == .ascending }
    var kept = documents.count
    while bytes > maximumBytes, kept > 1 {
      kept -= 1
      bytes -= Self.size(documents[kept])
    }
    guard kept < documents.count else { return }
    documents.removeSubrange(kept...)
    end = documents.last
  }

  private static func size(_ document: Document) -> Int {
    document.fields.bytes.count + 2 * document.key.path.canonicalString.utf8.count + 128
  }
}

/// The parameters for reading a piece of a past result.
struct PastPieceReading {
  /// A query that is read in its order, so many documents at once as its limit says.
  let piece: Query
  /// The largest number of documents of the piece. It may have fewer, and none, before the result's end.
  let count: Int
  /// The piece ends with the document that exceeds these bytes.
  let bytes: Int
  let effort: PieceEffort
  let database: DatabaseID

  /// So often a piece goes on reading when what it has read has changed since.
  fileprivate static let maximumRounds = 8

  init(_ piece: Query, count: Int, bytes: Int, _ effort: PieceEffort, in database: DatabaseID) {
    self.piece = piece
    self.count = count
    self.bytes = bytes
    self.effort = effort
    self.database = database
  }

  /// The rest of the result behind a document, by the condition that the next piece begins with: two states of one document can lie on
  /// both sides of it.
  fileprivate func rest(behind document: Document) throws -> Query {
    var rest = piece
    rest.startAt = try Bound(after: document, of: piece, in: database)
    return rest
  }

  /// Returns whether documents are as many as the piece may have.
  fileprivate func isFull(_ documents: Int, bytes: Int) -> Bool {
    documents >= count || bytes >= self.bytes
  }
}

/// The documents of a piece of a past result.
struct PastPiece {
  var documents: [Document]
  var execution: QueryExecution
  /// The document behind which the next piece begins, which need not be one of the result; nil for the last piece.
  var end: Document?
}

extension PieceSource {
  /// The next documents of a past result: those of the present one that have not changed since, and those that have, as they were.
  ///
  /// - Parameters:
  ///   - first: The first documents of the present result.
  ///   - past: Has caught up with this snapshot.
  /// - Returns: nil if the rest of the present result is not found in its order.
  func pastPiece(_ reading: PastPieceReading, from first: ResultPiece, _ past: PastDocuments) throws -> PastPiece? {
    let piece = reading.piece
    var part = first
    var execution = first.execution
    var unchanged: [Document] = []
    var end: Document?
    for round in 1...PastPieceReading.maximumRounds {
      unchanged += part.documents.filter { $0.version <= past.version }
      end = part.isCut || part.documents.count >= piece.limit ?? .max ? part.documents.last : nil
      guard round < PastPieceReading.maximumRounds, let end,
        past.end.map({ piece.compare(end, $0) == .ascending }) ?? true
      else {
        break
      }
      let former = past.documents.prefix { piece.compare($0, end) != .descending }
      guard
        !reading.isFull(unchanged.count + former.count, bytes: unchanged.fieldsBytes + former.fieldsBytes),
        let next = try self.piece(of: reading.rest(behind: end), bytes: reading.bytes, reading.effort)
      else { break }
      part = next
      execution = execution.adding(next.execution)
    }
    // Documents behind the first end are not known yet.
    if let known = past.end, end.map({ piece.compare(known, $0) == .ascending }) ?? true { end = known }
    var result = unchanged + past.documents
    if let end {
      let behind = try reading.rest(behind: end)
      result.removeAll { behind.matches($0) }
    }
    result.sort { piece.compare($0, $1) == .ascending }
    if let last = lastIndex(of: result, reading) {
      result.removeSubrange((last + 1)...)
      end = result.last
    }
    execution.resultCount = result.count
    return PastPiece(documents: result, execution: execution, end: end)
  }

  /// The last document that has room in a piece; nil if all have.
  private func lastIndex(of documents: [Document], _ reading: PastPieceReading) -> Int? {
    var bytes = 0
    for (index, document) in documents.enumerated().dropLast() {
      bytes += document.fields.bytes.count
      if reading.isFull(index + 1, bytes: bytes) { return index }
    }
    return nil
  }
}
