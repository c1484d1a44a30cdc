internal import HearthModel
internal import HearthRPC
internal import Logging
internal import Synchronization

/// Opens and closes the databases of a server, when ``OpenDatabases`` asks for it.
protocol DatabaseOpener: AnyObject, Sendable {
  /// Begins to open a database, and returns at once. ``OpenDatabases/require(_:isBlank:by:)`` follows, and then the result:
  /// ``DatabaseTable/opened(_:_:at:)`` or another change of the table.
  func beginOpening(_ id: DatabaseID)

  /// Finishes what is in progress, and releases the database. ``DatabaseTable/closed(_:)`` follows.
  func close(_ database: HostedDatabase) async

  /// Closes some databases that nobody uses. It returns at once.
  func beginMakingRoom()
}

/// The databases of a server that are open, and the calls that wait for one: the part that all implementations of ``Databases`` have in common.
///
/// ``DatabaseTable`` decides, and a ``DatabaseOpener`` does it, without any lock.
final class OpenDatabases: Sendable {
  typealias Waiter = CheckedContinuation<Result<HostedDatabase, StatusError>, Never>
  typealias Table = DatabaseTable<HostedDatabase, Waiter>

  private struct State {
    var table: Table
    var waiterCount = 0
    /// When databases were closed last because another one found no room.
    var lastRoom = Int64.min
    /// They wait until all databases are closed.
    var ends: [CheckedContinuation<Void, Never>] = []
  }

  private let limit: Int
  private let clock: ServerClock
  private let metrics: ServerMetrics?
  private let failures: FailureLog
  /// Follows the limit in errors.
  private let advice: String
  private let state: Mutex<State>

  /// The least time from making room to making room again, in microseconds.
  private static let roomMicroseconds: Int64 = 1_000_000
  /// The databases that are closed at the same time. Each may wait for a disk.
  private static let closingsAtOnce = 8

  /// - Parameters:
  ///   - limit: The databases that may be open.
  ///   - advice: Follows the limit in errors.
  init(limit: Int, advice: String = "", clock: ServerClock, metrics: ServerMetrics?, logger: Logger) {
    failures = FailureLog(logger)
    self.advice = advice
    self.limit = limit
    self.clock = clock
    self.metrics = metrics
    state = Mutex(State(table: Table(limit: limit)))
  }

  /// The number of databases that count against the limit, and those that are open or blank.
  var present: (settled: Int, all: [HostedDatabase]) { state.withLock { ($0.table.count, $0.table.databases) } }

  /// Runs `body` with the table, under a lock. Changes that ask for something to be done go through ``change(by:_:)``.
  func table<Result: Sendable>(_ body: @Sendable (inout Table) -> Result) -> Result {
    state.withLock { body(&$0.table) }
  }

  // MARK: - Calls

  /// The database of this name, which is opened if it is not open.
  ///
  /// - Throws: As ``Databases/database(_:)``.
  func database(_ id: DatabaseID, by opener: some DatabaseOpener) async throws(StatusError) -> HostedDatabase {
    let time = clock.elapsedMicroseconds
    if let known = state.withLock({ $0.table.use(id, at: time) }) { return known }
    let number = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        let time = clock.elapsedMicroseconds
        change(by: opener) { table in
          // Under the lock: a call that is cancelled later is found by `cancel`.
          guard !Task.isCancelled else { return [.resume([waiter], .failure(Self.cancelled))] }
          return table.ask(id, number, waiter, at: time)
        }
      }
    } onCancel: {
      state.withLock { $0.table.cancel(number, waitingFor: id) }?.resume(returning: .failure(Self.cancelled))
    }
    return try result.get()
  }

  private static let cancelled = StatusError(code: .cancelled, message: "The call was cancelled.")

  // MARK: - Changes

  /// Changes the table, and does what follows from it without the lock.
  func change(by opener: some DatabaseOpener, _ event: @Sendable (inout Table) -> [Table.Action]) {
    let (actions, ends) = state.withLock { state -> ([Table.Action], [CheckedContinuation<Void, Never>]) in
      let actions = event(&state.table)
      guard state.table.isShutDown, state.table.isEmpty else { return (actions, []) }
      defer { state.ends = [] }
      return (actions, state.ends)
    }
    perform(actions, by: opener)
    for end in ends { end.resume() }
  }

  private func perform(_ actions: [Table.Action], by opener: some DatabaseOpener) {
    for action in actions {
      switch action {
      case .open(let id): opener.beginOpening(id)
      case .close(let database): Task { await opener.close(database) }
      case .resume(let waiters, let result): for waiter in waiters { waiter.resume(returning: result) }
      case .release: break
      }
    }
  }

  /// - Parameter isBlank: True for a database without documents. These have a room of their own.
  /// - Throws: RESOURCE_EXHAUSTED if there is no room; UNAVAILABLE if the server ends.
  func require(
    _ admission: Table.Admission, isBlank: Bool = false, by opener: some DatabaseOpener
  ) throws(StatusError) {
    switch admission {
    case .admitted: return
    case .shutDown: throw StatusError.shuttingDown
    case .full:
      metrics?.exceeded(.databases)
      if !isBlank, isRoomDue() { opener.beginMakingRoom() }
      let subject = isBlank ? "databases without documents are in use" : "databases are open"
      failures.log(
        level: .warning, "\(subject), as many as --max-databases allows; calls for others are refused",
        ["allowed": "\(limit)"])
      throw StatusError(
        code: .resourceExhausted,
        message: "\(limit) \(subject), the most that one server serves (hearth serve --max-databases)\(advice)")
    }
  }

  private func isRoomDue() -> Bool {
    let now = clock.elapsedMicroseconds
    return state.withLock { state in
      guard state.lastRoom <= now - Self.roomMicroseconds else { return false }
      state.lastRoom = now
      return true
    }
  }

  // MARK: - End

  /// Closes all databases, also those that are still being opened. It returns when all are closed.
  func close(by opener: some DatabaseOpener) async {
    let (actions, open) = state.withLock { $0.table.shutDown() }
    perform(actions, by: opener)
    await Self.forEach(open) { await opener.close($0) }
    await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
      let isEnd = state.withLock { state in
        if !state.table.isEmpty { state.ends.append(end) }
        return state.table.isEmpty
      }
      if isEnd { end.resume() }
    }
  }

  /// Does `work` for each element, a few at the same time.
  static func forEach<Element: Sendable>(
    _ elements: some Collection<Element>, _ work: @escaping @Sendable (Element) async -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, element) in elements.enumerated() {
        if index >= closingsAtOnce { await group.next() }
        group.addTask { await work(element) }
      }
    }
  }
}
