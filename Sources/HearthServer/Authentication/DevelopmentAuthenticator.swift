internal import Foundation
internal import HearthModel
package import HearthRPC

/// Takes every caller for the owner, as long as there are no security rules for which it would matter who calls.
///
/// No header and `Bearer owner` (what server SDKs send to an emulator) have full access. A JSON web token is accepted **without a check of its
/// signature**. Any other token is refused with INVALID_ARGUMENT, as the emulator does.
package struct DevelopmentAuthenticator: CallAuthenticator {
  package init() {}

  package func known(_ metadata: CallMetadata) throws(CallStatus) -> CallIdentity? {
    for header in metadata["authorization"] where header != Self.owner && !Self.isAcceptable(header) {
      throw CallStatus(.invalidArgument, "invalid jwt")
    }
    return Self.identity
  }

  package func identify(_ metadata: CallMetadata) throws(CallStatus) -> CallIdentity { Self.identity }

  private static let identity = CallIdentity(Caller.owner)

  /// The header of server SDKs.
  private static let owner = "Bearer owner"

  /// Returns true if the header's value is `Bearer owner` or has the form of a JSON web token.
  static func isAcceptable(_ header: String) -> Bool {
    let parts = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
    let token = parts[1].trimmingCharacters(in: .whitespaces)
    return token == "owner" || isJSONWebToken(token)
  }

  /// Three base64url parts separated by dots (the signature may be empty: `alg: none`), the first two JSON objects.
  private static func isJSONWebToken(_ token: String) -> Bool {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return false }
    return parts.prefix(2).allSatisfy { part in
      var base64 = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
      base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
      guard let data = Data(base64Encoded: base64) else { return false }
      return (try? JSONSerialization.jsonObject(with: data)) is [String: Any]
    }
  }
}
