internal import HearthModel

/// The time by which kept refusals and outcomes age: a scale of the cache's own that goes on with the device's clock, and that a wrong clock
/// cannot move by much.
///
/// The clock is read whenever something is kept. Between two readings the scale goes on by what lies between them, as long as that is at most
/// a day. It stands still when the clock has gone back, and until the clock is where it was before, but for a day at most: a clock that goes
/// back and forth measures nothing. A longer step may be a correction, so it counts only as far as it leads beyond
/// every earlier reading, and as a day at most. So a device that begins in 1970 at each start and is corrected later ages by what has passed,
/// and a clock that is years ahead for a while by a day, however often it is read.
struct KeepingTime: Equatable {
  /// The point on the scale, in seconds. It never goes back.
  var seconds: Int64 = 0
  /// The reading that the next one is compared with, in seconds since 1970: the last one, or the one before the clock went
  /// back, which may lie a day ahead of the last.
  var lastReading: Int64 = 0
  /// The highest reading.
  var highestReading: Int64 = 0

  /// The most that one step counts.
  static let longestStep: Int64 = 24 * 3600

  /// The readings that are told apart. Differences of them do not overflow.
  private static let readings = -CountedNumber.limit / 2...CountedNumber.limit / 2

  mutating func read(_ clock: Timestamp) {
    let before = self
    defer {
      assert(seconds >= before.seconds, "kept rows became younger: \(before.seconds) became \(seconds)")
      assert(highestReading >= before.highestReading, "the highest reading went back")
    }
    let reading = Self.clamped(clock.seconds)
    let step = reading - Self.clamped(lastReading)
    if step <= Self.longestStep {
      seconds += max(0, step)
    } else {
      seconds += min(max(0, reading - Self.clamped(highestReading)), Self.longestStep)
    }
    lastReading = step < 0 ? min(Self.clamped(lastReading), reading + Self.longestStep) : reading
    highestReading = max(highestReading, reading)
  }

  private static func clamped(_ reading: Int64) -> Int64 {
    min(max(reading, readings.lowerBound), readings.upperBound)
  }
}
