internal import HearthRE2

/// The arguments of a method, at most two.
struct MethodArguments {
  /// `null` if there is none.
  let first: RuleValue
  /// `null` if there is none.
  let second: RuleValue
  let count: Int

  init(_ first: RuleValue, _ second: RuleValue, count: Int) {
    (self.first, self.second, self.count) = (first, second, count)
  }

  var all: [RuleValue] { Array([first, second].prefix(count)) }
}

/// The methods of values.
struct Methods {
  let limits: RuleResourceLimits
  /// The steps of regular expressions so far.
  private(set) var steps = 0

  init(limits: RuleResourceLimits) { self.limits = limits }

  /// - Parameters:
  ///   - arguments: As many as the method takes.
  ///   - pattern: The first argument as a regular expression, if it stands in the rules.
  mutating func call(
    _ method: Method, on value: RuleValue, _ arguments: MethodArguments, _ pattern: RegularExpression?
  ) throws(RuleFailure) -> RuleValue {
    let result: RuleValue? =
      switch value {
      case .string(let text): try callString(method, text, arguments, pattern)
      case .bytes(let bytes): Self.callBytes(method, bytes)
      case .list(let list): try callList(method, list, arguments)
      case .set(let set): try Self.callSet(method, set, arguments)
      case .map(let map): try Self.callMap(method, map, arguments)
      case .partialMap(let map): try Self.callPartialMap(method, map, arguments)
      case .mapDifference(let difference): Self.callMapDifference(method, difference)
      case .path(let path): try Self.callPath(method, path, arguments)
      case .timestamp(let time): Self.callTimestamp(method, time)
      case .duration(let duration): Self.callDuration(method, duration)
      case .latlng(let place): try Self.callLatLng(method, place, arguments)
      case .constraint(let constraint): try Self.callConstraint(method, constraint, arguments)
      case .null: throw .memberOfNull("function \(method.rawValue.quotedBriefly)")
      case .bool, .int, .float, .vector: nil
      }
    guard let result else { throw .unknownFunction(method.rawValue) }
    return result
  }

  static func unsupported(_ method: Method, _ type: String, _ arguments: MethodArguments) -> RuleFailure {
    .unsupported("\(type).\(method.rawValue)()", types: arguments.all.map(\.typeName))
  }

  // MARK: - Strings and bytes

  private mutating func callString(
    _ method: Method, _ text: String, _ arguments: MethodArguments, _ pattern: RegularExpression?
  ) throws(RuleFailure) -> RuleValue? {
    switch method {
    case .size: return .int(Int64(text.utf16.count))
    case .lower: return .string(text.mappingASCII { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 })
    case .upper: return .string(text.mappingASCII { $0 >= 97 && $0 <= 122 ? $0 - 32 : $0 })
    case .trim: return .string(text.trimmed)
    case .toUtf8: return .bytes(Array(text.utf8))
    case .matches, .replace, .split:
      let texts = arguments.all.compactMap { argument in
        if case .string(let text) = argument { text } else { nil }
      }
      guard texts.count == arguments.count, let first = texts.first else {
        throw Self.unsupported(method, "string", arguments)
      }
      if let pattern { return try applyPattern(method, text, pattern, texts) }
      return try applyPattern(method, text, try compiled(first), texts)
    default: return nil
    }
  }

  /// The work of compiling a pattern: classes of characters take far longer than their text.
  static func workOfCompiling(_ pattern: String) -> Int {
    var work = pattern.utf8.count
    var isEscaped = false
    for byte in pattern.utf8 {
      let isClass = isEscaped ? byte | 0x20 == UInt8(ascii: "p") : byte == UInt8(ascii: "[")
      if isClass { work = work.addingOrMax(workOfClass) }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
    return work
  }

  /// The work of compiling a class of characters, or a set of Unicode in it.
  private static let workOfClass = 16_384

  private func compiled(_ pattern: String) throws(RuleFailure) -> RegularExpression {
    do {
      return try RegularExpression(pattern, programLimit: limits.patternProgram)
    } catch {
      throw .badPattern(error.description)
    }
  }

  private mutating func applyPattern(
    _ method: Method, _ text: String, _ pattern: RegularExpression, _ arguments: [String]
  ) throws(RuleFailure) -> RuleValue {
    let limit = limits.patternSteps.addingOrMax(4 * text.utf8.count)
    do throws(RegularExpressionUseError) {
      switch method {
      case .matches: return .bool(try pattern.matches(text, stepLimit: limit, steps: &steps))
      case .replace: break
      default: return .list(try split(text, by: pattern, stepLimit: limit).map { .string($0) })
      }
      // As in production, the replacement is not checked where nothing is replaced.
      guard try pattern.firstMatch(in: text, stepLimit: limit, steps: &steps) != nil else { return .string(text) }
    } catch {
      throw Self.failure(error)
    }
    let rewrite = try Replacement.rewrite(from: arguments[1], groups: pattern.groupNames)
    do throws(RegularExpressionUseError) {
      return .string(
        try pattern.replacingAll(
          in: text, with: rewrite, resultLimit: limits.valueWeight, stepLimit: limit, steps: &steps))
    } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: RegularExpressionUseError) -> RuleFailure {
    switch error {
    case .tooManySteps(let limit), .tooMuchLookahead(let limit): .tooMuchWork(limit: limit)
    case .resultTooLarge(let limit): .valueTooLarge(limit: limit)
    case .badRewriteEscape, .missingGroup: .badPattern(error.description)
    }
  }

  /// The parts between the matches, as Java has them: an empty match at the start is a separator, and empty parts at the end are left out.
  private mutating func split(
    _ text: String, by pattern: RegularExpression, stepLimit: Int
  ) throws(RegularExpressionUseError) -> [String] {
    var parts = try pattern.split(text, stepLimit: stepLimit, steps: &steps)
    while let last = parts.last, last.isEmpty { parts.removeLast() }
    let first = try pattern.firstMatch(in: text, stepLimit: stepLimit, steps: &steps)
    if parts.isEmpty || first?.range == 0..<0 { parts.insert("", at: 0) }
    return parts
  }

  private static func callBytes(_ method: Method, _ bytes: [UInt8]) -> RuleValue? {
    switch method {
    case .size: .int(Int64(bytes.count))
    case .toBase64: .string(BytesText.base64(bytes))
    case .toHexString: .string(BytesText.hexadecimal(bytes))
    default: nil
    }
  }

  // MARK: - Paths and places

  private static func callPath(_ method: Method, _ path: RulePath, _ arguments: MethodArguments) throws(RuleFailure)
    -> RuleValue?
  {
    guard method == .bind else { return nil }
    guard case .map(let values) = arguments.first else { throw unsupported(method, "path", arguments) }
    return .path(try path.binding(values))
  }

  private static func callLatLng(
    _ method: Method, _ place: RuleLatLng, _ arguments: MethodArguments
  ) throws(RuleFailure) -> RuleValue? {
    switch method {
    case .latitude: return .float(place.latitude)
    case .longitude: return .float(place.longitude)
    case .distance:
      guard case .latlng(let other) = arguments.first else { throw unsupported(method, "latlng", arguments) }
      return .float(Places.distance(place, other))
    default: return nil
    }
  }

  // MARK: - Times

  private static func callTimestamp(_ method: Method, _ time: RuleTimestamp) -> RuleValue? {
    switch method {
    case .date: .timestamp(time.startOfDay)
    case .year: .int(time.date.year)
    case .month: .int(time.date.month)
    case .day: .int(time.date.day)
    case .dayOfWeek: .int(time.dayOfWeek)
    case .dayOfYear: .int(time.dayOfYear)
    case .hours: .int(time.secondOfDay / 3600)
    case .minutes: .int(time.secondOfDay / 60 % 60)
    case .seconds: .int(time.secondOfDay % 60)
    case .nanos: .int(time.nanoseconds)
    case .time:
      (try? RuleDuration(seconds: time.seconds - time.startOfDay.seconds, nanoseconds: time.nanoseconds))
        .map { .duration($0) }
    case .toMillis: .int(time.seconds * 1000 + time.nanoseconds / 1_000_000)
    default: nil
    }
  }

  private static func callDuration(_ method: Method, _ duration: RuleDuration) -> RuleValue? {
    switch method {
    case .seconds: .int(duration.seconds)
    case .nanos: .int(duration.nanoseconds)
    default: nil
    }
  }
}

extension String {
  /// ASCII letters alone have another case, as in production.
  fileprivate func mappingASCII(_ transform: (UInt8) -> UInt8) -> String {
    String(decoding: utf8.map(transform), as: UTF8.self)
  }

  /// The text without the characters up to U+0020 at both ends.
  fileprivate var trimmed: String {
    guard let first = utf8.firstIndex(where: { $0 > 0x20 }), let last = utf8.lastIndex(where: { $0 > 0x20 }) else {
      return ""
    }
    return String(self[first...last])
  }
}
