internal import HearthModel
internal import HearthServer

/// A JSON Web Token (RFC 7519) that was read, and whose signature nobody has looked at.
struct Token {
  /// The algorithm that the token names.
  let algorithm: TokenAlgorithm
  /// The id of the key, `kid`; nil if the token names none.
  let keyID: String?
  let claims: MapValue
  let signature: [UInt8]
  /// The bytes that the signature is made over.
  let signedBytes: [UInt8]

  /// Tokens of Firebase Auth have about 1,000 bytes, and custom claims 1,000 at most.
  static let maximumBytes = 16 << 10

  /// - Throws: `TokenError` that says what is wrong with the form.
  init(_ text: String) throws(TokenError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw TokenError("it has \(text.utf8.count) bytes, and \(Self.maximumBytes) is the most that is allowed")
    }
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else {
      throw TokenError("it is not a JSON Web Token, which has three parts between full stops")
    }
    let header = try Self.object(parts[0], "header")
    guard case .string(let name)? = header["alg"] else { throw TokenError("its header names no algorithm (alg)") }
    guard let algorithm = TokenAlgorithm(rawValue: name) else {
      throw TokenError(
        "its algorithm is \(name.prefix(20)), but must be one of "
          + TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))
    }
    // RFC 7515, 4.1.11: a token with a critical extension that is not understood must be refused.
    guard header["crit"] == nil else { throw TokenError("its header has critical extensions (crit)") }
    self.algorithm = algorithm
    if case .string(let id)? = header["kid"] { keyID = id } else { keyID = nil }
    claims = try Self.object(parts[1], "payload")
    guard let signature = Base64URL.decoded(parts[2], isStrict: true), !signature.isEmpty else {
      throw TokenError("its signature is not base64url, or empty")
    }
    self.signature = signature
    signedBytes = Array(bytes[..<(parts[2].startIndex - 1)])
  }

  private static func object(_ part: ArraySlice<UInt8>, _ name: String) throws(TokenError) -> MapValue {
    guard let bytes = Base64URL.decoded(part, isStrict: true) else { throw TokenError("its \(name) is not base64url") }
    guard let map = MapValue(claims: bytes) else { throw TokenError("its \(name) is not a JSON object") }
    return map
  }
}

/// The algorithms that are accepted. `none` is not among them.
enum TokenAlgorithm: String, CaseIterable, Sendable {
  case rs256 = "RS256"
  case es256 = "ES256"
  case eddsa = "EdDSA"
  /// With a shared secret only, never with a public key.
  case hs256 = "HS256"
}
