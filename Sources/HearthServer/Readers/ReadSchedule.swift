/// Decides which reads of a process run at the same time, and which wait.
///
/// A read is *short* until it has worked for one step, and *long* from then on. A few reads run at once, one for each *slot*. When both
/// kinds wait, each kind gets half of the slots. So a scan waits at most for the time of a get, and a get at most for one step of a scan.
///
/// Slots and seats are shared by all files. Files take turns with each of their reads, and with each step of their long reads, and so do
/// the senders of a file's reads.
///
/// | event | state of the read | effect |
/// |---|---|---|
/// | `add` | new | it waits as a short one |
/// | `pause`, at the end of each step | short | it becomes long; or it starts over later if all seats for long reads are taken |
/// | | long | it goes on if no other read has a better right to its slot; otherwise it waits after the other long reads |
/// | `leave` | starting over | it has released its connection; its slot is free, and it waits |
/// | `lack` | without a connection | none can be opened for it: it waits for an existing connection of its file |
/// | `finish` | running | its slot is free |
///
/// Long reads keep their connection while they wait, so their number is limited by *seats*. Hence `seats + slots` connections are enough.
///
/// A long read also keeps its state of the file, and with overlapping long reads the file always has such a state. From a hold on, no
/// read of this file becomes long: a read that has worked for a step starts over later. When the long reads have ended, the schedule
/// reports that (``Action/drained(_:)``), and ``release(_:)`` permits long reads again. A hold that stops reads makes the long ones
/// start over instead of waiting for their end, lets no other read begin, and is drained when no read of the file is left.
struct ReadSchedule {
  typealias ReadID = Int
  typealias FileID = Int

  enum Action: Equatable {
    /// Runs the read from its start, on an unused connection.
    case start(ReadID)
    /// Resumes a read that waits in the middle.
    case resume(ReadID)
    /// No long read holds a state of the file any more, or no read at all if they were stopped. Reported once for each hold, and a second time if
    /// that begins to stop reads later.
    case drained(FileID)
  }

  enum Pause: Equatable {
    case goOn
    /// The read waits until it is resumed.
    case wait
    /// The read ends without a result. It is started later, after ``ReadSchedule/leave(_:)``.
    case startOver
    /// The read ends without a result: it was stopped too often.
    case giveUp
  }

  /// The number of times that a read is stopped and started over before it is given up.
  static let maximumStops = 3

  private struct Running {
    let file: FileID
    let sender: String
    var isLong: Bool
    /// It starts over, and still has its slot and its connection.
    var isLeaving = false
  }

  let slots: Int
  let seats: Int

  private var files: [FileID: ScheduledFile] = [:]
  private var running: [ReadID: Running] = [:]
  /// The long reads that run or wait in the middle.
  private(set) var seatedCount = 0
  /// The number of times that each read was stopped.
  private var stops: [ReadID: Int] = [:]
  /// The files with reads of each kind that may go on.
  private var turns = ReadTurns()
  /// The kind of long reads whose turn is next: those in the middle, or those that start over.
  private var isUnseatedNext = false

  /// - Parameters:
  ///   - slots: The number of reads that run at the same time; at least 2, so that neither kind stops the other.
  ///   - seats: The number of long reads that have begun, running or not; at least 1.
  init(slots: Int, seats: Int) {
    self.slots = max(slots, 2)
    self.seats = max(seats, 1)
  }

  /// The reads that run, also those that start over and have not left.
  var runningCount: Int { running.count }

  /// The reads that have a connection: those that run, and those that wait in the middle.
  var begunCount: Int { files.values.reduce(0) { $0 + $1.begunCount } }

  /// True if no read of this file runs or waits.
  func isIdle(_ file: FileID) -> Bool {
    files[file].map { $0.begunCount == 0 && $0.waitingCount == 0 } ?? true
  }

  /// The reads of this file that wait, also those in the middle.
  func waitingCount(_ file: FileID) -> Int { files[file]?.waitingCount ?? 0 }

  /// True if a read of this file that were added now would run at once. While a slot is free, no read waits that could take it.
  func hasRoom(_ file: FileID) -> Bool {
    running.count < slots && files[file]?.mayBegin != false
  }

  // MARK: - Events

  /// - Parameter sender: Reads of different senders take turns.
  mutating func add(_ read: ReadID, of file: FileID, by sender: String = "") -> [Action] {
    defer { assertInvariants() }
    assert(running[read] == nil, "read \(read) is added, but runs")
    files[file, default: ScheduledFile()].append(WaitingRead(id: read, sender: sender), to: .new)
    turns.join(file, files[file])
    return fill()
  }

  mutating func finish(_ read: ReadID) -> [Action] {
    defer { assertInvariants() }
    guard let ended = end(read) else { return [] }
    stops[read] = nil
    files[ended.file]?.allowOneMore(upTo: slots + seats)
    turns.join(ended.file, files[ended.file])
    return fill() + drained(ended.file)
  }

  /// A read that must start over has released its connection, with the state that it saw.
  mutating func leave(_ read: ReadID) -> [Action] {
    defer { assertInvariants() }
    assert(running[read]?.isLeaving == true, "read \(read) leaves, but was not told to start over")
    guard let left = end(read) else { return [] }
    files[left.file]?.append(WaitingRead(id: read, sender: left.sender), to: .unseated)
    turns.join(left.file, files[left.file])
    return fill() + drained(left.file)
  }

  /// No connection can be opened for a read that was started. It waits, first of its kind, until fewer reads have begun than its file has
  /// connections. After each read that ends, one more is tried.
  ///
  /// - Parameter connections: The connections that the file has, in use or not; at least one.
  mutating func lack(_ read: ReadID, connections: Int) -> [Action] {
    defer { assertInvariants() }
    guard let stopped = end(read) else { return [] }
    files[stopped.file]?.putBack(
      WaitingRead(id: read, sender: stopped.sender), in: stopped.isLong ? .unseated : .new)
    files[stopped.file]?.maximumBegun = max(connections, 1)
    turns.join(stopped.file, files[stopped.file])
    return fill() + drained(stopped.file)
  }

  mutating func pause(_ read: ReadID) -> (pause: Pause, actions: [Action]) {
    defer { assertInvariants() }
    guard let running = running[read], !running.isLeaving else {
      assertionFailure("read \(read) pauses, but does not run")
      return (.goOn, [])
    }
    let file = running.file
    if let held = files[file]?.held, !running.isLong || held.isStopping {
      if running.isLong {
        stops[read, default: 0] += 1
        if stops[read, default: 0] > Self.maximumStops { return (.giveUp, []) }
      }
      return (startOver(read), [])
    }
    let isSeatFree = seatedCount < seats
    if !running.isLong {
      // A free seat belongs to those that have started over for want of one.
      guard isSeatFree, turns.isEmpty(.unseated) else {
        let isInTheWay = !turns.isEmpty(.new) || !turns.isEmpty(.paused) || (isSeatFree && !turns.isEmpty(.unseated))
        return (isInTheWay ? startOver(read) : .goOn, [])
      }
      self.running[read]?.isLong = true
      seatedCount += 1
      files[file]?.seatedCount += 1
    }
    guard !turns.isEmpty else { return (.goOn, []) }
    self.running[read] = nil
    files[file]?.append(WaitingRead(id: read, sender: running.sender), to: .paused)
    turns.join(file, files[file])
    var actions = fill()
    if let own = actions.firstIndex(of: .resume(read)) {
      actions.remove(at: own)
      return (.goOn, actions)
    }
    return (.wait, actions)
  }

  private mutating func startOver(_ read: ReadID) -> Pause {
    guard let file = running[read]?.file else { return .goOn }
    running[read]?.isLeaving = true
    files[file]?.leavingCount += 1
    return .startOver
  }

  /// A read runs no longer, and has no connection.
  private mutating func end(_ read: ReadID) -> Running? {
    guard let ended = running.removeValue(forKey: read) else {
      assertionFailure("read \(read) ends, but does not run")
      return nil
    }
    files[ended.file]?.begunCount -= 1
    if ended.isLeaving { files[ended.file]?.leavingCount -= 1 }
    if ended.isLong {
      seatedCount -= 1
      files[ended.file]?.seatedCount -= 1
    }
    return ended
  }

  // MARK: - Holds

  /// Lets no read of this file become long until ``release(_:)``.
  ///
  /// - Parameter stopsReads: True to have the long reads start over after the hold, each at the end of its step, and to let no read begin
  ///   until then. One that was stopped ``maximumStops`` times is given up.
  mutating func hold(_ file: FileID, stopsReads: Bool = false) -> [Action] {
    defer { assertInvariants() }
    var hold = files[file]?.held ?? ScheduledFile.Hold()
    if stopsReads, !hold.isStopping { hold = ScheduledFile.Hold(isStopping: true) }
    files[file, default: ScheduledFile()].held = hold
    return drained(file)
  }

  /// True if no read of the file has begun, and none does before the release; false if no long one has. Nil if the file has no hold that is
  /// drained.
  func isStopped(_ file: FileID) -> Bool? {
    files[file]?.held.flatMap { $0.wasDrained ? $0.isStopping : nil }
  }

  mutating func release(_ file: FileID) -> [Action] {
    defer { assertInvariants() }
    files[file]?.held = nil
    turns.join(file, files[file])
    return fill()
  }

  /// Removes a file without running or waiting reads.
  mutating func remove(_ file: FileID) {
    assert(isIdle(file), "file \(file) is removed, but has reads")
    files[file] = nil
    assertInvariants()
  }

  private mutating func drained(_ file: FileID) -> [Action] {
    guard let state = files[file], state.held?.wasDrained == false, state.isDrained else { return [] }
    files[file]?.held?.wasDrained = true
    return [.drained(file)]
  }

  // MARK: - Slots

  /// Gives free slots to those that wait.
  private mutating func fill() -> [Action] {
    var actions: [Action] = []
    while running.count < slots, let action = next() { actions.append(action) }
    return actions
  }

  private mutating func next() -> Action? {
    let longCount = running.values.count { $0.isLong }
    let isLongReady = !turns.isEmpty(.paused) || (seatedCount < seats && !turns.isEmpty(.unseated))
    let isShortNext = !isLongReady || running.count - longCount <= longCount
    return isShortNext ? startNew() ?? goOnLong() : goOnLong() ?? startNew()
  }

  private mutating func startNew() -> Action? {
    guard let (file, read) = turns.next(.new, of: &files) else { return nil }
    files[file]?.begunCount += 1
    running[read.id] = Running(file: file, sender: read.sender, isLong: false)
    return .start(read.id)
  }

  private mutating func goOnLong() -> Action? {
    isUnseatedNext.toggle()
    return isUnseatedNext ? startUnseated() ?? resume() : resume() ?? startUnseated()
  }

  private mutating func resume() -> Action? {
    guard let (file, read) = turns.next(.paused, of: &files) else { return nil }
    running[read.id] = Running(file: file, sender: read.sender, isLong: true)
    return .resume(read.id)
  }

  private mutating func startUnseated() -> Action? {
    guard seatedCount < seats, let (file, read) = turns.next(.unseated, of: &files) else { return nil }
    files[file]?.begunCount += 1
    files[file]?.seatedCount += 1
    seatedCount += 1
    running[read.id] = Running(file: file, sender: read.sender, isLong: true)
    return .start(read.id)
  }

  // MARK: - Invariants

  /// Checks what holds between two events, in debug builds only.
  private func assertInvariants() {
    assert(running.count <= slots, "\(running.count) reads run in \(slots) slots")
    assert(seatedCount >= 0 && seatedCount <= seats, "\(seatedCount) long reads have begun, with \(seats) seats")
    // Each event would cost more the more files there are.
    assert(files.count > 16 || isConsistent, "the reads of files are counted wrongly: \(files), running: \(running)")
    assert(files.count > 16 || !isSlotWasted, "a slot is free, and a read waits that could have it: \(files)")
  }

  private var isConsistent: Bool {
    var pausedCount = 0
    for (id, file) in files {
      let paused = file.waitingCount(of: .paused)
      let own = running.values.filter { $0.file == id }
      guard file.begunCount == own.count + paused, file.seatedCount == own.count(where: \.isLong) + paused,
        file.leavingCount == own.count(where: \.isLeaving)
      else { return false }
      pausedCount += paused
    }
    return seatedCount == running.values.count(where: \.isLong) + pausedCount
      && running.values.allSatisfy { files[$0.file] != nil }
  }

  private var isSlotWasted: Bool {
    guard running.count < slots else { return false }
    return files.values.contains {
      $0.isReady(.new) || $0.isReady(.paused) || (seatedCount < seats && $0.isReady(.unseated))
    }
  }
}
