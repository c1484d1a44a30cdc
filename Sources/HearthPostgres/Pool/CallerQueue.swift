#if PostgreSQL
  /// Decides which caller of a pool gets which of its *lanes*, the places for sessions, and when.
  ///
  /// | event | effect |
  /// |---|---|
  /// | `add` | the caller gets an idle lane, or waits behind all others |
  /// | `remove` | a caller that waits was cancelled |
  /// | `expire` | callers whose deadlines have passed wait no longer |
  /// | `release` | the lane goes to the caller that has waited longest, or is idle |
  /// | `close` | nobody waits any longer, and nobody is added |
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

    /// The most recently used one last, so that few sessions do the work of a quiet time.
    private var idle: [LaneID]
    private let laneCount: Int
    private var deadlines: [CallerID: ContinuousClock.Instant] = [:]
    /// The callers that wait, in the order of their arrival, and some that wait no longer.
    private var order: [CallerID] = []
    private var firstIndex = 0
    private(set) var isClosed = false

    /// - Parameter laneCount: At least 1.
    init(laneCount: Int) {
      self.laneCount = max(laneCount, 1)
      idle = (0..<self.laneCount).reversed()
    }

    var busyCount: Int { laneCount - idle.count }
    var waitingCount: Int { deadlines.count }
    var earliestDeadline: ContinuousClock.Instant? { deadlines.values.min() }

    /// - Parameter caller: A number that was not used before.
    mutating func add(_ caller: CallerID, deadline: ContinuousClock.Instant) -> Addition {
      defer { assertInvariants() }
      guard !isClosed else { return .refused }
      if let lane = idle.popLast() { return .run(Assignment(caller: caller, lane: lane)) }
      deadlines[caller] = deadline
      order.append(caller)
      return .wait
    }

    /// - Returns: False if the caller does not wait.
    mutating func remove(_ caller: CallerID) -> Bool {
      defer { assertInvariants() }
      guard deadlines.removeValue(forKey: caller) != nil else { return false }
      compact()
      return true
    }

    /// - Returns: The callers that wait no longer.
    mutating func expire(at now: ContinuousClock.Instant) -> [CallerID] {
      defer { assertInvariants() }
      let expired = deadlines.filter { $0.value <= now }.map(\.key).sorted()
      for caller in expired { deadlines[caller] = nil }
      compact()
      return expired
    }

    mutating func release(_ lane: LaneID) -> Assignment? {
      defer { assertInvariants() }
      assert(!idle.contains(lane), "lane \(lane) is released twice")
      while firstIndex < order.count {
        let caller = order[firstIndex]
        firstIndex += 1
        guard deadlines.removeValue(forKey: caller) != nil else { continue }
        compact()
        return Assignment(caller: caller, lane: lane)
      }
      idle.append(lane)
      return nil
    }

    /// - Returns: The callers that wait no longer.
    mutating func close() -> [CallerID] {
      defer { assertInvariants() }
      isClosed = true
      defer { deadlines = [:] }
      return order[firstIndex...].filter { deadlines[$0] != nil }
    }

    /// Forgets the callers that wait no longer, once they are the larger part. So each event costs a constant time on average.
    private mutating func compact() {
      guard order.count > 2 * deadlines.count + 32 else { return }
      order = order[firstIndex...].filter { deadlines[$0] != nil }
      firstIndex = 0
    }

    private func assertInvariants() {
      assert(deadlines.isEmpty || idle.isEmpty, "\(deadlines.count) callers wait beside \(idle.count) idle lanes")
      assert(idle.count <= laneCount, "\(idle.count) of \(laneCount) lanes are idle")
    }
  }
#endif
