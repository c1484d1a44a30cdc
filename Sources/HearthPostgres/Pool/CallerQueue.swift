#if PostgreSQL
  /// Decides which caller of a pool gets which of its *lanes*, the places for sessions, and when.
  ///
  /// Callers of one sender have their turns in the order of their calls, and senders take turns with each lane. A sender has no more lanes than
  /// its share, so that its long calls leave some for the others.
  ///
  /// | event | effect |
  /// |---|---|
  /// | `add` | the caller gets an idle lane if its sender has less than its share, or waits |
  /// | `remove` | a caller that waits was cancelled |
  /// | `expire` | callers whose deadlines have passed wait no longer |
  /// | `release` | the lane goes to the first sender in turn that has less than its share, or is idle |
  /// | `putBack` | the server had no session for the lane: its caller is the first of its sender again, and the lane is out of use |
  /// | `restore` | a lane that was out of use goes to a sender, or is idle |
  /// | `close` | no caller waits any longer, and none is added |
  struct CallerQueue {
    typealias CallerID = Int
    typealias LaneID = Int

    struct Assignment: Equatable {
      var caller: CallerID
      var lane: LaneID
    }

    enum Addition: Equatable {
      case run(Assignment)
      case wait
      case refused
    }

    private struct Waiting {
      var sender: String
      var deadline: ContinuousClock.Instant
    }

    /// The most recently used one last, so that few sessions do the work of a quiet time.
    private var idle: [LaneID]
    /// The lanes that are out of use.
    private var unusable: Set<LaneID> = []
    private let laneCount: Int
    private let share: Int
    private var waiting: [CallerID: Waiting] = [:]
    private var lines: [String: SenderLine] = [:]
    /// The senders of `lines`, in the order of their turns.
    private var turns: [String] = []
    /// The senders of the lanes in use.
    private var holders: [LaneID: String] = [:]
    private var heldCounts: [String: Int] = [:]
    private(set) var isClosed = false

    /// - Parameters:
    ///   - laneCount: At least 1.
    ///   - share: The lanes that one sender has at most at a time, at least 1; all if nil.
    init(laneCount: Int, share: Int? = nil) {
      self.laneCount = max(laneCount, 1)
      self.share = max(share ?? self.laneCount, 1)
      idle = (0..<self.laneCount).reversed()
    }

    var busyCount: Int { laneCount - idle.count - unusable.count }
    var waitingCount: Int { waiting.count }
    var earliestDeadline: ContinuousClock.Instant? { waiting.values.map(\.deadline).min() }

    /// - Parameter caller: A number above those that were used before.
    mutating func add(_ caller: CallerID, by sender: String = "", deadline: ContinuousClock.Instant) -> Addition {
      defer { assertInvariants() }
      guard !isClosed else { return .refused }
      if hasRoom(sender), let lane = idle.popLast() { return .run(assign(lane, to: caller, of: sender)) }
      waiting[caller] = Waiting(sender: sender, deadline: deadline)
      if lines[sender]?.append(caller) == nil {
        lines[sender] = SenderLine(caller)
        turns.append(sender)
      }
      return .wait
    }

    /// - Returns: False if the caller does not wait.
    mutating func remove(_ caller: CallerID) -> Bool {
      defer { assertInvariants() }
      return leave(caller)
    }

    /// - Returns: The callers that wait no longer.
    mutating func expire(at now: ContinuousClock.Instant) -> [CallerID] {
      defer { assertInvariants() }
      let expired = waiting.filter { $0.value.deadline <= now }.map(\.key).sorted()
      for caller in expired { _ = leave(caller) }
      return expired
    }

    mutating func release(_ lane: LaneID) -> Assignment? {
      defer { assertInvariants() }
      return free(lane) == nil ? nil : give(lane)
    }

    /// - Returns: Another lane for the caller; nil if it waits.
    mutating func putBack(_ caller: CallerID, from lane: LaneID, deadline: ContinuousClock.Instant) -> Assignment? {
      defer { assertInvariants() }
      guard let sender = free(lane) else { return nil }
      unusable.insert(lane)
      if let other = idle.popLast() { return assign(other, to: caller, of: sender) }
      waiting[caller] = Waiting(sender: sender, deadline: deadline)
      if lines[sender]?.putBack(caller) == nil {
        lines[sender] = SenderLine(caller)
        turns.insert(sender, at: 0)
      }
      return nil
    }

    mutating func restore(_ lane: LaneID) -> Assignment? {
      defer { assertInvariants() }
      guard unusable.remove(lane) != nil else {
        assertionFailure("lane \(lane) is in use")
        return nil
      }
      return give(lane)
    }

    /// - Returns: The sender that had the lane.
    private mutating func free(_ lane: LaneID) -> String? {
      guard let holder = holders.removeValue(forKey: lane) else {
        assertionFailure("lane \(lane) is released twice")
        return nil
      }
      let count = (heldCounts[holder] ?? 1) - 1
      heldCounts[holder] = count > 0 ? count : nil
      return holder
    }

    private mutating func give(_ lane: LaneID) -> Assignment? {
      guard let turn = turns.firstIndex(where: { hasRoom($0) }) else {
        idle.append(lane)
        return nil
      }
      return next(at: turn).map { assign(lane, to: $0, of: waiting.removeValue(forKey: $0)?.sender ?? "") }
    }

    /// - Returns: The callers that wait no longer, in the order of their calls.
    mutating func close() -> [CallerID] {
      defer { assertInvariants() }
      isClosed = true
      defer { (waiting, lines, turns) = ([:], [:], []) }
      return waiting.keys.sorted()
    }

    // MARK: - Senders

    private func hasRoom(_ sender: String) -> Bool { heldCounts[sender, default: 0] < share }

    private mutating func assign(_ lane: LaneID, to caller: CallerID, of sender: String) -> Assignment {
      holders[lane] = sender
      heldCounts[sender, default: 0] += 1
      return Assignment(caller: caller, lane: lane)
    }

    /// The first caller of a sender, which has its next turn after the others.
    private mutating func next(at turn: Int) -> CallerID? {
      let (sender, present) = (turns.remove(at: turn), waiting)
      let caller = lines[sender]?.popFirst { present[$0] != nil }
      if lines[sender]?.count == 0 { lines[sender] = nil } else { turns.append(sender) }
      return caller
    }

    private mutating func leave(_ caller: CallerID) -> Bool {
      guard let sender = waiting.removeValue(forKey: caller)?.sender else { return false }
      let present = waiting
      lines[sender]?.leave { present[$0] != nil }
      if lines[sender]?.count == 0 {
        lines[sender] = nil
        turns.removeAll { $0 == sender }
      }
      return true
    }

    private func assertInvariants() {
      assert(lines.count == turns.count, "\(lines.count) senders wait, and \(turns.count) have turns")
      assert(
        idle.isEmpty || !turns.contains { hasRoom($0) },
        "callers of senders with room wait beside \(idle.count) idle lanes")
      assert(
        idle.count + holders.count + unusable.count == laneCount,
        "\(idle.count) lanes are idle, \(holders.count) in use, and \(unusable.count) out of use")
    }
  }

  /// The callers of one sender that wait, in the order of their calls.
  private struct SenderLine {
    private(set) var count = 1
    /// The callers that wait, and some that wait no longer.
    private var callers: [CallerQueue.CallerID]
    private var first = 0

    init(_ caller: CallerQueue.CallerID) {
      callers = [caller]
    }

    mutating func append(_ caller: CallerQueue.CallerID) {
      callers.append(caller)
      count += 1
    }

    mutating func putBack(_ caller: CallerQueue.CallerID) {
      if first > 0 {
        first -= 1
        callers[first] = caller
      } else {
        callers.insert(caller, at: 0)
      }
      count += 1
    }

    /// - Parameter isWaiting: True for a caller that has not left.
    mutating func popFirst(_ isWaiting: (CallerQueue.CallerID) -> Bool) -> CallerQueue.CallerID? {
      while first < callers.count {
        let caller = callers[first]
        first += 1
        guard isWaiting(caller) else { continue }
        count -= 1
        compact(isWaiting)
        return caller
      }
      return nil
    }

    /// A caller waits no longer.
    mutating func leave(_ isWaiting: (CallerQueue.CallerID) -> Bool) {
      count -= 1
      compact(isWaiting)
    }

    /// Forgets the callers that wait no longer, once they are the larger part. So each event costs a constant time on average.
    private mutating func compact(_ isWaiting: (CallerQueue.CallerID) -> Bool) {
      guard callers.count > 2 * count + 32 else { return }
      callers = callers[first...].filter(isWaiting)
      first = 0
    }
  }
#endif
