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
    unlimited { work throws(StepLimitExceeded) in
      try text.withText { text throws(StepLimitExceeded) in try matcher.matchesWhole(text, work: &work) }
    }
  }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: Span<UInt8>) -> Bool {
    unlimited { work throws(StepLimitExceeded) in
      try text.withText { text throws(StepLimitExceeded) in try matcher.contains(text, work: &work) }
    }
  }

  /// The leftmost match that begins at a place or behind it. Among matches that begin there, the one that Perl would find.
  package func firstMatch(in text: Span<UInt8>, from start: Int = 0) -> Match? {
    unlimited { work throws(StepLimitExceeded) in
      try text.withText { text throws(StepLimitExceeded) in
        try matcher.firstMatch(in: text, from: start, withGroups: true, work: &work).map { Match(ranges: $0) }
      }
    }
  }

  /// Returns true if the whole text matches.
  package func matches(_ text: [UInt8]) -> Bool { matches(text.span) }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: [UInt8]) -> Bool { contains(text.span) }

  /// The leftmost match that begins at a place or behind it.
  package func firstMatch(in text: [UInt8], from start: Int = 0) -> Match? { firstMatch(in: text.span, from: start) }

  private func unlimited<Result>(_ body: (inout Matcher.Work) throws(StepLimitExceeded) -> Result) -> Result {
    var work = Matcher.Work()
    do {
      return try body(&work)
    } catch {
      preconditionFailure("a call without a limit has exceeded it")
    }
  }

  // MARK: - Strings

  /// Returns true if the whole text matches.
  package func matches(_ text: String) -> Bool { text.withSpan { matches($0) } }

  /// Returns true if the text has a match anywhere.
  package func contains(_ text: String) -> Bool { text.withSpan { contains($0) } }

  /// The leftmost match, with ranges of bytes of the text's UTF-8.
  package func firstMatch(in text: String) -> Match? { text.withSpan { firstMatch(in: $0) } }

  // MARK: - Limited work

  /// Returns true if the whole text matches.
  ///
  /// - Parameter stepLimit: The steps that the call may take, each of some nanoseconds. A call takes one for each byte for most patterns,
  ///   and at most about three for each byte and each instruction of the program. It ends within one reading of the text after the limit.
  package func matches(_ text: String, stepLimit: Int) throws(RegularExpressionUseError) -> Bool {
    var steps = 0
    return try matches(text, stepLimit: stepLimit, steps: &steps)
  }

  /// Returns true if the whole text matches.
  ///
  /// - Parameters:
  ///   - stepLimit: As for ``matches(_:stepLimit:)``.
  ///   - steps: Grows by the steps that were taken, also if the call fails.
  package func matches(
    _ text: String, stepLimit: Int, steps: inout Int
  ) throws(RegularExpressionUseError) -> Bool {
    try limited(text, stepLimit, &steps) { text, work throws(StepLimitExceeded) in
      try matcher.matchesWhole(text, work: &work)
    }
  }

  /// Returns true if the text has a match anywhere.
  ///
  /// - Parameter stepLimit: As for ``matches(_:stepLimit:)``.
  package func contains(_ text: String, stepLimit: Int) throws(RegularExpressionUseError) -> Bool {
    var steps = 0
    return try limited(text, stepLimit, &steps) { text, work throws(StepLimitExceeded) in
      try matcher.contains(text, work: &work)
    }
  }

  /// The leftmost match, with ranges of bytes of the text's UTF-8.
  ///
  /// - Parameter stepLimit: As for ``matches(_:stepLimit:)``.
  package func firstMatch(in text: String, stepLimit: Int) throws(RegularExpressionUseError) -> Match? {
    var steps = 0
    return try firstMatch(in: text, stepLimit: stepLimit, steps: &steps)
  }

  /// The leftmost match, with ranges of bytes of the text's UTF-8.
  ///
  /// - Parameters: As for ``matches(_:stepLimit:steps:)``.
  package func firstMatch(
    in text: String, stepLimit: Int, steps: inout Int
  ) throws(RegularExpressionUseError) -> Match? {
    try limited(text, stepLimit, &steps) { text, work throws(StepLimitExceeded) in
      try matcher.firstMatch(in: text, from: 0, withGroups: true, work: &work).map { Match(ranges: $0) }
    }
  }

  private func limited<Result>(
    _ text: String, _ stepLimit: Int, _ steps: inout Int,
    _ body: (UTF8Text, inout Matcher.Work) throws(StepLimitExceeded) -> Result
  ) throws(RegularExpressionUseError) -> Result {
    var work = Matcher.Work(stepLimit: stepLimit)
    defer { steps += work.steps }
    do {
      return try text.withText { text throws(StepLimitExceeded) in try body(text, &work) }
    } catch {
      throw .tooManySteps(limit: stepLimit)
    }
  }
}

extension String {
  /// Gives the UTF-8 of the string to a closure, without a copy of a native string.
  func withText<Result, Failure: Error>(_ body: (UTF8Text) throws(Failure) -> Result) throws(Failure) -> Result {
    var text = self
    return try text.withUTF8 { bytes in
      Swift.Result { () throws(Failure) in try body(UTF8Text(bytes)) }
    }.get()
  }

  fileprivate func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    var text = self
    return text.withUTF8 { body($0.span) }
  }
}

extension Span<UInt8> {
  fileprivate func withText<Result, Failure: Error>(
    _ body: (UTF8Text) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { bytes throws(Failure) in try body(UTF8Text(bytes)) }
  }
}
