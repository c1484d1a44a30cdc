#if PostgreSQL
  internal import CPostgres

  /// The result of one call: rows of typed columns, or the number of rows that a statement has changed.
  ///
  /// Each access of a row checks the type, the length and the null, and throws `badResult` with the name of the statement, the row and the column.
  /// Integers may be read as wider ones. Values stay in the memory of the result until they are read.
  package final class PostgresRows: @unchecked Sendable, RandomAccessCollection {
    package let count: Int
    package let columnCount: Int
    /// The number of rows that INSERT, UPDATE, DELETE or SELECT report; 0 for other statements.
    package let affectedCount: Int
    let statementName: String

    // Sendable: libpq's functions only read a result after it has arrived ("PGresult objects are normally read-only after creation, and so
    // can be passed around freely between threads", section 34.20 of PostgreSQL's manual). It is freed once, by the last owner.
    private let result: OpaquePointer

    /// - Parameter result: Freed with this object.
    init(result: OpaquePointer, statementName: String) {
      self.result = result
      self.statementName = statementName
      count = Int(PQntuples(result))
      columnCount = Int(PQnfields(result))
      affectedCount = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    deinit { PQclear(result) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(row: Int) -> PostgresRow { PostgresRow(rows: self, index: row) }

    /// The only row of a result.
    ///
    /// - Throws: `badResult` if there is none, or more than one.
    package func only() throws(PostgresError) -> PostgresRow {
      guard count == 1 else {
        throw PostgresError(.badResult, "The result has \(count) rows instead of one.", statementName: statementName)
      }
      return self[0]
    }

    /// The bytes of a value in place, or nil for null. They are valid as long as this object.
    ///
    /// - Parameters:
    ///   - types: The types that the column may have.
    ///   - length: The number of bytes that the value must have, if its type has a fixed one.
    func value(
      row: Int, column: Int, types: [PostgresType], as reading: StaticString
    ) throws(PostgresError) -> UnsafeRawBufferPointer? {
      guard row >= 0, row < count, column >= 0, column < columnCount else {
        throw bad("does not exist in \(count) rows of \(columnCount) columns", row, column, reading)
      }
      let (row32, column32) = (Int32(row), Int32(column))
      let oid = PQftype(result, column32)
      guard types.contains(where: { $0.oid == oid }) else { throw bad("has the type \(oid)", row, column, reading) }
      guard PQfformat(result, column32) == 1 else { throw bad("is not binary", row, column, reading) }
      if PQgetisnull(result, row32, column32) == 1 { return nil }
      return UnsafeRawBufferPointer(
        start: PQgetvalue(result, row32, column32), count: Int(PQgetlength(result, row32, column32)))
    }

    func bad(_ what: String, _ row: Int, _ column: Int, _ reading: StaticString) -> PostgresError {
      PostgresError(
        .badResult, "Row \(row), column \(column) \(what); it is read as \(reading).", statementName: statementName)
    }
  }
#endif
