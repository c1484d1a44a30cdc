#if PostgreSQL
  /// One row of a result. Columns are counted from 0.
  package struct PostgresRow {
    package let rows: PostgresRows
    package let index: Int

    package func int64(_ column: Int) throws(PostgresError) -> Int64 {
      try present(optionalInt64(column), column, "an integer")
    }

    package func optionalInt64(_ column: Int) throws(PostgresError) -> Int64? {
      try integer(column, [.int8, .int4, .int2], "an int8")
    }

    package func int32(_ column: Int) throws(PostgresError) -> Int32 {
      try present(optionalInt32(column), column, "an int4")
    }

    package func optionalInt32(_ column: Int) throws(PostgresError) -> Int32? {
      try integer(column, [.int4, .int2], "an int4")
    }

    package func int16(_ column: Int) throws(PostgresError) -> Int16 {
      try present(optionalInt16(column), column, "an int2")
    }

    package func optionalInt16(_ column: Int) throws(PostgresError) -> Int16? {
      try integer(column, [.int2], "an int2")
    }

    package func bool(_ column: Int) throws(PostgresError) -> Bool {
      try present(optionalBool(column), column, "a bool")
    }

    package func optionalBool(_ column: Int) throws(PostgresError) -> Bool? {
      guard let value = try value(column, [.bool], "a bool") else { return nil }
      guard value.count == 1 else { throw bad("has \(value.count) bytes", column, "a bool") }
      return value[0] != 0
    }

    /// A copy of a `bytea`.
    package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
      try present(optionalBytes(column), column, "a bytea")
    }

    package func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? {
      try value(column, [.bytea], "a bytea").map { [UInt8]($0) }
    }

    /// The bytes of a `bytea` or `text` in place, without a copy. They are valid during the call.
    ///
    /// - Throws: The errors of `body` too.
    package func withBytes<Result>(
      _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
      try body(present(value(column, [.bytea, .text], "bytes"), column, "bytes"))
    }

    /// As ``withBytes(_:_:)``, with nil for null.
    package func withOptionalBytes<Result>(
      _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
    ) throws -> Result {
      try body(value(column, [.bytea, .text], "bytes"))
    }

    package func text(_ column: Int) throws(PostgresError) -> String {
      try present(optionalText(column), column, "a text")
    }

    package func optionalText(_ column: Int) throws(PostgresError) -> String? {
      guard let value = try value(column, [.text], "a text") else { return nil }
      guard let text = String(validating: value, as: UTF8.self) else { throw bad("is not UTF-8", column, "a text") }
      return text
    }

    /// A `timestamptz` in microseconds since 1970-01-01 00:00:00 UTC.
    package func microseconds(_ column: Int) throws(PostgresError) -> Int64 {
      try present(optionalMicroseconds(column), column, "a timestamptz")
    }

    package func optionalMicroseconds(_ column: Int) throws(PostgresError) -> Int64? {
      guard let value = try value(column, [.timestamptz], "a timestamptz") else { return nil }
      guard value.count == 8 else { throw bad("has \(value.count) bytes", column, "a timestamptz") }
      guard let time = PostgresEpoch.unixTime(server: Int64(bigEndian: value.loadUnaligned(as: Int64.self))) else {
        throw bad("is infinite", column, "a timestamptz")
      }
      return time
    }

    package func isNull(_ column: Int) throws(PostgresError) -> Bool {
      try value(column, PostgresType.allCases, "a value") == nil
    }
  }

  // MARK: - Checks

  extension PostgresRow {
    func value(
      _ column: Int, _ types: [PostgresType], _ reading: StaticString
    ) throws(PostgresError) -> UnsafeRawBufferPointer? {
      try rows.value(row: index, column: column, types: types, as: reading)
    }

    func bad(_ what: String, _ column: Int, _ reading: StaticString) -> PostgresError {
      rows.bad(what, index, column, reading)
    }

    func present<Value>(_ value: Value?, _ column: Int, _ reading: StaticString) throws(PostgresError) -> Value {
      guard let value else { throw bad("is null", column, reading) }
      return value
    }

    /// An integer of one of these types, which all fit into the result. The length in bytes is the type's.
    private func integer<Integer: FixedWidthInteger>(
      _ column: Int, _ types: [PostgresType], _ reading: StaticString
    ) throws(PostgresError) -> Integer? {
      guard let value = try value(column, types, reading) else { return nil }
      let wide: Int64? =
        switch value.count {
        case 8: Int64(bigEndian: value.loadUnaligned(as: Int64.self))
        case 4: Int64(Int32(bigEndian: value.loadUnaligned(as: Int32.self)))
        case 2: Int64(Int16(bigEndian: value.loadUnaligned(as: Int16.self)))
        default: nil
        }
      guard let integer = wide.flatMap({ Integer(exactly: $0) }) else {
        throw bad("has \(value.count) bytes", column, reading)
      }
      return integer
    }
  }
#endif
