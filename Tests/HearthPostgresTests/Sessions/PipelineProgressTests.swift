#if PostgreSQL
  import Testing

  @testable import HearthPostgres

  @Suite("What becomes of a pipeline")
  struct PipelineProgressTests {
    private static let insert = PostgresStatement("insert", "INSERT …")
    private static let calls: [PostgresCall] = [.begin, insert.call(), .commit]
    private static let loss = PostgresError(.connection, "gone")

    /// A pipeline without preparations.
    private func progress(_ calls: [PostgresCall] = calls) -> PipelineProgress {
      PipelineProgress(calls: calls, steps: calls.indices.map { .execute(call: $0) })
    }

    private func refusal(_ state: SQLState = .uniqueViolation) -> PostgresError {
      PostgresError(.statement, "no", sqlState: state)
    }

    @Test("a pipeline whose calls are all answered has no error")
    func success() {
      var progress = progress()
      for call in 0..<3 {
        #expect(progress.step == .execute(call: call))
        #expect(progress.receive(.done) == true)
      }
      #expect(progress.step == nil)
      #expect(progress.receive(.end) == true)
      #expect(progress.isComplete)
      #expect(progress.error(after: .complete) == nil)
    }

    @Test("a commit is unknown until it is answered, however many calls before it are", arguments: 0...2)
    func lossBeforeCommit(answered: Int) {
      var progress = progress()
      for _ in 0..<answered { #expect(progress.receive(.done) == true) }
      let error = progress.error(after: .lost(Self.loss))
      #expect(error?.kind == .outcomeUnknown)
      #expect(error?.statementName == "commit")
      #expect(error?.callIndex == 2)
    }

    @Test("a commit that is answered is known, also without the end of the pipeline")
    func lossAfterCommit() {
      var progress = progress()
      for _ in 0..<3 { #expect(progress.receive(.done) == true) }
      #expect(progress.error(after: .lost(Self.loss)) == nil)
    }

    @Test("without a commit nothing is unknown: the transaction is rolled back")
    func lossWithoutCommit() {
      var progress = progress([.begin, Self.insert.call()])
      #expect(progress.receive(.done) == true)
      let error = progress.error(after: .lost(Self.loss))
      #expect(error?.kind == .connection)
      #expect(error?.statementName == "insert")
      #expect(progress.receive(.done) == true)
      #expect(progress.error(after: .lost(Self.loss))?.kind == .connection)
    }

    @Test("calls behind the commit are not part of it")
    func callsBehindCommit() {
      var progress = progress(Self.calls + [Self.insert.call()])
      for _ in 0..<3 { #expect(progress.receive(.done) == true) }
      let error = progress.error(after: .lost(Self.loss))
      #expect(error?.kind == .connection)
      #expect(error?.callIndex == 3)
    }

    @Test("a refused call fails the pipeline with its name and index, and the others are skipped")
    func refusedCall() {
      var progress = progress()
      #expect(progress.receive(.done) == true)
      #expect(progress.receive(.refused(refusal(), endsSession: false)) == true)
      #expect(progress.receive(.skipped) == true)
      #expect(progress.receive(.end) == true)
      let error = progress.error(after: .complete)
      #expect(error?.kind == .statement)
      #expect(error?.sqlState == .uniqueViolation)
      #expect(error?.callIndex == 1)
      #expect(error?.statementName == "insert")
    }

    @Test("what was refused before the commit is known, also if the connection is lost then")
    func refusalBeforeLoss() {
      var progress = progress()
      #expect(progress.receive(.done) == true)
      #expect(progress.receive(.refused(refusal(), endsSession: false)) == true)
      #expect(progress.error(after: .lost(Self.loss))?.kind == .statement)
    }

    @Test("a session that the server ends before the commit is a lost connection, and nothing is committed")
    func endedSession() {
      var progress = progress()
      #expect(progress.receive(.refused(refusal(.adminShutdown), endsSession: true)) == true)
      let error = progress.error(after: .lost(Self.loss))
      #expect(error?.kind == .connection)
      #expect(error?.sqlState == .adminShutdown)
    }

    @Test("a session that the server ends while it commits leaves the commit unknown; a refused commit does not")
    func endedCommit() {
      var ended = progress()
      var refused = progress()
      for _ in 0..<2 {
        #expect(ended.receive(.done) == true)
        #expect(refused.receive(.done) == true)
      }
      #expect(ended.receive(.refused(refusal(.adminShutdown), endsSession: true)) == true)
      #expect(ended.error(after: .lost(Self.loss))?.kind == .outcomeUnknown)
      #expect(refused.receive(.refused(refusal(.serializationFailure), endsSession: false)) == true)
      #expect(refused.receive(.end) == true)
      #expect(refused.error(after: .complete)?.kind == .statement)
    }

    @Test("a refusal at the end of the pipeline belongs to its last call")
    func refusalAtEnd() {
      var progress = progress([Self.insert.call()])
      #expect(progress.receive(.done) == true)
      #expect(progress.receive(.refused(refusal(), endsSession: false)) == true)
      #expect(progress.receive(.end) == true)
      #expect(progress.error(after: .complete)?.callIndex == 0)
    }

    @Test("a commit that has not waited for its standby is unknown, however well it was answered")
    func unreplicatedCommit() {
      var progress = progress()
      for _ in 0..<3 { #expect(progress.receive(.done) == true) }
      #expect(progress.receive(.end) == true)
      progress.noteUnreplicatedCommit()
      #expect(progress.error(after: .complete)?.kind == .outcomeUnknown)
    }

    @Test("a preparation is a step of its call")
    func preparations() {
      let calls = [Self.insert.call()]
      var progress = PipelineProgress(calls: calls, steps: [.prepare(call: 0), .execute(call: 0)])
      #expect(progress.receive(.refused(refusal(.undefinedTable), endsSession: false)) == true)
      #expect(progress.receive(.skipped) == true)
      #expect(progress.receive(.end) == true)
      #expect(progress.error(after: .complete)?.callIndex == 0)
    }

    @Test("answers that no server gives are refused")
    func impossibleAnswers() {
      var early = progress()
      #expect(early.receive(.end) == false)
      #expect(early.receive(.skipped) == false)
      var complete = progress([Self.insert.call()])
      #expect(complete.receive(.done) == true)
      #expect(complete.receive(.done) == false)
      #expect(complete.receive(.end) == true)
      #expect(complete.receive(.done) == false)
      var failed = progress()
      #expect(failed.receive(.refused(refusal(), endsSession: false)) == true)
      #expect(failed.receive(.done) == false)
      #expect(failed.receive(.refused(refusal(), endsSession: false)) == false)
    }
  }
#endif
