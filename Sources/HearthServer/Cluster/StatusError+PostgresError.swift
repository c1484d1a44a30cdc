#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC

  extension StatusError {
    /// The status that a client gets for a failure of the cluster's PostgreSQL. Details stay in the server's log.
    init(postgres error: any Error) {
      guard let error = error as? PostgresError else {
        self = (error as? StatusError) ?? StatusError(describing: error)
        return
      }
      switch error.kind {
      case .cancelled: self.init(code: .cancelled, message: "The call was cancelled.")
      case .outcomeUnknown:
        self.init(code: .unavailable, message: "It is not known if the writes are stored.")
      case .closed: self = .shuttingDown
      case .connection, .configuration, .deadline:
        self.init(code: .unavailable, message: "The database is out of reach; try again.")
      case .badResult:
        self.init(code: .internal, message: "The storage failed; the server's log says why.")
      case .statement: self.init(refused: error)
      }
    }

    private init(refused error: PostgresError) {
      if error.isOutOfResources {
        self.init(code: .resourceExhausted, message: "The database has no space or memory left.")
      } else if error.isSerializationFailure {
        self.init(code: .aborted, message: "Too much contention on these documents. Please try again.")
      } else if error.isConnectionLost || error.isReadOnly || error.isServerTimeout
        || error.sqlState == .idleInTransactionTimeout
        || error.sqlState == .tooManyConnections
      {
        self.init(code: .unavailable, message: "The database is busy or out of reach; try again.")
      } else {
        self.init(code: .internal, message: "The storage failed; the server's log says why.")
      }
    }
  }

  extension PostgresError {
    /// True if the same call may succeed at once on another session, because this one has ended, and nothing has taken effect.
    var mayBeRepeated: Bool {
      guard kind == .connection || kind == .statement else { return false }
      return isConnectionLost || isReadOnly
    }
  }
#endif
