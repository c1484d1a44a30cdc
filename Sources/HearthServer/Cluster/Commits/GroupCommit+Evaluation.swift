#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  extension GroupCommit {
    /// The state of the evaluation of a group, apart from the documents.
    struct State {
      let documents: StoredDocuments
      var writes: GroupWrites
      /// The transactions that may be in the way of the requests that are left.
      var readers: WoundWait

      /// Ends transactions that are in the way of a commit.
      fileprivate mutating func stop(_ ended: WoundWait.Ended) {
        writes.stop(ended)
        for id in ended.wounded.union(ended.expired) { readers.end(id) }
      }

      /// Notes that a transaction has ended with its commit.
      fileprivate mutating func end(_ ended: EndedTransaction) {
        writes.transactions.append(ended)
        readers.end(ended.id)
      }

      /// The result of a further commit of a transaction that has ended in this group; nil if it has not.
      fileprivate func result(of end: TransactionEnd) -> Result<CommitOutcome, StatusError>? {
        if writes.stopped.wounded.contains(end.id) { return .failure(.transactionWounded) }
        if writes.stopped.expired.contains(end.id) { return .failure(.transactionExpired) }
        return writes.transactions.first { $0.id == end.id }?.result(of: end.digest)
      }
    }

    /// A group ends after so many bytes of documents, and the others of it wait for their next turn.
    private static let storedBytes = 4 << 20

    /// - Returns: The results of the first attempts, at least of one.
    func evaluate(
      _ found: GroupReads.Found, _ evaluation: inout GroupEvaluation, _ state: inout State,
      on session: PostgresSession
    ) throws -> [ClusterAttempt.Result] {
      let clock = storage.engine.clock.node
      var results: [ClusterAttempt.Result] = []
      var time = clock.elapsedMicroseconds
      let end = time + storage.waiting.groupMicroseconds
      for attempt in attempts {
        let sender = attempt.request.sender
        if !results.isEmpty, storage.waiting.isSlow(sender) || evaluation.storedBytes > Self.storedBytes { break }
        results.append(try result(of: attempt, found, &evaluation, &state, on: session))
        let now = clock.elapsedMicroseconds
        storage.waiting.note(now - time, of: sender)
        time = now
        if now > end { break }
      }
      return results
    }

    /// Evaluates one request. One that is refused, or must wait, has stored nothing, so the others of the group go on.
    ///
    /// - Throws: `PostgresError`: the transaction of the group has ended.
    private func result(
      of attempt: ClusterAttempt, _ found: GroupReads.Found, _ evaluation: inout GroupEvaluation, _ state: inout State,
      on session: PostgresSession
    ) throws -> ClusterAttempt.Result {
      let (request, time) = (attempt.request, storage.engine.clock.leaseTime(server: found.order.time))
      var seniority = attempt.seniority
      var result: Result<CommitOutcome, StatusError>
      do {
        if let label = request.label, let known = state.writes.response(to: label) ?? found.responses[label] {
          return .ended(.success(try storage.outcome(stored: known, for: label)))
        }
        if let end = attempt.ending {
          if let ended = state.result(of: end) { return .ended(ended) }
          let verdict = try found.transactions.verdict(
            on: end, beside: evaluation, at: time, translator: storage.translator)
          switch verdict {
          case .ended(let result): return .ended(result)
          case .unchecked: return .unchecked
          case .open(let known): seniority = seniority ?? known
          }
        }
        let step = try evaluation.evaluate(request, state.documents.reads(for: request, on: session))
        if let blockage = blockage(of: step, attempt, seniority ?? arrival(of: attempt, found), &state) {
          return .blocked(blockage)
        }
        evaluation.apply(step)
        if let label = request.label, !request.mutations.isEmpty {
          let bytes = try step.outcome.encoded(by: storage.translator)
          state.writes.responses.append(
            GroupWrites.Response(label: label, version: step.outcome.version, bytes: bytes))
        }
        result = .success(step.outcome)
      } catch let error as StatusError {
        result = .failure(storage.commitFailure(error))
      }
      if let end = attempt.ending, let ended = EndedTransaction(end, result, at: time) { state.end(ended) }
      return .ended(result)
    }

    /// Ends the younger transactions that have read what a request changes, unless it has to wait for older ones.
    ///
    /// - Returns: Nil if the request may go on.
    private func blockage(
      of step: GroupEvaluation.Step, _ attempt: ClusterAttempt, _ seniority: Seniority, _ state: inout State
    ) -> ClusterAttempt.Blockage? {
      guard let transitions = step.change?.transitions else { return nil }
      switch state.readers.decision(on: transitions, by: attempt.ending?.id, seniority) {
      case .proceed(let ended):
        state.stop(ended)
        return nil
      case .wait(let older):
        return ClusterAttempt.Blockage(transactions: older, keys: transitions.map(\.key), seniority: seniority)
      }
    }

    /// The age of a write outside of transactions, by the clock of the server: that of its arrival, or a little younger, but not than the look
    /// at the documents. So transactions that have begun before its arrival are older, and those that begin while it waits are younger.
    private func arrival(of attempt: ClusterAttempt, _ found: GroupReads.Found) -> Seniority {
      let time = storage.engine.clock.leaseTime(server: found.order.time)
      return Seniority(time: time - max(0, found.sent - attempt.arrival), number: attempt.number)
    }
  }
#endif
