internal import HearthModel
internal import NIOCore
internal import Synchronization

/// The open transactions of one database. They are optimistic: a transaction reads one snapshot, fixed by its first
/// read, takes no locks, and its commit is refused with ABORTED when something it has read was changed since.
///
/// An id holds a number drawn for the run of the process, a counter, the time of the begin and random bytes. So ended and
/// expired transactions are distinguished from invented ids without keeping them.
final class TransactionRegistry: Sendable {
  /// The maximum duration of a transaction.
  static let maximumAgeMicroseconds: Int64 = 270_000_000
  /// The maximum time between two uses of a transaction.
  static let maximumIdleMicroseconds: Int64 = 60_000_000
  /// The maximum number of open transactions.
  static let maximumCount = 10_000
  /// The maximum number of documents and queries that one transaction reads.
  static let maximumReads = 100_000
  /// The maximum number of documents and queries that all open transactions together have read.
  static let maximumReadsInAll = 2_000_000
  /// The maximum age of the outcome of a commit that is remembered.
  static let outcomeMicroseconds: Int64 = 60_000_000
  /// The maximum number of remembered outcomes, and of the results of their writes.
  static let maximumOutcomes = (commits: 10_000, results: 200_000)

  private struct Transaction {
    var isReadOnly: Bool
    var begin: Int64
    var lastUse: Int64
    /// Fixed by the first read.
    var reads: TransactionReads?

    var readCount: Int { reads.map { $0.keys.count + $0.queries.count } ?? 0 }

    func isExpired(at now: Int64) -> Bool {
      now - begin > TransactionRegistry.maximumAgeMicroseconds
        || now - lastUse > TransactionRegistry.maximumIdleMicroseconds
    }
  }

  typealias CommitResult = Result<CommitOutcome, StatusError>

  /// A commit that ends or has ended a transaction.
  private struct Ending {
    /// Of the commit's writes: a repetition has the same.
    var digest: [UInt8]
    var progress: Progress

    enum Progress {
      /// The transaction as it was, and the repetitions that wait for the outcome.
      case running(Transaction, [CheckedContinuation<CommitResult, Never>])
      case ended(CommitResult, at: Int64)
    }
  }

  private struct State {
    var counter: UInt64 = 0
    var transactions: [[UInt8]: Transaction] = [:]
    /// The sum of their reads.
    var readCount = 0
    /// The number of open transactions at which expired ones are looked for.
    var sweepCount = 64
    var lastSweep = Int64.min

    var endings: [[UInt8]: Ending] = [:]
    /// The transactions whose outcome is remembered, oldest first, with the time and the number of results.
    var outcomes: CircularBuffer<(id: [UInt8], time: Int64, resultCount: Int)> = []
    var resultCount = 0
  }

  private let clock: ServerClock
  private let run: [UInt8]
  private let state = Mutex(State())

  init(clock: ServerClock) {
    self.clock = clock
    self.run = Self.randomBytes(8)
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
  }

  // MARK: - Begin

  /// Opens a transaction.
  ///
  /// - Parameter version: fixes the snapshot at once, for read-only transactions with a read time.
  func begin(isReadOnly: Bool, at version: SnapshotVersion? = nil) throws(StatusError) -> [UInt8] {
    let now = clock.now().microseconds
    let result = state.withLock { state -> Result<[UInt8], StatusError> in
      removeExpired(from: &state, now: now)
      guard state.transactions.count < Self.maximumCount else {
        return .failure(
          StatusError(
            code: .resourceExhausted,
            message: "\(Self.maximumCount) transactions are open, the most that are allowed; commit or roll back some"))
      }
      state.counter += 1
      let id = run + Self.bytes(of: state.counter) + Self.bytes(of: UInt64(bitPattern: now)) + Self.randomBytes(8)
      state.transactions[id] = Transaction(
        isReadOnly: isReadOnly, begin: now, lastUse: now, reads: version.map { TransactionReads(version: $0) })
      return .success(id)
    }
    return try result.get()
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// Each look at all transactions is paid for by as many begins, or by a second.
  private func removeExpired(from state: inout State, now: Int64) {
    let isFull = state.transactions.count >= Self.maximumCount && now - state.lastSweep >= 1_000_000
    guard isFull || (state.transactions.count >= state.sweepCount && state.sweepCount < Self.maximumCount) else {
      return
    }
    state.transactions = state.transactions.filter { !$0.value.isExpired(at: now) }
    state.readCount = state.transactions.values.reduce(0) { $0 + $1.readCount }
    state.sweepCount = max(64, 2 * state.transactions.count)
    state.lastSweep = now
  }

  /// True while a transaction is open, or the outcome of one is remembered.
  var hasOpen: Bool {
    let now = clock.now().microseconds
    return state.withLock { state in
      forgetOutcomes(in: &state, now: now)
      return !state.endings.isEmpty || state.transactions.values.contains { !$0.isExpired(at: now) }
    }
  }

  // MARK: - Use

  /// Records a read.
  ///
  /// - Parameter latest: the snapshot of the transaction if this is its first read.
  /// - Returns: the version to read at.
  func read(
    _ id: [UInt8], keys: [DocumentKey] = [], query: Query? = nil, latest: SnapshotVersion
  ) throws(StatusError) -> SnapshotVersion {
    let now = clock.now().microseconds
    let result = state.withLock { state -> Result<SnapshotVersion, StatusError> in
      do throws(StatusError) {
        var transaction = try find(id, in: &state, now: now)
        var reads = transaction.reads ?? TransactionReads(version: latest)
        if !transaction.isReadOnly {
          guard reads.keys.count + reads.queries.count + keys.count < Self.maximumReads else {
            return .failure(
              StatusError(
                code: .invalidArgument, message: "the transaction reads more than \(Self.maximumReads) documents"))
          }
          reads.keys.formUnion(keys)
          if let query { reads.queries.append(query) }
        }
        let added = reads.keys.count + reads.queries.count - transaction.readCount
        guard state.readCount + added <= Self.maximumReadsInAll else {
          return .failure(
            StatusError(
              code: .resourceExhausted,
              message:
                "the open transactions have read \(Self.maximumReadsInAll) documents, the most that are allowed; "
                + "commit or roll back some"))
        }
        state.readCount += added
        transaction.reads = reads
        transaction.lastUse = now
        state.transactions[id] = transaction
        return .success(reads.version)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Ends a transaction without a commit. Does nothing for one that has ended.
  func rollback(_ id: [UInt8]) throws(StatusError) {
    let isKnown = state.withLock { Self.remove(id, from: &$0) != nil }
    if !isKnown { try checkForm(of: id) }
  }

  @discardableResult
  private static func remove(_ id: [UInt8], from state: inout State) -> Transaction? {
    guard let transaction = state.transactions.removeValue(forKey: id) else { return nil }
    state.readCount -= transaction.readCount
    return transaction
  }

  /// - Throws: INVALID_ARGUMENT for one that is not open any more.
  private func find(_ id: [UInt8], in state: inout State, now: Int64) throws(StatusError) -> Transaction {
    guard let transaction = state.transactions[id] else {
      let begin = try checkForm(of: id)
      throw now - begin > Self.maximumAgeMicroseconds ? Self.expired : Self.closed
    }
    guard !transaction.isExpired(at: now) else { throw Self.expired }
    return transaction
  }

  /// Checks that the id comes from a server.
  ///
  /// - Returns: The time of the begin in microseconds.
  @discardableResult
  private func checkForm(of id: [UInt8]) throws(StatusError) -> Int64 {
    guard id.count == 32 else { throw StatusError(code: .invalidArgument, message: "Invalid transaction.") }
    // An id of an earlier run of the server: its transaction ended with that run.
    guard id.starts(with: run) else { throw Self.expired }
    return Int64(bitPattern: id[16..<24].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  private static let expired = StatusError(
    code: .invalidArgument, message: "The referenced transaction has expired or is no longer valid.")
  private static let closed = StatusError(code: .invalidArgument, message: "Transaction is invalid or closed.")
}

// MARK: - Commit

extension TransactionRegistry {
  /// Ends a transaction by its commit.
  ///
  /// A client whose answer was lost repeats the commit, and gets the outcome of the first one for a minute. After trouble that leaves nothing
  /// behind, the transaction is open again.
  ///
  /// - Parameters:
  ///   - digest: of the writes. A commit with others is no repetition.
  ///   - body: commits, if the reads are unchanged; nil when nothing was read.
  /// - Throws: INVALID_ARGUMENT for a transaction that is not open; what `body` throws.
  func commit(
    _ id: [UInt8], isWriting: Bool, digest: [UInt8],
    _ body: (TransactionReads?) async throws(StatusError) -> CommitOutcome
  ) async throws(StatusError) -> CommitOutcome {
    let now = clock.now().microseconds
    let turn = state.withLock { state -> Result<Turn, StatusError> in
      forgetOutcomes(in: &state, now: now)
      if let ending = state.endings[id], ending.digest == digest {
        guard case .ended(let result, _) = ending.progress else { return .success(.other) }
        return .success(.known(result))
      }
      do throws(StatusError) {
        let transaction = try find(id, in: &state, now: now)
        if transaction.isReadOnly, isWriting {
          throw StatusError(code: .invalidArgument, message: "Cannot modify entities in a read-only transaction.")
        }
        Self.remove(id, from: &state)
        state.endings[id] = Ending(digest: digest, progress: .running(transaction, []))
        return .success(.own(transaction.reads))
      } catch {
        return .failure(error)
      }
    }
    switch try turn.get() {
    case .known(let result): return try result.get()
    case .other: return try await outcomeOfOther(id).get()
    case .own(let reads):
      let result: CommitResult
      do throws(StatusError) { result = .success(try await body(reads)) } catch { result = .failure(error) }
      end(id, with: result)
      return try result.get()
    }
  }

  private enum Turn {
    /// This call commits.
    case own(TransactionReads?)
    /// An earlier call is committing.
    case other
    case known(CommitResult)
  }

  private func outcomeOfOther(_ id: [UInt8]) async -> CommitResult {
    await withCheckedContinuation { continuation in
      let known = state.withLock { state -> CommitResult? in
        switch state.endings[id]?.progress {
        case .running(let transaction, let waiting):
          state.endings[id]?.progress = .running(transaction, waiting + [continuation])
          return nil
        case .ended(let result, _): return result
        case nil:
          return .failure(StatusError(code: .unavailable, message: "The commit has failed; try it again."))
        }
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  private func end(_ id: [UInt8], with result: CommitResult) {
    let now = clock.now().microseconds
    let waiting = state.withLock { state -> [CheckedContinuation<CommitResult, Never>] in
      guard case .running(let transaction, let waiting) = state.endings[id]?.progress else { return [] }
      if case .failure(let error) = result, Self.leavesNothing(error.code) {
        state.endings[id] = nil
        state.transactions[id] = transaction
        state.readCount += transaction.readCount
      } else {
        let resultCount = (try? result.get().results.count) ?? 0
        state.endings[id]?.progress = .ended(result, at: now)
        state.outcomes.append((id, now, resultCount))
        state.resultCount += resultCount
        forgetOutcomes(in: &state, now: now)
      }
      return waiting
    }
    for continuation in waiting { continuation.resume(returning: result) }
  }

  /// True for trouble of the server for a while. The commit has changed nothing, and may be tried again.
  private static func leavesNothing(_ code: StatusCode) -> Bool {
    [.unavailable, .resourceExhausted, .internal].contains(code)
  }

  private func forgetOutcomes(in state: inout State, now: Int64) {
    while let oldest = state.outcomes.first,
      now - oldest.time > Self.outcomeMicroseconds || state.outcomes.count > Self.maximumOutcomes.commits
        || state.resultCount > Self.maximumOutcomes.results
    {
      state.outcomes.removeFirst()
      state.resultCount -= oldest.resultCount
      state.endings[oldest.id] = nil
    }
  }
}
