internal import HearthModel

#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

/// A prepared statement, checked out of its database's cache.
///
/// When the last reference is released, even because of a thrown error, the statement is reset, its parameters are cleared and it returns
/// to the cache. So a statement is never left half stepped. Code that runs while another statement with the same text is being stepped gets
/// a statement of its own.
///
/// ```swift
/// let statement = try database.prepare("SELECT name FROM cities WHERE population > ?")
/// try statement.bind(1, 1_000_000)
/// while try statement.step() { print(try statement.string(at: 0)) }
/// ```
///
/// Parameters count from 1 and columns from 0, as in SQLite.
package final class Statement {
  package let sql: String
  private let database: Database
  private let handle: OpaquePointer
  private let idle: Database.IdleStatements

  init(sql: String, database: Database, handle: OpaquePointer, idle: Database.IdleStatements) {
    self.sql = sql
    self.database = database
    self.handle = handle
    self.idle = idle
  }

  deinit {
    database.giveBack(handle, to: idle)
  }

  // MARK: - Parameters

  package func bind(_ index: Int, _ value: Int64) throws(StoreError) {
    try check(sqlite3_bind_int64(handle, Int32(clamping: index), value))
  }

  package func bind(_ index: Int, _ value: Int) throws(StoreError) {
    try bind(index, Int64(value))
  }

  /// Binds text. It is stored as its UTF-8 bytes and compares as they do.
  package func bind(_ index: Int, _ value: String) throws(StoreError) {
    var value = value
    let code = value.withUTF8 { utf8 -> Int32 in
      // An empty buffer may have no address, and SQLite reads no address as NULL.
      guard let base = utf8.baseAddress else {
        return sqlite3_bind_text(handle, Int32(clamping: index), "", 0, sqliteTransient)
      }
      return base.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
        sqlite3_bind_text(handle, Int32(clamping: index), $0, Int32(clamping: utf8.count), sqliteTransient)
      }
    }
    try check(code)
  }

  package func bind(_ index: Int, _ value: [UInt8]) throws(StoreError) {
    let code = value.withUnsafeBytes { bindBlob(index, $0) }
    try check(code)
  }

  package func bind(_ index: Int, _ value: [UInt8]?) throws(StoreError) {
    if let value { try bind(index, value) } else { try bindNull(index) }
  }

  package func bindNull(_ index: Int) throws(StoreError) {
    try check(sqlite3_bind_null(handle, Int32(clamping: index)))
  }

  private func bindBlob(_ index: Int, _ bytes: UnsafeRawBufferPointer) -> Int32 {
    guard let base = bytes.baseAddress, bytes.count > 0 else {
      return sqlite3_bind_zeroblob(handle, Int32(clamping: index), 0)
    }
    guard bytes.count <= Int(Int32.max) else { return SQLITE_TOOBIG }
    return sqlite3_bind_blob(handle, Int32(clamping: index), base, Int32(bytes.count), sqliteTransient)
  }

  // MARK: - Execution

  /// Goes to the next row.
  /// - Returns: false when there is none; a statement that returns no rows has then done its work.
  @discardableResult
  package func step() throws(StoreError) -> Bool {
    try database.checkUse(of: sql)
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = database.failure(code, statement: sql)
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Executes a statement that returns no rows and makes it ready to be executed again.
  package func run() throws(StoreError) {
    while try step() {}
    sqlite3_reset(handle)
  }

  /// Makes the statement ready to be bound and executed again. Parameters keep their values.
  package func reset() {
    sqlite3_reset(handle)
  }

  // MARK: - Columns of the current row

  package var columnCount: Int { Int(sqlite3_column_count(handle)) }

  package func isNull(at column: Int) -> Bool {
    sqlite3_column_type(handle, Int32(clamping: column)) == SQLITE_NULL
  }

  /// The integer in a column; ``StoreError/Kind/corrupt`` when something else is there.
  package func int64(at column: Int) throws(StoreError) -> Int64 {
    guard sqlite3_column_type(handle, Int32(clamping: column)) == SQLITE_INTEGER else {
      throw unexpectedType(at: column, expected: "an integer")
    }
    return sqlite3_column_int64(handle, Int32(clamping: column))
  }

  /// The text in a column; ``StoreError/Kind/corrupt`` when something else, or text that is not UTF-8, is there.
  package func string(at column: Int) throws(StoreError) -> String {
    let text = try withText(at: column) { String(wellFormedUTF8: $0) }
    guard let text else {
      throw .corrupt("\(place(of: column)) holds text that is not UTF-8")
    }
    return text
  }

  package func bytes(at column: Int) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    try withBlob(at: column) { bytes = [UInt8]($0) }
    return bytes
  }

  /// Calls `body` with SQLite's own bytes of a blob, which are valid until it returns.
  package func withBytes<R>(at column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    try checkType(at: column, is: SQLITE_BLOB, expected: "a blob")
    return try body(rawBytes(at: column))
  }

  /// SQLite's own bytes of a blob, which are valid until the statement moves on or is reset.
  func blob(at column: Int) throws(StoreError) -> UnsafeRawBufferPointer {
    try checkType(at: column, is: SQLITE_BLOB, expected: "a blob")
    return rawBytes(at: column)
  }

  /// The size of a blob; 0 for NULL.
  func byteCount(at column: Int) -> Int { Int(sqlite3_column_bytes(handle, Int32(clamping: column))) }

  /// Calls `body` with SQLite's own UTF-8 bytes of a text, which are valid until it returns.
  package func withUTF8<R>(at column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    try checkType(at: column, is: SQLITE_TEXT, expected: "text")
    _ = sqlite3_column_text(handle, Int32(clamping: column))
    return try body(rawBytes(at: column))
  }

  private func withText<R>(at column: Int, _ body: (UnsafeRawBufferPointer) -> R) throws(StoreError) -> R {
    try checkType(at: column, is: SQLITE_TEXT, expected: "text")
    _ = sqlite3_column_text(handle, Int32(clamping: column))
    return body(rawBytes(at: column))
  }

  private func withBlob(at column: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws(StoreError) {
    try checkType(at: column, is: SQLITE_BLOB, expected: "a blob")
    body(rawBytes(at: column))
  }

  /// Type first, then the address, then the length: the order in which SQLite keeps them consistent.
  @inline(__always)
  private func rawBytes(at column: Int) -> UnsafeRawBufferPointer {
    let base = sqlite3_column_blob(handle, Int32(clamping: column))
    let count = sqlite3_column_bytes(handle, Int32(clamping: column))
    return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(count))
  }

  private func checkType(at column: Int, is type: Int32, expected: String) throws(StoreError) {
    guard sqlite3_column_type(handle, Int32(clamping: column)) == type else {
      throw unexpectedType(at: column, expected: expected)
    }
  }

  private func unexpectedType(at column: Int, expected: String) -> StoreError {
    let found =
      switch sqlite3_column_type(handle, Int32(clamping: column)) {
      case SQLITE_INTEGER: "an integer"
      case SQLITE_FLOAT: "a real number"
      case SQLITE_TEXT: "text"
      case SQLITE_BLOB: "a blob"
      default: "NULL"
      }
    return .corrupt("\(place(of: column)) holds \(found) where \(expected) belongs")
  }

  private func place(of column: Int) -> String {
    let name = sqlite3_column_name(handle, Int32(clamping: column)).map { String(cString: $0) } ?? "\(column)"
    return "column \"\(name)\" of \(database.name) (\(sql))"
  }

  private func check(_ code: Int32) throws(StoreError) {
    guard code == SQLITE_OK else { throw database.failure(code, statement: sql) }
  }
}
