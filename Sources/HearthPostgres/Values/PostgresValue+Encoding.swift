#if PostgreSQL
  extension PostgresValue {
    /// Appends the value in the binary format of its type, as the `…send` functions of PostgreSQL write it (`src/backend/utils/adt`).
    func append(to bytes: inout [UInt8]) {
      switch self {
      case .null: break
      case .int8(let value): bytes.appendBigEndian(value)
      case .int4(let value): bytes.appendBigEndian(value)
      case .int2(let value): bytes.appendBigEndian(value)
      case .bool(let value): bytes.append(value ? 1 : 0)
      case .bytea(let value): bytes.append(contentsOf: value)
      case .text(let value): bytes.append(contentsOf: value.utf8)
      case .timestamptz(let microseconds): bytes.appendBigEndian(PostgresEpoch.serverTime(unix: microseconds))
      case .int8Array(let values):
        bytes.appendArray(values, of: .int8) { $0.appendElement($1) }
      case .nullableInt8Array(let values):
        bytes.appendArray(values, of: .int8, hasNulls: values.contains(nil)) { $0.appendElement($1) }
      case .int4Array(let values):
        bytes.appendArray(values, of: .int4) { $0.appendElement($1) }
      case .int2Array(let values):
        bytes.appendArray(values, of: .int2) { $0.appendElement($1) }
      case .boolArray(let values):
        bytes.appendArray(values, of: .bool) { $0.appendElement(UInt8($1 ? 1 : 0)) }
      case .byteaArray(let values):
        bytes.appendArray(values, of: .bytea) { $0.appendElement(bytes: $1) }
      case .nullableByteaArray(let values):
        bytes.appendArray(values, of: .bytea, hasNulls: values.contains(nil)) { $0.appendElement(bytes: $1) }
      case .textArray(let values):
        bytes.appendArray(values, of: .text) { $0.appendElement(bytes: $1.utf8) }
      }
    }

    /// About the number of bytes that the value takes.
    var estimatedLength: Int {
      switch self {
      case .null: 0
      case .int8, .int4, .int2, .bool, .timestamptz: 8
      case .bytea(let value): value.count
      case .text(let value): value.utf8.count
      case .int8Array(let values): Self.arrayHeaderLength + values.count * 12
      case .nullableInt8Array(let values): Self.arrayHeaderLength + values.count * 12
      case .int4Array(let values): Self.arrayHeaderLength + values.count * 8
      case .int2Array(let values): Self.arrayHeaderLength + values.count * 6
      case .boolArray(let values): Self.arrayHeaderLength + values.count * 5
      case .byteaArray(let values): values.reduce(Self.arrayHeaderLength) { $0 + 4 + $1.count }
      case .nullableByteaArray(let values): values.reduce(Self.arrayHeaderLength) { $0 + 4 + ($1?.count ?? 0) }
      case .textArray(let values): values.reduce(Self.arrayHeaderLength) { $0 + 4 + $1.utf8.count }
      }
    }

    private static let arrayHeaderLength = 20
  }

  /// PostgreSQL counts microseconds from 2000-01-01, Unix from 1970-01-01.
  enum PostgresEpoch {
    private static let difference: Int64 = 946_684_800_000_000

    /// Times before the earliest one of the server become `-infinity`, which is its least number.
    static func serverTime(unix: Int64) -> Int64 {
      let (time, isOverflow) = unix.subtractingReportingOverflow(difference)
      return isOverflow ? .min : time
    }

    /// Nil for `infinity`, `-infinity` and times beyond an `Int64` of microseconds since 1970.
    static func unixTime(server: Int64) -> Int64? {
      guard server != .max, server != .min else { return nil }
      let (time, isOverflow) = server.addingReportingOverflow(difference)
      return isOverflow ? nil : time
    }
  }

  extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger) {
      Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// An array of one dimension, with subscripts from 1 (`array_send`). An empty one has no dimension.
    fileprivate mutating func appendArray<Value>(
      _ values: [Value], of type: PostgresType, hasNulls: Bool = false,
      _ appendElement: (inout Self, Value) -> Void
    ) {
      appendBigEndian(Int32(values.isEmpty ? 0 : 1))
      appendBigEndian(Int32(hasNulls ? 1 : 0))
      appendBigEndian(type.oid)
      guard !values.isEmpty else { return }
      appendBigEndian(Int32(clamping: values.count))
      appendBigEndian(Int32(1))
      for value in values { appendElement(&self, value) }
    }

    fileprivate mutating func appendElement<Integer: FixedWidthInteger>(_ value: Integer?) {
      guard let value else { return appendBigEndian(Int32(-1)) }
      appendBigEndian(Int32(Integer.bitWidth / 8))
      appendBigEndian(value)
    }

    /// A length that does not fit is more than the limit of the whole parameter, which is refused.
    fileprivate mutating func appendElement(bytes: (some Collection<UInt8>)?) {
      guard let bytes else { return appendBigEndian(Int32(-1)) }
      appendBigEndian(Int32(clamping: bytes.count))
      append(contentsOf: bytes)
    }
  }
#endif
