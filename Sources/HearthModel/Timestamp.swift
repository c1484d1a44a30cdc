/// A point in time: seconds since 1970-01-01T00:00:00Z and the nanoseconds that follow.
package struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Seconds since the epoch; negative before it.
  package private(set) var seconds: Int64
  /// 0..<1,000,000,000, counted forward from `seconds` also before the epoch.
  package private(set) var nanoseconds: Int32

  /// The seconds that Firestore documents as valid: years 1 to 9999.
  package static let validSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// 1970-01-01T00:00:00Z.
  package static let epoch = Timestamp(seconds: 0, nanoseconds: 0)

  private static let nanosecondsPerSecond: Int32 = 1_000_000_000
  private static let microsecondsPerSecond: Int64 = 1_000_000

  /// Nanoseconds outside of 0..<1,000,000,000 are carried into the seconds; the result saturates at the ends of Int64.
  package init(seconds: Int64, nanoseconds: Int32) {
    if (0..<Self.nanosecondsPerSecond).contains(nanoseconds) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
      return
    }
    var carry = Int64(nanoseconds / Self.nanosecondsPerSecond)
    var rest = nanoseconds % Self.nanosecondsPerSecond
    if rest < 0 {
      rest += Self.nanosecondsPerSecond
      carry -= 1
    }
    let (sum, overflow) = seconds.addingReportingOverflow(carry)
    self.seconds = overflow ? (carry < 0 ? .min : .max) : sum
    self.nanoseconds = overflow ? (carry < 0 ? 0 : Self.nanosecondsPerSecond - 1) : rest
  }

  /// The time that many microseconds after the epoch (before it, if negative).
  package init(microseconds: Int64) {
    var seconds = microseconds / Self.microsecondsPerSecond
    var rest = microseconds % Self.microsecondsPerSecond
    if rest < 0 {
      rest += Self.microsecondsPerSecond
      seconds -= 1
    }
    self.init(seconds: seconds, nanoseconds: Int32(rest * 1000))
  }

  /// Whole microseconds since the epoch, rounded down; saturates at the ends of Int64.
  package var microseconds: Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: Self.microsecondsPerSecond)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(Int64(nanoseconds / 1000))
    return carried ? .max : sum
  }

  /// The same time without the digits below a microsecond, as Firestore stores it.
  package func truncatedToMicroseconds() -> Timestamp {
    Timestamp(seconds: seconds, nanoseconds: nanoseconds - nanoseconds % 1000)
  }

  package static func < (a: Timestamp, b: Timestamp) -> Bool {
    a.seconds == b.seconds ? a.nanoseconds < b.nanoseconds : a.seconds < b.seconds
  }

  /// Seconds and nine decimals, for messages and logs.
  package var description: String {
    let digits = String(nanoseconds)
    return "\(seconds)s+0.\(String(repeating: "0", count: max(0, 9 - digits.utf8.count)))\(digits)"
  }
}
