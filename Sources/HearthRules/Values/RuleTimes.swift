/// A duration of at most 10,000 years, in nanoseconds, as `google.protobuf.Duration`.
package struct RuleDuration: Hashable, Comparable, Sendable {
  static let largestSeconds: Int64 = 315_576_000_000

  /// The whole seconds, rounded towards zero.
  package let seconds: Int64
  /// -999,999,999...999,999,999, with the sign of the seconds.
  package let nanoseconds: Int64

  /// - Parameter nanoseconds: Any number; whole seconds in it are carried.
  init(seconds: Int64, nanoseconds: Int64) throws(RuleFailure) {
    let total = Int128(seconds) * 1_000_000_000 + Int128(nanoseconds)
    try self.init(totalNanoseconds: total)
  }

  init(totalNanoseconds total: Int128) throws(RuleFailure) {
    let seconds = total / 1_000_000_000
    guard seconds.magnitude <= UInt128(Self.largestSeconds) else {
      throw .invalid("duration: \(seconds) seconds are more than \(Self.largestSeconds)")
    }
    self.seconds = Int64(seconds)
    nanoseconds = Int64(total % 1_000_000_000)
  }

  var totalNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

  package static func < (left: Self, right: Self) -> Bool { left.totalNanoseconds < right.totalNanoseconds }

  /// The units of `duration.value`, in nanoseconds.
  static let units: [String: Int64] = [
    "w": 604_800_000_000_000, "d": 86_400_000_000_000, "h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000,
    "ms": 1_000_000, "ns": 1,
  ]
}

/// A point in time of the years 1 to 9999, in nanoseconds.
package struct RuleTimestamp: Hashable, Comparable, Sendable {
  static let validSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Seconds since 1970-01-01T00:00:00Z, rounded down.
  package let seconds: Int64
  /// 0..<1,000,000,000.
  package let nanoseconds: Int64

  init(totalNanoseconds total: Int128) throws(RuleFailure) {
    var seconds = total / 1_000_000_000
    var rest = total % 1_000_000_000
    if rest < 0 {
      rest += 1_000_000_000
      seconds -= 1
    }
    guard seconds >= Int128(Self.validSeconds.lowerBound), seconds <= Int128(Self.validSeconds.upperBound) else {
      throw .invalid("timestamp: \(seconds) seconds from 1970 lead out of the years 1 to 9999")
    }
    self.seconds = Int64(seconds)
    nanoseconds = Int64(rest)
  }

  /// The time, or the nearest one of the years 1 to 9999.
  package init(seconds: Int64, nanoseconds: Int64) {
    self.seconds = min(max(seconds, Self.validSeconds.lowerBound), Self.validSeconds.upperBound)
    self.nanoseconds = min(max(nanoseconds, 0), 999_999_999)
  }

  var totalNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

  package static func < (left: Self, right: Self) -> Bool { left.totalNanoseconds < right.totalNanoseconds }

  // MARK: - The calendar

  private static let secondsPerDay: Int64 = 86_400

  var secondOfDay: Int64 { seconds - dayNumber * Self.secondsPerDay }

  /// Days since 1970-01-01.
  private var dayNumber: Int64 {
    seconds >= 0 ? seconds / Self.secondsPerDay : (seconds + 1) / Self.secondsPerDay - 1
  }

  /// 1 is Monday, 7 is Sunday.
  var dayOfWeek: Int64 { (((dayNumber + 3) % 7) + 7) % 7 + 1 }

  /// The start of the day to `date()` and `time()`. Before 1970, Google's emulator takes fractions of the first second of a day for the day after.
  var startOfDay: RuleTimestamp {
    let isFraction = seconds < 0 && secondOfDay == 0 && nanoseconds > 0
    return RuleTimestamp(seconds: (dayNumber + (isFraction ? 1 : 0)) * Self.secondsPerDay, nanoseconds: 0)
  }

  var dayOfYear: Int64 { dayNumber - Self.dayNumber(year: date.year, month: 1, day: 1) + 1 }

  /// The date in the Gregorian calendar, by eras of 400 years that begin in March (http://howardhinnant.github.io/date_algorithms.html).
  var date: (year: Int64, month: Int64, day: Int64) {
    let shifted = dayNumber + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  /// - Returns: Days since 1970-01-01 for a date of the years 1 to 9999.
  private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  init(year: Int64, month: Int64, day: Int64) throws(RuleFailure) {
    guard (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else {
      throw .invalid("date \(year)-\(month)-\(day): the years 1 to 9999 have no such day")
    }
    let time = RuleTimestamp(
      seconds: Self.dayNumber(year: year, month: month, day: day) * Self.secondsPerDay, nanoseconds: 0)
    // A day that its month does not have becomes one of the next month.
    guard time.date.day == day else {
      throw .invalid("date \(year)-\(month)-\(day): the years 1 to 9999 have no such day")
    }
    self = time
  }
}

/// A place on earth.
package struct RuleLatLng: Hashable, Sendable {
  package let latitude: Double
  package let longitude: Double

  package init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}
