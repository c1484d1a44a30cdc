#if PostgreSQL
  internal import CPostgres

  /// Sends one pipeline and receives its results.
  struct PipelineExchange {
    /// The names of statements at the server. Those that have none are sent with their text.
    struct Names {
      var known: [PostgresStatement: String] = [:]
      /// To be prepared at the first use in the pipeline.
      var new: [PostgresStatement: String] = [:]
    }

    private let connection: Connection
    /// Nil if the pipeline cannot be cancelled.
    private let canceller: SessionCanceller?
    private var deadline: ContinuousClock.Instant
    private var isCancelling = false

    private(set) var rows: [PostgresRows] = []
    /// The statements that were prepared, also if the pipeline has failed later.
    private(set) var prepared: [PostgresStatement: String] = [:]
    /// The reason for which the connection cannot be used any more.
    private(set) var loss: PostgresError?

    init(connection: Connection, canceller: SessionCanceller?, deadline: ContinuousClock.Instant) {
      self.connection = connection
      self.canceller = canceller
      self.deadline = deadline
    }

    /// - Returns: The error of the pipeline; nil if all calls have succeeded and ``rows`` are complete.
    mutating func run(_ calls: [PostgresCall], _ parameters: [EncodedParameters], _ names: Names) -> PostgresError? {
      let (steps, isSent) = send(calls, parameters, names)
      var progress = PipelineProgress(calls: calls, steps: steps)
      if isSent {
        receive(calls, names, &progress)
      } else {
        loss = connection.lossError
      }
      // A commit that was cancelled may have ended its wait for the standby, and a server with other settings says nothing of it.
      let isCancelled = isCancelling || canceller?.isCancelled == true
      if connection.takeUnreplicatedCommit() || isCancelled && calls.contains(where: \.isCommit) {
        progress.noteUnreplicatedCommit()
      }
      return progress.error(after: loss.map { .lost($0) } ?? .complete).map(asCancelled)
    }

    // MARK: - Sending

    private func send(
      _ calls: [PostgresCall], _ parameters: [EncodedParameters], _ names: Names
    ) -> (steps: [PipelineProgress.Step], isSent: Bool) {
      var steps: [PipelineProgress.Step] = []
      var toPrepare = names.new
      for (index, call) in calls.enumerated() {
        if let name = toPrepare.removeValue(forKey: call.statement) {
          steps.append(.prepare(call: index))
          guard connection.sendPreparation(of: call.statement, as: name) else { return (steps, false) }
        }
        steps.append(.execute(call: index))
        let name = names.known[call.statement] ?? names.new[call.statement]
        guard connection.send(call, parameters[index], preparedAs: name) else { return (steps, false) }
      }
      return (steps, connection.sendEnd())
    }

    // MARK: - Receiving

    private mutating func receive(_ calls: [PostgresCall], _ names: Names, _ progress: inout PipelineProgress) {
      while !progress.isComplete, loss == nil {
        switch connection.receive(until: deadline) {
        case .result(let result):
          let step = progress.step
          guard let answer = answer(in: result, to: step.map { calls[$0.call] }), progress.receive(answer) else {
            PQclear(result)
            loss = connection.lossError
            return
          }
          guard case .done = answer else {
            PQclear(result)
            continue
          }
          keep(result, of: step, calls, names)
        case .nothing: deadlineHasPassed()
        case .lost: loss = connection.lossError
        }
      }
    }

    /// Nil if libpq reports the end of the connection, or something that no call here asks for, such as COPY.
    private func answer(in result: OpaquePointer, to call: PostgresCall?) -> PipelineProgress.Answer? {
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK where call?.isCommit == true && String(cString: PQcmdStatus(result)) == "ROLLBACK":
        .refused(Self.rolledBack, endsSession: false)
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: .done
      case PGRES_PIPELINE_ABORTED: .skipped
      case PGRES_PIPELINE_SYNC: .end
      case PGRES_FATAL_ERROR:
        PostgresError(refusal: result).map { .refused($0, endsSession: PostgresError.endsSession(result)) }
      default: nil
      }
    }

    /// The server's answer to COMMIT for a transaction that has failed before.
    private static let rolledBack = PostgresError(
      .statement, "The transaction had failed, and is rolled back.", sqlState: .failedTransaction)

    private mutating func keep(
      _ result: OpaquePointer, of step: PipelineProgress.Step?, _ calls: [PostgresCall], _ names: Names
    ) {
      switch step {
      case .prepare(let call)?:
        let statement = calls[call].statement
        prepared[statement] = names.new[statement]
        PQclear(result)
      case .execute(let call)?:
        rows.append(PostgresRows(result: result, statementName: calls[call].statement.name))
      case nil:
        PQclear(result)
      }
    }

    // MARK: - Cancelling

    /// Asks the server to cancel, and waits a little for its answer; gives up the connection if there is none.
    private mutating func deadlineHasPassed() {
      guard let canceller, !isCancelling else {
        loss = PostgresError(.deadline, "The server has not answered before the deadline.")
        return
      }
      isCancelling = true
      canceller.cancelPipeline()
      deadline = .now + PostgresSession.cancellationGrace
    }

    /// The error of a statement that the server has cancelled on request: that of the deadline, or of the cancelled task.
    private func asCancelled(_ error: PostgresError) -> PostgresError {
      let isCancelled = canceller?.isCancelled == true
      guard isCancelled || isCancelling else { return error }
      let isRefused = error.kind == .statement && error.sqlState == .queryCanceled
      guard isRefused || error.kind == .deadline else { return error }
      return PostgresError(
        isCancelled ? .cancelled : .deadline,
        isCancelled ? "The call was cancelled." : "The server has not answered before the deadline.",
        statementName: error.statementName, callIndex: error.callIndex)
    }
  }
#endif
