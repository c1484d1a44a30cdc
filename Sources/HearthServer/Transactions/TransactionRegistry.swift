internal import Crypto
internal import HearthModel
internal import HearthRPC
internal import NIOCore
internal import Synchronization

/// The open transactions of one database, in the memory of a process that makes all of its commits.
///
/// | | reads | its commit |
/// |---|---|---|
/// | pessimistic | the present, and locks what it reads: no other transaction changes it before the end | waits for others that have read what it changes |
/// | optimistic | one snapshot, fixed by its first read | is refused with ABORTED if any of its reads has changed since |
/// | read-only | one snapshot | changes nothing |
///
/// An id holds a random number of the process's run, a counter, the start time, and a code that only this process can compute from the
/// rest. So ended and expired transactions are distinguished from invented ids without keeping them.
final class TransactionRegistry: Sendable {
  /// The maximum age of the outcome of a commit that is remembered.
  static let outcomeMicroseconds: Int64 = 60_000_000
  /// The maximum number of remembered outcomes, and of the results of their writes.
  static let maximumOutcomes = (commits: 10_000, results: 200_000)

  typealias Isolation = TransactionIsolation

  /// The kind of a transaction's reads.
  enum Reading: Equatable {
    case at(SnapshotVersion)
    /// The present, after it is locked.
    case locked(LockTable.Owner)
  }

  struct Transaction {
    var isolation: Isolation
    /// The name under which a pessimistic one has its locks.
    var owner: LockTable.Owner
    var begin: Int64
    /// The start of the latest read, or the end of its wait for locks.
    var lastUse: Int64
    /// The reads that wait for locks. A transaction that others keep waiting is not idle.
    var waitCount = 0
    /// Fixed by the first read.
    var reads: TransactionReads?
    /// Ended by the server. Its client does not know yet: its calls are ABORTED until it rolls back or starts again.
    var isAborted = false

    var isReadOnly: Bool { isolation == .readOnly }
    var readCount: Int { reads.map { $0.keys.count + $0.queries.count } ?? 0 }

    /// Adds what is read.
    fileprivate mutating func note(
      keys: [DocumentKey], query: Query?, latest: SnapshotVersion, now: Int64
    ) -> Reading {
      lastUse = now
      let version = reads?.version ?? latest
      if reads == nil { reads = TransactionReads(version: version) }
      if !isReadOnly {
        reads?.keys.formUnion(keys)
        if let query { reads?.queries.append(query) }
      }
      guard isolation == .pessimistic else { return .at(version) }
      waitCount += 1
      return .locked(owner)
    }

    fileprivate mutating func endWait(at now: Int64) {
      waitCount -= 1
      lastUse = now
    }
  }

  typealias CommitResult = Result<CommitOutcome, StatusError>

  /// A commit that ends or has ended a transaction.
  struct Ending {
    /// The digest of the commit's writes: a repetition has the same.
    var digest: [UInt8]
    var progress: Progress

    enum Progress {
      /// The transaction as it was, and the repetitions that wait for the outcome.
      case running(Transaction, [CheckedContinuation<CommitResult, Never>])
      case ended(CommitResult, at: Int64)
    }
  }

  struct State {
    var counter: UInt64 = 0
    var transactions: [[UInt8]: Transaction] = [:]
    /// The sum of their reads.
    var readCount = 0
    /// The number of open transactions at which expired ones are looked for.
    var sweepCount = 64
    var lastSweep: Int64 = 0

    var endings: [[UInt8]: Ending] = [:]
    /// The transactions whose outcome is remembered, oldest first, with the time and the number of results.
    var outcomes: CircularBuffer<(id: [UInt8], time: Int64, resultCount: Int)> = []
    var resultCount = 0
    var successions = Successions()

    /// A transaction has ended without a commit.
    mutating func leaveAge(of transaction: Transaction, at now: Int64) {
      // An aborted one has left it already.
      if !transaction.isReadOnly, !transaction.isAborted { successions.add(transaction.owner, at: now) }
    }

    /// A read has its locks, or has failed to get them.
    ///
    /// - Returns: The transaction, and true for one whose commit has begun; nil for one that has ended.
    mutating func endWait(of id: [UInt8], at now: Int64) -> (transaction: Transaction, isCommitting: Bool)? {
      if case .running(var transaction, let waiting)? = endings[id]?.progress {
        transaction.endWait(at: now)
        endings[id]?.progress = .running(transaction, waiting)
        return (transaction, true)
      }
      transactions[id]?.endWait(at: now)
      return transactions[id].map { ($0, false) }
    }
  }

  private let limits: DatabaseLimits
  let metrics: ServerMetrics?
  let clock: ServerClock
  let locks: TransactionLocks
  private let run: [UInt8]
  private let key = SymmetricKey(size: .bits256)
  let state = Mutex(State())

  init(
    limits: DatabaseLimits = DatabaseLimits(), clock: ServerClock, locks: TransactionLocks,
    metrics: ServerMetrics? = nil
  ) {
    self.limits = limits
    self.metrics = metrics
    self.clock = clock
    self.locks = locks
    self.run = Self.randomBytes(8)
    locks.onWait { [weak self] in self?.endExpired() }
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
  }

  // MARK: - Begin

  /// Opens a transaction.
  ///
  /// - Parameters:
  ///   - repeated: The id of the transaction that is tried again, whose age the new one gets (see ``Successions``); empty for none.
  ///   - version: fixes the snapshot at once, for read-only transactions with a read time.
  func begin(
    _ isolation: Isolation, repeating repeated: [UInt8] = [], at version: SnapshotVersion? = nil
  ) throws(StatusError) -> [UInt8] {
    let now = clock.elapsedMicroseconds
    let predecessor = isOwn(repeated) ? Self.number(in: repeated[8..<16]) : nil
    var expired: [Transaction] = []
    let result = state.withLock { state -> Result<[UInt8], StatusError> in
      expired = removeExpired(from: &state, now: now)
      guard state.transactions.count < limits.transactions else {
        metrics?.exceeded(.transactions)
        return .failure(
          StatusError(
            code: .resourceExhausted,
            message: "\(limits.transactions) transactions are open, the most that are allowed; commit or roll back some"
          ))
      }
      state.counter += 1
      let seniority = predecessor.flatMap { state.successions.take(from: $0, at: now) }
      let owner = LockTable.Owner(seniority: seniority ?? state.counter, number: state.counter)
      let head = run + Self.bytes(of: state.counter) + Self.bytes(of: UInt64(bitPattern: now))
      let id = head + code(of: head)
      state.transactions[id] = Transaction(
        isolation: isolation, owner: owner, begin: now, lastUse: now,
        reads: version.map { TransactionReads(version: $0) })
      return .success(id)
    }
    unlock(expired)
    return try result.get()
  }

  /// Returns true for an id that this process has made.
  private func isOwn(_ id: [UInt8]) -> Bool {
    id.count == Self.idLength && id.starts(with: run) && code(of: id[..<24]).elementsEqual(id[24...])
  }

  private func code(of bytes: some Sequence<UInt8>) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(bytes), using: key).prefix(8))
  }

  private static let idLength = 32

  private static func number(in bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// Each look at all transactions is paid for by as many begins, or by a second.
  ///
  /// - Returns: The expired transactions.
  private func removeExpired(from state: inout State, now: Int64) -> [Transaction] {
    let isFull = state.transactions.count >= limits.transactions && now - state.lastSweep >= 1_000_000
    guard isFull || (state.transactions.count >= state.sweepCount && state.sweepCount < limits.transactions) else {
      return []
    }
    return removeAllExpired(from: &state, now: now)
  }

  private func removeAllExpired(from state: inout State, now: Int64) -> [Transaction] {
    let expired = state.transactions.values.filter { isExpired($0, at: now) }
    state.transactions = state.transactions.filter { !isExpired($0.value, at: now) }
    for transaction in expired { state.leaveAge(of: transaction, at: now) }
    state.readCount = state.transactions.values.reduce(0) { $0 + $1.readCount }
    state.sweepCount = max(64, 2 * state.transactions.count)
    state.lastSweep = now
    if !expired.isEmpty { metrics?.exceeded(.transactionTime, count: expired.count) }
    return expired
  }

  /// Ends the transactions whose time is over, because a request waits for locks.
  private func endExpired() {
    let now = clock.elapsedMicroseconds
    unlock(state.withLock { removeAllExpired(from: &$0, now: now) })
  }

  private func isExpired(_ transaction: Transaction, at now: Int64) -> Bool {
    now - transaction.begin > limits.transactionTime.microseconds
      || transaction.waitCount == 0 && now - transaction.lastUse > limits.transactionIdleTime.microseconds
  }

  private func unlock(_ transactions: [Transaction]) {
    for transaction in transactions where transaction.isolation == .pessimistic { locks.release(transaction.owner) }
  }

  /// True while a transaction is open, or the outcome of one is remembered.
  var hasOpen: Bool {
    let now = clock.elapsedMicroseconds
    return state.withLock { state in
      forgetOutcomes(in: &state, now: now)
      return !state.endings.isEmpty
        || state.transactions.values.contains { !$0.isAborted && !isExpired($0, at: now) }
    }
  }

  func use() -> TransactionUse {
    let (waitingRequests, greatestWaitingWrites) = (locks.ticketCount, locks.greatestWriterCount)
    return state.withLock { state in
      TransactionUse(
        transactions: state.transactions.count, reads: state.readCount,
        greatestReads: state.transactions.values.map(\.readCount).max() ?? 0, waitingRequests: waitingRequests,
        greatestWaitingWrites: greatestWaitingWrites)
    }
  }

  // MARK: - Use

  /// Records a read, and locks what a pessimistic transaction reads.
  ///
  /// - Parameter latest: the snapshot of the transaction if this is its first read.
  /// - Returns: the version to read at; nil for the present.
  /// - Throws: INVALID_ARGUMENT for a transaction that is not open; ABORTED for one that waited too long or was part of a deadlock: it is over.
  func read(
    _ id: [UInt8], keys: [DocumentKey] = [], query: Query? = nil, latest: SnapshotVersion
  ) async throws(StatusError) -> SnapshotVersion? {
    switch try record(id, keys: keys, query: query, latest: latest) {
    case .at(let version): return version
    case .locked(let owner):
      do throws(StatusError) {
        try await locks.lock(keys, query, for: owner)
      } catch {
        _ = state.withLock { $0.endWait(of: id, at: clock.elapsedMicroseconds) }
        if error.code == .aborted {
          metrics?.transactionAborted()
          try? rollback(id)
        }
        throw error
      }
      // It may have ended while it waited. Documents that it has locked since then would stay locked. A commit in progress unlocks at its
      // end.
      let (error, isEnding) = state.withLock { state -> (StatusError?, Bool) in
        let (transaction, isCommitting) = state.endWait(of: id, at: clock.elapsedMicroseconds) ?? (nil, false)
        guard let transaction, !isCommitting else { return (Self.closed, isCommitting) }
        return (transaction.isAborted ? Self.aborted : nil, false)
      }
      if let error {
        if !isEnding { locks.release(owner) }
        throw error
      }
      return nil
    }
  }

  /// Records a read, which waits from now on if it needs locks.
  private func record(
    _ id: [UInt8], keys: [DocumentKey], query: Query?, latest: SnapshotVersion
  ) throws(StatusError) -> Reading {
    let now = clock.elapsedMicroseconds
    let result = state.withLock { state -> Result<Reading, StatusError> in
      do throws(StatusError) {
        state.readCount += try admit(keys, query, for: id, in: &state, now: now)
        // In place: a transaction that reads much would else copy all of its reads with each.
        let reading = state.transactions[id]?.note(keys: keys, query: query, latest: latest, now: now)
        guard let reading else { throw Self.closed }
        return .success(reading)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Checks that a transaction may read so much more.
  ///
  /// - Returns: The number of reads that are new to it.
  private func admit(
    _ keys: [DocumentKey], _ query: Query?, for id: [UInt8], in state: inout State, now: Int64
  ) throws(StatusError) -> Int {
    let transaction = try find(id, in: &state, now: now)
    guard !transaction.isReadOnly else { return 0 }
    guard transaction.readCount + keys.count + (query == nil ? 0 : 1) <= limits.readsPerTransaction else {
      metrics?.exceeded(.readsPerTransaction)
      throw StatusError(
        code: .invalidArgument, message: "the transaction reads more than \(limits.readsPerTransaction) documents")
    }
    var newKeys = Set(keys)
    if let known = transaction.reads?.keys { newKeys = newKeys.filter { !known.contains($0) } }
    let added = newKeys.count + (query == nil ? 0 : 1)
    guard state.readCount + added <= limits.transactionReads else {
      metrics?.exceeded(.transactionReads)
      throw StatusError(
        code: .resourceExhausted,
        message:
          "the open transactions have read \(limits.transactionReads) documents, the most that are allowed; "
          + "commit or roll back some")
    }
    return added
  }

  /// Ends all open transactions that may write. Their next calls are ABORTED.
  func abortAll() {
    let now = clock.elapsedMicroseconds
    let aborted = state.withLock { state in
      var aborted: [Transaction] = []
      for (id, transaction) in state.transactions where !transaction.isReadOnly && !transaction.isAborted {
        aborted.append(transaction)
        state.leaveAge(of: transaction, at: now)
        state.readCount -= transaction.readCount
        state.transactions[id]?.reads = nil
        state.transactions[id]?.isAborted = true
      }
      return aborted
    }
    for _ in aborted { metrics?.transactionAborted() }
    unlock(aborted)
  }

  /// Ends a transaction without a commit. Does nothing for one that has ended.
  func rollback(_ id: [UInt8]) throws(StatusError) {
    let now = clock.elapsedMicroseconds
    let ended = state.withLock { state in
      let transaction = Self.remove(id, from: &state)
      if let transaction { state.leaveAge(of: transaction, at: now) }
      return transaction
    }
    guard let ended else {
      try checkForm(of: id)
      return
    }
    unlock([ended])
  }

  @discardableResult
  static func remove(_ id: [UInt8], from state: inout State) -> Transaction? {
    guard let transaction = state.transactions.removeValue(forKey: id) else { return nil }
    state.readCount -= transaction.readCount
    return transaction
  }

  /// - Throws: INVALID_ARGUMENT for one that is not open any more, ABORTED for one that the server has ended.
  func find(_ id: [UInt8], in state: inout State, now: Int64) throws(StatusError) -> Transaction {
    guard let transaction = state.transactions[id] else {
      let begin = try checkForm(of: id)
      throw now - begin > limits.transactionTime.microseconds ? Self.expired : Self.closed
    }
    guard !isExpired(transaction, at: now) else { throw Self.expired }
    guard !transaction.isAborted else { throw Self.aborted }
    return transaction
  }

  /// Checks that the id comes from a server.
  ///
  /// - Returns: The time of the start in microseconds.
  @discardableResult
  private func checkForm(of id: [UInt8]) throws(StatusError) -> Int64 {
    guard id.count == Self.idLength else { throw StatusError(code: .invalidArgument, message: "Invalid transaction.") }
    // An id of an earlier run of the server: its transaction ended with that run.
    guard id.starts(with: run) else { throw Self.expired }
    guard isOwn(id) else { throw StatusError(code: .invalidArgument, message: "Invalid transaction.") }
    return Int64(bitPattern: Self.number(in: id[16..<24]))
  }

  private static let expired = StatusError(
    code: .invalidArgument, message: "The referenced transaction has expired or is no longer valid.")
  private static let closed = StatusError(code: .invalidArgument, message: "Transaction is invalid or closed.")
  private static let aborted = StatusError(
    code: .aborted, message: "The transaction was aborted because the database was cleared. Please try again.")
}
