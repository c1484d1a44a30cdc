#if PostgreSQL
  /// Tracks the calls of a pipeline by the answers that arrive, and decides what is known about them.
  ///
  /// The server answers each step in its order. After a refusal it skips the others up to the end of the pipeline, and answers that it has.
  ///
  /// | answer | a call's step | the end of the pipeline |
  /// |---|---|---|
  /// | `done` | the next step's turn | - |
  /// | `refused` | the others are skipped | a transaction of statements without BEGIN cannot commit |
  /// | `skipped` | only after a refusal | - |
  /// | `end` | - | all is known |
  ///
  /// *A commit is unknown* if COMMIT was sent, and its answer is missing while nothing before it was refused. What the server refuses is not
  /// committed, with one exception: a session that the server ends while it commits.
  struct PipelineProgress {
    enum Step: Equatable {
      case prepare(call: Int)
      case execute(call: Int)

      var call: Int {
        switch self {
        case .prepare(let call), .execute(let call): call
        }
      }
    }

    enum Answer {
      case done
      /// `endsSession` is true if the server closes the connection after it.
      case refused(PostgresError, endsSession: Bool)
      case skipped
      case end
    }

    /// The reason for which no further answers arrive.
    enum Ending {
      case complete
      /// Kinds `connection`, `deadline` or `cancelled`.
      case lost(PostgresError)
    }

    private let statementNames: [String]
    private let commits: [Int]
    private let steps: [Step]
    private var position = 0
    /// The calls that were answered with `done`.
    private var finishedCount = 0
    private var refusal: PostgresError?
    private var refusalEndsSession = false
    private(set) var isComplete = false
    /// The server reports that it has committed without its standby.
    private var isUnreplicated = false

    init(calls: [PostgresCall], steps: [Step]) {
      statementNames = calls.map(\.statement.name)
      commits = calls.indices.filter { calls[$0].isCommit }
      self.steps = steps
    }

    /// The step that the next answer is about; nil for the end of the pipeline.
    var step: Step? { position < steps.count ? steps[position] : nil }

    /// - Returns: False if no server gives this answer here. Then the connection cannot be used any more.
    mutating func receive(_ answer: Answer) -> Bool {
      guard !isComplete else { return false }
      switch (answer, step) {
      case (.done, let step?) where refusal == nil:
        if case .execute = step { finishedCount += 1 }
        position += 1
      case (.refused(let error, let endsSession), let step) where refusal == nil:
        refuse(error, at: step, endsSession: endsSession)
      case (.skipped, .some) where refusal != nil:
        position += 1
      case (.end, nil):
        isComplete = true
      default:
        return false
      }
      return true
    }

    private mutating func refuse(_ error: PostgresError, at step: Step?, endsSession: Bool) {
      refusal = named(error, step?.call ?? statementNames.count - 1)
      refusalEndsSession = endsSession
      if step != nil { position += 1 }
    }

    /// The server has sent the warning ``PostgresNotice/isUnreplicatedCommit``.
    mutating func noteUnreplicatedCommit() { isUnreplicated = true }

    /// - Returns: The error of the pipeline, or nil if all its calls have succeeded.
    func error(after ending: Ending) -> PostgresError? {
      if let refusal { return error(after: refusal) }
      if isUnreplicated {
        return named(
          PostgresError(.outcomeUnknown, "The commit is not known to have reached its synchronous standby."),
          commits.last ?? statementNames.count - 1)
      }
      guard case .lost(let error) = ending else { return nil }
      if let commit = commits.first(where: { $0 >= finishedCount }) { return unknown(error, commit) }
      // The answer to COMMIT decides, also if the end of the pipeline is missing.
      if finishedCount == statementNames.count, commits.last == finishedCount - 1 { return nil }
      return named(error, min(finishedCount, statementNames.count - 1))
    }

    private func error(after refusal: PostgresError) -> PostgresError {
      guard refusalEndsSession else { return refusal }
      if let call = refusal.callIndex, commits.contains(call) { return unknown(refusal, call) }
      var error = refusal
      error.kind = .connection
      return error
    }

    private func unknown(_ error: PostgresError, _ call: Int) -> PostgresError {
      PostgresError(
        .outcomeUnknown, "It is not known if the transaction is committed. \(error.message)", sqlState: error.sqlState,
        statementName: statementNames[call], callIndex: call)
    }

    private func named(_ error: PostgresError, _ call: Int) -> PostgresError {
      var error = error
      error.statementName = statementNames[call]
      error.callIndex = call
      return error
    }
  }
#endif
