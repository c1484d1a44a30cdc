#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import Testing

  @Suite("Values", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct PostgresValueTests {
    /// The row that the server makes of parameters.
    private func row(_ sql: String, _ types: [PostgresType], _ values: [PostgresValue]) async throws -> PostgresRows {
      try await PostgresServer.sharedValues.withSession(deadline: .now + .seconds(30)) { session in
        try session.run(PostgresCall(PostgresStatement("echo", sql, types), values))
      }
    }

    @Test("integers of all widths come back, also the extreme ones")
    func integers() async throws {
      for value in [0, 1, -1, .max, .min, 1 << 40] as [Int64] {
        let rows = try await row("SELECT $1::int8, ($1 % 7)::int4", [.int8], [.int8(value)])
        #expect(try rows.only().int64(0) == value)
        #expect(try rows.only().int64(1) == value % 7)
      }
      for value in [0, -1, .max, .min] as [Int32] {
        let row = try await row("SELECT $1::int4", [.int4], [.int4(value)]).only()
        #expect(try row.int32(0) == value)
        #expect(try row.int64(0) == Int64(value))
      }
      for value in [0, -1, .max, .min] as [Int16] {
        let row = try await row("SELECT $1::int2", [.int2], [.int2(value)]).only()
        #expect(try row.int16(0) == value)
        #expect(try row.int32(0) == Int32(value))
      }
    }

    @Test("Booleans come back")
    func booleans() async throws {
      let row = try await row(
        "SELECT $1::bool, $2::bool, NULL::bool", [.bool, .bool], [.bool(true), .bool(false)]
      ).only()
      #expect(try row.bool(0))
      #expect(try !row.bool(1))
      #expect(try row.optionalBool(2) == nil)
    }

    @Test("bytes come back, also none, zeros, all values and 3 MiB")
    func bytes() async throws {
      let values: [[UInt8]] = [
        [], [0], [0, 0, 0], Array(0...255), Array(repeating: 0xFF, count: 3 << 20), Array("a\0b".utf8),
      ]
      for value in values {
        let row = try await row("SELECT $1::bytea, length($1)", [.bytea], [.bytea(value)]).only()
        #expect(try row.bytes(0) == value)
        #expect(try row.int32(1) == Int32(value.count))
        #expect(try row.withBytes(0) { [UInt8]($0) } == value)
      }
    }

    @Test("texts come back, and U+0000 is refused by the server")
    func texts() async throws {
      for value in ["", "a", "ä€😀", "'; DROP TABLE x", String(repeating: "é", count: 100_000)] {
        let row = try await row("SELECT $1::text", [.text], [.text(value)]).only()
        #expect(try row.text(0) == value)
      }
      let error = await #expect(throws: PostgresError.self) {
        try await row("SELECT $1::text", [.text], [.text("a\0b")])
      }
      #expect(error?.kind == .statement)
      #expect(error?.sqlState == SQLState("22021"))
    }

    @Test(
      "times come back in microseconds since 1970",
      arguments: [0, 1, -1, 1_795_959_438_793_770, -62_135_596_800_000_000])
    func times(microseconds: Int64) async throws {
      let row = try await row(
        "SELECT $1::timestamptz, (extract(epoch FROM $1) * 1000000)::int8", [.timestamptz],
        [.timestamptz(microseconds: microseconds)]
      ).only()
      #expect(try row.microseconds(0) == microseconds)
      #expect(try row.int64(1) == microseconds)
    }

    @Test("an infinite time is an error of its reader")
    func infiniteTimes() async throws {
      let row = try await row("SELECT 'infinity'::timestamptz, '-infinity'::timestamptz", [], []).only()
      for column in 0...1 {
        let error = #expect(throws: PostgresError.self) { try row.microseconds(column) }
        #expect(error?.kind == .badResult)
      }
    }

    @Test("nulls of each type are nil")
    func nulls() async throws {
      let row = try await row(
        "SELECT $1::int8, $2::bytea, $3::text, $4::timestamptz, $5::int4, $6::int2",
        [.int8, .bytea, .text, .timestamptz, .int4, .int2], Array(repeating: .null, count: 6)
      ).only()
      #expect(try row.optionalInt64(0) == nil)
      #expect(try row.optionalBytes(1) == nil)
      #expect(try row.optionalText(2) == nil)
      #expect(try row.optionalMicroseconds(3) == nil)
      #expect(try row.optionalInt32(4) == nil)
      #expect(try row.optionalInt16(5) == nil)
      #expect(try row.withOptionalBytes(1) { $0 == nil })
      for column in 0..<6 { #expect(try row.isNull(column)) }
    }

    @Test("arrays come back, also empty ones, nulls and zeros")
    func arrays() async throws {
      for values in [[], [0], [.max, .min, -1]] as [[Int64]] {
        let row = try await row("SELECT $1::int8[], cardinality($1)", [.int8Array], [.int8Array(values)]).only()
        #expect(try row.int64Array(0) == values)
        #expect(try row.int32(1) == Int32(values.count))
      }
      for values in [[], [nil], [1, nil, 3], [1, 2]] as [[Int64?]] {
        let row = try await row("SELECT $1::int8[]", [.int8Array], [.nullableInt8Array(values)]).only()
        #expect(try row.nullableInt64Array(0) == values)
      }
      for values in [[], [[]], [[0], [1, 0, 2], Array(0...255)]] as [[[UInt8]]] {
        let row = try await row("SELECT $1::bytea[]", [.byteaArray], [.byteaArray(values)]).only()
        #expect(try row.bytesArray(0) == values)
      }
      for values in [[nil], [[], nil, [0]]] as [[[UInt8]?]] {
        let row = try await row("SELECT $1::bytea[]", [.byteaArray], [.nullableByteaArray(values)]).only()
        #expect(try row.nullableBytesArray(0) == values)
      }
    }

    @Test("arrays of parameters are tables to the server")
    func unnestedArrays() async throws {
      let rows = try await row(
        """
        SELECT a, b, c, d, e, f FROM
          unnest($1::int8[], $2::bytea[], $3::int4[], $4::int2[], $5::bool[], $6::text[]) AS t (a, b, c, d, e, f)
        """,
        [.int8Array, .byteaArray, .int4Array, .int2Array, .boolArray, .textArray],
        [
          .int8Array([1, 2]), .nullableByteaArray([[0], nil]), .int4Array([3, -4]), .int2Array([5, .min]),
          .boolArray([true, false]), .textArray(["", "ü"]),
        ])
      #expect(rows.count == 2)
      #expect(rows.affectedCount == 2)
      #expect(try rows.map { row in try row.int64(0) } == [1, 2])
      #expect(try rows.map { row in try row.optionalBytes(1) } == [[0], nil])
      #expect(try rows.map { row in try row.int32(2) } == [3, -4])
      #expect(try rows.map { row in try row.int16(3) } == [5, .min])
      #expect(try rows.map { row in try row.bool(4) } == [true, false])
      #expect(try rows.map { row in try row.text(5) } == ["", "ü"])
    }

    @Test("an array of 100,000 elements comes back")
    func longArrays() async throws {
      let values = (0..<100_000).map { Int64($0) << 20 }
      let row = try await row(
        "SELECT $1::int8[], $2::bytea[]", [.int8Array, .byteaArray],
        [.int8Array(values), .byteaArray(values.map { withUnsafeBytes(of: $0) { Array($0) } })]
      ).only()
      #expect(try row.int64Array(0) == values)
      #expect(try row.bytesArray(1).count == values.count)
    }

    @Test("a reader that expects something else gets an error that names statement, row and column")
    func wrongReaders() async throws {
      let rows = try await row(
        "SELECT 1::int8, 'x'::text, NULL::bytea, ARRAY[1,NULL]::int8[], ARRAY[[1,2],[3,4]]::int8[], 1.5", [], [])
      let row = try rows.only()
      let failures: [() throws -> Void] = [
        { _ = try row.bytes(0) }, { _ = try row.int32(0) }, { _ = try row.int64(1) }, { _ = try row.bytes(2) },
        { _ = try row.int64Array(3) }, { _ = try row.nullableInt64Array(4) }, { _ = try row.bytesArray(3) },
        { _ = try row.int64(6) }, { _ = try row.int64(-1) }, { _ = try rows[1].int64(0) },
        { _ = try rows[-1].int64(0) }, { _ = try row.text(5) }, { _ = try row.microseconds(0) },
        { _ = try row.bool(0) },
      ]
      for (index, failure) in failures.enumerated() {
        let error = #expect(throws: PostgresError.self, "failure \(index)") { try failure() }
        #expect(error?.kind == .badResult)
        #expect(error?.statementName == "echo")
      }
      let error = #expect(throws: PostgresError.self) { try row.bytes(2) }
      #expect(error?.description == "echo: Row 0, column 2 is null; it is read as a bytea.")
      let missing = #expect(throws: PostgresError.self) { try row.int64(99) }
      #expect(
        missing?.description.hasPrefix("echo: Row 0, column 99 does not exist in \(rows.count) rows of ") == true,
        "\(missing?.description ?? "none")")
    }

    @Test("the only row of a result is neither none nor one of two")
    func onlyRow() async throws {
      for count in [0, 2] {
        let rows = try await row("SELECT generate_series(1, \(count))", [], [])
        let error = #expect(throws: PostgresError.self) { try rows.only() }
        #expect(error?.kind == .badResult)
      }
    }
  }

  extension PostgresServer {
    /// The sessions of these tests, which change nothing.
    fileprivate static var sharedValues: PostgresPool {
      get async throws { try await values.value }
    }

    private static let values = Task { try await sharedPool(size: 4) }
  }
#endif
