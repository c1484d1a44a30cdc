/// Times and durations as the JSON of protocol buffers writes them.
package enum ProtoTime {
  /// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
  static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
  /// Ten thousand years.
  static let durationSeconds: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  /// A text such as `2026-01-02T03:04:05.678Z` with 0, 3, 6 or 9 digits after the point; nil outside of the years 1 to 9999.
  package static func text(seconds: Int64, nanoseconds: Int64) -> String? {
    guard Self.seconds.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
    let second = Int(((seconds % 86_400) + 86_400) % 86_400)
    let (year, month, day) = date(day: Int((seconds - Int64(second)) / 86_400))
    let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(clock)\(fraction(nanoseconds))Z"
  }

  static func durationText(seconds: Int64, nanoseconds: Int64) -> String? {
    guard durationSeconds.contains(seconds), abs(nanoseconds) < 1_000_000_000,
      nanoseconds == 0 || seconds == 0
        || (nanoseconds < 0) == (seconds < 0)
    else { return nil }
    let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
    return "\(sign)\(abs(seconds))\(fraction(abs(nanoseconds)))s"
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func fraction(_ nanoseconds: Int64) -> String {
    if nanoseconds == 0 { return "" }
    let digits = padded(Int(nanoseconds), 9)
    if nanoseconds.isMultiple(of: 1_000_000) { return ".\(digits.prefix(3))" }
    if nanoseconds.isMultiple(of: 1_000) { return ".\(digits.prefix(6))" }
    return ".\(digits)"
  }

  // MARK: - Reading

  /// A time of RFC 3339, with any offset and up to nine digits after the point.
  static func timestamp(_ text: String) -> (seconds: Int64, nanoseconds: Int64)? {
    var reader = Digits(Array(text.utf8))
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let day = reader.number(2), reader.take("T") || reader.take("t"), let hour = reader.number(2), reader.take(":"),
      let minute = reader.number(2), reader.take(":"), let second = reader.number(2),
      let nanoseconds = reader.fraction(),
      let offset = reader.offset(), reader.isAtEnd
    else { return nil }
    guard (1...12).contains(month), hour < 24, minute < 60, second < 60, day >= 1 else { return nil }
    let days = self.days(year: year, month: month, day: day)
    guard date(day: days) == (year, month, day) else { return nil }
    let seconds = Int64(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
    return Self.seconds.contains(seconds) ? (seconds, Int64(nanoseconds)) : nil
  }

  /// A text such as `1.5s`.
  static func duration(_ text: String) -> (seconds: Int64, nanoseconds: Int64)? {
    var reader = Digits(Array(text.utf8))
    let isNegative = reader.take("-")
    guard let seconds = reader.number(1...12), let nanoseconds = reader.fraction(), reader.take("s"), reader.isAtEnd,
      durationSeconds.contains(Int64(seconds))
    else { return nil }
    return isNegative ? (-Int64(seconds), -Int64(nanoseconds)) : (Int64(seconds), Int64(nanoseconds))
  }

  private struct Digits {
    let bytes: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
      position += 1
      return true
    }

    mutating func number(_ count: Int) -> Int? { number(count...count) }

    /// As many digits as there are, if that is allowed.
    mutating func number(_ counts: ClosedRange<Int>) -> Int? {
      var value = 0
      let start = position
      while position < bytes.count, position - start < counts.upperBound, (0x30...0x39).contains(bytes[position]) {
        value = value * 10 + Int(bytes[position] - 0x30)
        position += 1
      }
      return position - start >= counts.lowerBound ? value : nil
    }

    /// A point and up to nine digits, in nanoseconds; 0 without.
    mutating func fraction() -> Int? {
      guard take(".") else { return 0 }
      let start = position
      guard var value = number(1...9) else { return nil }
      for _ in (position - start)..<9 { value *= 10 }
      return value
    }

    /// `Z` or an offset, in seconds.
    mutating func offset() -> Int? {
      if take("Z") || take("z") { return 0 }
      let isNegative = take("-")
      guard isNegative || take("+"), let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60
      else { return nil }
      return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
  }

  // MARK: - The calendar

  /// Days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil).
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// As above, civil_from_days.
  private static func date(day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthIndex = (5 * dayOfYear + 2) / 153
    let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
  }
}
