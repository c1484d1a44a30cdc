internal import HearthModel
internal import HearthRPC
internal import Synchronization

/// The locks of a database's transactions: lets calls wait as ``LockTable`` decides.
///
/// The storage requests locks for each write when it knows the write's changes, so that a write only waits for transactions that have read
/// these documents. A lock that is taken while commits are being made durable only affects later commits. So its reader waits for the
/// present ones before it reads.
final class TransactionLocks: Sendable {
  typealias Owner = LockTable.Owner
  typealias TicketID = LockTable.TicketID
  typealias Decision = Result<Void, StatusError>

  private struct State {
    var table: LockTable
    var waiting: [TicketID: CheckedContinuation<Decision, Never>] = [:]
    /// Decided before the call began to wait.
    var decisions: [TicketID: Decision] = [:]
    /// The storage is making commits durable.
    var isCommitting = false
    /// Reads that wait for the end of these commits.
    var readers: [CheckedContinuation<Void, Never>] = []
    /// A task looks for locks and waits that have become too old.
    var isWatched = false
    var isClosed = false
    var expire: (@Sendable () -> Void)?
  }

  private let clock: ServerClock
  private let metrics: ServerMetrics?
  private let waitMicroseconds: Int64
  private let maximumWriters: Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - maximumWait: After which a request that waits is aborted.
  ///   - maximumWriters: The writes that may wait for one document.
  init(
    clock: ServerClock, maximumWait: Duration = DatabaseLimits().lockWait,
    maximumWriters: Int = DatabaseLimits().waitingWritesPerDocument, metrics: ServerMetrics? = nil
  ) {
    self.clock = clock
    self.metrics = metrics
    self.maximumWriters = maximumWriters
    waitMicroseconds = maximumWait.microseconds
    state = Mutex(State(table: LockTable(maximumWriters: maximumWriters)))
  }

  /// - Parameter expire: Ends transactions that are too old; called from time to time while a request waits.
  func onWait(_ expire: @escaping @Sendable () -> Void) {
    state.withLock { $0.expire = expire }
  }

  /// The number of requests that wait, or are tried again after they have waited.
  var ticketCount: Int { state.withLock { $0.table.ticketCount } }

  /// The number of writes that wait for the document for which most do.
  var greatestWriterCount: Int { state.withLock { $0.table.greatestWriterCount } }

  private static let aborted = StatusError(
    code: .aborted, message: "Too much contention on these documents. Please try again.")
  private static let timeout = StatusError(code: .aborted, message: "Transaction lock timeout.")
  private static let cancelled = StatusError(code: .cancelled, message: "The call was cancelled.")

  // MARK: - Transactions

  /// Locks documents and a queried range for a transaction. Documents that are read afterwards do not change until ``release(_:)``.
  ///
  /// - Throws: ABORTED if the transaction waited too long, or was aborted to break a deadlock; CANCELLED; UNAVAILABLE.
  func lock(_ keys: [DocumentKey], _ query: Query?, for owner: Owner) async throws(StatusError) {
    let now = clock.elapsedMicroseconds
    let (ticket, isAborted) = change { state -> ((TicketID?, Bool), [LockTable.Event]) in
      if state.isClosed { return ((nil, false), []) }
      let answer = state.table.read(keys, query, by: owner, at: now)
      return ((answer.ticket, answer.isAborted), answer.events)
    }
    if isAborted { throw Self.aborted }
    if let ticket { try await turn(of: ticket) }
    await commitsEnd()
  }

  /// Ends a transaction.
  func release(_ owner: Owner) {
    change { $0.table.release(owner) }
  }

  /// Ends the locks and the waiting of all transactions, which are aborted with their next request. Writes from outside of transactions that
  /// have waited for them go on.
  func abortAll() {
    change { $0.table.abortAll() }
  }

  // MARK: - Storage

  /// The storage begins to make commits durable.
  func beginCommits() {
    state.withLock { $0.isCommitting = true }
  }

  /// The commits are durable and can be read, or have failed.
  func endCommits() {
    let readers = state.withLock { state in
      state.isCommitting = false
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.resume() }
  }

  /// Asks if a write may change documents now.
  ///
  /// - Returns: Nil if so; else the ticket with which to wait for its turn.
  /// - Throws: ABORTED if the transaction has lost its locks, or if too many writes wait for one of the documents.
  func admit(
    _ transitions: [DocumentTransition], by owner: Owner?, ticket: TicketID?
  ) throws(StatusError) -> TicketID? {
    let isFree = state.withLock { $0.table.isEmpty }
    if isFree, owner == nil { return nil }
    let now = clock.elapsedMicroseconds
    let answer = change { state -> (LockTable.Answer, [LockTable.Event]) in
      if let ticket, case .failure? = state.decisions[ticket] { return (LockTable.Answer(ticket: ticket), []) }
      let answer = state.table.write(transitions, by: owner, ticket: ticket, at: now)
      return (answer, answer.events)
    }
    if answer.isAborted { throw Self.aborted }
    if let key = answer.crowded {
      metrics?.exceeded(.waitingWritesPerDocument)
      throw StatusError(
        code: .aborted,
        message: "\(Self.aborted.message) \(maximumWriters) writes wait for \"\(key)\", the most that may "
          + "(hearth serve --max-waiting-writes-per-document).")
    }
    return answer.ticket
  }

  /// Waits until a write may be tried again.
  ///
  /// - Throws: ABORTED, CANCELLED or UNAVAILABLE; then the ticket is gone.
  func turn(of ticket: TicketID) async throws(StatusError) {
    let begin = metrics.map { _ in ContinuousClock.now }
    let decision = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Decision? in
          if let known = state.decisions.removeValue(forKey: ticket) { return known }
          if state.isClosed { return .failure(.shuttingDown) }
          state.waiting[ticket] = continuation
          return nil
        }
        if let known { continuation.resume(returning: known) } else { watch() }
      }
    } onCancel: {
      giveUp([ticket], Self.cancelled)
    }
    if let begin { metrics?.lockWaited(.now - begin) }
    try decision.get()
  }

  /// Takes away the ticket of a write that has ended.
  func finish(_ ticket: TicketID) {
    change { state in
      state.decisions[ticket] = nil
      return state.table.finish(ticket)
    }
  }

  /// Ends all waiting.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      state.table = LockTable(maximumWriters: maximumWriters)
      defer { state.waiting = [:] }
      return state.waiting.values.map(\.self)
    }
    for continuation in waiting { continuation.resume(returning: .failure(.shuttingDown)) }
  }

  // MARK: - Waiting

  private func commitsEnd() async {
    await withCheckedContinuation { continuation in
      let isToWait = state.withLock { state in
        if state.isCommitting { state.readers.append(continuation) }
        return state.isCommitting
      }
      if !isToWait { continuation.resume() }
    }
  }

  private func change(_ body: (inout State) -> [LockTable.Event]) {
    change { ((), body(&$0)) }
  }

  /// Changes the table, and tells those that its events are about.
  private func change<Value: Sendable>(_ body: (inout State) -> (Value, [LockTable.Event])) -> Value {
    let (value, decided) = state.withLock { state in
      let (value, events) = body(&state)
      return (value, Self.decide(events, in: &state))
    }
    for (continuation, decision) in decided { continuation.resume(returning: decision) }
    return value
  }

  private typealias Decided = (CheckedContinuation<Decision, Never>, Decision)

  private static func decide(_ events: [LockTable.Event], in state: inout State) -> [Decided] {
    events.compactMap { event in
      switch event {
      case .granted(let ticket), .ready(let ticket): decide(ticket, .success(()), in: &state)
      case .aborted(let ticket): decide(ticket, .failure(aborted), in: &state)
      }
    }
  }

  private static func decide(
    _ ticket: TicketID, _ decision: Decision, in state: inout State
  ) -> Decided? {
    if let continuation = state.waiting.removeValue(forKey: ticket) { return (continuation, decision) }
    state.decisions[ticket] = decision
    return nil
  }

  /// Ends requests that still wait, and counts them for a limit before they hear of it: who has the answer finds the count.
  private func giveUp(_ tickets: [TicketID], _ error: StatusError, exceeding limit: ServerLimit? = nil) {
    let (decided, count) = state.withLock { state in
      var count = 0
      let decided = tickets.flatMap { ticket -> [Decided] in
        guard state.table.isWaiting(ticket) else { return [] }
        count += 1
        let own = Self.decide(ticket, .failure(error), in: &state)
        return [own].compactMap(\.self) + Self.decide(state.table.finish(ticket), in: &state)
      }
      return (decided, count)
    }
    if let limit, count > 0 { metrics?.exceeded(limit, count: count) }
    for (continuation, decision) in decided { continuation.resume(returning: decision) }
  }

  /// As long as a request waits, looks from time to time for locks and waits that have become too old.
  private func watch() {
    let isFirst = state.withLock { state in
      defer { state.isWatched = true }
      return !state.isWatched
    }
    guard isFirst else { return }
    Task {
      while true {
        try? await Task.sleep(for: .milliseconds(200))
        let (isOver, expire) = state.withLock { state in
          if state.table.ticketCount == 0 { state.isWatched = false }
          return (!state.isWatched, state.expire)
        }
        if isOver { return }
        expire?()
        let time = clock.elapsedMicroseconds - waitMicroseconds
        giveUp(
          state.withLock { $0.table.tickets(waitingSinceBefore: time) }, Self.timeout, exceeding: .lockWait)
      }
    }
  }
}
