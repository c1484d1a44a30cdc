internal import Dispatch
internal import Synchronization

/// A connection to a file, with its own thread while it works, and the read that runs on it.
final class ReaderLane<Reader>: Sendable {
  struct Work {
    var read: ReadSchedule.ReadID?
    var isToStartOver = false
    var isGivenUp = false
    /// Set for a read that runs on its caller's thread, which must not be held up: the number of steps that it may begin.
    var stepsInPlace: Int?
    /// Set when the caller's task was cancelled.
    var cancellation: ReadCancellation?
  }

  let queue: DispatchQueue
  /// Confined by the mutex; used by the read that has the lane only.
  let reader = Mutex<Reader?>(nil)
  /// Blocks the thread of a read that waits in the middle.
  let gate = DispatchSemaphore(value: 0)
  let work = Mutex(Work())
  /// True for the lane that its file keeps.
  let isKept: Bool
  private let isConnected = Atomic(false)

  init(label: String, isKept: Bool) {
    queue = DispatchQueue(label: label)
    self.isKept = isKept
  }

  /// True from the moment when the connection was opened.
  var isOpen: Bool { isConnected.load(ordering: .relaxed) }

  func noteOpen() { isConnected.store(true, ordering: .relaxed) }

  /// Gives the lane to a read.
  func begin(_ work: Work) {
    self.work.withLock {
      assert($0.read == nil, "read \(work.read ?? 0) gets the connection that read \($0.read ?? 0) has")
      assert(isOpen, "read \(work.read ?? 0) begins without a connection")
      $0 = work
    }
  }

  func close() {
    assert(work.withLock { $0.read } == nil, "a connection is closed in the middle of a read")
    reader.withLock { $0 = nil }
  }
}

/// A flag that the task of a read was cancelled. The read stops at the end of its step.
final class ReadCancellation: Sendable {
  private let isSet = Atomic(false)

  var isCancelled: Bool { isSet.load(ordering: .relaxed) }
  func cancel() { isSet.store(true, ordering: .relaxed) }
}

/// Counts the reading connections of all files, and keeps the unused ones.
///
/// Each file keeps one connection, so that it can be read even if no other can be opened. The *further* connections are shared by the
/// process: if more than ``idleLimit`` are idle, the least recently used ones are closed.
///
/// SQLite does not close the descriptor of a file while other connections of the process have it open, because that would release their
/// locks (os_unix.c, `setPendingFd`). It reuses the descriptor for the next connection to this file. So a file has as many descriptors as
/// it ever had simultaneous connections, and `descriptorLimit` limits these.
struct ReaderLanes<Reader> {
  typealias Lane = ReaderLane<Reader>
  typealias FileID = ReadSchedule.FileID

  private struct File {
    /// True if there is a lane that is kept; it may be in use.
    var hasKept = false
    /// The lane that is kept, if no read has it.
    var kept: Lane?
    /// The connections besides the one that is kept, open or being opened.
    var furtherCount = 0
    /// The most of these that there were.
    var descriptorCount = 0
    /// The open connections, in use or not.
    var openCount = 0
  }

  private let idleLimit: Int
  private let descriptorLimit: Int
  private var files: [FileID: File] = [:]
  /// The idle lanes that are not kept, in the order of their last use.
  private var idle: [(file: FileID, lane: Lane)] = []
  /// The descriptors of connections besides those that are kept.
  private var descriptorCount = 0

  /// - Parameters:
  ///   - idleLimit: The idle connections besides those that files keep.
  ///   - descriptorLimit: The descriptors of connections besides those that files keep.
  init(idleLimit: Int, descriptorLimit: Int) {
    self.idleLimit = idleLimit
    self.descriptorLimit = descriptorLimit
  }

  /// The open connections, in use or not.
  var openCount: Int { files.values.reduce(0) { $0 + $1.openCount } }

  func openCount(_ file: FileID) -> Int { files[file]?.openCount ?? 0 }

  /// An idle connection to this file.
  mutating func takeIdle(_ file: FileID) -> Lane? {
    if let kept = files[file]?.kept {
      files[file]?.kept = nil
      return kept
    }
    guard let index = idle.lastIndex(where: { $0.file == file }) else { return nil }
    return idle.remove(at: index).lane
  }

  /// An idle connection to this file, or a lane whose connection is not open yet.
  mutating func take(_ file: FileID, label: String) -> Lane {
    if let lane = takeIdle(file) { return lane }
    let isKept = files[file]?.hasKept != true
    if isKept { files[file, default: File()].hasKept = true }
    return Lane(label: label, isKept: isKept)
  }

  /// Returns false if the process has as many descriptors as it may have.
  mutating func beginOpening(_ lane: Lane, _ file: FileID) -> Bool {
    assert(!lane.isOpen, "a connection to file \(file) is opened a second time")
    defer { assertInvariants(of: file) }
    guard !lane.isKept, var state = files[file] else { return true }
    if state.furtherCount == state.descriptorCount {
      guard descriptorCount < descriptorLimit else { return false }
      descriptorCount += 1
      state.descriptorCount += 1
    }
    state.furtherCount += 1
    files[file] = state
    return true
  }

  mutating func endOpening(_ lane: Lane, _ file: FileID, isOpen: Bool) {
    defer { assertInvariants(of: file) }
    guard isOpen else {
      if !lane.isKept { files[file]?.furtherCount -= 1 }
      return
    }
    lane.noteOpen()
    files[file]?.openCount += 1
  }

  /// A read needs its lane no longer.
  ///
  /// - Returns: The lanes to close.
  mutating func giveBack(_ lane: Lane, _ file: FileID) -> [Lane] {
    assert(
      !idle.contains { $0.lane === lane } && files[file]?.kept !== lane,
      "a connection to file \(file) is given back twice")
    defer { assertInvariants(of: file) }
    guard lane.isOpen, files[file] != nil else {
      if lane.isKept { files[file]?.hasKept = false }
      return [lane]
    }
    if lane.isKept {
      files[file]?.kept = lane
      return []
    }
    idle.append((file, lane))
    return idle.count > idleLimit ? removeIdle(0..<1) : []
  }

  /// Gives up the idle connections that are not kept, of all files.
  mutating func releaseIdle() -> [Lane] { removeIdle(idle.indices) }

  private mutating func removeIdle(_ range: Range<Int>) -> [Lane] {
    let removed = idle[range]
    idle.removeSubrange(range)
    for (file, _) in removed {
      files[file]?.furtherCount -= 1
      files[file]?.openCount -= 1
    }
    return removed.map(\.lane)
  }

  /// Forgets a file whose lanes are all idle.
  mutating func remove(_ file: FileID) -> [Lane] {
    var lanes = idle.filter { $0.file == file }.map(\.lane)
    idle.removeAll { $0.file == file }
    guard let state = files.removeValue(forKey: file) else { return lanes }
    descriptorCount -= state.descriptorCount
    if let kept = state.kept { lanes.append(kept) }
    assert(descriptorCount >= 0, "\(descriptorCount) descriptors are left")
    return lanes
  }

  /// Checks the counts of a file and the connections that nobody uses, in debug builds only.
  private func assertInvariants(of file: FileID) {
    assert(idle.count <= idleLimit, "\(idle.count) idle connections are kept, more than \(idleLimit)")
    assert(
      idle.allSatisfy { $0.lane.isOpen && !$0.lane.isKept && files[$0.file] != nil },
      "an idle connection is not open, or is kept by its file, or its file is gone")
    guard let state = files[file] else { return }
    assert(state.kept == nil || state.hasKept, "file \(file) has the connection that it does not keep")
    assert(
      0...state.descriptorCount ~= state.furtherCount && state.descriptorCount <= descriptorCount,
      "file \(file) has \(state.furtherCount) connections on \(state.descriptorCount) of \(descriptorCount) descriptors"
    )
    assert(
      0...(state.furtherCount + 1) ~= state.openCount,
      "file \(file) has \(state.openCount) open connections of \(state.furtherCount) and the one that it keeps")
  }
}
