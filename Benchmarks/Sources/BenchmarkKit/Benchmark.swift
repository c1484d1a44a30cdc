/// One operation that is measured, at one or several sizes.
public struct Benchmark: Sendable {
  /// The unit of work that one figure stands for.
  public enum Unit: String, Codable, Sendable {
    /// The whole operation.
    case operation
    /// One of the items that an operation handles: a document, a write, an event.
    case item
  }

  /// A figure to be held, and how much of it there may be.
  public struct Goal: Codable, Sendable {
    /// Processor time in seconds, per operation or per item as the benchmark's unit says.
    public var processorTime: Double?
    /// Processor time as a multiple of the floor's.
    public var timesFloor: Double?
    /// Time that passes as a multiple of the floor's.
    public var wallTimesFloor: Double?
    /// Time that passes in seconds, per operation or per item: the median, and the value that 99 of 100 repetitions keep.
    public var wallTime: Double?
    public var wallTime99: Double?
    /// The speed as a multiple of the floor's, in time that passes: for work in several threads, whose floor is one thread.
    public var gain: Double?
    public var peakMemoryBytes: Int?
    public var diskBytes: Int?

    public init(
      processorTime: Double? = nil, timesFloor: Double? = nil, wallTimesFloor: Double? = nil, wallTime: Double? = nil,
      wallTime99: Double? = nil, gain: Double? = nil, peakMemoryBytes: Int? = nil, diskBytes: Int? = nil
    ) {
      self.processorTime = processorTime
      self.timesFloor = timesFloor
      self.wallTimesFloor = wallTimesFloor
      self.wallTime = wallTime
      self.wallTime99 = wallTime99
      self.gain = gain
      self.peakMemoryBytes = peakMemoryBytes
      self.diskBytes = diskBytes
    }
  }

  /// Unique, for example "query.equality-scan".
  public var name: String
  /// The chart and the part of the table that it belongs to.
  public var group: String
  /// The operation, in words.
  public var title: String
  public var unit: Unit
  /// The numbers of documents in the cache.
  public var sizes: [Int]
  /// By size.
  public var goals: [Int: Goal]
  /// The official core's processor time in seconds, by size; see docs/performance.md for where it comes from.
  public var official: [Int: Double]
  public var body: @Sendable (Session) throws -> Void

  public init(
    _ name: String, group: String, title: String, unit: Unit = .operation, sizes: [Int] = Benchmark.usualSizes,
    goals: [Int: Goal] = [:], official: [Int: Double] = [:], body: @escaping @Sendable (Session) throws -> Void
  ) {
    self.name = name
    self.group = group
    self.title = title
    self.unit = unit
    self.sizes = sizes
    self.goals = goals
    self.official = official
    self.body = body
  }

  public static let usualSizes = [1_000, 10_000, 100_000]
}

/// The times of several repetitions of one operation.
public struct Samples: Codable, Sendable {
  /// Seconds, for each repetition.
  public var processorTimes: [Double] = []
  /// Seconds, for each repetition.
  public var wallTimes: [Double] = []
  /// The number of items that each repetition handled.
  public var items = 1
  /// Calls of the allocator in one further repetition, nil where they cannot be counted.
  public var allocations: Int?

  public var medianProcessorTime: Double { Self.median(processorTimes) }
  public var medianWallTime: Double { Self.median(wallTimes) }
  /// The time that 99 of 100 repetitions keep; nil if there are fewer.
  public var wallTime99: Double? {
    wallTimes.count < 100 ? nil : wallTimes.sorted()[wallTimes.count * 99 / 100]
  }

  static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

/// The results of one benchmark at one size.
public struct Measurement: Codable, Sendable {
  public var name: String
  public var group: String
  public var title: String
  public var unit: Benchmark.Unit
  public var size: Int
  public var samples = Samples()
  /// The least work that could give the same answer, done with raw SQLite in the same process.
  public var floor: Samples?
  public var floorTitle: String?
  /// The largest resident size while the operation was repeated, nil where the system does not say.
  public var peakMemoryBytes: Int?
  public var diskBytes: Int?
  public var goal: Benchmark.Goal?
  /// Seconds of processor time per unit.
  public var official: Double?

  /// Seconds of processor time per unit.
  public var processorTime: Double { samples.medianProcessorTime / Double(unitCount(samples)) }
  public var wallTime: Double { samples.medianWallTime / Double(unitCount(samples)) }
  public var wallTime99: Double? { samples.wallTime99.map { $0 / Double(unitCount(samples)) } }
  public var allocations: Double? { samples.allocations.map { Double($0) / Double(unitCount(samples)) } }
  public var floorTime: Double? { floor.map { $0.medianProcessorTime / Double(unitCount($0)) } }
  public var timesFloor: Double? { floorTime.map { processorTime / $0 } }
  public var wallTimesFloor: Double? { floor.map { wallTime / ($0.medianWallTime / Double(unitCount($0))) } }

  private func unitCount(_ samples: Samples) -> Int { unit == .item ? max(samples.items, 1) : 1 }

  /// Nil when there is no goal.
  public var meetsGoal: Bool? {
    guard let goal else { return nil }
    if let limit = goal.processorTime, !(processorTime <= limit) { return false }
    if let limit = goal.timesFloor, let timesFloor, timesFloor > limit { return false }
    if let limit = goal.wallTimesFloor, let wallTimesFloor, wallTimesFloor > limit { return false }
    if let limit = goal.wallTime, !(wallTime <= limit) { return false }
    if let limit = goal.wallTime99, let wallTime99, wallTime99 > limit { return false }
    if let least = goal.gain, let wallTimesFloor, !(1 / wallTimesFloor >= least) { return false }
    if let limit = goal.peakMemoryBytes, let peakMemoryBytes, peakMemoryBytes > limit { return false }
    if let limit = goal.diskBytes, let diskBytes, diskBytes > limit { return false }
    return true
  }
}
