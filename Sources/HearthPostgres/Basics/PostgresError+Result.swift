#if PostgreSQL
  internal import CPostgres

  extension PostgresError {
    /// The server's refusal of a statement; nil if libpq has made this result.
    ///
    /// Details are left out: they have values of rows.
    init?(refusal result: OpaquePointer) {
      guard let state = ResultField.sqlState.text(of: result) else { return nil }
      var message = ResultField.message.text(of: result) ?? "The server has refused the statement without a reason."
      if let constraint = ResultField.constraint.text(of: result) { message += " (constraint \(constraint))" }
      if let hint = ResultField.hint.text(of: result) { message += " \(hint)" }
      self.init(.statement, message, sqlState: SQLState(state))
    }

    /// True if the server ends the session after this result.
    static func endsSession(_ result: OpaquePointer) -> Bool {
      switch ResultField.severity.text(of: result) {
      case "FATAL"?, "PANIC"?: true
      default: false
      }
    }

    /// The error that libpq reports for a connection.
    init(_ kind: Kind, of connection: OpaquePointer) {
      let message = PQerrorMessage(connection).map { String(cString: $0).trimmed } ?? ""
      self.init(kind, message.isEmpty ? "The connection to PostgreSQL is lost." : message)
    }
  }
#endif
