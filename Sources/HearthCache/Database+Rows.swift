internal import HearthModel
internal import HearthStore

/// A value for one `?` of a statement.
enum Parameter {
  case integer(Int64)
  case text(String)
  case blob([UInt8])
}

extension Database {
  /// Runs a statement that returns no rows.
  func update(_ sql: String, _ parameters: Parameter...) throws {
    try update(sql, parameters)
  }

  func update(_ sql: String, _ parameters: [Parameter]) throws {
    try withStatement(sql, parameters) { _ = try $0.step() }
  }

  /// Calls `body` for each row until it returns false.
  func forEachRow(_ sql: String, _ parameters: Parameter..., body: (Statement) throws -> Bool) throws {
    try withStatement(sql, parameters) { statement in
      while try statement.step() {
        guard try body(statement) else { return }
      }
    }
  }

  /// What `body` makes of the first row, or nil when there is none.
  func firstRow<T>(_ sql: String, _ parameters: Parameter..., body: (Statement) throws -> T) throws -> T? {
    try withStatement(sql, parameters) { try $0.step() ? body($0) : nil }
  }

  private func withStatement<T>(_ sql: String, _ parameters: [Parameter], _ body: (Statement) throws -> T) throws -> T {
    let statement = try prepare(sql)
    for (index, parameter) in parameters.enumerated() {
      switch parameter {
      case .integer(let value): try statement.bind(index + 1, value)
      case .text(let value): try statement.bind(index + 1, value)
      case .blob(let value): try statement.bind(index + 1, value)
      }
    }
    return try body(statement)
  }
}

extension Statement {
  /// Reads a version from two columns: seconds, then nanoseconds (0 up to 999,999,999).
  func version(at column: Int, table: String, row: String) throws -> SnapshotVersion {
    let nanos = try int64(at: column + 1)
    guard (0..<1_000_000_000).contains(nanos), let nanoseconds = Int32(exactly: nanos) else {
      throw CacheError.corruptRecord(
        table: table, row: row, reason: "a version has \(nanos) nanoseconds (allowed are 0 up to 999999999)")
    }
    return SnapshotVersion(Timestamp(seconds: try int64(at: column), nanoseconds: nanoseconds))
  }

  /// Reads a document key from its canonical string.
  func documentKey(at column: Int, table: String) throws -> DocumentKey {
    let path = try string(at: column)
    do {
      return try DocumentKey(ResourcePath(canonical: path))
    } catch {
      throw CacheError.corruptRecord(table: table, row: path, reason: "not a document path (\(error))")
    }
  }
}
