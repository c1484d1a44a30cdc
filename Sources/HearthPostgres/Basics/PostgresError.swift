#if PostgreSQL
  /// The failure of a call to PostgreSQL.
  package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
      /// The URL or a setting cannot be used. Repeating does not help.
      case configuration
      /// There is no session, or it was lost. A transaction that was open, or that the pipeline began, is rolled back. Statements outside of
      /// a transaction may have taken effect.
      case connection
      /// The server has refused a statement. The transaction that it was part of is rolled back.
      case statement
      /// The deadline has passed. As for ``connection``, a transaction is rolled back.
      case deadline
      /// The task was cancelled. As for ``connection``, a transaction is rolled back.
      case cancelled
      /// The session was lost or given up after COMMIT was sent and before its result arrived, or the server reports that it
      /// did not wait for the synchronous standby. The transaction is committed or rolled back: ask on another session.
      case outcomeUnknown
      /// A result is not what its reader expects: a type, a length, a null, a number of rows. The statement itself has taken effect.
      case badResult
      /// The pool or the listener is closed.
      case closed
    }

    package var kind: Kind
    /// The server's code, if the server has refused something.
    package var sqlState: SQLState?
    /// One or several sentences for a log. They hold no values of parameters, and nothing secret.
    package var message: String
    /// The name of the statement that has failed, see ``PostgresStatement/name``.
    package var statementName: String?
    /// The number of calls of the pipeline that had succeeded before; the index of the failed one.
    package var callIndex: Int?

    package init(
      _ kind: Kind, _ message: String, sqlState: SQLState? = nil, statementName: String? = nil, callIndex: Int? = nil
    ) {
      self.kind = kind
      self.message = message
      self.sqlState = sqlState
      self.statementName = statementName
      self.callIndex = callIndex
    }

    package var description: String {
      var text = message
      if let statementName { text = "\(statementName): \(text)" }
      if let sqlState { text += " (SQLSTATE \(sqlState))" }
      return text
    }
  }

  extension PostgresError {
    /// A conflict with another transaction (40001, 40P01): the same transaction may succeed when it is repeated.
    package var isSerializationFailure: Bool {
      sqlState == .serializationFailure || sqlState == .deadlockDetected
    }

    /// The server does not take writes: it is a standby, or has become one. Another host may be the primary.
    package var isReadOnly: Bool { sqlState == .readOnlyTransaction }

    /// The server cannot be reached, has ended the session, or is about to start or stop. A new session may work.
    package var isConnectionLost: Bool {
      kind == .connection || sqlState?.errorClass == "08" || sqlState?.endsSession == true
    }

    /// The server has no space left (53100), or no memory (53200).
    package var isOutOfResources: Bool { sqlState == .diskFull || sqlState == .outOfMemory }

    package var isDiskFull: Bool { sqlState == .diskFull }

    package var isUniqueViolation: Bool { sqlState == .uniqueViolation }

    /// The server has ended a statement: it took longer than `statement_timeout`, waited longer than `lock_timeout`, or an
    /// operator has cancelled it (57014, 55P03).
    package var isServerTimeout: Bool {
      kind == .statement && (sqlState == .queryCanceled || sqlState == .lockNotAvailable)
    }

    /// A retry does not help: an operator must change a setting, a password, a right or the URL.
    package var needsOperator: Bool {
      switch sqlState {
      case .invalidAuthorization?, .invalidPassword?, .unknownDatabase?, .insufficientPrivilege?: true
      default: kind == .configuration
      }
    }
  }
#endif
