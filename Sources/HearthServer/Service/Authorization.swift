internal import Foundation
internal import HearthModel
internal import HearthRPC

/// Checks the `authorization` header of every call.
///
/// No header and `Bearer owner` (what server SDKs send to an emulator) have full access. A JSON web token is accepted
/// **without verification of its signature** for now: there are no security rules yet that could use its claims. Any
/// other token is refused with INVALID_ARGUMENT, as the emulator does.
enum Authorization {
  static func check(_ metadata: CallMetadata) throws {
    for header in metadata["authorization"] where header != owner && !isAcceptable(header) {
      throw StatusError(code: .invalidArgument, message: "invalid jwt")
    }
  }

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
