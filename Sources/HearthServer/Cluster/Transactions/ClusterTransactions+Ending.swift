#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC

  /// The ends of transactions.
  extension ClusterTransactions {
    func commit(_ request: CommitRequest, ending transaction: [UInt8]) async throws(StatusError) -> CommitOutcome {
      let id = try parse(transaction)
      let digest = RequestLabel.digest(of: request.mutations, in: storage.databaseID)
      guard !request.mutations.isEmpty else {
        return try await endUnchanged(TransactionEnd(transaction, id, digest: digest))
      }
      if id.isolation == .readOnly {
        throw StatusError(code: .invalidArgument, message: "Cannot modify entities in a read-only transaction.")
      }
      var end = TransactionEnd(transaction, id, digest: digest)
      if id.isolation == .optimistic, let ended = try await check(&end) { return try ended.get() }
      let outcome: CommitOutcome
      do throws(StatusError) {
        outcome = try await storage.commit(ClusterAttempt(request, ending: end, in: engine)) {
          (attempt) throws(StatusError) in
          guard var end = attempt.ending else { return }
          _ = try await check(&end)
          attempt.ending = end
        }
      } catch {
        if error.code == .aborted {
          metrics?.transactionAborted()
          // One that has waited for too long is still open.
          try? await rollback(transaction)
        }
        throw error
      }
      forget(transaction)
      return outcome
    }

    /// Checks what a transaction has read, up to the present.
    ///
    /// - Returns: The result of the same commit if there was one; nil if the transaction is open.
    /// - Throws: INVALID_ARGUMENT if it is not open, ABORTED for a conflict.
    private func check(
      _ end: inout TransactionEnd
    ) async throws(StatusError) -> Result<CommitOutcome, StatusError>? {
      let (known, databaseID) = (end, storage.databaseID)
      let (row, now, check, verdict) = try await storage.reading { [engine] session, number in
        // One snapshot: another node may trim the log in the meantime.
        let begin: [PostgresCall] = session.isInTransaction ? [.rollback, .beginSnapshot] : [.beginSnapshot]
        let results = try session.run(
          begin + [
            TransactionEra.call, TransactionRow.read.call(.bytea(known.id)),
            TransactionRead.select.call(.bytea(known.id)),
          ]
        ).dropFirst(begin.count).map(\.self)
        guard try TransactionEra.number(results[0]) == known.era else { throw StatusError.transactionLost }
        let row = try results[1].first.map(TransactionRow.init)
        let now = engine.clock.leaseTime(server: Timestamp(microseconds: row?.time ?? 0))
        guard let row, row.state == .open, let version = row.readVersion, !results[2].isEmpty else {
          return (row, now, nil as ClusterReadCheck?, ClusterReadCheck.Verdict.holds)
        }
        var check = try known.check ?? ClusterReadCheck(TransactionRead.reads(results[2], at: version, in: databaseID))
        let verdict = try check.advance(on: session, in: number)
        return (row, now, check, verdict)
      }
      if let outcome = row?.outcome(of: end.digest, at: now) { return try stored(outcome) }
      _ = try requireOpen(row, at: now)
      end.check = check
      guard verdict == .conflict else { return nil }
      metrics?.transactionAborted()
      try? await rollback(end.id)
      throw StatusError.transactionConflict
    }

    private func stored(_ bytes: [UInt8]) throws(StatusError) -> Result<CommitOutcome, StatusError> {
      do {
        return try EndedTransaction.result(of: bytes, by: storage.translator)
      } catch {
        throw engine.status(of: error, in: storage.databaseID)
      }
    }

    /// Ends a transaction that has changed nothing. Its reads alone are consistent: all of them saw one snapshot, or nobody has changed what
    /// they saw as long as the transaction is open.
    private func endUnchanged(_ end: TransactionEnd) async throws(StatusError) -> CommitOutcome {
      let version = try await storage.currentVersion()
      let (row, now) = try await relaxed { [engine, storage] session in
        let locked = try session.run([.begin, TransactionRow.lock.call(.bytea(end.id)), TransactionEra.call])
        guard try TransactionEra.number(locked[2]) == end.era else { throw StatusError.transactionLost }
        let row = try locked[1].first.map(TransactionRow.init)
        let now = engine.clock.leaseTime(server: Timestamp(microseconds: row?.time ?? 0))
        let outcome = CommitOutcome(version: version, results: [])
        if let row, row.state == .open, row.expiry > now, let ended = EndedTransaction(end, .success(outcome), at: now)
        {
          _ = try session.run(ended.calls(by: storage.translator) + [.commit])
        } else {
          _ = try session.run(.rollback)
        }
        return (row, now)
      }
      if let outcome = row?.outcome(of: end.digest, at: now) { return try stored(outcome).get() }
      try requireOpen(row, at: now)
      didEnd(end.id)
      return CommitOutcome(version: version, results: [])
    }

    func rollback(_ transaction: [UInt8]) async throws(StatusError) {
      _ = try parse(transaction)
      try await relaxed { session in
        // The row before its reads, as everywhere: nobody then waits in a cycle.
        _ = try session.run([Self.rollBack.call(.bytea(transaction)), TransactionRead.remove.call(.bytea(transaction))])
      }
      didEnd(transaction)
    }

    func abortAll() async throws(StatusError) {
      // Under the lock of the database: a commit of a group changes rows of transactions in another order.
      try await relaxed { [place, storage] session in
        _ = try storage.runInOrder(on: session) { _ in [Self.abort.call(.bytea(place))] }
      }
      storage.waits.look()
    }

    private func didEnd(_ transaction: [UInt8]) {
      forget(transaction)
      storage.waits.look()
    }
  }
#endif
