/// Functions of the language that need nothing but their arguments.
enum Conversions {
  static func convert(_ value: RuleValue, _ builtin: Builtin) throws(RuleFailure) -> RuleValue {
    switch (builtin, value) {
    case (.int, .int), (.float, .float), (.bool, .bool): return value
    case (.int, .float(let number)): return .int(saturated(number))
    case (.int, .string(let text)):
      guard let number = Int64(text) else { throw .conversion(text, to: "int") }
      return .int(number)
    case (.float, .int(let number)): return .float(Double(number))
    case (.float, .string(let text)):
      guard let number = NumberText.float(text) else { throw .conversion(text, to: "float") }
      return .float(number)
    case (.bool, .string(let text)):
      guard text == "true" || text == "false" else { throw .conversion(text, to: "bool") }
      return .bool(text == "true")
    case (.string, _): return .string(try value.converted())
    default: throw .unsupported("\(builtin.rawValue)()", types: [value.typeName])
    }
  }

  /// The integer part; the nearest integer of 64 bits, or 0 for what is not a number, as in Java.
  private static func saturated(_ number: Double) -> Int64 {
    if number.isNaN { return 0 }
    return Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
  }

  // MARK: - math and hashing

  /// - Returns: Nil if the arguments are not numbers.
  static func math(_ builtin: Builtin, _ arguments: [RuleValue]) -> RuleValue? {
    guard let number = arguments[0].double else { return nil }
    switch builtin {
    case .mathAbs:
      // As in Java, the smallest integer has no absolute value and stays as it is.
      if case .int(let number) = arguments[0] { return .int(number == .min ? .min : abs(number)) }
      return .float(number.magnitude)
    case .mathCeil: return .float(number.rounded(.up))
    case .mathFloor: return .float(number.rounded(.down))
    case .mathRound:
      // Halves are rounded up, and a half is not added to a number that has no fraction any more.
      let floor = number.rounded(.down)
      return .int(saturated(number - floor >= 0.5 ? floor + 1 : floor))
    case .mathSqrt: return .float(number.squareRoot())
    case .mathPow: return arguments[1].double.map { .float(Places.power(number, $0)) }
    case .mathIsInfinite: return .bool(number.isInfinite)
    default: return .bool(number.isNaN)
    }
  }

  static func hash(_ builtin: Builtin, _ bytes: [UInt8]) -> [UInt8] {
    switch builtin {
    case .hashingCRC32: Hashing.crc32(bytes, castagnoli: false)
    case .hashingCRC32C: Hashing.crc32(bytes, castagnoli: true)
    case .hashingMD5: Hashing.md5(bytes)
    default: Hashing.sha256(bytes)
    }
  }

  // MARK: - duration and timestamp

  /// - Returns: Nil if the arguments are of other types.
  static func time(_ builtin: Builtin, _ arguments: [RuleValue]) throws(RuleFailure) -> RuleValue? {
    switch (builtin, arguments[0]) {
    case (.durationAbs, .duration(let duration)):
      let total = duration.totalNanoseconds
      return .duration(try RuleDuration(totalNanoseconds: total < 0 ? -total : total))
    case (.durationValue, .int(let count)):
      guard case .string(let name) = arguments[1] else { return nil }
      guard let unit = RuleDuration.units[name] else {
        throw .invalid("unit of a duration \(name.quotedBriefly): the units are w, d, h, m, s, ms and ns")
      }
      // As in production, milliseconds become nanoseconds of 64 bits: at most 292 years.
      if name == "ms", count.multipliedReportingOverflow(by: unit).overflow {
        throw .invalid("duration: \(count) ms are more than 292 years")
      }
      return .duration(try RuleDuration(totalNanoseconds: Int128(count) * Int128(unit)))
    case (.timestampValue, .int(let milliseconds)):
      return .timestamp(try RuleTimestamp(totalNanoseconds: Int128(milliseconds) * 1_000_000))
    case (.timestampValue, .string(let text)): return .timestamp(try RuleTimestamp(parsing: text))
    case (.durationTime, _), (.timestampDate, _):
      var numbers: [Int64] = []
      for argument in arguments {
        guard case .int(let number) = argument else { return nil }
        numbers.append(number)
      }
      if builtin == .timestampDate {
        return .timestamp(try RuleTimestamp(year: numbers[0], month: numbers[1], day: numbers[2]))
      }
      let seconds = Int128(numbers[0]) * 3600 + Int128(numbers[1]) * 60 + Int128(numbers[2])
      return .duration(try RuleDuration(totalNanoseconds: seconds * 1_000_000_000 + Int128(numbers[3])))
    default: return nil
    }
  }
}
