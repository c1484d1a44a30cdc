#if PostgreSQL
  /// A parameter of a statement. It is sent in the binary format of its type.
  ///
  /// Elements of arrays may be nil where the type says so. A `text` with U+0000 is refused by the server (22021): it has no such texts.
  package enum PostgresValue: Sendable, Equatable {
    case null
    case int8(Int64)
    case int4(Int32)
    case int2(Int16)
    case bool(Bool)
    case bytea([UInt8])
    case text(String)
    /// A `timestamptz` in microseconds since 1970-01-01 00:00:00 UTC.
    case timestamptz(microseconds: Int64)
    case int8Array([Int64])
    case nullableInt8Array([Int64?])
    case int4Array([Int32])
    case int2Array([Int16])
    case boolArray([Bool])
    case byteaArray([[UInt8]])
    case nullableByteaArray([[UInt8]?])
    case textArray([String])
  }
#endif
