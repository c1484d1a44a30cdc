#if PostgreSQL
  /// A session of a PostgreSQL server. It belongs to one thread at a time, and blocks it while it waits for the server.
  ///
  /// All calls go through libpq's pipeline mode: those of one ``run(_:deadline:)-([PostgresCall],_)`` are sent together and answered together,
  /// in one round trip. A failed call skips the rest of its pipeline. So `run([.begin, …, .commit])` commits everything or nothing, and a
  /// transaction may also go on over several runs.
  ///
  /// *After an error no transaction is open*: the session rolls back what is left of it before it throws, or is given up (``isUsable``). A
  /// pipeline without BEGIN, outside of a transaction, is a transaction of its own.
  package final class PostgresSession {
    /// The statements that a session keeps prepared.
    package static let preparedStatementLimit = 500
    /// The time that the server gets to end a statement after it was asked to, and to roll back.
    package static let cancellationGrace: Duration = .seconds(2)

    /// The deadline of calls that name none.
    package internal(set) var deadline: ContinuousClock.Instant
    let canceller: SessionCanceller
    /// A number for the owner of the session, for instance of what it has known of the server when it was opened.
    package var generation = 0
    /// Nil when it was given up.
    private var connection: Connection?
    /// The error of later calls.
    private var lossError = PostgresError(.connection, "The session is closed.")
    /// The names of the prepared statements at the server.
    private var prepared: [PostgresStatement: String] = [:]
    private var preparationCount = 0

    init(_ connection: Connection, deadline: ContinuousClock.Instant) {
      self.connection = connection
      self.deadline = deadline
      canceller = SessionCanceller(connection.cancelRequest)
    }

    /// True while the server has an open transaction of this session.
    package var isInTransaction: Bool { connection?.isInTransaction ?? false }

    /// False when the connection is lost or given up. All later calls fail at once, and the pool replaces the session.
    package var isUsable: Bool { connection != nil }

    /// The process of the server that serves this session.
    package var processID: Int32? { connection?.processID }

    /// Gives up the session: the pool opens another one at the next use. For a caller that finds the server wrong, for instance not the primary.
    package func discard() { giveUp(PostgresError(.connection, "Its user has discarded it.")) }

    private func giveUp(_ reason: PostgresError) {
      guard connection != nil else { return }
      connection = nil
      lossError = PostgresError(.connection, "The session is closed. \(reason.message)", sqlState: reason.sqlState)
      prepared = [:]
    }

    /// Reads what has arrived since the last use. The pool calls it before each use, so that a connection that was closed in between is
    /// replaced instead of failing its next user.
    func checkConnection() {
      guard let connection, !connection.readPending() else { return }
      giveUp(connection.lossError)
    }

    /// The notifications that have arrived since the last call. Waits for the first, until the deadline or until `wake` can be read.
    func notifications(
      until deadline: ContinuousClock.Instant, wake: Int32
    ) throws(PostgresError) -> [(channel: String, payload: String)] {
      guard let connection else { throw lossError }
      let earlier = connection.takeNotifications()
      guard earlier.isEmpty else { return earlier }
      connection.wait(until: deadline, wake: wake)
      checkConnection()
      // Those that arrived before the end of the connection, too.
      let heard = connection.takeNotifications()
      if heard.isEmpty, !isUsable { throw lossError }
      return heard
    }

    // MARK: - Running

    /// Sends calls as one pipeline and waits for their results.
    ///
    /// When the deadline has passed, or the task of ``PostgresPool/withSession(deadline:sender:_:)`` is cancelled, the server is asked to cancel. If
    /// it answers nothing within ``cancellationGrace``, the session is given up. So this returns at the deadline plus twice that time at
    /// the latest.
    ///
    /// - Parameters:
    ///   - calls: In their order. BEGIN and COMMIT are calls as all others (``PostgresCall/begin``, ``PostgresCall/commit``).
    ///   - deadline: ``deadline`` if nil.
    /// - Returns: The result of each call.
    /// - Throws: `statement` for the first call that the server refuses, with its index; `deadline`, `cancelled`, `connection`;
    ///   `outcomeUnknown` if the calls had ``PostgresCall/commit`` and it is not known whether that has taken effect.
    package func run(
      _ calls: [PostgresCall], deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> [PostgresRows] {
      guard !calls.isEmpty else { return [] }
      do {
        try checkTransaction(of: calls)
        return try cancellably { connection, canceller throws(PostgresError) in
          try exchange(calls, on: connection, until: deadline ?? self.deadline, canceller)
        }
      } catch {
        leaveTransaction()
        if error.invalidatesStatements { giveUp(error) }
        throw error
      }
    }

    /// Runs one call.
    package func run(
      _ call: PostgresCall, deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> PostgresRows {
      try run([call], deadline: deadline)[0]
    }

    /// COMMIT without a transaction is only a warning to the server: it would hide that an earlier part of the transaction is gone.
    private func checkTransaction(of calls: [PostgresCall]) throws(PostgresError) {
      guard let first = calls.firstIndex(where: { $0.isCommit || $0.isBegin }) else { return }
      if calls[first].isCommit, isUsable, !isInTransaction {
        throw PostgresError(
          .statement, "COMMIT was refused, because the session has no open transaction.",
          sqlState: .noActiveTransaction,
          statementName: calls[first].statement.name, callIndex: first)
      }
    }

    private func cancellably<Result>(
      _ body: (Connection, SessionCanceller) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
      guard let connection else { throw lossError }
      guard canceller.begin() else { throw PostgresError(.cancelled, "The call was cancelled.") }
      defer {
        // A session that was given up in between has nothing that a late request might cancel.
        if !canceller.finish(within: isUsable ? Self.cancellationGrace : .zero) {
          giveUp(PostgresError(.connection, "A statement was cancelled, and the request to cancel it has not ended."))
        }
      }
      return try body(connection, canceller)
    }

    /// Rolls back a transaction that is open. The session is given up if that fails.
    func leaveTransaction() {
      guard let connection, connection.isInTransaction else { return }
      do {
        _ = try exchange([.rollback], on: connection, until: .now + Self.cancellationGrace, nil)
      } catch {
        giveUp(error)
      }
    }

    // MARK: - One pipeline

    /// - Parameter canceller: Nil if the pipeline cannot be cancelled.
    private func exchange(
      _ calls: [PostgresCall], on connection: Connection, until deadline: ContinuousClock.Instant,
      _ canceller: SessionCanceller?
    ) throws(PostgresError) -> [PostgresRows] {
      guard deadline > .now else { throw PostgresError(.deadline, "The deadline has passed before anything was sent.") }
      // A connection that is known to be lost before anything is sent leaves no outcome unknown.
      guard connection.readPending() else {
        giveUp(connection.lossError)
        throw lossError
      }
      let parameters = try calls.map { call throws(PostgresError) in
        try EncodedParameters(call.parameters, of: call.statement.name)
      }
      var exchange = PipelineExchange(connection: connection, canceller: canceller, deadline: deadline)
      _ = connection.takeUnreplicatedCommit()
      let plan = preparations(for: calls)
      let error = exchange.run(calls, parameters, plan)
      prepared.merge(exchange.prepared) { $1 }
      if let loss = exchange.loss { giveUp(loss) }
      if let error { throw error }
      return exchange.rows
    }

    /// The names that the statements of the calls have or get at the server. A new name is never an old one, also if its preparation has failed.
    private func preparations(for calls: [PostgresCall]) -> PipelineExchange.Names {
      var names = PipelineExchange.Names()
      for call in calls where names.known[call.statement] == nil && names.new[call.statement] == nil {
        if let name = prepared[call.statement] {
          names.known[call.statement] = name
        } else if prepared.count + names.new.count < Self.preparedStatementLimit {
          preparationCount += 1
          names.new[call.statement] = "hearth\(preparationCount)"
        }
      }
      return names
    }
  }

  extension PostgresError {
    /// The server does not know a prepared statement any more, or its result would have other columns than before.
    fileprivate var invalidatesStatements: Bool {
      sqlState == .invalidStatementName || sqlState == .featureNotSupported
    }
  }
#endif
