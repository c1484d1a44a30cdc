/// The reason for which a token is not accepted. The text names the rule and never the token.
package struct TokenError: Error, Equatable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The token is not valid, now or ever.
    case refused
    /// The keys that would tell cannot be had.
    case keysUnavailable
  }

  package let kind: Kind
  package let description: String

  init(_ description: String, kind: Kind = .refused) {
    self.kind = kind
    self.description = description
  }
}
