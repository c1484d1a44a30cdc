internal import HearthModel

/// The time scale for the age of kept refusals and outcomes. It follows the device's clock, but a wrong clock cannot move it by much.
///
/// The clock is read whenever something is kept. The scale advances by the difference of two readings, if that is at most a day.
///
/// - If the clock has gone back, the scale stands still until the clock reaches its earlier reading, but for a day at most: a clock that
///   goes back and forth measures nothing.
/// - A longer step may be a correction of the clock. It counts only as far as it goes beyond every earlier reading, and as a day at most.
///
/// So on a device whose clock starts in 1970 and is corrected later, the scale advances by the elapsed time. A clock that is years ahead
/// for a while advances it by one day, however often it is read.
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
