internal import CMeasure
internal import Foundation

/// One run of one benchmark at one size, in a process of its own.
public final class Session {
  public let size: Int
  /// An empty folder, deleted afterwards.
  public let folder: String
  /// The folder of files that several benchmarks read; see ``Suite/fixtures``.
  public let fixtures: String
  private let repetitions: Int
  public private(set) var measurement: Measurement

  init(_ benchmark: Benchmark, size: Int, folder: String, fixtures: String, repetitions: Int) {
    self.size = size
    self.folder = folder
    self.fixtures = fixtures
    self.repetitions = repetitions
    measurement = Measurement(
      name: benchmark.name, group: benchmark.group, title: benchmark.title, unit: benchmark.unit, size: size,
      goal: benchmark.goals[size], official: benchmark.official[size])
  }

  /// Measures the operation: `repetitions` times for the median, and one further run with allocations counted.
  ///
  /// - Parameters:
  ///   - items: the number of documents, writes or events that one call of `run` handles.
  ///   - setUp: not measured; makes what `run` gets.
  ///   - run: measured, apart from what the stopwatch is told to leave out.
  ///   - tearDown: not measured.
  public func measure<T>(
    items: Int = 1, setUp: () throws -> T, run: (T, Stopwatch) throws -> Void, tearDown: (T) throws -> Void = { _ in }
  ) throws {
    ProcessMemory.resetPeak()
    let (samples, peak) = try sample(items, setUp: setUp, run: run, tearDown: tearDown)
    measurement.samples = samples
    measurement.peakMemoryBytes = peak
  }

  public func measure(items: Int = 1, run: () throws -> Void) throws {
    try measure(items: items, setUp: {}, run: { _, _ in try run() })
  }

  /// Measures the floor: the least work that could give the same answer.
  public func floor<T>(
    _ title: String, items: Int = 1, setUp: () throws -> T, run: (T) throws -> Void,
    tearDown: (T) throws -> Void = { _ in }
  ) throws {
    measurement.floorTitle = title
    measurement.floor = try sample(items, setUp: setUp, run: { value, _ in try run(value) }, tearDown: tearDown).0
  }

  /// Measures two ways to do the same in turns, so that a slow moment of the machine falls on both. The second one is the floor.
  public func compare<T>(
    with title: String, items: Int, rounds: Int, setUp: (_ isFloor: Bool) throws -> T,
    run: (T, Stopwatch) throws -> Void,
    tearDown: (T) throws -> Void = { _ in }
  ) throws {
    var both = [Samples(), Samples()]
    for round in 0..<rounds * 2 {
      // The order of the two changes from round to round.
      let index = (round + round / 2) % 2
      let value = try setUp(index == 1)
      let stopwatch = Stopwatch(countsAllocations: false)
      stopwatch.start()
      try run(value, stopwatch)
      stopwatch.stop()
      try tearDown(value)
      both[index].items = items
      both[index].processorTimes.append(Double(stopwatch.processorTime) / 1e9)
      both[index].wallTimes.append(Double(stopwatch.wallTime) / 1e9)
    }
    measurement.samples = both[0]
    measurement.floor = both[1]
    measurement.floorTitle = title
  }

  /// Notes what the benchmark has measured in a way of its own, in seconds.
  public func note(processorTimes: [Double] = [], wallTimes: [Double]) {
    measurement.samples.processorTimes = processorTimes
    measurement.samples.wallTimes = wallTimes
  }

  /// Notes how much memory was needed.
  public func noteMemory(bytes: Int) { measurement.peakMemoryBytes = bytes }

  /// Notes how much the files take.
  public func noteDisk(bytes: Int) { measurement.diskBytes = bytes }

  /// An empty folder inside ``folder``.
  public func makeFolder() throws -> String {
    let path = folder + "/" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func sample<T>(
    _ items: Int, setUp: () throws -> T, run: (T, Stopwatch) throws -> Void, tearDown: (T) throws -> Void
  ) throws -> (Samples, peakMemoryBytes: Int?) {
    var samples = Samples()
    samples.items = items
    var peak: Int?
    for repetition in 0...repetitions {
      let countsAllocations = repetition == repetitions
      if countsAllocations {
        peak = ProcessMemory.peakBytes
        guard measure_counts_allocations() else { break }
      }
      let value = try setUp()
      let stopwatch = Stopwatch(countsAllocations: countsAllocations)
      stopwatch.start()
      try run(value, stopwatch)
      stopwatch.stop()
      try tearDown(value)
      if countsAllocations {
        samples.allocations = Int(stopwatch.allocations)
      } else {
        samples.processorTimes.append(Double(stopwatch.processorTime) / 1e9)
        samples.wallTimes.append(Double(stopwatch.wallTime) / 1e9)
      }
    }
    return (samples, peak)
  }
}

/// Adds up what passes between ``start()`` and ``stop()``.
public final class Stopwatch {
  private(set) var processorTime: UInt64 = 0
  private(set) var wallTime: UInt64 = 0
  private(set) var allocations: UInt64 = 0
  private let countsAllocations: Bool
  private var began: (processor: UInt64, wall: UInt64, allocations: UInt64) = (0, 0, 0)

  init(countsAllocations: Bool) {
    self.countsAllocations = countsAllocations
  }

  func start() {
    began = (measure_processor_time(), measure_wall_time(), measure_allocations())
    if countsAllocations { measure_set_counting(true) }
  }

  func stop() {
    if countsAllocations { measure_set_counting(false) }
    processorTime += measure_processor_time() - began.processor
    wallTime += measure_wall_time() - began.wall
    allocations += measure_allocations() - began.allocations
  }

  /// Executes `body` without measuring it.
  public func excluding<T>(_ body: () throws -> T) rethrows -> T {
    stop()
    defer { start() }
    return try body()
  }
}

/// The time that the clock of the machine shows, in seconds: the same for all processes.
public var monotonicSeconds: Double { Double(measure_wall_time()) / 1e9 }

/// The resident size of this process, as Linux tells it.
enum ProcessMemory {
  /// Resets the peak (proc(5), clear_refs).
  static func resetPeak() {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
    try? file.write(contentsOf: Data("5".utf8))
    try? file.close()
  }

  static var peakBytes: Int? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 }
    }
    return nil
  }
}
