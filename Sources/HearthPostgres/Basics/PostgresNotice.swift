#if PostgreSQL
  internal import CPostgres

  /// A notice or warning that the server sends in addition to results.
  package struct PostgresNotice: Sendable, Equatable {
    /// WARNING, NOTICE, INFO, …, always in English.
    package var severity: String
    package var sqlState: SQLState?
    package var message: String
    package var detail: String?
    /// True for the warning that a commit has not waited for its synchronous standby. ``PostgresSession/run(_:deadline:)-swift.method``
    /// throws `outcomeUnknown` then.
    package var isUnreplicatedCommit: Bool
  }

  extension PostgresNotice {
    /// The server's function that reports a commit without its standby (`src/backend/replication/syncrep.c`). The text may be translated.
    private static let waitForStandby = "SyncRepWaitForLSN"

    init(_ result: OpaquePointer) {
      self.init(
        severity: ResultField.severity.text(of: result) ?? "",
        sqlState: ResultField.sqlState.text(of: result).map { SQLState($0) },
        message: ResultField.message.text(of: result) ?? "", detail: ResultField.detail.text(of: result),
        isUnreplicatedCommit: ResultField.function.text(of: result) == Self.waitForStandby)
    }
  }

  /// The fields of an error or a notice, by the letters of the protocol (`PG_DIAG_…` in postgres_ext.h).
  enum ResultField: Character {
    /// In English, whatever the server's language.
    case severity = "V"
    case sqlState = "C"
    case message = "M"
    case detail = "D"
    case hint = "H"
    case constraint = "n"
    case function = "R"

    func text(of result: OpaquePointer) -> String? {
      rawValue.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
    }
  }
#endif
