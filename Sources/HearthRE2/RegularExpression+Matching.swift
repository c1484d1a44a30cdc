extension RegularExpression {
  /// A match: the place of the whole, and those of the groups.
  package struct Match: Hashable, Sendable {
    /// The range of bytes of the whole match, then of each group; nil for a group that took no part.
    package let ranges: [Range<Int>?]

    package var range: Range<Int> { ranges[0] ?? 0..<0 }
  }

  // MARK: - Bytes

  /// Returns true if the whole text matches.
  package func matches(_ text: Span<UInt8>) -> Bool {
    var work = Matcher.Work()
    return text.withUnsafeBufferPointer { matcher.matchesWhole(UTF8Text($0), work: &work) }
  }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: Span<UInt8>) -> Bool {
    var work = Matcher.Work()
    return text.withUnsafeBufferPointer { matcher.contains(UTF8Text($0), work: &work) }
  }

  /// The leftmost match that begins at a place or behind it. Among matches that begin there, the one that Perl would find.
  package func firstMatch(in text: Span<UInt8>, from start: Int = 0) -> Match? {
    var work = Matcher.Work()
    return text.withUnsafeBufferPointer { bytes in
      matcher.firstMatch(in: UTF8Text(bytes), from: start, withGroups: true, work: &work).map { Match(ranges: $0) }
    }
  }

  /// Returns true if the whole text matches.
  package func matches(_ text: [UInt8]) -> Bool { matches(text.span) }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: [UInt8]) -> Bool { contains(text.span) }

  /// The leftmost match that begins at a place or behind it.
  package func firstMatch(in text: [UInt8], from start: Int = 0) -> Match? { firstMatch(in: text.span, from: start) }

  // MARK: - Strings

  /// Returns true if the whole text matches.
  package func matches(_ text: String) -> Bool { text.withSpan { matches($0) } }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: String) -> Bool { text.withSpan { contains($0) } }

  /// The leftmost match, with ranges of bytes of the text's UTF-8.
  package func firstMatch(in text: String) -> Match? { text.withSpan { firstMatch(in: $0) } }
}

extension String {
  /// Gives the UTF-8 of the string to a closure, without a copy of a native string.
  func withSpan<Result>(_ body: (Span<UInt8>) throws -> Result) rethrows -> Result {
    var text = self
    return try text.withUTF8 { try body($0.span) }
  }
}
