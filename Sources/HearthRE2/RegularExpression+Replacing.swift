extension RegularExpression {
  /// The size in bytes that a result may have by default.
  package static let defaultResultLimit = 16 << 20

  /// Replaces all matches that do not overlap.
  ///
  /// - Parameters:
  ///   - rewrite: The replacement of each match. `\0` in it is the match, `\1` to `\9` are groups, `\\` is a backslash.
  ///   - resultLimit: The largest result in bytes. A short text has many empty matches, and each may become a long one.
  ///   - stepLimit: As for ``matches(_:stepLimit:)``, for all searches together.
  package func replacingAll(
    in text: String, with rewrite: String, resultLimit: Int = defaultResultLimit, stepLimit: Int = .max
  ) throws(RegularExpressionUseError) -> String {
    var steps = 0
    return try replacingAll(in: text, with: rewrite, resultLimit: resultLimit, stepLimit: stepLimit, steps: &steps)
  }

  /// Replaces all matches that do not overlap, as ``replacingAll(in:with:resultLimit:stepLimit:)``.
  ///
  /// - Parameter steps: As for ``matches(_:stepLimit:steps:)``.
  package func replacingAll(
    in text: String, with rewrite: String, resultLimit: Int, stepLimit: Int, steps: inout Int
  ) throws(RegularExpressionUseError) -> String {
    let rewrite = try Rewrite(rewrite, groupCount: groupCount)
    var result: [UInt8] = []
    try text.withText { text throws(RegularExpressionUseError) in
      let bytes = text.bytes
      var end = 0
      var work = Matcher.Work(stepLimit: stepLimit)
      defer { steps += work.steps }
      try forEachMatch(in: text, withGroups: rewrite.needsGroups, &work) {
        ranges, range throws(RegularExpressionUseError) in
        // One match may become many, if a rewrite is long.
        let size = result.count + range.lowerBound - end + rewrite.size(for: ranges)
        guard size <= resultLimit else { throw .resultTooLarge(limitBytes: resultLimit) }
        result += bytes[end..<range.lowerBound]
        rewrite.append(to: &result, for: ranges, in: bytes)
        end = range.upperBound
      }
      guard result.count + bytes.count - end <= resultLimit else { throw .resultTooLarge(limitBytes: resultLimit) }
      result += bytes[end...]
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The parts of a text between the matches.
  ///
  /// As in Go, a match of the empty text separates scalars, but neither at the start nor at the end.
  /// - Parameter stepLimit: As for ``matches(_:stepLimit:)``, for all searches together.
  package func split(_ text: String, stepLimit: Int = .max) throws(RegularExpressionUseError) -> [String] {
    var steps = 0
    return try split(text, stepLimit: stepLimit, steps: &steps)
  }

  /// The parts of a text between the matches, as ``split(_:stepLimit:)``.
  ///
  /// - Parameter steps: As for ``matches(_:stepLimit:steps:)``.
  package func split(
    _ text: String, stepLimit: Int, steps: inout Int
  ) throws(RegularExpressionUseError) -> [String] {
    if text.isEmpty { return pattern.isEmpty ? [] : [""] }
    var parts: [String] = []
    try text.withText { text throws(RegularExpressionUseError) in
      let bytes = text.bytes
      var start = 0
      var end = 0
      var work = Matcher.Work(stepLimit: stepLimit)
      defer { steps += work.steps }
      try forEachMatch(in: text, withGroups: false, &work) { _, range throws(RegularExpressionUseError) in
        end = range.lowerBound
        if range.upperBound > 0 { parts.append(String(decoding: bytes[start..<end], as: UTF8.self)) }
        start = range.upperBound
      }
      if end != bytes.count { parts.append(String(decoding: bytes[start...], as: UTF8.self)) }
    }
    return parts
  }

  /// Calls a closure for all matches that do not overlap, from left to right. An empty match right behind another one does not count.
  private func forEachMatch(
    in text: UTF8Text, withGroups: Bool, _ work: inout Matcher.Work,
    _ body: ([Range<Int>?], Range<Int>) throws(RegularExpressionUseError) -> Void
  ) throws(RegularExpressionUseError) {
    let limit = Self.freeLookahead + Self.lookaheadPerByte * text.count
    var place = 0
    var previousEnd = -1
    while place <= text.count {
      let ranges: [Range<Int>?]?
      do {
        ranges = try matcher.firstMatch(in: text, from: place, withGroups: withGroups, work: &work)
      } catch {
        throw .tooManySteps(limit: work.stepLimit)
      }
      guard work.bytes <= limit else { throw .tooMuchLookahead(limitBytes: limit) }
      guard let ranges, let range = ranges[0] else { return }
      if range.lowerBound != previousEnd || !range.isEmpty { try body(ranges, range) }
      previousEnd = range.upperBound
      if range.upperBound > place {
        place = range.upperBound
      } else {
        place += place < text.count ? text.scalar(at: place).width : 1
      }
    }
  }

  /// With these, all matches of `a.*b|a` in 1,400 bytes without a `b` are found, and in any text all matches of expressions that look ahead
  /// only a few times their length.
  private static let freeLookahead = 1 << 20
  private static let lookaheadPerByte = 64
}
