extension RegularExpression {
  /// The size in bytes that a result may have by default.
  package static let defaultResultLimit = 16 << 20

  /// Replaces all matches that do not overlap.
  ///
  /// - Parameters:
  ///   - rewrite: What takes the place of each match. `\0` in it is the match, `\1` to `\9` are groups, `\\` is a backslash.
  ///   - resultLimit: The largest result in bytes. A short text has many empty matches, and each may become a long one.
  package func replacingAll(
    in text: String, with rewrite: String, resultLimit: Int = defaultResultLimit
  ) throws(RegularExpressionUseError) -> String {
    let rewrite = try Rewrite(rewrite, groupCount: groupCount)
    var result: [UInt8] = []
    try withBytes(of: text) { bytes throws(RegularExpressionUseError) in
      var end = 0
      try forEachMatch(in: bytes, withGroups: rewrite.needsGroups) { ranges, range throws(RegularExpressionUseError) in
        result += bytes[end..<range.lowerBound]
        rewrite.append(to: &result, for: ranges, in: bytes)
        end = range.upperBound
        guard result.count <= resultLimit else { throw .resultTooLarge(limitBytes: resultLimit) }
      }
      result += bytes[end...]
    }
    guard result.count <= resultLimit else { throw .resultTooLarge(limitBytes: resultLimit) }
    return String(decoding: result, as: UTF8.self)
  }

  /// The parts of a text between the matches.
  ///
  /// As in Go, a match of the empty text separates scalars, but neither at the start nor at the end.
  package func split(_ text: String) throws(RegularExpressionUseError) -> [String] {
    if text.isEmpty { return pattern.isEmpty ? [] : [""] }
    var parts: [String] = []
    try withBytes(of: text) { bytes throws(RegularExpressionUseError) in
      var start = 0
      var end = 0
      try forEachMatch(in: bytes, withGroups: false) { _, range throws(RegularExpressionUseError) in
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
    in bytes: UnsafeBufferPointer<UInt8>, withGroups: Bool,
    _ body: ([Range<Int>?], Range<Int>) throws(RegularExpressionUseError) -> Void
  ) throws(RegularExpressionUseError) {
    let text = UTF8Text(bytes)
    let limit = Self.freeLookahead + Self.lookaheadPerByte * text.count
    var work = Matcher.Work()
    var place = 0
    var previousEnd = -1
    while place <= text.count {
      let ranges = matcher.firstMatch(in: text, from: place, withGroups: withGroups, work: &work)
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

  private func withBytes(
    of text: String, _ body: (UnsafeBufferPointer<UInt8>) throws(RegularExpressionUseError) -> Void
  ) throws(RegularExpressionUseError) {
    var text = text
    let result = text.withUTF8 { bytes in
      Result { () throws(RegularExpressionUseError) in try body(bytes) }
    }
    try result.get()
  }
}
