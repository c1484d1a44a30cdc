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
      /// Transactions have ended that others may wait for.
      var endsTransactions = false
    }

    /// - Throws: `PostgresError`, or `StatusError` for what concerns all requests. Nothing was stored then.
    func run(on session: PostgresSession) throws -> Ending {
      let keys = Set(attempts.flatMap { $0.request.mutations.map(\.key) })
      let open = Set(attempts.filter { $0.request.commitGuard == nil }.flatMap { $0.request.mutations.map(\.key) })
      let reads = GroupReads(
        database: known.number, databaseID: storage.databaseID, keys: keys.sorted(),
        guardedKeys: keys.subtracting(open),
        labels: attempts.compactMap(\.request.label), ends: attempts.compactMap(\.ending), clock: storage.engine.clock)
      let found = try reads.run(on: session, since: storage.basis(known.number))
      if let present = outdated(found) {
        _ = try session.run(.rollback)
        return .outdated(present)
      }
      let definitions = try storage.indexes.definitions(
        of: known.number, on: session, state: found.order.indexState, generation: found.order.indexGeneration)
      try definitions.requireKnown()
      storage.engine.hooks.betweenRoundTrips?()
      var evaluation = try evaluation(of: found)
      var state = State(
        documents: StoredDocuments(found, in: known.number), writes: GroupWrites(database: known.number),
        readers: found.readers)
      let results = try evaluate(found, &evaluation, &state, on: session)
      var writes = state.writes
      var outcome = Outcome(
        results: results + Array(repeating: nil, count: attempts.count - results.count), before: found.order.latest,
        after: evaluation.latest, changes: evaluation.commits, database: known,
        endsTransactions: writes.endsReaders)
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

    private func evaluation(of found: GroupReads.Found) throws(StatusError) -> GroupEvaluation {
      let first = try GroupEvaluation.firstVersion(
        after: found.order.latest, seen: storage.engine.history.seen(of: known.number),
        time: storage.engine.clock.time(server: found.order.time))
      return GroupEvaluation(
        databaseID: storage.databaseID, latest: found.order.latest, first: first,
        maximumRewrittenBytes: storage.limits.rewrittenBytesPerCommit, metrics: storage.metrics)
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
