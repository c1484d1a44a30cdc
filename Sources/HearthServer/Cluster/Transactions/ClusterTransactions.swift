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
  /// | | reads | its commit |
  /// |---|---|---|
  /// | pessimistic | the present, after a row for what it reads: commits of others that change it wait, or end the transaction, see ``WoundWait`` | waits for older ones that have read what it changes, and ends younger ones |
  /// | optimistic | one snapshot, fixed by its first read | is refused with ABORTED if any of its reads has changed since; before older pessimistic ones it waits |
  /// | read-only | one snapshot | changes nothing |
  ///
  /// A pessimistic transaction that was ended by others hears of it with its next call. What it reads until then may not belong together.
  final class ClusterTransactions: Transactions {
    let storage: ClusterStorage
    let place: [UInt8]
    let limits: DatabaseLimits
    let metrics: ServerMetrics?
    /// The transactions that this node has begun or served since a while, for metrics.
    private let used = Mutex(UsedTransactions())

    var engine: ClusterEngine { storage.engine }

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
      let former = isolation == .readOnly ? nil : try? TransactionID(repeated, in: place, secret: engine.history.secret)
      let id = try await relaxed { [engine, limits, place] session in
        let history = engine.history
        let now = try engine.clock.leaseTime(on: session)
        var seniority = Seniority(time: now, number: engine.seniorityNumber())
        if former != nil, let row = try session.run(Self.takeSeniority.call(.bytea(repeated), .int8(now))).first {
          seniority = Seniority(time: try row.int64(0), number: try row.int64(1))
        }
        let id = TransactionID(
          isolation: isolation, begin: now, era: try TransactionEra.present(on: session), version: version ?? .none,
          number: .random(in: 0 ... .max)
        ).bytes(in: place, secret: history.secret)
        let inserted = try session.run(
          Self.insert.call(
            .bytea(id), .bytea(place), .int2(Int16(isolation.format)),
            .int8(version?.microseconds ?? 0), .int8(now + limits.transactionIdleTime.microseconds), .int8(now),
            .int8(Int64(transactions)), .int8(seniority.time), .int8(seniority.number)))
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
        let now = try engine.clock.leaseTime(on: session)
        let expiry = min(
          id.begin + limits.transactionTime.microseconds, now + limits.transactionIdleTime.microseconds)
        let isPessimistic = id.isolation == .pessimistic
        func calls(in number: Int64) -> [PostgresCall] {
          [
            Self.record.call(
              .bytea(transaction), .int8(number), .int8(now), .int8(expiry), .byteaArray(reads.map(\.hash)),
              .int2Array(reads.map(\.kind.rawValue)), .byteaArray(reads.map(\.content)),
              .int8(Int64(limits.readsPerTransaction)), .int8(Int64(limits.transactionReads)), .bytea(place),
              .nullableByteaArray(reads.map { isPessimistic ? $0.lockKey : nil })),
            TransactionRow.read.call(.bytea(transaction)), TransactionEra.call,
          ]
        }
        let results =
          isPessimistic
          ? try storage.runInOrder(on: session, calls)
          : try session.run(calls(in: storage.knownNow(on: session).number))
        let row = try results[1].first.map(TransactionRow.init)
        let era = try TransactionEra.number(results[2])
        return (row: row, isRecorded: results[0].affectedCount == 1, now: now, era: era)
      }
      guard row.era == id.era else { throw .transactionLost }
      let open = try requireOpen(row.row, at: row.now)
      guard row.isRecorded, let version = open.readVersion else { throw tooMuch(reads.count, of: open) }
      used.withLock { $0.note(transaction, reads: Int(open.readCount), at: engine.clock.node.elapsedMicroseconds) }
      return id.isolation == .pessimistic ? nil : version
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

    // MARK: - Use

    func use() -> TransactionUse {
      let oldest = engine.clock.node.elapsedMicroseconds - limits.transactionTime.microseconds
      var use = used.withLock { $0.use(since: oldest) }
      (use.waitingRequests, use.greatestWaitingWrites) = storage.waits.counts
      return use
    }

    /// Takes note of the end of a transaction.
    func forget(_ transaction: [UInt8]) { used.withLock { $0.forget(transaction) } }

    /// The database may be closed at any time: its transactions are not in memory.
    var hasOpen: Bool { false }

    // MARK: - Helpers of all

    /// - Throws: INVALID_ARGUMENT for bytes that are no id of this database.
    func parse(_ bytes: [UInt8]) throws(StatusError) -> TransactionID {
      try TransactionID(bytes, in: place, secret: engine.history.secret)
    }

    @discardableResult
    func requireOpen(_ row: TransactionRow?, at now: Int64) throws(StatusError) -> TransactionRow {
      guard let row else { throw .transactionClosed }
      switch row.state {
      case .open where row.expiry > now: return row
      case .open:
        metrics?.exceeded(.transactionTime)
        throw .transactionExpired
      case .ended, .rolledBack: throw .transactionClosed
      case .aborted: throw .transactionAborted
      case .wounded: throw .transactionWounded
      case .expired: throw .transactionExpired
      }
    }

    /// Runs `body` on a session whose commits the server does not flush.
    func relaxed<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws(StatusError) -> Result {
      try storage.requireOpen()
      do {
        return try await engine.repeating(on: engine.relaxed, body)
      } catch {
        throw engine.status(of: error, in: storage.databaseID)
      }
    }
  }

  extension ClusterStorage {
    /// Runs calls in one transaction under the lock of the database.
    ///
    /// - Parameter calls: They may run twice: once under the lock of the empty database, if this one was created in the meantime.
    /// - Returns: Their results.
    func runInOrder(
      on session: PostgresSession, _ calls: (Int64) -> [PostgresCall]
    ) throws -> [PostgresRows] {
      let number = try knownNow(on: session).number
      let isMissing = number == ClusterSchema.emptyDatabase
      let head = [.begin] + ClusterOrder.calls(number) + (isMissing ? [GroupReads.find(databaseID)] : [])
      let results = try session.run(head + calls(number) + [.commit])
      _ = try ClusterOrder.state(results[1...])
      if isMissing, results[head.count - 1].first != nil { return try runInOrder(on: session, calls) }
      return Array(results[head.count...].dropLast())
    }
  }
#endif
