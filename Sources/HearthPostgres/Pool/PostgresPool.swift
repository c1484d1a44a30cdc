#if PostgreSQL
  internal import Dispatch
  internal import Synchronization

  /// Sessions of one server, opened when they are needed.
  ///
  /// A session in use has a thread of its own, which blocks while the server works, so the threads of Swift's tasks never do. Callers of one
  /// sender get sessions in the order of their calls, and senders take turns, see ``CallerQueue``. A lost session is replaced at its next use. When
  /// no session can be opened, callers fail at once with the reason, and the next attempt waits for a pause that grows from ``shortestPause`` to
  /// ``longestPause``. If the server only has no more sessions than the open ones, callers wait for one of those.
  package final class PostgresPool: Sendable {
    package static let shortestPause: Duration = .milliseconds(50)
    package static let longestPause: Duration = .seconds(2)

    private let configuration: PostgresConfiguration
    private let label: String
    private let settings: PostgresSessionSettings
    private let onOpen: (@Sendable (PostgresSession) throws -> Void)?
    private let isCurrent: (@Sendable (PostgresSession) -> Bool)?
    private let onNotice: (@Sendable (PostgresNotice) -> Void)?
    private let lanes: [SessionLane]
    private let state: Mutex<State>
    private let timers: DispatchQueue
    private let callerCount = Atomic(0)

    private struct State {
      var queue: CallerQueue
      var pause = OpeningPause()
      /// The callers that wait, and those that run.
      var callers: [CallerQueue.CallerID: Caller] = [:]
      /// The moment at which callers expire next.
      var nextExpiry: ContinuousClock.Instant?
      /// Called when no session is in use any more.
      var closers: [@Sendable () -> Void] = []
    }

    private struct Caller {
      let cancellation: CallerCancellation
      let run: @Sendable (SessionLane, CallerQueue.LaneID) -> Void
      let fail: @Sendable (PostgresError) -> Void
      /// Set while the session is its own.
      var canceller: SessionCanceller?
    }

    /// - Parameters:
    ///   - label: The name of the threads, and `application_name` at the server.
    ///   - size: The largest number of sessions.
    ///   - share: The sessions that one sender has at most at a time; nil for all.
    ///   - onOpen: Called with each new session before its first use, on its thread. If it throws, the session is closed, and the caller fails
    ///     with the error. For instance it compares ``PostgresSession/facts(deadline:)`` with what the database should be.
    ///   - isCurrent: Called with each open session before its use, on its thread. A session for which it returns false is closed, and another one
    ///     is opened. For instance it compares ``PostgresSession/generation`` with the present one.
    package init(
      _ configuration: PostgresConfiguration, label: String, size: Int, share: Int? = nil,
      settings: PostgresSessionSettings = PostgresSessionSettings(),
      onOpen: (@Sendable (PostgresSession) throws -> Void)? = nil,
      isCurrent: (@Sendable (PostgresSession) -> Bool)? = nil,
      onNotice: (@Sendable (PostgresNotice) -> Void)? = nil
    ) {
      self.configuration = configuration
      self.label = label
      self.settings = settings
      self.onOpen = onOpen
      self.isCurrent = isCurrent
      self.onNotice = onNotice
      lanes = (0..<max(size, 1)).map { SessionLane(label: "\(label) \($0)") }
      state = Mutex(State(queue: CallerQueue(laneCount: lanes.count, share: share)))
      timers = DispatchQueue(label: "\(label) deadlines")
    }

    /// Runs `body` with a session of its own, on the thread of the session. A transaction that `body` leaves open is rolled back, for which the
    /// caller does not wait: so a transaction that only reads is one round trip shorter without its end.
    ///
    /// If the task is cancelled while it waits for a session, or while one is opened for it, it fails at once. If `body` runs, the server
    /// is asked to cancel the statement, and later calls of the session throw `cancelled`.
    ///
    /// - Parameters:
    ///   - deadline: The end of the wait for a session, and the deadline of the session's calls that have no other one.
    ///   - sender: The name of the caller's group: the callers of different senders take turns.
    /// - Throws: The errors of `body`; `connection` or `configuration` if no session can be opened, or the error of `onOpen`; `deadline`,
    ///   `cancelled`, `closed`.
    package func withSession<Result: Sendable>(
      deadline: ContinuousClock.Instant, sender: String = "",
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws -> Result {
      let id = callerCount.add(1, ordering: .relaxed).newValue
      let cancellation = CallerCancellation()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let caller = Caller(
            cancellation: cancellation,
            run: { [self] lane, laneID in
              let result = Swift.Result { try run(id, on: lane, deadline, body) }
              if case .failure(let error) = result, Self.isFull(error), putBack(id, from: laneID, deadline) { return }
              guard end(id) else { return release(laneID) }
              var isResumed = false
              lane.leaveTransaction {
                continuation.resume(with: result)
                isResumed = true
              }
              // Before the caller goes on: what it does next may need the session.
              release(laneID)
              if !isResumed { continuation.resume(with: result) }
            },
            fail: { continuation.resume(throwing: $0) })
          add(id, caller, sender, deadline)
        }
      } onCancel: {
        cancellation.set()
        cancel(id)
      }
    }

    /// The sessions and callers now, for metrics.
    package var use: Use {
      let (busy, waiting) = state.withLock { ($0.queue.busyCount, $0.queue.waitingCount) }
      return Use(open: lanes.count(where: \.isOpen), busy: busy, waiting: waiting)
    }

    package struct Use: Sendable, Equatable {
      /// The sessions, in use or not. A lost one counts until its next use.
      package var open: Int
      package var busy: Int
      package var waiting: Int
    }

    /// Lets the calls that run finish, fails those that wait and all later ones with `closed`, and closes the sessions.
    package func close() async {
      let waiting = state.withLock { state in
        state.queue.close().compactMap { state.callers.removeValue(forKey: $0) }
      }
      for caller in waiting { caller.fail(Self.closed) }
      await withCheckedContinuation { continuation in
        let isIdle = state.withLock { state in
          if state.queue.busyCount > 0 { state.closers.append { continuation.resume() } }
          return state.queue.busyCount == 0
        }
        if isIdle { continuation.resume() }
      }
      for lane in lanes { lane.close() }
    }

    private static let closed = PostgresError(.closed, "The pool of PostgreSQL sessions is closed.")

    // MARK: - Callers

    private func add(
      _ id: CallerQueue.CallerID, _ caller: Caller, _ sender: String, _ deadline: ContinuousClock.Instant
    ) {
      guard deadline > .now else { return caller.fail(Self.noSession) }
      let addition = state.withLock { state -> CallerQueue.Addition? in
        // `cancel` looks for the caller after it has set the flag, so one of both finds the other.
        guard !caller.cancellation.isSet else { return nil }
        let addition = state.queue.add(id, by: sender, deadline: deadline)
        if addition != .refused { state.callers[id] = caller }
        return addition
      }
      switch addition {
      case nil: caller.fail(Self.cancelled)
      case .refused?: caller.fail(Self.closed)
      case .wait?: expire(by: deadline)
      case .run(let assignment)?: start(assignment, caller)
      }
    }

    private func start(_ assignment: CallerQueue.Assignment, _ caller: Caller) {
      let lane = lanes[assignment.lane]
      lane.async { caller.run(lane, assignment.lane) }
    }

    /// Returns true if the server takes no more connections.
    private static func isFull(_ error: any Error) -> Bool {
      (error as? PostgresError)?.sqlState == .tooManyConnections
    }

    /// Has a caller wait for an open session, because no further one can be opened.
    ///
    /// - Returns: False if there is none.
    private func putBack(
      _ id: CallerQueue.CallerID, from lane: CallerQueue.LaneID, _ deadline: ContinuousClock.Instant
    ) -> Bool {
      let hasOpen = lanes.contains(where: \.isOpen)
      let change = state.withLock { state -> (assignment: CallerQueue.Assignment?, caller: Caller)? in
        guard hasOpen, !state.queue.isClosed, deadline > .now, let caller = state.callers[id] else { return nil }
        return (state.queue.putBack(id, from: lane, deadline: deadline), caller)
      }
      guard let change else { return false }
      timers.asyncAfter(deadline: .now() + Self.longestPause.timeInterval) { [weak self] in self?.restore(lane) }
      if let assignment = change.assignment { start(assignment, change.caller) } else { expire(by: deadline) }
      return true
    }

    private func restore(_ lane: CallerQueue.LaneID) {
      let next = state.withLock { state in
        state.queue.restore(lane).flatMap { next in state.callers[next.caller].map { (next, $0) } }
      }
      if let (assignment, caller) = next { start(assignment, caller) }
    }

    private func release(_ lane: CallerQueue.LaneID) {
      let (next, closers) = state.withLock { state in
        let assignment = state.queue.release(lane)
        let isDone = state.queue.isClosed && state.queue.busyCount == 0
        let closers = isDone ? state.closers : []
        if isDone { state.closers = [] }
        return (assignment.flatMap { next in state.callers[next.caller].map { (next, $0) } }, closers)
      }
      if let (assignment, caller) = next { start(assignment, caller) }
      for closer in closers { closer() }
    }

    private func cancel(_ id: CallerQueue.CallerID) {
      let caller = state.withLock { state -> Caller? in
        if !state.queue.remove(id), let canceller = state.callers[id]?.canceller {
          // In the lock, so that the session has no other user yet.
          canceller.cancel()
          return nil
        }
        return state.callers.removeValue(forKey: id)
      }
      caller?.fail(Self.cancelled)
    }

    private static let cancelled = PostgresError(.cancelled, "The call was cancelled.")
    private static let noSession = PostgresError(.deadline, "No session of PostgreSQL was free before the deadline.")

    // MARK: - Deadlines

    /// Makes sure that callers expire at this moment.
    private func expire(by deadline: ContinuousClock.Instant) {
      let isEarlier = state.withLock { state in
        guard state.nextExpiry.map({ deadline < $0 }) ?? true else { return false }
        state.nextExpiry = deadline
        return true
      }
      guard isEarlier else { return }
      timers.asyncAfter(deadline: .now() + (deadline - .now).timeInterval) { [weak self] in self?.expire() }
    }

    private func expire() {
      let now = ContinuousClock.now
      let (expired, next, error) = state.withLock { state in
        let expired = state.queue.expire(at: now).compactMap { state.callers.removeValue(forKey: $0) }
        state.nextExpiry = nil
        return (expired, state.queue.earliestDeadline, state.pause.error)
      }
      let reason = error.flatMap { Self.isFull($0) ? $0 as? PostgresError : nil }
      for caller in expired { caller.fail(reason ?? Self.noSession) }
      // Many callers with deadlines close to each other expire together.
      if let next { expire(by: max(next, now + .milliseconds(5))) }
    }

    // MARK: - Running

    private func run<Result>(
      _ id: CallerQueue.CallerID, on lane: SessionLane, _ deadline: ContinuousClock.Instant,
      _ body: @Sendable (PostgresSession) throws -> Result
    ) throws -> Result {
      try lane.withSession(
        deadline: deadline, isCurrent: isCurrent, open: { try openSession(deadline) },
        begin: { canceller in
          state.withLock { state in
            state.callers[id]?.canceller = canceller
            return state.callers[id]?.cancellation.isSet == false
          }
        }, body)
    }

    /// Cancellations do not reach the session any more.
    ///
    /// - Returns: False if the caller was cancelled before its session was open: then it has its error.
    private func end(_ id: CallerQueue.CallerID) -> Bool {
      state.withLock { $0.callers.removeValue(forKey: id) != nil }
    }

    private func openSession(_ deadline: ContinuousClock.Instant) throws -> PostgresSession {
      let start = ContinuousClock.now
      if let error = state.withLock({ $0.pause.begin(at: start) }) { throw error }
      do {
        let session = try PostgresSession.open(
          configuration, settings: settings, label: label, deadline: deadline, onNotice: onNotice)
        try onOpen?(session)
        state.withLock { $0.pause.succeed() }
        return session
      } catch {
        let now = ContinuousClock.now
        // A caller that had hardly any time left says nothing about the server.
        let isHasty = (error as? PostgresError)?.kind == .deadline && now - start < Self.shortestAttempt
        state.withLock { $0.pause.fail(isHasty ? nil : error, at: now, jitter: .random(in: 0...1)) }
        throw error
      }
    }

    private static let shortestAttempt: Duration = .seconds(1)
  }

  /// A flag that the task of a caller was cancelled.
  private final class CallerCancellation: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
  }
#endif
