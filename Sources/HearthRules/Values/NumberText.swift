/// Numbers as texts, in the format of Java, in which production writes and reads them.
enum NumberText {
  /// At least one digit behind the dot; an exponent from 10^7 on and below 10^-3.
  static func text(of number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    let sign = number.sign == .minus ? "-" : ""
    if number == 0 { return "\(sign)0.0" }
    let (digits, exponent) = shortestDigits(of: number.magnitude)
    if number.magnitude >= 1e-3, number.magnitude < 1e7 {
      if exponent < 0 { return "\(sign)0.\(String(repeating: "0", count: -exponent - 1))\(digits)" }
      let padded = digits + String(repeating: "0", count: max(0, exponent + 2 - digits.count))
      return "\(sign)\(padded.prefix(exponent + 1)).\(padded.dropFirst(exponent + 1))"
    }
    let fraction = digits.dropFirst()
    return "\(sign)\(digits.prefix(1)).\(fraction.isEmpty ? "0" : fraction)E\(exponent)"
  }

  /// The digits that identify the number, and the power of ten of the first one.
  private static func shortestDigits(of number: Double) -> (digits: String, exponent: Int) {
    let parts = "\(number)".split(separator: "e", maxSplits: 1)
    let mantissa = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let whole = mantissa[0]
    let fraction = mantissa.count > 1 ? mantissa[1] : ""
    let all = (whole + fraction)
    let leadingZeros = all.prefix { $0 == "0" }.count
    var digits = all.dropFirst(leadingZeros)
    while digits.count > 1, digits.last == "0" { digits.removeLast() }
    let power = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    return (String(digits), whole.count - 1 - leadingZeros + power)
  }

  /// Blanks around the number do not count. `NaN`, `Infinity`, and a `d` or `f` at the end are allowed.
  static func float(_ text: String) -> Double? {
    let bytes = text.utf8
    guard let first = bytes.firstIndex(where: { $0 > 0x20 }), let last = bytes.lastIndex(where: { $0 > 0x20 }) else {
      return nil
    }
    var number = text[first...last]
    let unsigned = number.first == "+" || number.first == "-" ? number.dropFirst() : number
    switch unsigned {
    case "NaN": return .nan
    case "Infinity": return number.first == "-" ? -.infinity : .infinity
    default: break
    }
    let isHexadecimal = unsigned.hasPrefix("0x") || unsigned.hasPrefix("0X")
    if let letter = number.last, "dDfF".contains(letter),
      !isHexadecimal || number.contains(where: { $0 == "p" || $0 == "P" })
    {
      number.removeLast()
    }
    guard let digit = number.utf8.last, digit.isDigit || digit == UInt8(ascii: "."),
      !isHexadecimal || number.contains("p") || number.contains("P")
    else { return nil }
    if !isHexadecimal, number.utf8.contains(where: { !$0.isDigit && !".eE+-".utf8.contains($0) }) { return nil }
    // Swift wants digits on both sides of a dot.
    var text = String(number)
    if text.hasSuffix(".") { text += "0" }
    if let dot = text.firstIndex(of: "."),
      dot == text.startIndex || text[text.index(before: dot)] == "+" || text[text.index(before: dot)] == "-"
    {
      guard text.count > 1 else { return nil }
      text.insert("0", at: dot)
    }
    if let dot = text.firstIndex(of: "."), let after = text[text.index(after: dot)...].first,
      after == "e" || after == "E"
    {
      text.insert("0", at: text.index(after: dot))
    }
    return Double(text)
  }
}

extension RuleValue {
  /// `string(value)`.
  func converted() throws(RuleFailure) -> String {
    switch self {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .float(let number): NumberText.text(of: number)
    case .string(let text): text
    case .path(let path): path.text
    default: throw .unsupported("string()", types: [typeName])
    }
  }
}
