extension RuleTimestamp {
  /// Reads a time as of RFC 3339, such as `2020-01-01T00:00:00.5Z` or with `+01:00` at the end.
  init(parsing text: String) throws(RuleFailure) {
    let invalid = RuleFailure.invalid(
      "timestamp \(text.quotedBriefly): a time of RFC 3339 is expected, such as 2020-01-01T00:00:00Z")
    var rest = Array(text.utf8)[...]
    func number(_ digits: Int) throws(RuleFailure) -> Int64 {
      guard rest.count >= digits, rest.prefix(digits).allSatisfy(\.isDigit) else { throw invalid }
      defer { rest = rest.dropFirst(digits) }
      return rest.prefix(digits).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
    func skip(_ letters: String) throws(RuleFailure) {
      guard let first = rest.first, letters.utf8.contains(first) else { throw invalid }
      rest = rest.dropFirst()
    }
    let year = try number(4)
    try skip("-")
    let month = try number(2)
    try skip("-")
    let day = try RuleTimestamp(year: year, month: month, day: try number(2))
    try skip("T")
    let hour = try number(2)
    try skip(":")
    let minute = try number(2)
    try skip(":")
    let second = try number(2)
    guard hour < 24, minute < 60, second < 60 else { throw invalid }
    var nanoseconds: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix(while: \.isDigit)
      guard (1...9).contains(digits.count) else { throw invalid }
      rest = rest.dropFirst()
      nanoseconds = try number(digits.count)
      for _ in digits.count..<9 { nanoseconds *= 10 }
    }
    var offset: Int64 = 0
    if rest.first == UInt8(ascii: "Z") {
      rest = rest.dropFirst()
    } else {
      let sign: Int64 = rest.first == UInt8(ascii: "-") ? -1 : 1
      try skip("+-")
      offset = sign * 3600 * (try number(2))
      try skip(":")
      offset += sign * 60 * (try number(2))
    }
    guard rest.isEmpty else { throw invalid }
    let seconds = day.seconds + 3600 * hour + 60 * minute + second - offset
    try self.init(totalNanoseconds: Int128(seconds) * 1_000_000_000 + Int128(nanoseconds))
  }
}
