public import Foundation
internal import HearthModel

/// A point in time with nanosecond fields, independent of any time zone or calendar.
///
/// Firestore stores microseconds: timestamps are truncated to microseconds when they are written or used in queries. A `Date` is rounded to
/// the nearest microsecond instead, because its binary fraction may lie just below the microsecond that it stands for. So a date that was
/// read and is written back stays the same, and a query finds it.
public final class Timestamp: NSObject, NSCopying, Sendable {
  /// Seconds since 1970-01-01T00:00:00Z, negative before it.
  public let seconds: Int64
  /// The part below a second in nanoseconds, counted forward in time: 0 ..< 1,000,000,000.
  public let nanoseconds: Int32

  /// Makes a timestamp from seconds since 1970 and a non-negative part below a second.
  ///
  /// - Parameters:
  ///   - seconds: From year 1 to the end of year 9999: -62,135,596,800 ..< 253,402,300,800. Anything else is a programming error.
  ///   - nanoseconds: 0 ..< 1,000,000,000. Anything else is a programming error.
  public init(seconds: Int64, nanoseconds: Int32) {
    requireValid { () throws(ProgrammingError) in try Timestamp.validate(seconds: seconds, nanoseconds: nanoseconds) }
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Makes a timestamp from a date, rounded to the nearest microsecond. A date outside the years 1 to 9999 is a programming error.
  ///
  /// For times with whole microseconds of the years 1865 to 2105, `Timestamp(date: timestamp.dateValue())` is the same timestamp. Outside
  /// that range, dates are further apart than microseconds.
  public convenience init(date: Date) {
    let model = requireValid { () throws(ProgrammingError) in try HearthModel.Timestamp(checking: date) }
    self.init(model)
  }

  /// Makes a timestamp of the device's current time, truncated to microseconds.
  public convenience override init() {
    self.init(HearthModel.Timestamp.now())
  }

  /// Wraps values that were checked when they arrived.
  init(_ model: HearthModel.Timestamp) {
    seconds = model.seconds
    nanoseconds = model.nanoseconds
  }

  /// The same point in time as a `Date`. A `Date` is a binary fraction: in this century it can represent microseconds, but not nanoseconds.
  /// In the last centuries before the year 10000, dates are 30 microseconds apart; none is rounded up to that year, which cannot be stored.
  public func dateValue() -> Date { model.date }

  /// Returns the order of the two.
  public func compare(_ other: Timestamp) -> ComparisonResult {
    if (seconds, nanoseconds) < (other.seconds, other.nanoseconds) { return .orderedAscending }
    return (seconds, nanoseconds) == (other.seconds, other.nanoseconds) ? .orderedSame : .orderedDescending
  }

  /// Two timestamps are equal when their fields are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Timestamp else { return false }
    return compare(other) == .orderedSame
  }

  /// A hash of both fields.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(seconds)
    hasher.combine(nanoseconds)
    return hasher.finalize()
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The time in UTC as in RFC 3339, such as `2026-03-01T12:30:00.5Z`, for logs.
  public override var description: String { model.rfc3339 }

  var model: HearthModel.Timestamp { HearthModel.Timestamp(seconds: seconds, nanoseconds: nanoseconds) }

  static let validSeconds: Range<Int64> = -62_135_596_800..<253_402_300_800

  static func validate(seconds: Int64, nanoseconds: Int32) throws(ProgrammingError) {
    guard (0..<1_000_000_000).contains(nanoseconds) else {
      throw ProgrammingError("Timestamp nanoseconds out of range: \(nanoseconds) (0 to 999,999,999 are valid).")
    }
    guard validSeconds.contains(seconds) else {
      throw ProgrammingError(
        "Timestamp seconds out of range: \(seconds) (from year 1 to 9999: -62,135,596,800 to 253,402,300,799).")
    }
  }
}

extension HearthModel.Timestamp {
  /// The date rounded to the nearest microsecond; the part below a second always counts forward.
  init(checking date: Date) throws(ProgrammingError) {
    let interval = date.timeIntervalSince1970
    let whole = interval.rounded(.down)
    guard whole >= Double(Timestamp.validSeconds.lowerBound), whole < Double(Timestamp.validSeconds.upperBound) else {
      throw ProgrammingError("Date out of range for a timestamp: \(interval) s since 1970 (years 1 to 9999 are valid).")
    }
    // The difference is exact. It may round to a whole second, which carries.
    let microseconds = ((interval - whole) * 1e6).rounded()
    self.init(seconds: Int64(whole), nanoseconds: Int32(microseconds) * 1000)
  }

  /// The same point in time as a binary fraction, which may not hold every nanosecond. It stays below the end of year 9999, so that it can be
  /// written back.
  var date: Date {
    let interval = Double(seconds) + Double(nanoseconds) / 1e9
    let end = Double(Timestamp.validSeconds.upperBound)
    return Date(
      timeIntervalSince1970: interval == end && seconds < Timestamp.validSeconds.upperBound ? end.nextDown : interval)
  }

  /// The current time, truncated to the microseconds that Firestore stores.
  static func now() -> HearthModel.Timestamp {
    HearthModel.Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1e6).rounded(.down)))
  }
}
