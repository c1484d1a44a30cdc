extension RuleTimestamp {
  /// The time as in RFC 3339, in UTC, with as many decimals as it needs.
  package var text: String {
    let (year, month, day) = date
    func padded(_ number: Int64, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let clock = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { padded($0, 2) }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(clock.joined(separator: ":"))"
      + DecimalText.fraction(nanoseconds) + "Z"
  }
}

extension RuleDuration {
  /// The seconds with as many decimals as they need, such as `1.5s`.
  package var text: String {
    let isNegative = seconds < 0 || nanoseconds < 0
    return "\(isNegative ? "-" : "")\(seconds.magnitude)\(DecimalText.fraction(abs(nanoseconds)))s"
  }
}

private enum DecimalText {
  /// A dot and the digits of a part of a second; empty for 0.
  static func fraction(_ nanoseconds: Int64) -> String {
    guard nanoseconds > 0 else { return "" }
    var digits = String(nanoseconds)
    digits = "." + String(repeating: "0", count: max(0, 9 - digits.count)) + digits
    while digits.last == "0" { digits.removeLast() }
    return digits
  }
}
