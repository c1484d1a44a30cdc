#if PostgreSQL
  internal import CPostgres

  /// The result of one call: rows of typed columns, or the number of rows that a statement has changed.
  ///
  /// Each access checks the type, the length and the null, and throws `badResult` with the name of the statement, the row and the column.
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

    init(result: OpaquePointer, statementName: String) {
      self.result = result
      self.statementName = statementName
      count = 0
      columnCount = 0
      affectedCount = 0
    }

    deinit { PQclear(result) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(row: Int) -> PostgresRow { PostgresRow(rows: self, index: row) }

    /// The only row of a result.
    ///
    /// - Throws: `badResult` if there is none, or more than one.
    package func only() throws(PostgresError) -> PostgresRow {
      throw PostgresError(.badResult, "not built yet")
    }

    /// Calls `body` with the bytes of a `bytea` or `text`, without a copy; with nil for null.
    package func withOptionalBytes<Result>(
      row: Int, column: Int, _ body: (UnsafeRawBufferPointer?) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
      throw PostgresError(.badResult, "not built yet")
    }
  }

  /// One row of a result. Columns are counted from 0.
  package struct PostgresRow {
    package let rows: PostgresRows
    package let index: Int

    package func isNull(_ column: Int) throws(PostgresError) -> Bool { throw unbuilt }

    package func int64(_ column: Int) throws(PostgresError) -> Int64 { throw unbuilt }
    package func optionalInt64(_ column: Int) throws(PostgresError) -> Int64? { throw unbuilt }
    package func int32(_ column: Int) throws(PostgresError) -> Int32 { throw unbuilt }
    package func optionalInt32(_ column: Int) throws(PostgresError) -> Int32? { throw unbuilt }
    package func int16(_ column: Int) throws(PostgresError) -> Int16 { throw unbuilt }
    package func optionalInt16(_ column: Int) throws(PostgresError) -> Int16? { throw unbuilt }
    package func bool(_ column: Int) throws(PostgresError) -> Bool { throw unbuilt }
    package func optionalBool(_ column: Int) throws(PostgresError) -> Bool? { throw unbuilt }

    /// A copy of a `bytea`.
    package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] { throw unbuilt }
    package func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? { throw unbuilt }

    /// The bytes of a `bytea` or `text` in place. They are valid during the call.
    package func withBytes<Result>(
      _ column: Int, _ body: (UnsafeRawBufferPointer) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result { throw unbuilt }

    package func text(_ column: Int) throws(PostgresError) -> String { throw unbuilt }
    package func optionalText(_ column: Int) throws(PostgresError) -> String? { throw unbuilt }

    /// A `timestamptz` in microseconds since 1970-01-01 00:00:00 UTC.
    package func microseconds(_ column: Int) throws(PostgresError) -> Int64 { throw unbuilt }
    package func optionalMicroseconds(_ column: Int) throws(PostgresError) -> Int64? { throw unbuilt }

    package func int64Array(_ column: Int) throws(PostgresError) -> [Int64] { throw unbuilt }
    package func nullableInt64Array(_ column: Int) throws(PostgresError) -> [Int64?] { throw unbuilt }
    package func bytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]] { throw unbuilt }
    package func nullableBytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]?] { throw unbuilt }

    private var unbuilt: PostgresError { PostgresError(.badResult, "not built yet") }
  }
#endif
