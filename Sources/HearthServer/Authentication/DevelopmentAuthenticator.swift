internal import Foundation
internal import HearthModel
package import HearthRPC

/// Believes every caller, for development. Where there are no security rules, who calls makes no difference.
///
/// | header | caller |
/// |---|---|
/// | none | nobody |
/// | `Bearer owner`, as server SDKs send it to an emulator | the owner |
/// | `Bearer` and a JSON Web Token, whose signature is **not** verified | the user that it names |
/// | anything else | refused with INVALID_ARGUMENT, as the emulator does |
package struct DevelopmentAuthenticator: CallAuthenticator {
  package init() {}

  package func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller {
    .identity(try identify(metadata))
  }

  package func identify(_ metadata: CallMetadata) throws(CallStatus) -> CallIdentity {
    var caller = Caller.nobody
    for header in metadata["authorization"] {
      guard let named = Self.caller(header) else { throw CallStatus(.invalidArgument, "invalid jwt") }
      caller = named
    }
    return CallIdentity(caller)
  }

  /// The header of server SDKs.
  private static let owner = "Bearer owner"

  /// The caller that a header names; nil for one of another form.
  static func caller(_ header: String) -> Caller? {
    if header == owner { return .owner }
    let parts = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    let token = parts[1].trimmingCharacters(in: .whitespaces)
    return token == "owner" ? .owner : user(token)
  }

  /// Three base64url parts separated by dots (the signature may be empty: `alg: none`), the first two JSON objects.
  private static func user(_ token: String) -> Caller? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, object(parts[0]) != nil, let claims = object(parts[1]) else { return nil }
    func text(_ name: String) -> String? {
      if case .string(let text)? = claims[name] { text } else { nil }
    }
    return .user(Caller.User(issuer: text("iss") ?? "", id: text("sub") ?? text("user_id") ?? "", claims: claims))
  }

  private static func object(_ part: Substring) -> MapValue? {
    Base64URL.decoded(Array(part.utf8), isStrict: false).flatMap { MapValue(claims: $0) }
  }
}
