internal import Dispatch
internal import HearthStore
internal import Synchronization

/// A read was stopped more often than ``ReadSchedule/maximumStops``.
struct ReadGivenUp: Error {}

/// Runs reads of one file concurrently with the writer, each on a connection of its own that sees one state of the database.
///
/// Connections are opened when they are needed, and kept with their prepared statements while they are used. Reads run in the slots of
/// ``ReadSlots``, which the files of a process share.
final class ReaderPool<Reader>: Sendable {
  private typealias Lane = ReaderLane<Reader>

  private let slots: ReadSlots<Reader>
  private let file: ReadSchedule.FileID
  private let open: @Sendable (_ isToStop: @escaping @Sendable () -> Bool) throws -> sending Reader

  /// - Parameters:
  ///   - slots: The slots of the process.
  ///   - open: Opens a connection. It has to call `isToStop` after each step of its work, and to end with an error if that returns true.
  init(
    label: String, slots: ReadSlots<Reader>,
    open: @escaping @Sendable (_ isToStop: @escaping @Sendable () -> Bool) throws -> sending Reader
  ) {
    self.slots = slots
    self.open = open
    file = slots.add(fileLabel: label)
  }

  deinit {
    // Reads keep the pool, so none runs.
    slots.forget(file)
  }

  /// Opens the connection that the file keeps. A read for which no other one can be opened waits for it.
  func openFirst() throws {
    try slots.openKept(file) { try openReader(of: $0) }
  }

  /// Runs `body` on a connection of its own, as soon as its turn comes. A read that stops in the middle may be run again from its
  /// start, so it must have no effect but its result.
  ///
  /// - Throws: The errors of `body`; `StoreError` if no connection can be opened and none is open, or `unavailable` after ``close()``;
  ///   `CancellationError` if the task is cancelled, at the end of the read's step, or when its turn comes; ``ReadGivenUp``.
  func read<Result: Sendable>(_ body: @escaping @Sendable (Reader) throws -> Result) async throws -> Result {
    let cancellation = ReadCancellation()
    return try await withTaskCancellationHandler {
      try await read(body, cancellation)
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func read<Result: Sendable>(
    _ body: @escaping @Sendable (Reader) throws -> Result, _ cancellation: ReadCancellation
  ) async throws -> Result {
    let sender = CallSender.current
    return try await withCheckedThrowingContinuation { continuation in
      let isAdded = slots.add(file, by: sender) { read in
        { [self] lane in
          run(body, read, lane, cancellation) { result in
            // Before the caller goes on: what it does next may need the slot that this read had.
            slots.finish(read, of: file, lane)
            continuation.resume(with: result)
          }
        }
      }
      guard !isAdded else { return }
      continuation.resume(throwing: StoreError(kind: .unavailable, message: "The reading connections are closed."))
    }
  }

  /// A connection's steps are counted through, whatever it reads: the first end of one says nothing of the length of this read.
  private static var stepsInPlace: Int { 2 }

  /// Runs `body` on the caller's thread if its turn is now and a connection is open. That saves a short read two changes of thread.
  ///
  /// - Returns: nil if it was not run, or did not end within two steps; then the caller must use ``read(_:)``.
  /// - Throws: The errors of `body`.
  func readInPlace<Result: Sendable>(_ body: @Sendable (Reader) throws -> Result) throws -> Result? {
    guard let (read, lane) = slots.beginInPlace(file) else { return nil }
    lane.begin(Lane.Work(read: read, stepsInPlace: Self.stepsInPlace))
    defer { slots.endInPlace(read, of: file, lane) }
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
  var waitingCount: Int { slots.waitingCount(file) }

  /// Lets no long read begin until ``release()``, so that none goes on seeing an old state of the database. Does nothing after ``close()``.
  ///
  /// - Parameters:
  ///   - stopsReads: True to make long reads start over later, instead of waiting for them, and to let no read begin until then.
  ///   - whenDrained: Called when no long read is left, and when no read at all is left if they were stopped, on any thread. A hold that
  ///     begins to stop reads later calls it twice.
  func hold(stopsReads: Bool, whenDrained: @escaping @Sendable (_ isStopped: Bool) -> Void) {
    slots.hold(file, stopsReads: stopsReads, whenDrained: whenDrained)
  }

  /// Lets reads begin, and become long, again.
  func release() {
    slots.release(file)
  }

  /// Waits for the reads that have begun or wait, and closes the connections. Later reads fail.
  func close() async {
    await slots.close(file)
  }

  /// Closes the connections of a file from which nothing was read.
  func closeUnused() {
    slots.forget(file)
  }

  // MARK: - Running

  private func openReader(of lane: Lane) throws {
    try slots.open(lane, of: file) {
      try open { [unowned self, unowned lane] in isToStop(lane) }
    }
  }

  private func run<Value>(
    _ body: @Sendable (Reader) throws -> Value, _ read: ReadSchedule.ReadID, _ lane: Lane,
    _ cancellation: ReadCancellation, _ end: (sending Result<Value, any Error>) -> Void
  ) where Value: Sendable {
    if cancellation.isCancelled { return end(.failure(CancellationError())) }
    if !lane.isOpen {
      do {
        try openReader(of: lane)
      } catch {
        if let error = error as? StoreError, error.kind == .cannotOpen, slots.lack(read, of: file, lane) { return }
        return end(.failure(error))
      }
    }
    lane.begin(Lane.Work(read: read, cancellation: cancellation))
    let result = lane.reader.withLock { reader -> Result<Value, any Error> in
      do {
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
      slots.leave(read, of: file, lane)
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
    switch slots.pause(read) {
    case .goOn: return work.cancellation?.isCancelled == true
    case .wait:
      lane.gate.wait()
      return work.cancellation?.isCancelled == true
    case .startOver:
      lane.work.withLock { $0.isToStartOver = true }
      return true
    case .giveUp:
      lane.work.withLock { $0.isGivenUp = true }
      return true
    }
  }
}
