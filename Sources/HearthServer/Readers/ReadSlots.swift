internal import Dispatch
internal import HearthStore
internal import Synchronization

/// The slots, seats and connections that the reads of all files of a process share.
///
/// ``ReadSchedule`` decides which reads run. A long read pauses at the end of a step, and keeps its connection and its state while others
/// have its slot. Each lane has a thread while a read uses it, so there are as many threads as slots and seats.
final class ReadSlots<Reader>: Sendable {
  typealias Lane = ReaderLane<Reader>
  typealias ReadID = ReadSchedule.ReadID
  typealias FileID = ReadSchedule.FileID

  /// The current use of slots, threads and connections.
  struct Use: Equatable {
    /// The reads that run.
    var running: Int
    /// The reads that have a connection and a thread: they run, or wait in the middle.
    var begun: Int
    /// The open connections.
    var connections: Int
  }

  private struct Read {
    let file: FileID
    /// Runs the read on its lane, gives its result to its caller, and says if it has to start over.
    let body: @Sendable (Lane) -> Void
    /// Where it is, once it has begun.
    var lane: Lane?
  }

  private struct File {
    let label: String
    var isClosed = false
    /// See ``ReaderPool/hold(stopsReads:whenDrained:)``.
    var whenDrained: (@Sendable (_ isStopped: Bool) -> Void)?
    var whenIdle: [CheckedContinuation<Void, Never>] = []
  }

  private struct State {
    var schedule: ReadSchedule
    var lanes: ReaderLanes<Reader>
    var lastFile = 0
    var lastRead = 0
    var files: [FileID: File] = [:]
    /// The reads that have not ended.
    var reads: [ReadID: Read] = [:]
    /// The reads that run on their callers' threads.
    var inPlace = 0

    mutating func newRead() -> ReadID {
      lastRead += 1
      return lastRead
    }
  }

  private let state: Mutex<State>

  /// - Parameters:
  ///   - slots: The number of reads that run at the same time; at least 2.
  ///   - seats: The number of long reads that have begun.
  ///   - descriptorLimit: See ``ReaderLanes``; nil for no limit.
  init(slots: Int, seats: Int, descriptorLimit: Int? = nil) {
    let schedule = ReadSchedule(slots: slots, seats: seats)
    // Short reads that run at the same time find their connections open.
    let lanes = ReaderLanes<Reader>(idleLimit: schedule.slots, descriptorLimit: descriptorLimit ?? .max)
    state = Mutex(State(schedule: schedule, lanes: lanes))
  }

  var use: Use {
    state.withLock { state in
      Use(
        running: state.schedule.runningCount, begun: state.schedule.begunCount, connections: state.lanes.openCount)
    }
  }

  // MARK: - Files

  func add(fileLabel label: String) -> FileID {
    state.withLock { state in
      state.lastFile += 1
      state.files[state.lastFile] = File(label: label)
      return state.lastFile
    }
  }

  /// The reads of a file that wait for their turn.
  func waitingCount(_ file: FileID) -> Int { state.withLock { $0.schedule.waitingCount(file) } }

  func hold(_ file: FileID, stopsReads: Bool, whenDrained: @escaping @Sendable (_ isStopped: Bool) -> Void) {
    let actions = state.withLock { state -> [ReadSchedule.Action] in
      guard state.files[file]?.isClosed == false else { return [] }
      if state.files[file]?.whenDrained == nil { state.files[file]?.whenDrained = whenDrained }
      return state.schedule.hold(file, stopsReads: stopsReads)
    }
    perform(actions)
  }

  func release(_ file: FileID) {
    let actions = state.withLock { state in
      state.files[file]?.whenDrained = nil
      return state.schedule.release(file)
    }
    perform(actions)
  }

  /// Waits for the reads of a file that have begun or wait, and closes its connections. Later ones fail.
  func close(_ file: FileID) async {
    await withCheckedContinuation { continuation in
      let (isIdle, actions) = state.withLock { state in
        state.files[file]?.isClosed = true
        state.files[file]?.whenDrained = nil
        let actions = state.schedule.release(file)
        let isIdle = state.schedule.isIdle(file) || state.files[file] == nil
        if !isIdle { state.files[file]?.whenIdle.append(continuation) }
        return (isIdle, actions)
      }
      perform(actions)
      if isIdle { continuation.resume() }
    }
    forget(file)
  }

  /// Closes the connections of a file that nobody reads any more.
  func forget(_ file: FileID) {
    let lanes = state.withLock { state -> [Lane] in
      guard state.files.removeValue(forKey: file) != nil else { return [] }
      state.schedule.remove(file)
      return state.lanes.remove(file)
    }
    for lane in lanes { lane.close() }
  }

  // MARK: - Reads

  /// - Parameters:
  ///   - sender: See ``CallSender``.
  ///   - body: Makes the read that is added.
  /// - Returns: false if the file was closed.
  func add(_ file: FileID, by sender: String, _ body: (ReadID) -> @Sendable (Lane) -> Void) -> Bool {
    let actions = state.withLock { state -> [ReadSchedule.Action]? in
      guard state.files[file]?.isClosed == false else { return nil }
      let read = state.newRead()
      state.reads[read] = Read(file: file, body: body(read))
      return state.schedule.add(read, of: file, by: sender)
    }
    guard let actions else { return false }
    perform(actions)
    return true
  }

  /// Begins a read on the caller's thread, if its turn is now and a connection is open.
  ///
  /// One slot is never used for it. Otherwise a slow disk could hold up all threads of the pool that callers come from, which has as many
  /// as there are slots.
  func beginInPlace(_ file: FileID) -> (read: ReadID, lane: Lane)? {
    state.withLock { state in
      guard state.files[file]?.isClosed == false, state.inPlace < state.schedule.slots - 1,
        state.schedule.hasRoom(file), let lane = state.lanes.takeIdle(file)
      else { return nil }
      state.inPlace += 1
      let read = state.newRead()
      let actions = state.schedule.add(read, of: file)
      assert(actions == [.start(read)], "a read for which there is room does not run")
      return (read, lane)
    }
  }

  func endInPlace(_ read: ReadID, of file: FileID, _ lane: Lane) {
    state.withLock { state in
      state.inPlace -= 1
      assert(0..<state.schedule.slots ~= state.inPlace, "\(state.inPlace) reads run on the threads of their callers")
    }
    finish(read, of: file, lane)
  }

  func pause(_ read: ReadID) -> ReadSchedule.Pause {
    let (pause, actions) = state.withLock { $0.schedule.pause(read) }
    perform(actions)
    return pause
  }

  func finish(_ read: ReadID, of file: FileID, _ lane: Lane) {
    let (actions, unused, waiting) = state.withLock { state in
      state.reads[read] = nil
      // Before another read starts, which may use it.
      let unused = state.lanes.giveBack(lane, file)
      let actions = state.schedule.finish(read)
      guard state.schedule.isIdle(file) else { return (actions, unused, [CheckedContinuation<Void, Never>]()) }
      defer { state.files[file]?.whenIdle = [] }
      return (actions, unused, state.files[file]?.whenIdle ?? [])
    }
    perform(actions)
    for lane in unused { lane.close() }
    for continuation in waiting { continuation.resume() }
  }

  /// A read that starts over needs its lane no longer.
  func leave(_ read: ReadID, of file: FileID, _ lane: Lane) {
    let (actions, unused) = state.withLock { state in
      state.reads[read]?.lane = nil
      let unused = state.lanes.giveBack(lane, file)
      return (state.schedule.leave(read), unused)
    }
    perform(actions)
    for lane in unused { lane.close() }
  }

  /// A read has a lane for which no connection can be opened. It waits for another one of its file.
  ///
  /// - Returns: false if the file has no connection; then the read fails.
  func lack(_ read: ReadID, of file: FileID, _ lane: Lane) -> Bool {
    let actions = state.withLock { state -> [ReadSchedule.Action]? in
      let count = state.lanes.openCount(file)
      guard count > 0 else { return nil }
      state.reads[read]?.lane = nil
      _ = state.lanes.giveBack(lane, file)
      return state.schedule.lack(read, connections: count)
    }
    guard let actions else { return false }
    perform(actions)
    return true
  }

  // MARK: - Connections

  /// Opens the connection of a lane. Idle ones of other files make room for it.
  func open(_ lane: Lane, of file: FileID, _ open: @Sendable () throws -> sending Reader) throws {
    do {
      try openOnce(lane, of: file, open)
    } catch let error as StoreError where error.kind == .cannotOpen {
      let unused = state.withLock { $0.lanes.releaseIdle() }
      guard !unused.isEmpty else { throw error }
      for lane in unused { lane.close() }
      try openOnce(lane, of: file, open)
    }
  }

  private func openOnce(_ lane: Lane, of file: FileID, _ open: @Sendable () throws -> sending Reader) throws {
    guard state.withLock({ $0.lanes.beginOpening(lane, file) }) else {
      throw StoreError(kind: .cannotOpen, message: "The process has as many connections for reading as it may have.")
    }
    var isOpen = false
    defer { state.withLock { $0.lanes.endOpening(lane, file, isOpen: isOpen) } }
    try lane.reader.withLock { $0 = try open() }
    isOpen = true
  }

  /// Opens the connection that a file keeps.
  func openKept(_ file: FileID, _ open: (Lane) throws -> Void) throws {
    let lane = state.withLock { state in state.lanes.take(file, label: state.files[file]?.label ?? "") }
    defer {
      let unused = state.withLock { $0.lanes.giveBack(lane, file) }
      for lane in unused { lane.close() }
    }
    try open(lane)
  }

  // MARK: - Running

  private func perform(_ actions: [ReadSchedule.Action]) {
    for action in actions {
      switch action {
      case .start(let id):
        let started = state.withLock { state -> (lane: Lane, body: @Sendable (Lane) -> Void)? in
          guard let read = state.reads[id], let file = state.files[read.file] else { return nil }
          let lane = state.lanes.take(read.file, label: file.label)
          state.reads[id]?.lane = lane
          return (lane, read.body)
        }
        if let (lane, body) = started { lane.queue.async { body(lane) } }
      case .resume(let read):
        state.withLock { $0.reads[read]?.lane }?.gate.signal()
      case .drained(let file):
        // The hold may have been released since then, and another one begun.
        let (isStopped, body) = state.withLock { ($0.schedule.isStopped(file), $0.files[file]?.whenDrained) }
        if let isStopped { body?(isStopped) }
      }
    }
  }
}
