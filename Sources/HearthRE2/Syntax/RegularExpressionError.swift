/// The reason why a pattern is not a regular expression, and the place in it.
package struct RegularExpressionError: Error, Hashable, Sendable {
  /// The kinds of defects; the raw value is RE2's text for it, where RE2 has one.
  package enum Kind: String, Sendable, CaseIterable {
    case badEscape = "invalid escape sequence"
    case badCharacterRange = "invalid character class range"
    case missingBracket = "missing ]"
    case missingParenthesis = "missing )"
    case unexpectedParenthesis = "unexpected )"
    case trailingBackslash = "trailing \\ at end of regexp"
    case missingRepetitionArgument = "no argument for repetition operator"
    case badRepetitionSize = "invalid repetition size"
    case badRepetitionOperator = "bad repetition operator"
    case badPerlOperator = "invalid perl operator"
    case badGroupName = "invalid named capture group"
    case nestingTooDeep = "expression nests too deeply"
    case tooLarge = "pattern too large"
  }

  package let kind: Kind
  /// The place of the fragment, in bytes of UTF-8 from the start of the pattern.
  package let offset: Int
  /// The part of the pattern that is wrong, shortened to ``longestFragment`` bytes.
  package let fragment: String

  /// A pattern may come from anybody, and its error goes into answers and logs.
  package static let longestFragment = 64

  init(_ kind: Kind, in pattern: [UInt8], at range: Range<Int>) {
    self.kind = kind
    offset = range.lowerBound
    var end = min(range.upperBound, range.lowerBound + Self.longestFragment)
    // A scalar is not cut in two.
    while end < range.upperBound, end > range.lowerBound, pattern[end] & 0xC0 == 0x80 { end -= 1 }
    fragment = String(decoding: pattern[range.lowerBound..<end], as: UTF8.self)
  }
}

extension RegularExpressionError: CustomStringConvertible {
  package var description: String {
    "Regular expression: \(kind.rawValue) at byte \(offset)" + (fragment.isEmpty ? "" : ": `\(fragment)`")
  }
}
