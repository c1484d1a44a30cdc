internal import Dispatch
internal import HearthStore
internal import Synchronization

/// A read was stopped more often than ``ReadSchedule/maximumStops``.
struct ReadGivenUp: Error {}

/// Runs reads beside the writer, each on a connection of its own that sees one state of the database.
///
/// Connections are opened when they are needed, and kept with their prepared statements. Each has a thread of its own while it works.
/// ``ReadSchedule`` decides which reads run: a long one stops at the end of a step, with its connection and the state that it sees, while
/// others have its slot.
final class ReaderPool<Reader>: Sendable {
  /// A connection with what belongs to it.
  private final class Lane: Sendable {
    let queue: DispatchQueue
    /// Confined by the mutex; used on `queue` only.
    let reader = Mutex<Reader?>(nil)
    /// Blocks the thread of a read that waits in the middle.
    let gate = DispatchSemaphore(value: 0)
    let work = Mutex(Work())

    struct Work {
      var read: ReadSchedule.ReadID?
      var isToStartOver = false
      var isGivenUp = false
      /// Set for a read that runs on its caller's thread, which must not be held up: the number of steps that it may begin.
      var stepsInPlace: Int?
      /// Set when the caller's task was cancelled.
      var cancellation: Cancellation?
    }

    init(label: String) {
      queue = DispatchQueue(label: label)
    }
  }

  /// True when the task that asked for a read was cancelled. The read stops at the end of its step.
  private final class Cancellation: Sendable {
    private let isSet = Atomic(false)

    var isCancelled: Bool { isSet.load(ordering: .relaxed) }
    func cancel() { isSet.store(true, ordering: .relaxed) }
  }

  private struct State {
    var schedule: ReadSchedule
    var nextRead = 0
    /// The reads that have not ended. Each gives its result to its caller, and says if it has to start over.
    var reads: [ReadSchedule.ReadID: @Sendable (Lane) -> Void] = [:]
    /// Where the reads are that have begun.
    var lanes: [ReadSchedule.ReadID: Lane] = [:]
    var idle: [Lane] = []
    /// The reads that run on their callers' threads.
    var inPlace = 0
    var isClosed = false
    /// Called once after ``ReaderPool/hold(stopsLong:whenDrained:)``, when no long read is left.
    var whenDrained: (@Sendable () -> Void)?
    var whenIdle: [CheckedContinuation<Void, Never>] = []
  }

  private let label: String
  private let open: @Sendable (_ isToStop: @escaping @Sendable () -> Bool) throws -> sending Reader
  private let state: Mutex<State>
  private let idleLimit: Int

  /// - Parameters:
  ///   - slots: The number of reads that run at the same time.
  ///   - seats: The number of long reads that have begun.
  ///   - open: Opens a connection. It has to call `isToStop` after each step of its work, and to end with an error if that returns true.
  init(
    label: String, slots: Int, seats: Int,
    open: @escaping @Sendable (_ isToStop: @escaping @Sendable () -> Bool) throws -> sending Reader
  ) {
    self.label = label
    self.open = open
    let schedule = ReadSchedule(slots: slots, seats: seats)
    idleLimit = schedule.slots
    state = Mutex(State(schedule: schedule))
  }

  /// Runs `body` on a connection of its own, as soon as its turn comes. A read that stops in the middle may be run again from its
  /// begin, so it must have no effect but its result.
  ///
  /// - Throws: What `body` throws; `StoreError` if no connection can be opened, or `unavailable` after ``close()``; `CancellationError` if
  ///   the task is cancelled, at the end of the read's step, or when its turn comes; ``ReadGivenUp``.
  func read<Result: Sendable>(_ body: @escaping @Sendable (Reader) throws -> Result) async throws -> Result {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await read(body, cancellation)
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func read<Result: Sendable>(
    _ body: @escaping @Sendable (Reader) throws -> Result, _ cancellation: Cancellation
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      let actions = state.withLock { state -> [ReadSchedule.Action]? in
        guard !state.isClosed else { return nil }
        state.nextRead += 1
        let read = state.nextRead
        state.reads[read] = { [self] lane in
          run(body, read, lane, cancellation) { result in
            // Before the caller goes on: what it does next may need the place that this read had.
            finish(read, lane)
            continuation.resume(with: result)
          }
        }
        return state.schedule.add(read)
      }
      guard let actions else {
        return continuation.resume(
          throwing: StoreError(kind: .unavailable, message: "The reading connections are closed."))
      }
      perform(actions)
    }
  }

  /// A connection's steps are counted through, whatever it reads: the first end of one says nothing of the length of this read.
  private static var stepsInPlace: Int { 2 }

  /// Runs `body` on the caller's thread if its turn is now and a connection is open: it saves a short read two changes of thread.
  ///
  /// One slot is never used for it. Otherwise a slow disk could hold up all threads of the pool that callers come from, which has as many
  /// as there are slots.
  ///
  /// - Returns: nil if it was not run, or did not end within two steps; then it is to be run by ``read(_:)``.
  /// - Throws: What `body` throws.
  func readInPlace<Result: Sendable>(_ body: @Sendable (Reader) throws -> Result) throws -> Result? {
    let begun = state.withLock { state -> (read: ReadSchedule.ReadID, lane: Lane)? in
      guard !state.isClosed, state.inPlace < state.schedule.slots - 1, state.schedule.hasRoom,
        let lane = state.idle.popLast()
      else { return nil }
      state.inPlace += 1
      state.nextRead += 1
      let actions = state.schedule.add(state.nextRead)
      assert(actions == [.start(state.nextRead)], "a read for which there is room does not run")
      state.lanes[state.nextRead] = lane
      return (state.nextRead, lane)
    }
    guard let (read, lane) = begun else { return nil }
    lane.work.withLock { $0 = Lane.Work(read: read, stepsInPlace: Self.stepsInPlace) }
    defer {
      state.withLock { $0.inPlace -= 1 }
      finish(read, lane)
    }
    let result = lane.reader.withLock { reader -> Swift.Result<Result?, any Error> in
      do {
        guard let reader else { return .success(nil) }
        return .success(try body(reader))
      } catch {
        return .failure(error)
      }
    }
    let wasStopped = lane.work.withLock { work in
      defer { work = Lane.Work() }
      return work.isToStartOver
    }
    return wasStopped ? nil : try result.get()
  }

  /// The reads that wait for their turn.
  var waitingCount: Int { state.withLock { $0.schedule.waitingCount } }

  /// Lets no long read begin until ``release()``, so that none goes on seeing an old state of the database. Does nothing after ``close()``.
  ///
  /// - Parameters:
  ///   - stopsLong: Those that have begun start over later, instead of being waited for.
  ///   - whenDrained: Called once in each hold, when no long read is left, on any thread.
  func hold(stopsLong: Bool, whenDrained: @escaping @Sendable () -> Void) {
    let actions = state.withLock { state -> [ReadSchedule.Action] in
      guard !state.isClosed else { return [] }
      if state.whenDrained == nil { state.whenDrained = whenDrained }
      let actions = state.schedule.hold()
      if stopsLong { state.schedule.stopLong() }
      return actions
    }
    perform(actions)
  }

  /// Lets long reads begin again.
  func release() {
    let actions = state.withLock { state in
      state.whenDrained = nil
      return state.schedule.release()
    }
    perform(actions)
  }

  /// Waits for all reads to end and closes the connections. Later reads fail.
  func close() async {
    await withCheckedContinuation { continuation in
      let (isIdle, actions) = state.withLock { state in
        state.isClosed = true
        state.whenDrained = nil
        let actions = state.schedule.release()
        if !state.schedule.isIdle { state.whenIdle.append(continuation) }
        return (state.schedule.isIdle, actions)
      }
      perform(actions)
      if isIdle { continuation.resume() }
    }
    let lanes = state.withLock { state in
      defer { state.idle = [] }
      return state.idle
    }
    for lane in lanes { lane.reader.withLock { $0 = nil } }
  }

  // MARK: - Running

  private func perform(_ actions: [ReadSchedule.Action]) {
    for action in actions {
      switch action {
      case .start(let read):
        let (lane, body) = state.withLock { state in
          let lane = state.idle.popLast() ?? Lane(label: label)
          state.lanes[read] = lane
          return (lane, state.reads[read])
        }
        lane.queue.async { body?(lane) }
      case .resume(let read):
        state.withLock { $0.lanes[read] }?.gate.signal()
      case .drained:
        state.withLock { $0.whenDrained }?()
      }
    }
  }

  private func run<Value>(
    _ body: @Sendable (Reader) throws -> Value, _ read: ReadSchedule.ReadID, _ lane: Lane, _ cancellation: Cancellation,
    _ end: (sending Result<Value, any Error>) -> Void
  ) where Value: Sendable {
    lane.work.withLock { $0 = Lane.Work(read: read, cancellation: cancellation) }
    let result = lane.reader.withLock { reader -> Result<Value, any Error> in
      do {
        if cancellation.isCancelled { throw CancellationError() }
        if reader == nil {
          reader = try open { [unowned self, unowned lane] in isToStop(lane) }
        }
        guard let reader else { throw StoreError(kind: .unavailable, message: "There is no reading connection.") }
        return .success(try body(reader))
      } catch {
        return .failure(cancellation.isCancelled ? CancellationError() : error)
      }
    }
    let work = lane.work.withLock { work in
      defer { work = Lane.Work() }
      return work
    }
    if work.isToStartOver {
      leave(read, lane)
    } else {
      end(work.isGivenUp ? .failure(ReadGivenUp()) : result)
    }
  }

  /// Called at the end of each step of the read that runs on a lane.
  private func isToStop(_ lane: Lane) -> Bool {
    let work = lane.work.withLock { $0 }
    let isOver = work.isToStartOver || work.isGivenUp || work.cancellation?.isCancelled == true
    guard let read = work.read, !isOver else { return true }
    if let steps = work.stepsInPlace {
      lane.work.withLock { work in
        work.stepsInPlace = steps - 1
        work.isToStartOver = steps <= 1
      }
      return steps <= 1
    }
    let (pause, actions) = state.withLock { $0.schedule.pause(read) }
    // Noted before another read may take its turn: this one must not be started before it has ended.
    if pause == .startOver { lane.work.withLock { $0.isToStartOver = true } }
    if pause == .giveUp { lane.work.withLock { $0.isGivenUp = true } }
    perform(actions)
    if pause == .wait { lane.gate.wait() }
    return pause == .startOver || pause == .giveUp || work.cancellation?.isCancelled == true
  }

  private func finish(_ read: ReadSchedule.ReadID, _ lane: Lane) {
    let (actions, waiting) = state.withLock { state in
      state.reads[read] = nil
      state.lanes[read] = nil
      let actions = state.schedule.finish(read)
      Self.keep(lane, in: &state, idleLimit)
      guard state.schedule.isIdle else { return (actions, [CheckedContinuation<Void, Never>]()) }
      defer { state.whenIdle = [] }
      return (actions, state.whenIdle)
    }
    perform(actions)
    for continuation in waiting { continuation.resume() }
  }

  /// The lane of a read that starts over is free. The read may have been started on another one meanwhile.
  private func leave(_ read: ReadSchedule.ReadID, _ lane: Lane) {
    let actions = state.withLock { state in
      if state.lanes[read] === lane { state.lanes[read] = nil }
      Self.keep(lane, in: &state, idleLimit)
      return state.schedule.leave()
    }
    perform(actions)
  }

  private static func keep(_ lane: Lane, in state: inout State, _ limit: Int) {
    if state.idle.count < limit { state.idle.append(lane) }
  }
}
