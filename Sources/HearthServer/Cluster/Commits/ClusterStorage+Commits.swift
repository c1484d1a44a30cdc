#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging
  internal import Synchronization

  extension ClusterStorage {
    /// The maximum number of requests, and of writes, that share one transaction. A single request may have more writes.
    private static let groupSize = (requests: 64, writes: 500)

    func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome {
      try await commit(ClusterAttempt(request, in: engine)) { (_) throws(StatusError) in }
    }

    /// Commits a request that ends a transaction, or none.
    ///
    /// - Parameter check: Checks the reads of the transaction up to the present.
    func commit(
      _ first: ClusterAttempt, _ check: (inout ClusterAttempt) async throws(StatusError) -> Void
    ) async throws(StatusError) -> CommitOutcome {
      var (attempt, rounds) = (first, 0)
      while true {
        switch await result(of: attempt) {
        case .ended(let result)?: return try result.get()
        case .unchecked?:
          guard rounds < ClusterReadCheck.maximumRounds else { throw StatusError.transactionConflict }
          rounds += 1
          try await check(&attempt)
        case .blocked(let blockage)?:
          attempt.seniority = blockage.seniority
          try await wait(attempt, for: blockage)
        case nil: throw .shuttingDown
        }
      }
    }

    /// Waits until a request may be tried again. The transaction that it ends does not expire in the meantime.
    ///
    /// - Throws: ABORTED, CANCELLED or UNAVAILABLE.
    private func wait(_ attempt: ClusterAttempt, for blockage: ClusterAttempt.Blockage) async throws(StatusError) {
      if let end = attempt.ending {
        // The wait itself finds out that the server is out of reach.
        _ = try? await engine.relaxed.withSession(deadline: ClusterEngine.deadline) { [engine, limits] session in
          try end.extendLease(by: limits.lockWait + Self.leaseReserve, engine.clock, on: session)
        }
      }
      try await waits.wait(for: blockage, since: attempt.arrival)
    }

    /// For the time between the end of a wait and the commit.
    private static let leaseReserve = Duration.seconds(10)

    /// - Returns: nil if the storage is closed.
    private func result(of attempt: ClusterAttempt) async -> ClusterAttempt.Result? {
      await withCheckedContinuation { continuation in
        let entry = WaitingAttempt(attempt: attempt, continuation: continuation)
        switch waiting.add(entry, of: attempt.request.sender, writes: attempt.request.mutations.count) {
        case .first, .later: beginGroups()
        case .refused: continuation.resume(returning: nil)
        }
      }
    }

    private func beginGroups() {
      let isFirst = state.withLock { state in
        defer { state.isCommitting = true }
        return !state.isCommitting
      }
      // Requests that arrive while a group is on its way make up the next one. The group does not end with the task of a caller.
      if isFirst { Task { await commitGroups() } }
    }

    private func commitGroups() async {
      while true {
        let (group, _) = waiting.take(atMost: Self.groupSize.requests)
        guard group.isEmpty else {
          await commit(group)
          continue
        }
        let ends = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
          guard waiting.isEmpty else { return nil }
          state.isCommitting = false
          defer { state.ends = [] }
          return state.ends
        }
        guard let ends else { continue }
        for end in ends { end.resume() }
        return
      }
    }

    /// Waits until no group is on its way.
    func groupsEnd() async {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isCommitting { state.ends.append(continuation) }
          return !state.isCommitting
        }
        if isOver { continuation.resume() }
      }
    }

    /// Commits the first requests of a group, and answers them after their commits are published.
    private func commit(_ group: [CommitQueue<WaitingAttempt>.Waiting]) async {
      var writes = 0
      let count = group.prefix { waiting in
        defer { writes += waiting.entry.attempt.request.mutations.count }
        return writes == 0 || writes + waiting.entry.attempt.request.mutations.count <= Self.groupSize.writes
      }.count
      let results = await results(of: group.prefix(count).map(\.entry.attempt))
      assert(results.contains { $0 != nil }, "none of \(count) requests was tried")
      let untried = group.indices.filter { $0 >= count || results[$0] == nil }
      waiting.finish(results.lastIndex { $0 != nil }.map { group[$0] }, untried: untried.map { group[$0] })
      for (waiting, result) in zip(group, results) {
        if let result { waiting.entry.continuation.resume(returning: result) }
      }
    }

    /// - Returns: The result of each attempt; nil for those that were not tried.
    private func results(of attempts: [ClusterAttempt]) async -> [ClusterAttempt.Result?] {
      let mark = engine.mark()
      do {
        let outcome = try await carryOut(attempts, mark)
        await publish(outcome)
        return outcome.results
      } catch {
        // What only one of the requests may be to blame for must not fail the others.
        if attempts.count > 1, let error = error as? PostgresError, error.mayConcernOneRequest {
          let half = attempts.count / 2
          let first = await results(of: Array(attempts[..<half]))
          return first + (await results(of: Array(attempts[half...])))
        }
        let failure = commitFailure(error)
        return attempts.map { _ in .ended(.failure(failure)) }
      }
    }

    /// Takes note of a group that is committed, and publishes it.
    private func publish(_ outcome: GroupCommit.Outcome) async {
      defer { if outcome.endsTransactions { waits.look() } }
      guard outcome.after > outcome.before else { return }
      if outcome.database.number != known.number { note(outcome.database) }
      let collections = state.withLock { $0.known.history == outcome.database.history ? $0.collections : nil }
      for collection in outcome.newCollections { collections?.note(collection.path, collection.number) }
      engine.history.note(outcome.after, of: outcome.database.number, in: outcome.database.incarnation)
      await tail.publish(outcome, of: self)
      engine.metrics?.stored(group: outcome.changes.count)
      for change in outcome.changes { metrics?.committed(documents: change.documentCount) }
      engine.hints.announce(outcome.after, of: outcome.database.number)
    }

    // MARK: - Repetitions

    private static let maximumRepetitions = 5
    private static let firstPause = Duration.milliseconds(2)

    /// Commits a group, again as long as nothing was stored for a reason that passes.
    private func carryOut(_ attempts: [ClusterAttempt], _ mark: CommitMark) async throws -> GroupCommit.Outcome {
      guard !state.withLock({ $0.isBroken }) else { throw Self.broken }
      var pause = Self.firstPause
      for repetition in 0... {
        do {
          let ending = try await engine.commits.withSession(deadline: ClusterEngine.deadline) { [self] session in
            let ending = try GroupCommit(
              storage: self, known: knownNow(on: session), attempts: attempts, mark: mark
            ).run(on: session)
            guard case .done(let outcome) = ending, outcome.after > outcome.before, !engine.history.isCurrent(session)
            else { return ending }
            // Another session has found a later history: this one may have committed at a former primary.
            return .unknown(outcome, PostgresError(.outcomeUnknown, "The history of the server has changed."))
          }
          switch ending {
          case .done(let outcome): return outcome
          case .outdated(let present): note(present)
          case .unknown(let outcome, let error):
            guard try await isCommitted(outcome, mark, after: error) else {
              throw StatusError(code: .unavailable, message: "The database was out of reach; nothing was stored.")
            }
            return outcome
          }
          guard repetition < Self.maximumRepetitions else {
            throw StatusError(code: .unavailable, message: "The database is being restored; try again.")
          }
        } catch let error as PostgresError {
          if error.isUniqueViolation, error.statementName == ClusterOrder.appendCommit.name { throw noteBroken(error) }
          guard error.mayBeRepeated || error.isSerializationFailure, repetition < Self.maximumRepetitions else {
            throw error
          }
          try await Task.sleep(for: pause)
          pause *= 2
        }
      }
      throw Self.broken
    }

    /// A version exists already that the lock of the database should have kept from others: two servers take writes, or the tables are not as
    /// this release made them.
    private func noteBroken(_ error: PostgresError) -> StatusError {
      state.withLock { $0.isBroken = true }
      logger.critical(
        "a version of the database exists already: two PostgreSQL servers may be taking writes; no further commits are made here",
        metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      return Self.broken
    }

    private static let broken = StatusError(
      code: .unavailable, message: "The database is damaged and takes no writes; the server's log says why.")

    // MARK: - Unknown outcomes

    /// The time within which the outcome of a commit must be found out.
    private static let inquiryTime = Duration.seconds(10)

    /// Asks on another session if a group is committed whose COMMIT was not answered.
    ///
    /// - Throws: UNAVAILABLE if that cannot be found out.
    private func isCommitted(
      _ outcome: GroupCommit.Outcome, _ mark: CommitMark, after error: PostgresError
    ) async throws(StatusError) -> Bool {
      logger.warning(
        "the outcome of a commit is unknown and will be looked up",
        metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      let (deadline, lock, inquiry) = (
        ContinuousClock.now + Self.inquiryTime, known.number,
        CommitInquiry(outcome: outcome, mark: mark, by: engine.mark(), on: engine.location)
      )
      var pause = Self.firstPause
      while true {
        do {
          return try await engine.commits.withSession(deadline: deadline) { try inquiry.run(locking: lock, on: $0) }
        } catch {
          guard ContinuousClock.now + pause < deadline else {
            logger.error(
              "the outcome of a commit stays unknown",
              metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
            throw StatusError(postgres: PostgresError(.outcomeUnknown, "\(error)"))
          }
          try? await Task.sleep(for: pause)
          pause = min(pause * 2, .milliseconds(500))
        }
      }
    }

    // MARK: - Errors

    /// The status for the sender of a write. Clients drop a write that gets DATA_LOSS; a database can be mended.
    func commitFailure(_ error: any Error) -> StatusError {
      if let error = error as? PostgresError, error.isDiskFull { metrics?.foundDiskFull() }
      let failure = engine.status(of: error, in: databaseID)
      return failure.code == .dataLoss ? StatusError(code: .internal, message: failure.message) : failure
    }

    /// The answer that a labelled request got before.
    func outcome(stored bytes: [UInt8], for label: RequestLabel) throws(StatusError) -> CommitOutcome {
      do {
        return try CommitOutcome(encoded: bytes, by: translator)
      } catch {
        throw StatusError(
          code: .dataLoss,
          message: "The answer to batch \(label.label.identity) in hearth_batch_responses is damaged: \(error)")
      }
    }
  }

  extension PostgresError {
    /// True for a failure that one of several requests may have caused.
    fileprivate var mayConcernOneRequest: Bool {
      switch kind {
      case .badResult: true
      case .statement: !isConnectionLost && !isReadOnly && !isOutOfResources && !isServerTimeout
      default: false
      }
    }
  }
#endif
