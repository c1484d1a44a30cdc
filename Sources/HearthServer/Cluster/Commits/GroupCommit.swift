#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// One attempt to commit a group of requests, on the thread of a session: reads under the lock of the database, evaluates, and stores.
  struct GroupCommit {
    let storage: ClusterStorage
    /// The facts that the node knew of the database when the group began.
    let known: ClusterStorage.Known
    let attempts: [ClusterAttempt]
    let mark: CommitMark

    /// The end of an attempt.
    enum Ending: Sendable {
      case done(Outcome)
      /// Nothing was stored, because what the node has known of the database was out of date. The attempt has to be repeated.
      case outdated(ClusterStorage.Known)
      /// COMMIT was sent, and it is not known if it has taken effect.
      case unknown(Outcome, PostgresError)
    }

    struct Outcome: Sendable {
      /// The result of each attempt; nil for those that were not tried because the others have taken long.
      var results: [ClusterAttempt.Result?] = []
      /// The newest version before the group.
      let before: SnapshotVersion
      /// The newest version after it, the same if nothing was stored.
      var after: SnapshotVersion
      var changes: [CommittedChange] = []
      /// The database: another one than before if the group has created it.
      var database: ClusterStorage.Known
      var newCollections: [GroupWrites.Collection] = []
    }

    /// A group ends after so many bytes of documents, and the others of it wait for their next turn.
    private static let storedBytes = 4 << 20

    /// - Throws: `PostgresError`, or `StatusError` for what concerns all requests. Nothing was stored then.
    func run(on session: PostgresSession) throws -> Ending {
      let keys = Set(attempts.flatMap { $0.request.mutations.map(\.key) })
      let reads = GroupReads(
        database: known.number, databaseID: storage.databaseID, keys: keys.sorted(),
        labels: attempts.compactMap(\.request.label), ends: attempts.compactMap(\.ending))
      let basis = storage.basis(known.number)
      let found = try reads.run(on: session, since: basis)
      if let present = outdated(found) {
        _ = try session.run(.rollback)
        return .outdated(present)
      }
      let definitions = try storage.indexes.definitions(
        of: known.number, on: session, state: found.order.indexState, generation: found.order.indexGeneration)
      storage.engine.hooks.betweenRoundTrips?()
      var evaluation = evaluation(of: found)
      var writes = GroupWrites(database: known.number)
      let results = try evaluate(found, &evaluation, &writes, on: session)
      var outcome = Outcome(
        results: results + Array(repeating: nil, count: attempts.count - results.count), before: found.order.latest,
        after: evaluation.latest, changes: evaluation.commits, database: known)
      guard !evaluation.commits.isEmpty || !writes.transactions.isEmpty else {
        _ = try session.run(.rollback)
        return .done(outcome)
      }
      return try store(evaluation, &writes, found, definitions, &outcome, on: session)
    }

    /// Compares what the node has known with what it finds under the lock.
    ///
    /// - Returns: The present facts, if they differ from what the node has known.
    private func outdated(_ found: GroupReads.Found) -> ClusterStorage.Known? {
      guard let number = found.creation?.number else { return nil }
      var present = known
      present.number = number
      return present
    }

    private func evaluation(of found: GroupReads.Found) -> GroupEvaluation {
      let first = GroupEvaluation.firstVersion(
        after: found.order.latest, seen: storage.engine.history.seen(of: known.number),
        time: storage.engine.clock.time(server: found.order.time))
      return GroupEvaluation(
        databaseID: storage.databaseID, latest: found.order.latest, first: first,
        maximumRewrittenBytes: storage.limits.rewrittenBytesPerCommit, metrics: storage.metrics)
    }

    // MARK: - Evaluation

    /// - Returns: The results of the first attempts, at least of one.
    private func evaluate(
      _ found: GroupReads.Found, _ evaluation: inout GroupEvaluation, _ writes: inout GroupWrites,
      on session: PostgresSession
    ) throws -> [ClusterAttempt.Result] {
      let clock = storage.engine.clock.node
      var documents = StoredDocuments(found, in: known.number)
      var results: [ClusterAttempt.Result] = []
      var time = clock.elapsedMicroseconds
      let end = time + storage.waiting.groupMicroseconds
      for attempt in attempts {
        let sender = attempt.request.sender
        if !results.isEmpty, storage.waiting.isSlow(sender) || evaluation.storedBytes > Self.storedBytes { break }
        results.append(try result(of: attempt, found, &documents, &evaluation, &writes, on: session))
        let now = clock.elapsedMicroseconds
        storage.waiting.note(now - time, of: sender)
        time = now
        if now > end { break }
      }
      return results
    }

    /// Evaluates one request. One that is refused has stored nothing, so the others of the group go on.
    ///
    /// - Throws: `PostgresError`: the transaction of the group has ended.
    private func result(
      of attempt: ClusterAttempt, _ found: GroupReads.Found, _ documents: inout StoredDocuments,
      _ evaluation: inout GroupEvaluation, _ writes: inout GroupWrites, on session: PostgresSession
    ) throws -> ClusterAttempt.Result {
      let (request, time) = (attempt.request, storage.engine.clock.time(server: found.order.time).microseconds)
      var result: Result<CommitOutcome, StatusError>
      do {
        if let label = request.label, let known = writes.response(to: label) ?? found.responses[label] {
          return .ended(.success(try storage.outcome(stored: known, for: label)))
        }
        if let end = attempt.ending {
          if let ended = writes.transactions.first(where: { $0.id == end.id }) {
            return .ended(ended.result(of: end.digest))
          }
          let verdict = try found.transactions.verdict(
            on: end, beside: evaluation, at: time, translator: storage.translator)
          switch verdict {
          case .ended(let result): return .ended(result)
          case .unchecked: return .unchecked
          case .open: break
          }
        }
        let outcome = try evaluation.apply(request) { try documents.document(for: $0, on: session) }
        if let label = request.label, !request.mutations.isEmpty {
          let bytes = try outcome.encoded(by: storage.translator)
          writes.responses.append(GroupWrites.Response(label: label, version: outcome.version, bytes: bytes))
        }
        result = .success(outcome)
      } catch let error as StatusError {
        result = .failure(storage.commitFailure(error))
      }
      if let end = attempt.ending, let ended = EndedTransaction(end, result, at: time) {
        writes.transactions.append(ended)
      }
      return .ended(result)
    }

    // MARK: - Storing

    /// Sends everything that the group stores, with COMMIT.
    private func store(
      _ evaluation: GroupEvaluation, _ writes: inout GroupWrites, _ found: GroupReads.Found,
      _ definitions: ClusterDefinitions, _ outcome: inout Outcome, on session: PostgresSession
    ) throws -> Ending {
      var calls: [PostgresCall] = []
      if let creation = found.creation, !evaluation.net.isEmpty || !writes.responses.isEmpty {
        outcome.database.number = creation.highest + 1
        writes.database = outcome.database.number
        calls.append(
          Self.createDatabase.call(
            .int8(writes.database), .bytea(Array(storage.databaseID.projectID.utf8)),
            .bytea(Array(storage.databaseID.database.utf8)), .int8(known.number)))
      }
      add(evaluation, to: &writes, found, definitions)
      outcome.newCollections = writes.newCollections
      calls += try writes.calls(by: storage.translator)
      if !evaluation.commits.isEmpty {
        calls.append(
          ClusterOrder.append(outcome.after, to: writes.database, by: mark, bytes: writes.historyBytes))
      }
      do throws(PostgresError) {
        _ = try session.run(calls + found.order.commit(on: storage.engine.location))
        return .done(outcome)
      } catch {
        guard error.kind == .outcomeUnknown else { throw error }
        return .unknown(outcome, error)
      }
    }

    /// Adds the changes of a group, with the numbers of their collections.
    private func add(
      _ evaluation: GroupEvaluation, to writes: inout GroupWrites, _ found: GroupReads.Found,
      _ definitions: ClusterDefinitions
    ) {
      var numbers = found.collections
      func number(of path: ResourcePath) -> Int64 {
        if let number = numbers[path] { return number }
        let number = found.highestCollection + Int64(writes.newCollections.count) + 1
        writes.newCollections.append(GroupWrites.Collection(number: number, path: path))
        numbers[path] = number
        return number
      }
      var changed: Set<DocumentKey> = []
      for commit in evaluation.commits {
        for transition in commit.transitions {
          writes.log(
            transition, at: commit.version, in: number(of: transition.key.collectionPath),
            isFirst: changed.insert(transition.key).inserted)
        }
      }
      for (key, transition) in evaluation.net.sorted(by: { $0.key < $1.key }) {
        let collection = number(of: key.collectionPath)
        writes.store(transition, in: collection, definitions.changes(of: transition, collection: collection))
      }
    }

    private static let createDatabase = PostgresStatement(
      "create database",
      """
      INSERT INTO hearth_databases (number, project, name, incarnation, log_start, index_generation, index_state)
      SELECT $1, $2, $3, incarnation, log_start, 0, 0 FROM hearth_databases WHERE number = $4
      """, [.int8, .bytea, .bytea, .int8])
  }
#endif
