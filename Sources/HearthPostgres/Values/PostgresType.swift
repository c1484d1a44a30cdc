#if PostgreSQL
  /// A type of parameters and columns.
  package enum PostgresType: Sendable, Hashable, CaseIterable {
    case int8, int4, int2, bool, bytea, text, timestamptz
    case int8Array, int4Array, int2Array, boolArray, byteaArray, textArray

    /// The number of the type in `pg_type`. Those of built-in types never change.
    package var oid: UInt32 {
      switch self {
      case .bool: 16
      case .bytea: 17
      case .int8: 20
      case .int2: 21
      case .int4: 23
      case .text: 25
      case .boolArray: 1000
      case .byteaArray: 1001
      case .int2Array: 1005
      case .int4Array: 1007
      case .textArray: 1009
      case .int8Array: 1016
      case .timestamptz: 1184
      }
    }
  }
#endif
