#if PostgreSQL
  internal import CPostgres

  /// A connection of libpq in pipeline mode that never blocks without a deadline.
  final class Connection {
    private let pointer: OpaquePointer
    private let notices: NoticeReceiver
    let cancelRequest: CancelRequest

    /// Takes over a connection of libpq that is open. Closes it if it is not fit for use.
    init(_ pointer: OpaquePointer, notices: NoticeReceiver) throws(PostgresError) {
      guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1,
        let cancelRequest = CancelRequest(pointer)
      else {
        let error = PostgresError(.connection, of: pointer)
        PQfinish(pointer)
        throw error
      }
      self.pointer = pointer
      self.notices = notices
      self.cancelRequest = cancelRequest
    }

    deinit { PQfinish(pointer) }

    // MARK: - State

    /// False once libpq has noticed that the connection is closed.
    var isOpen: Bool { PQstatus(pointer) == CONNECTION_OK }

    var isInTransaction: Bool { PQtransactionStatus(pointer) != PQTRANS_IDLE }

    /// The process of the server that serves this session.
    var processID: Int32 { PQbackendPID(pointer) }

    /// The reason for which the server, or else libpq, has closed the connection.
    var lossError: PostgresError {
      var error = PostgresError(.connection, of: pointer)
      if let farewell = notices.farewell {
        error.message = "\(farewell.message). \(error.message)"
        error.sqlState = farewell.sqlState
      }
      return error
    }

    /// True if the server has sent the warning ``PostgresNotice/isUnreplicatedCommit`` since the last call.
    func takeUnreplicatedCommit() -> Bool { notices.takeUnreplicatedCommit() }

    /// Reads what has arrived while nothing was asked for: notices, notifications, the end of the connection.
    ///
    /// - Returns: False if the connection is lost.
    func readPending() -> Bool {
      while isOpen, DescriptorWait.wait(for: PQsocket(pointer), .reading, until: .now) {
        guard PQconsumeInput(pointer) == 1 else { return false }
        // Reads the messages in what has arrived: the last one may be the server's farewell, before the end of the connection.
        _ = PQisBusy(pointer)
        if notices.farewell != nil { return false }
      }
      return isOpen
    }

    // MARK: - Notifications

    /// Waits until something arrives.
    ///
    /// - Parameter wake: A pipe that ends the wait when it can be read.
    func wait(until deadline: ContinuousClock.Instant, wake: Int32) {
      _ = DescriptorWait.wait(for: PQsocket(pointer), .reading, until: deadline, wake: wake)
    }

    /// The notifications that have arrived since the last call.
    func takeNotifications() -> [(channel: String, payload: String)] {
      var notifications: [(String, String)] = []
      while let notification = PQnotifies(pointer) {
        let (channel, payload) = (notification.pointee.relname, notification.pointee.extra)
        notifications.append((channel.map { String(cString: $0) } ?? "", payload.map { String(cString: $0) } ?? ""))
        PQfreemem(notification)
      }
      return notifications
    }

    // MARK: - Sending

    /// Puts the preparation of a statement into the pipeline.
    func sendPreparation(of statement: PostgresStatement, as name: String) -> Bool {
      let types = statement.parameterTypes.map(\.oid)
      return PQsendPrepare(pointer, name, statement.sql, Int32(types.count), types) == 1
    }

    /// Puts a call into the pipeline.
    ///
    /// - Parameter name: The name of the prepared statement; nil to send its text.
    func send(_ call: PostgresCall, _ parameters: EncodedParameters, preparedAs name: String?) -> Bool {
      let count = Int32(call.parameters.count)
      return parameters.withPointers { values, lengths, formats in
        if let name { return PQsendQueryPrepared(pointer, name, count, values, lengths, formats, Self.binary) == 1 }
        let types = call.statement.parameterTypes.map(\.oid)
        return PQsendQueryParams(pointer, call.statement.sql, count, types, values, lengths, formats, Self.binary) == 1
      }
    }

    /// Ends the pipeline.
    func sendEnd() -> Bool { PQpipelineSync(pointer) == 1 }

    private static let binary: Int32 = 1

    // MARK: - Receiving

    enum Received {
      /// libpq's result, which belongs to the caller.
      case result(OpaquePointer)
      /// The deadline has passed. What arrives later can still be received.
      case nothing
      /// The connection is closed.
      case lost
    }

    /// The next result of the pipeline. Sends what is not sent yet.
    func receive(until deadline: ContinuousClock.Instant) -> Received {
      var isLost = false
      while true {
        if let result = nextResult() { return .result(result) }
        if isLost || !isOpen { return .lost }
        // A server that goes on sending is always ready.
        if ContinuousClock.now >= deadline { return .nothing }
        let rest = PQflush(pointer)
        if rest < 0 { return .lost }
        let interests: DescriptorWait.Interests = rest > 0 ? [.reading, .writing] : .reading
        guard DescriptorWait.wait(for: PQsocket(pointer), interests, until: deadline) else { return .nothing }
        // What arrived before the end of the connection is still to be read: it may be the answer to COMMIT.
        isLost = PQconsumeInput(pointer) == 0
      }
    }

    /// A result that has arrived completely. libpq separates the results of two steps by a null.
    private func nextResult() -> OpaquePointer? {
      for _ in 0..<2 where PQisBusy(pointer) == 0 {
        if let result = PQgetResult(pointer) { return result }
      }
      return nil
    }
  }
#endif
