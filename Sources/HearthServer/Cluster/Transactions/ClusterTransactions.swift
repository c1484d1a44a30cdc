#if PostgreSQL
  internal import Foundation
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthWire
  internal import Synchronization

  /// The transactions of a database in a cluster. They are rows of it: any node goes on with a transaction and ends it, also one that another
  /// node has begun and that does not exist any more.
  ///
  /// All of them read one snapshot, fixed by the first read. The commit of a transaction is refused if something that it has read was changed
  /// since: so a pessimistic one is served as an optimistic one.
  final class ClusterTransactions: Transactions {
    let storage: ClusterStorage
    let place: [UInt8]
    private let limits: DatabaseLimits
    private let metrics: ServerMetrics?
    /// The transactions that this node has begun or served since a while, for metrics.
    private let used = Mutex(UsedTransactions())

    private var engine: ClusterEngine { storage.engine }

    init(of storage: ClusterStorage, limits: DatabaseLimits, metrics: ServerMetrics?) {
      self.storage = storage
      self.limits = limits
      self.metrics = metrics
      place = ClusterNames.placeHash(storage.databaseID)
    }

    // MARK: - Begin

    func begin(
      _ isolation: TransactionIsolation, repeating repeated: [UInt8], at version: SnapshotVersion?
    ) async throws(StatusError) -> [UInt8] {
      let transactions = limits.transactions
      let id = try await relaxed { [engine, limits, place] session in
        let history = engine.history
        let now = engine.clock.time(server: try Self.time(on: session)).microseconds
        let id = TransactionID(
          isolation: isolation, begin: now, serverStart: history.serverStart, version: version ?? .none,
          number: .random(in: 0 ... .max)
        ).bytes(in: place, secret: history.secret)
        let inserted = try session.run(
          Self.insert.call(
            .bytea(id), .bytea(place), .int2(isolation == .readOnly ? 1 : 2),
            .int8(version?.microseconds ?? 0), .int8(now + limits.transactionIdleTime.microseconds), .int8(now),
            .int8(Int64(transactions))))
        return inserted.affectedCount == 1 ? id : nil
      }
      guard let id else {
        metrics?.exceeded(.transactions)
        throw StatusError(
          code: .resourceExhausted,
          message: "\(transactions) transactions are open, the most that are allowed; commit or roll back some")
      }
      used.withLock { $0.note(id, reads: 0, at: engine.clock.node.elapsedMicroseconds) }
      return id
    }

    // MARK: - Reads

    func read(
      _ transaction: [UInt8], keys: [DocumentKey], query: Query?
    ) async throws(StatusError) -> SnapshotVersion? {
      let id = try parse(transaction)
      let reads = id.isolation == .readOnly ? [] : TransactionRead.all(keys, query, in: storage.databaseID)
      let row = try await relaxed { [engine, limits, place, storage] session in
        let number = try storage.knownNow(on: session).number
        let now = engine.clock.time(server: try Self.time(on: session)).microseconds
        let results = try session.run([
          Self.record.call(
            .bytea(transaction), .int8(number), .int8(now),
            .int8(min(id.begin + limits.transactionTime.microseconds, now + limits.transactionIdleTime.microseconds)),
            .byteaArray(reads.map(\.hash)), .int2Array(reads.map(\.kind.rawValue)), .byteaArray(reads.map(\.content)),
            .int8(Int64(limits.readsPerTransaction)), .int8(Int64(limits.transactionReads)), .bytea(place)),
          TransactionRow.read.call(.bytea(transaction)),
        ])
        let row = try results[1].first.map(TransactionRow.init)
        return (row: row, isRecorded: results[0].affectedCount == 1, now: now)
      }
      let open = try requireOpen(row.row, at: row.now)
      guard row.isRecorded, let version = open.readVersion else { throw tooMuch(reads.count, of: open) }
      used.withLock { $0.note(transaction, reads: Int(open.readCount), at: engine.clock.node.elapsedMicroseconds) }
      return version
    }

    /// Why a read of an open transaction was not recorded.
    private func tooMuch(_ count: Int, of row: TransactionRow) -> StatusError {
      guard row.readCount + Int64(count) > Int64(limits.readsPerTransaction) else {
        metrics?.exceeded(.transactionReads)
        return StatusError(
          code: .resourceExhausted,
          message:
            "the open transactions have read \(limits.transactionReads) documents, the most that are allowed; "
            + "commit or roll back some")
      }
      metrics?.exceeded(.readsPerTransaction)
      return StatusError(
        code: .invalidArgument, message: "the transaction reads more than \(limits.readsPerTransaction) documents")
    }

    // MARK: - The end

    func commit(_ request: CommitRequest, ending transaction: [UInt8]) async throws(StatusError) -> CommitOutcome {
      let id = try parse(transaction)
      let digest = RequestLabel.digest(of: request.mutations, in: storage.databaseID)
      guard !request.mutations.isEmpty else { return try await end(transaction, digest) }
      if id.isolation == .readOnly {
        throw StatusError(code: .invalidArgument, message: "Cannot modify entities in a read-only transaction.")
      }
      var end = TransactionEnd(id: transaction, digest: digest)
      if let ended = try await check(&end) { return try ended.get() }
      let outcome: CommitOutcome
      do throws(StatusError) {
        outcome = try await storage.commit(ClusterAttempt(request: request, ending: end)) {
          (attempt) throws(StatusError) in
          guard var end = attempt.ending else { return }
          _ = try await check(&end)
          attempt.ending = end
        }
      } catch {
        if error.code == .aborted { metrics?.transactionAborted() }
        throw error
      }
      used.withLock { $0.forget(transaction) }
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
        let results = try session.run([
          TransactionRow.read.call(.bytea(known.id)), TransactionRead.select.call(.bytea(known.id)),
        ])
        let row = try results[0].first.map(TransactionRow.init)
        let now = engine.clock.time(server: Timestamp(microseconds: row?.time ?? 0)).microseconds
        guard let row, row.state == .open, let version = row.readVersion, !results[1].isEmpty else {
          return (row, now, nil as ClusterReadCheck?, ClusterReadCheck.Verdict.holds)
        }
        var check = try known.check ?? ClusterReadCheck(TransactionRead.reads(results[1], at: version, in: databaseID))
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

    /// Ends a transaction that has changed nothing: its reads alone are consistent, because all of them saw one snapshot.
    private func end(_ transaction: [UInt8], _ digest: [UInt8]) async throws(StatusError) -> CommitOutcome {
      let version = try await storage.currentVersion()
      let end = TransactionEnd(id: transaction, digest: digest)
      let (row, now) = try await relaxed { [engine, storage] session in
        let locked = try session.run([.begin, TransactionRow.lock.call(.bytea(transaction))])
        let row = try locked[1].first.map(TransactionRow.init)
        let now = engine.clock.time(server: Timestamp(microseconds: row?.time ?? 0)).microseconds
        let outcome = CommitOutcome(version: version, results: [])
        if row?.state == .open, let ended = EndedTransaction(end, .success(outcome), at: now) {
          _ = try session.run([ended.call(by: storage.translator), .commit])
        }
        return (row, now)
      }
      if let outcome = row?.outcome(of: digest, at: now) { return try stored(outcome).get() }
      _ = try requireOpen(row, at: now)
      used.withLock { $0.forget(transaction) }
      return CommitOutcome(version: version, results: [])
    }

    func rollback(_ transaction: [UInt8]) async throws(StatusError) {
      do throws(StatusError) {
        _ = try parse(transaction)
      } catch  where error.code == .aborted {
        return
      }
      try await relaxed { session in
        _ = try session.run([
          TransactionRead.remove.call(.bytea(transaction)), Self.remove.call(.bytea(transaction)),
        ])
      }
      used.withLock { $0.forget(transaction) }
    }

    func abortAll() async throws(StatusError) {
      try await relaxed { [place] session in _ = try session.run(Self.abort.call(.bytea(place))) }
    }

    // MARK: - Use

    func use() -> TransactionUse {
      let oldest = engine.clock.node.elapsedMicroseconds - limits.transactionTime.microseconds
      return used.withLock { $0.use(since: oldest) }
    }

    /// The database may be closed at any time: its transactions are not in memory.
    var hasOpen: Bool { false }

    // MARK: - Helpers of all

    /// - Throws: INVALID_ARGUMENT for bytes that are no id of this database, ABORTED if what the transaction has read may be lost.
    private func parse(_ bytes: [UInt8]) throws(StatusError) -> TransactionID {
      let id = try TransactionID(bytes, in: place, secret: engine.history.secret)
      guard id.serverStart == engine.history.serverStart else { throw .transactionLost }
      return id
    }

    private func requireOpen(_ row: TransactionRow?, at now: Int64) throws(StatusError) -> TransactionRow {
      guard let row else { throw .transactionClosed }
      switch row.state {
      case .open where row.expiry > now: return row
      case .open:
        metrics?.exceeded(.transactionTime)
        throw .transactionExpired
      case .ended: throw .transactionClosed
      case .aborted: throw .transactionAborted
      }
    }

    /// Runs `body` on a session whose commits the server does not flush.
    private func relaxed<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws(StatusError) -> Result {
      try storage.requireOpen()
      do {
        return try await engine.repeating(on: engine.relaxed, body)
      } catch {
        throw engine.status(of: error, in: storage.databaseID)
      }
    }

    private static func time(on session: PostgresSession) throws -> Timestamp {
      Timestamp(microseconds: try session.run(now.call()).only().microseconds(0))
    }
  }
#endif
