/// Decides which reads run at the same time, and which of them wait.
///
/// A read is *short* until it has worked for one step, and *long* from then on. A few reads run at once, one for each *slot*. When both
/// kinds wait, each kind gets half of the slots: a scan waits for a get no longer than a get takes, and a get waits for a scan no longer
/// than one step.
///
/// | event | of a read that is | what happens |
/// |---|---|---|
/// | `add` | new | it waits as a short one |
/// | `pause`, at the end of each step | short | it is long now; or it starts over later if all seats for long ones are taken |
/// | | long | it goes on if nobody has a better right to its slot, else it waits behind the other long ones |
/// | `finish` | running | its slot is free |
/// | `leave` | started over | it has let its connection go |
///
/// Long reads keep their connection while they wait, so their number is limited by *seats*. Hence `seats + slots` connections are enough.
///
/// A long read also keeps the state of the database that it sees, and there is always one when several overlap. From ``hold()`` on none
/// becomes long: a read that has worked for a step starts over later. When those that were long have ended, the schedule says so
/// (``Action/drained``), and ``release()`` lets long reads begin again. ``stopLong()`` has them start over instead of ending.
struct ReadSchedule {
  typealias ReadID = Int

  enum Action: Equatable {
    /// Runs the read from its begin, on a connection that nobody uses.
    case start(ReadID)
    /// Lets a read go on that waits in the middle.
    case resume(ReadID)
    /// No long read has a state of the database any more. Once for each ``ReadSchedule/hold()``.
    case drained
  }

  enum Pause: Equatable {
    case goOn
    /// The read waits until it is resumed.
    case wait
    /// The read ends without a result. It is started later.
    case startOver
    /// The read ends without a result: it was stopped too often.
    case giveUp
  }

  /// The number of times that a read is stopped and started over before it is given up.
  static let maximumStops = 3

  private struct Hold {
    /// Long reads start over.
    var isStopping = false
    var wasDrained = false
  }

  let slots: Int
  let seats: Int

  /// Reads that have not begun.
  private var new = ReadQueue()
  /// Long reads in the middle.
  private var paused = ReadQueue()
  /// Reads that turned out to be long when all seats were taken.
  private var unseated = ReadQueue()
  /// The running reads, and whether they are long.
  private var running: [ReadID: Bool] = [:]
  private var held: Hold?
  /// Reads that start over, and still have their connection.
  private var leavingCount = 0
  /// How often a read was stopped.
  private var stops: [ReadID: Int] = [:]

  /// - Parameters:
  ///   - slots: The number of reads that run at the same time; at least 2, so that neither kind stops the other.
  ///   - seats: The number of long reads that have begun, running or not; at least 1.
  init(slots: Int, seats: Int) {
    self.slots = max(slots, 2)
    self.seats = max(seats, 1)
  }

  /// True if no read runs or waits.
  var isIdle: Bool { running.isEmpty && new.isEmpty && paused.isEmpty && unseated.isEmpty }

  /// The reads that wait, also those in the middle.
  var waitingCount: Int { new.count + paused.count + unseated.count }

  /// True if a read that were added now would run at once. While a slot is free, nothing waits that could have it.
  var hasRoom: Bool { running.count < slots }

  private var runningLongCount: Int { running.values.count { $0 } }
  private var seatedCount: Int { runningLongCount + paused.count }

  mutating func add(_ read: ReadID) -> [Action] {
    new.append(read)
    return fill()
  }

  mutating func finish(_ read: ReadID) -> [Action] {
    assert(running[read] != nil, "read \(read) ends, but does not run")
    running[read] = nil
    stops[read] = nil
    return fill() + drained()
  }

  /// A read that was told to start over has let its connection go, with the state that it saw.
  mutating func leave() -> [Action] {
    assert(leavingCount > 0, "a read leaves that was not told to start over")
    leavingCount -= 1
    return drained()
  }

  mutating func pause(_ read: ReadID) -> (pause: Pause, actions: [Action]) {
    guard let isLong = running[read] else {
      assertionFailure("read \(read) pauses, but does not run")
      return (.goOn, [])
    }
    if let held, !isLong || held.isStopping {
      if isLong {
        stops[read, default: 0] += 1
        if stops[read, default: 0] > Self.maximumStops { return (.giveUp, []) }
      }
      return (.startOver, startOver(read))
    }
    if !isLong {
      guard seatedCount < seats else {
        // Nobody is in its way, so it may go on as it is.
        guard !new.isEmpty || !paused.isEmpty else { return (.goOn, []) }
        return (.startOver, startOver(read))
      }
      running[read] = true
    }
    guard !new.isEmpty || !paused.isEmpty || !unseated.isEmpty else { return (.goOn, []) }
    running[read] = nil
    paused.append(read)
    var actions = fill()
    if let own = actions.firstIndex(of: .resume(read)) {
      actions.remove(at: own)
      return (.goOn, actions)
    }
    return (.wait, actions)
  }

  private mutating func startOver(_ read: ReadID) -> [Action] {
    running[read] = nil
    unseated.append(read)
    leavingCount += 1
    return fill()
  }

  /// Lets no read become long until ``release()``.
  mutating func hold() -> [Action] {
    if held == nil { held = Hold() }
    return drained()
  }

  /// Has the long reads start over after the hold, each at the end of its step. One that was stopped ``maximumStops`` times is given up.
  mutating func stopLong() {
    held?.isStopping = true
  }

  mutating func release() -> [Action] {
    held = nil
    return fill()
  }

  private mutating func drained() -> [Action] {
    guard held?.wasDrained == false, seatedCount == 0, leavingCount == 0 else { return [] }
    held?.wasDrained = true
    return [.drained]
  }

  /// Gives free slots to those that wait.
  private mutating func fill() -> [Action] {
    var actions: [Action] = []
    while running.count < slots, let action = next() { actions.append(action) }
    return actions
  }

  private mutating func next() -> Action? {
    let longCount = runningLongCount
    let isLongReady = !paused.isEmpty || (held == nil && !unseated.isEmpty && seatedCount < seats)
    if !new.isEmpty, !isLongReady || running.count - longCount <= longCount {
      guard let read = new.popFirst() else { return nil }
      running[read] = false
      return .start(read)
    }
    if let read = paused.popFirst() {
      running[read] = true
      return .resume(read)
    }
    guard isLongReady, let read = unseated.popFirst() else { return nil }
    running[read] = true
    return .start(read)
  }
}

/// First in, first out. Both ends in constant time on average.
private struct ReadQueue {
  private var reads: [ReadSchedule.ReadID] = []
  private var head = 0

  var count: Int { reads.count - head }
  var isEmpty: Bool { head == reads.count }

  mutating func append(_ read: ReadSchedule.ReadID) {
    reads.append(read)
  }

  mutating func popFirst() -> ReadSchedule.ReadID? {
    guard head < reads.count else { return nil }
    defer {
      head += 1
      if head == reads.count || head >= 64, head * 2 >= reads.count {
        reads.removeFirst(head)
        head = 0
      }
    }
    return reads[head]
  }
}
