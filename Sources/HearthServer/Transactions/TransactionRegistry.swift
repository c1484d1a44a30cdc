internal import HearthModel
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

  private struct Transaction {
    var isReadOnly: Bool
    var begin: Int64
    var lastUse: Int64
    /// Fixed by the first read.
    var reads: TransactionReads?
  }

  private struct State {
    var counter: UInt64 = 0
    var transactions: [[UInt8]: Transaction] = [:]
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
      removeAged(from: &state, now: now)
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

  private func removeAged(from state: inout State, now: Int64) {
    guard state.transactions.count >= 64 else { return }
    state.transactions = state.transactions.filter { now - $0.value.begin <= Self.maximumAgeMicroseconds }
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

  /// Ends a transaction by its commit.
  ///
  /// - Returns: The reads that must be unchanged for the commit; nil when nothing was read.
  func end(_ id: [UInt8], isWriting: Bool) throws(StatusError) -> TransactionReads? {
    let now = clock.now().microseconds
    let result = state.withLock { state -> Result<TransactionReads?, StatusError> in
      do throws(StatusError) {
        let transaction = try find(id, in: &state, now: now)
        if transaction.isReadOnly, isWriting {
          return .failure(
            StatusError(
              code: .invalidArgument, message: "Cannot modify entities in a read-only transaction."))
        }
        state.transactions[id] = nil
        return .success(transaction.reads)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Ends a transaction without a commit. Does nothing for one that has ended.
  func rollback(_ id: [UInt8]) throws(StatusError) {
    let isKnown = state.withLock { $0.transactions.removeValue(forKey: id) != nil }
    if !isKnown { try checkForm(of: id) }
  }

  /// - Throws: INVALID_ARGUMENT for one that is not open any more.
  private func find(_ id: [UInt8], in state: inout State, now: Int64) throws(StatusError) -> Transaction {
    guard let transaction = state.transactions[id] else {
      let begin = try checkForm(of: id)
      throw now - begin > Self.maximumAgeMicroseconds ? Self.expired : Self.closed
    }
    let isExpired =
      now - transaction.begin > Self.maximumAgeMicroseconds || now - transaction.lastUse > Self.maximumIdleMicroseconds
    guard !isExpired else { throw Self.expired }
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
