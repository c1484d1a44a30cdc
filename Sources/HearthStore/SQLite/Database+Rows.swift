extension Statement {
  /// A value for one `?` of a statement.
  package enum Parameter: Sendable {
    case integer(Int64)
    case text(String)
    case blob([UInt8])
  }

  /// Binds the values to the first parameters, in order.
  fileprivate func bind(_ parameters: [Parameter]) throws(StoreError) {
    for (index, parameter) in parameters.enumerated() {
      switch parameter {
      case .integer(let value): try bind(index + 1, value)
      case .text(let value): try bind(index + 1, value)
      case .blob(let value): try bind(index + 1, value)
      }
    }
  }
}

/// Statements with their values, for everything except loops over many rows, which prepare a statement once and bind by number.
extension Database {
  /// A statement whose parameters have these values.
  package func prepare(_ sql: String, _ parameters: Statement.Parameter...) throws(StoreError) -> Statement {
    try prepare(sql, parameters)
  }

  package func prepare(_ sql: String, _ parameters: [Statement.Parameter]) throws(StoreError) -> Statement {
    let statement = try prepare(sql)
    try statement.bind(parameters)
    return statement
  }

  /// Runs a statement that returns no rows.
  package func update(_ sql: String, _ parameters: Statement.Parameter...) throws(StoreError) {
    try update(sql, parameters)
  }

  package func update(_ sql: String, _ parameters: [Statement.Parameter]) throws(StoreError) {
    try prepare(sql, parameters).step()
  }

  /// Calls `body` for each row until it returns false.
  package func forEachRow(
    _ sql: String, _ parameters: Statement.Parameter..., body: (Statement) throws -> Bool
  ) throws {
    let statement = try prepare(sql, parameters)
    while try statement.step() {
      guard try body(statement) else { return }
    }
  }

  /// Returns the result of `body` for the first row, or nil when there is none.
  package func firstRow<T>(
    _ sql: String, _ parameters: Statement.Parameter..., body: (Statement) throws -> T
  ) throws -> T? {
    let statement = try prepare(sql, parameters)
    return try statement.step() ? try body(statement) : nil
  }
}
