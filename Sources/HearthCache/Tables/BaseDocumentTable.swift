internal import HearthModel
internal import HearthStore

/// The documents that pending writes are based on, per user, where a rule for conflicts contains them.
///
/// A row exists only while the user has a pending batch for the document. A batch that was written without a rule has none, unless a later
/// one of the document was written under a rule.
struct BaseDocumentTable {
  typealias UserRow = MutationQueue.UserRow

  let database: Database

  /// Added to the state of the next document, see ``HearthModel/BaseDocument/nextIsApart``.
  private static let apart: Int64 = 4

  private enum State: Int64 {
    case none = -1
    case unknown = 0
    case missing = 1
    case found = 2

    init(_ document: Document?) {
      switch document?.kind {
      case nil: self = .none
      case .found: self = .found
      case .missing: self = .missing
      case .unknown, .foundWithUnknownContents: self = .unknown
      }
    }
  }

  /// True if no document of any user has one, as in a cache without rules for conflicts.
  var isEmpty: Bool {
    get throws { try database.firstRow("SELECT 1 FROM cache_base_documents LIMIT 1") { _ in true } == nil }
  }

  /// Nil if the user has none for the document.
  func base(of key: DocumentKey, user: UserRow) throws -> BaseDocument? {
    try database.firstRow(
      "\(Self.select) WHERE hash = ? AND user_id = ? AND path = ?", .integer(Self.hash(of: key, user: user)),
      .integer(user), .text(key.canonicalString)
    ) { try Self.decode($0, key) }
  }

  /// All columns of a row, in the order in which ``entry(_:)`` reads them.
  static let select = """
    SELECT state, seconds, nanos, fields, is_outdated, next_state, next_fields, copy_name, user_id, path, hash
    FROM cache_base_documents
    """

  /// Decodes a row of ``select``.
  static func entry(_ row: Statement) throws -> (user: UserRow, key: DocumentKey, base: BaseDocument) {
    let (user, key) = (try row.int64(at: 8), try row.documentKey(at: 9, table: "cache_base_documents"))
    guard try row.int64(at: 10) == hash(of: key, user: user) else {
      throw CacheError.corruptRecord(
        table: "cache_base_documents", row: key.canonicalString, reason: "its hash is that of another user or document")
    }
    return (user, key, try decode(row, key))
  }

  private static func decode(_ row: Statement, _ key: DocumentKey) throws -> BaseDocument {
    func damage(_ reason: String) -> CacheError {
      .corruptRecord(table: "cache_base_documents", row: key.canonicalString, reason: reason)
    }
    func document(state: Int64, fields: Int, version: SnapshotVersion) throws -> Document? {
      guard let state = State(rawValue: state) else { throw damage("the state is none") }
      switch state {
      case .none: return nil
      case .unknown: return .unknown(key)
      case .missing: return .missing(key, version: version)
      case .found:
        do {
          return .found(key, version: version, fields: try EncodedFields(validating: try row.bytes(at: fields)))
        } catch let error as WireFormatError {
          throw damage("\(error)")
        }
      }
    }
    let version = try row.version(at: 1, table: "cache_base_documents", row: key.canonicalString)
    guard let first = try document(state: row.int64(at: 0), fields: 3, version: version) else {
      throw damage("it has no document")
    }
    let nextState = try row.int64(at: 5)
    let isApart = nextState >= Self.apart
    var base = BaseDocument(
      first, isOutdated: try row.int64(at: 4) != 0,
      next: try document(state: isApart ? nextState - Self.apart : nextState, fields: 6, version: .none),
      copyName: try row.string(at: 7))
    base.nextIsApart = isApart
    return base
  }

  /// Stores the base of the first pending batch of a document; a later batch changes nothing.
  func insertIfMissing(_ document: Document, user: UserRow) throws {
    try save(BaseDocument(document), of: document.key, user: user, "IGNORE")
  }

  func set(_ base: BaseDocument, of key: DocumentKey, user: UserRow) throws {
    try save(base, of: key, user: user, "REPLACE")
  }

  private func save(_ base: BaseDocument, of key: DocumentKey, user: UserRow, _ conflict: String) throws {
    assert(database.isInWriteTransaction, "a base document changes outside of a write transaction")
    let version = base.document.version.timestamp
    try database.update(
      """
      INSERT OR \(conflict) INTO cache_base_documents
        (hash, user_id, path, state, seconds, nanos, fields, is_outdated, next_state, next_fields, copy_name)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      .integer(Self.hash(of: key, user: user)), .integer(user), .text(key.canonicalString),
      .integer(State(base.document).rawValue), .integer(version.seconds),
      .integer(Int64(version.nanoseconds)), .blob(base.document.fields.bytes), .integer(base.isOutdated ? 1 : 0),
      .integer(State(base.next).rawValue + (base.nextIsApart ? Self.apart : 0)),
      .blob(base.next?.fields.bytes ?? []), .text(base.copyName))
  }

  func remove(_ key: DocumentKey, user: UserRow) throws {
    assert(database.isInWriteTransaction, "a base document changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_base_documents WHERE hash = ? AND user_id = ? AND path = ?",
      .integer(Self.hash(of: key, user: user)), .integer(user), .text(key.canonicalString))
  }

  /// The key of a row: FNV-1a, the same in every release. If two documents have the same hash, one has a row, and the base of the other
  /// counts as not known.
  private static func hash(of key: DocumentKey, user: UserRow) -> Int64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ UInt64(bitPattern: user)
    return Int64(
      bitPattern: key.canonicalString.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 })
  }

  /// Removes the rows that cannot be read, and those without a pending batch. A batch without a row counts as based on an unknown document.
  ///
  /// - Returns: The number of rows that could not be read.
  func repair() throws -> Int {
    assert(database.isInWriteTransaction, "a base document changes outside of a write transaction")
    try database.update(
      """
      DELETE FROM cache_base_documents WHERE NOT EXISTS (
        SELECT 1 FROM cache_batch_documents AS d
        WHERE d.user_id = cache_base_documents.user_id AND d.path = cache_base_documents.path)
      """)
    var damaged: [(user: UserRow, path: String)] = []
    try database.forEachRow(Self.select) { row in
      let key = try row.documentKey(at: 9, table: "cache_base_documents")
      if (try? Self.decode(row, key)) == nil { damaged.append((try row.int64(at: 8), key.canonicalString)) }
      return true
    }
    for (user, path) in damaged {
      try database.update(
        "DELETE FROM cache_base_documents WHERE user_id = ? AND path = ?", .integer(user), .text(path))
    }
    return damaged.count
  }
}
