/// The reason why a call has no answer: a replacement that is wrong, or a limit.
package enum RegularExpressionUseError: Error, Hashable, Sendable {
  /// A backslash of the replacement has neither a digit nor a backslash behind it. The offset is in bytes of UTF-8.
  case badRewriteEscape(offset: Int)
  /// The replacement names a group that the expression does not have.
  case missingGroup(Int, groupCount: Int, offset: Int)
  /// The result would be larger than the caller wants it.
  case resultTooLarge(limitBytes: Int)
  /// Most matches can be confirmed only by reading far beyond them, so that finding all of them takes time proportional to the square of
  /// the text.
  case tooMuchLookahead(limitBytes: Int)
  /// The call would take more steps than its caller allows.
  case tooManySteps(limit: Int)
}

extension RegularExpressionUseError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .badRewriteEscape(let offset):
      "Replacement text: the backslash at byte \(offset) needs a digit or a backslash behind it"
    case .missingGroup(let group, let groupCount, let offset):
      "Replacement text: there is no group \(group) (byte \(offset)), the expression has \(groupCount)"
    case .resultTooLarge(let limit): "Replacing matches: the result has more than \(limit) bytes"
    case .tooMuchLookahead(let limit):
      "Finding all matches: more than \(limit) bytes have to be read, because matches depend on text far behind them"
    case .tooManySteps(let limit): "Regular expression: the text takes more than \(limit) steps"
    }
  }
}
