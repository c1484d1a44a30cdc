#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

/// SQLite without anything of ours: what the floors are measured with.
///
/// One table with the same ids and fields, clustered by a number as ours is, and an index on the id.
public final class RawDatabase {
  private let connection: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]

  public struct Failure: Error {
    public var message: String
  }

  public init(path: String, synchronous: String = "NORMAL") throws {
    var connection: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK, let connection else {
      throw Failure(message: "cannot open \(path)")
    }
    self.connection = connection
    try execute("PRAGMA page_size = 8192")
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA cache_size = -8192")
    try execute("PRAGMA synchronous = \(synchronous)")
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(connection)
  }

  public func makeTable() throws {
    try execute("CREATE TABLE documents (place INTEGER PRIMARY KEY, id TEXT NOT NULL, fields BLOB NOT NULL)")
    try execute("CREATE UNIQUE INDEX documents_by_id ON documents (id)")
  }

  public func execute(_ sql: String) throws {
    guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
      throw Failure(message: "\(String(cString: sqlite3_errmsg(connection))): \(sql)")
    }
  }

  private func statement(_ sql: String) throws -> OpaquePointer {
    if let statement = statements[sql] {
      sqlite3_reset(statement)
      return statement
    }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw Failure(message: "\(String(cString: sqlite3_errmsg(connection))): \(sql)")
    }
    statements[sql] = statement
    return statement
  }

  private func finish(_ statement: OpaquePointer) throws {
    guard sqlite3_step(statement) == SQLITE_DONE else {
      throw Failure(message: String(cString: sqlite3_errmsg(connection)))
    }
  }

  private func bind(_ text: String, _ index: Int32, _ statement: OpaquePointer) {
    sqlite3_bind_text(statement, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
  }

  private func bind(_ bytes: [UInt8], _ index: Int32, _ statement: OpaquePointer) {
    _ = bytes.withUnsafeBytes {
      sqlite3_bind_blob(
        statement, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
  }

  /// A value of a statement's parameter.
  public enum Binding {
    case text(String)
    case bytes([UInt8])
    case integer(Int)
  }

  /// Executes a statement and touches the bytes of each column of its rows.
  ///
  /// - Returns: the number of rows.
  @discardableResult
  public func run(_ sql: String, _ bindings: Binding...) throws -> Int {
    let statement = try statement(sql)
    for (index, binding) in bindings.enumerated() {
      switch binding {
      case .text(let text): bind(text, Int32(index + 1), statement)
      case .bytes(let bytes): bind(bytes, Int32(index + 1), statement)
      case .integer(let number): sqlite3_bind_int64(statement, Int32(index + 1), Int64(number))
      }
    }
    var rowCount = 0
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rowCount += 1
      case SQLITE_DONE:
        sqlite3_reset(statement)
        return rowCount
      default: throw Failure(message: String(cString: sqlite3_errmsg(connection)))
      }
      for column in 0..<sqlite3_column_count(statement) { _ = sqlite3_column_blob(statement, column) }
    }
  }

  // MARK: - The least work

  public func insert(id: String, fields: [UInt8]) throws {
    let statement = try statement("INSERT INTO documents (id, fields) VALUES (?, ?)")
    bind(id, 1, statement)
    bind(fields, 2, statement)
    try finish(statement)
  }

  public func update(id: String, fields: [UInt8]) throws {
    let statement = try statement("UPDATE documents SET fields = ?2 WHERE id = ?1")
    bind(id, 1, statement)
    bind(fields, 2, statement)
    try finish(statement)
  }

  public func delete(id: String) throws {
    let statement = try statement("DELETE FROM documents WHERE id = ?")
    bind(id, 1, statement)
    try finish(statement)
  }

  /// Goes through all rows and touches the bytes of each. Returns a number that depends on them.
  public func scan() throws -> Int {
    let statement = try statement("SELECT fields FROM documents")
    var sum = 0
    while sqlite3_step(statement) == SQLITE_ROW {
      let bytes = sqlite3_column_blob(statement, 0)
      let count = Int(sqlite3_column_bytes(statement, 0))
      guard let bytes, count > 0 else { continue }
      sum &+= count &+ Int(bytes.load(fromByteOffset: count - 1, as: UInt8.self))
    }
    return sum
  }

  /// Copies all rows out.
  public func copyAll() throws -> [(id: String, fields: [UInt8])] {
    let statement = try statement("SELECT id, fields FROM documents")
    var rows: [(id: String, fields: [UInt8])] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      let id = String(cString: sqlite3_column_text(statement, 0))
      rows.append((id, bytes(statement, 1)))
    }
    return rows
  }

  public func read(id: String) throws -> [UInt8]? {
    let statement = try statement("SELECT fields FROM documents WHERE id = ?")
    bind(id, 1, statement)
    return sqlite3_step(statement) == SQLITE_ROW ? bytes(statement, 0) : nil
  }

  private func bytes(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] {
    let start = sqlite3_column_blob(statement, column)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
  }
}
