#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Synchronization

  /// Lets the commits of a node wait for pessimistic transactions, of whatever node.
  ///
  /// As long as a commit waits, the node asks the database which of the transactions are still open: one statement for all that wait, every
  /// 50 ms, and at once when a transaction ends on this node or another node tells of commits.
  final class TransactionWaits: Sendable {
    private typealias Decision = Result<Void, StatusError>
    private typealias Waiter = CheckedContinuation<Decision, Never>

    private struct State {
      var table: WaitTable
      var waiters: [WaitTable.Number: Waiter] = [:]
      /// A task asks from time to time.
      var isWatched = false
      var isLooking = false
      /// Something has happened since the look in progress began.
      var looksAgain = false
      var isClosed = false
    }

    private let engine: ClusterEngine
    private let limits: DatabaseLimits
    private let metrics: ServerMetrics?
    private let state: Mutex<State>

    private static let interval = Duration.milliseconds(50)

    init(_ engine: ClusterEngine, limits: DatabaseLimits, metrics: ServerMetrics?) {
      self.engine = engine
      self.limits = limits
      self.metrics = metrics
      state = Mutex(State(table: WaitTable(maximumPerDocument: limits.waitingWritesPerDocument)))
    }

    /// The number of commits that wait, and of those that wait because of the document for which most do.
    var counts: (all: Int, greatest: Int) { state.withLock { ($0.table.count, $0.table.greatestCount) } }

    private static let timeout = StatusError(code: .aborted, message: "Transaction lock timeout.")
    private static let cancelled = StatusError(code: .cancelled, message: "The call was cancelled.")

    /// Waits until a commit may be tried again.
    ///
    /// - Parameter arrival: When the commit came, in microseconds that have elapsed.
    /// - Throws: ABORTED if it has waited for too long, or too many wait; CANCELLED; UNAVAILABLE.
    func wait(for blockage: ClusterAttempt.Blockage, since arrival: Int64) async throws(StatusError) {
      let begin = metrics.map { _ in ContinuousClock.now }
      let number = state.withLock { $0.table.nextNumber() }
      let decision = await withTaskCancellationHandler {
        await withCheckedContinuation { waiter in
          if let known = add(number, waiter, for: blockage, since: arrival) {
            waiter.resume(returning: known)
          } else {
            watch()
          }
        }
      } onCancel: {
        decide(.failure(Self.cancelled)) { $0.remove(number) ? [number] : [] }
      }
      if let begin { metrics?.lockWaited(.now - begin) }
      try decision.get()
    }

    /// - Returns: Nil if it waits now.
    private func add(
      _ number: WaitTable.Number, _ waiter: Waiter, for blockage: ClusterAttempt.Blockage, since arrival: Int64
    ) -> Decision? {
      state.withLock { state in
        if state.isClosed { return .failure(.shuttingDown) }
        // Under the lock: a call that is cancelled later is found by its handler.
        if Task.isCancelled { return .failure(Self.cancelled) }
        if let key = state.table.add(number, for: blockage.transactions, blockage.keys, since: arrival) {
          return .failure(crowded(key))
        }
        state.waiters[number] = waiter
        return nil
      }
    }

    private func crowded(_ key: DocumentKey) -> StatusError {
      metrics?.exceeded(.waitingWritesPerDocument)
      return StatusError(
        code: .aborted,
        message:
          "\(StatusError.transactionWounded.message) \(limits.waitingWritesPerDocument) writes wait for \"\(key)\", the "
          + "most that may (hearth serve --max-waiting-writes-per-document).")
    }

    /// Ends all waiting.
    func close() {
      let waiters = state.withLock { state in
        state.isClosed = true
        state.table = WaitTable(maximumPerDocument: limits.waitingWritesPerDocument)
        defer { state.waiters = [:] }
        return state.waiters.values.map(\.self)
      }
      for waiter in waiters { waiter.resume(returning: .failure(.shuttingDown)) }
    }

    // MARK: - Looks

    /// Transactions may have ended: looks at once if a commit waits.
    func look() {
      let isFirst = state.withLock { state in
        guard !state.table.isEmpty else { return false }
        guard !state.isLooking else {
          state.looksAgain = true
          return false
        }
        state.isLooking = true
        return true
      }
      if isFirst { Task { await lookNow() } }
    }

    private func lookNow() async {
      repeat {
        let transactions = state.withLock { state in
          state.looksAgain = false
          return state.table.transactions
        }
        if !transactions.isEmpty { await look(for: transactions) }
      } while goesOn()
    }

    private func goesOn() -> Bool {
      state.withLock { state in
        state.isLooking = state.looksAgain
        return state.isLooking
      }
    }

    private func look(for transactions: Set<WoundWait.ID>) async {
      let ids = Array(transactions)
      let open = try? await engine.reading { [engine] session in
        try session.run(Self.findOpen.call(.byteaArray(ids))).compactMap { row -> WoundWait.ID? in
          let time = engine.clock.leaseTime(server: Timestamp(microseconds: try row.microseconds(2)))
          let id = ids[Int(try row.int64(0)) - 1]
          let isLost = TransactionID.era(of: id) != (try row.optionalInt64(3))
          return try isLost || row.int64(1) <= time ? nil : id
        }
      }
      // While the server is out of reach, no commit goes on before the end of its wait.
      guard let open else { return }
      decide(.success(())) { $0.end(transactions.subtracting(open)) }
    }

    /// As long as a commit waits, looks for transactions that have ended, and for commits that have waited for too long.
    private func watch() {
      let isFirst = state.withLock { state in
        defer { state.isWatched = true }
        return !state.isWatched
      }
      // What it waits for may have ended since it was found.
      look()
      guard isFirst else { return }
      Task {
        while true {
          try? await Task.sleep(for: Self.interval)
          let isOver = state.withLock { state in
            if state.table.isEmpty { state.isWatched = false }
            return !state.isWatched
          }
          if isOver { return }
          look()
          let time = engine.clock.node.elapsedMicroseconds - limits.lockWait.microseconds
          let count = decide(.failure(Self.timeout)) { $0.removeAll(before: time) }
          if count > 0 { metrics?.exceeded(.lockWait, count: count) }
        }
      }
    }

    /// Ends the wait of some commits.
    ///
    /// - Returns: Their number.
    @discardableResult
    private func decide(_ decision: Decision, _ change: (inout WaitTable) -> [WaitTable.Number]) -> Int {
      let waiters = state.withLock { state in
        change(&state.table).map { state.waiters.removeValue(forKey: $0) }
      }
      for waiter in waiters { waiter?.resume(returning: decision) }
      return waiters.count
    }

    private static let findOpen = PostgresStatement(
      "open transactions",
      """
      SELECT k.position, t.expiry, clock_timestamp(), (\(TransactionEra.query)) FROM unnest($1::bytea[]) WITH ORDINALITY AS k (id, position)
      CROSS JOIN LATERAL (SELECT expiry FROM hearth_transactions WHERE id = k.id AND state = 0 LIMIT 1) t
      """, [.byteaArray])
  }
#endif
