internal import Foundation
internal import JWTKit

/// A key that signatures of tokens are verified with, for one algorithm.
package struct TokenKey: Sendable {
  /// The id by which tokens name it; nil for the only key of its issuer.
  let id: String?
  let algorithm: TokenAlgorithm
  private let verifier: any JWTAlgorithm

  private init(id: String?, _ algorithm: TokenAlgorithm, _ verifier: any JWTAlgorithm) {
    self.id = id
    self.algorithm = algorithm
    self.verifier = verifier
  }

  func verifies(_ token: Token) -> Bool {
    guard token.algorithm == algorithm else { return false }
    return (try? verifier.verify(token.signature, signs: token.signedBytes)) ?? false
  }

  /// The signature of bytes; only a key that is a secret has one.
  func signature(of bytes: [UInt8]) throws -> [UInt8] { try verifier.sign(bytes) }

  /// A shared secret of at least 32 bytes, for HS256.
  static func secret(_ bytes: [UInt8], id: String? = nil) async throws -> TokenKey {
    let keys = await JWTKeyCollection().add(hmac: HMACKey(from: bytes), digestAlgorithm: .sha256)
    return TokenKey(id: id, .hs256, try await keys.getKey())
  }

  /// A public key, or a certificate with one, in PEM form: RSA of at least 2,048 bits, ECDSA on P-256, or Ed25519.
  ///
  /// - Returns: Nil if the text is none of these.
  static func pem(_ text: String, id: String?) async -> TokenKey? {
    let keys = JWTKeyCollection()
    if text.contains("-----BEGIN CERTIFICATE-----") {
      if let key = try? Insecure.RSA.PublicKey(certificatePEM: text) {
        await keys.add(rsa: key, digestAlgorithm: .sha256)
        return try? TokenKey(id: id, .rs256, await keys.getKey())
      }
      guard let key = try? ES256PublicKey(certificate: text) else { return nil }
      await keys.add(ecdsa: key)
      return try? TokenKey(id: id, .es256, await keys.getKey())
    }
    if let key = try? Insecure.RSA.PublicKey(pem: text) {
      await keys.add(rsa: key, digestAlgorithm: .sha256)
      return try? TokenKey(id: id, .rs256, await keys.getKey())
    }
    if let key = try? ES256PublicKey(pem: text) {
      await keys.add(ecdsa: key)
      return try? TokenKey(id: id, .es256, await keys.getKey())
    }
    guard let key = try? EdDSA.PublicKey(pem: text) else { return nil }
    await keys.add(eddsa: key)
    return try? TokenKey(id: id, .eddsa, await keys.getKey())
  }

  /// The public half of a service account's private key.
  ///
  /// - Returns: Nil unless the text is an RSA key of at least 2,048 bits in PEM form.
  static func publicHalf(ofPrivateKey pem: String, id: String?) async -> TokenKey? {
    guard let key = try? Insecure.RSA.PrivateKey(pem: pem) else { return nil }
    let keys = await JWTKeyCollection().add(rsa: key.publicKey, digestAlgorithm: .sha256)
    return try? TokenKey(id: id, .rs256, await keys.getKey())
  }

  /// A key of a JSON Web Key set (RFC 7517).
  ///
  /// - Returns: Nil for a key of another kind or use, as the RFC demands.
  static func webKey(_ json: Data) async -> TokenKey? {
    guard let use = try? JSONDecoder().decode(WebKeyUse.self, from: json), use.use ?? "sig" == "sig",
      var key = try? JSONDecoder().decode(JWK.self, from: json)
    else { return nil }
    let algorithm: TokenAlgorithm
    switch key.keyType {
    case .rsa: algorithm = .rs256
    case .ecdsa where key.curve == .ecdsa(.p256): algorithm = .es256
    case .octetKeyPair: algorithm = .eddsa
    default: return nil
    }
    // A key that says what it is for is not taken for anything else.
    guard use.alg == nil || use.alg == algorithm.rawValue else { return nil }
    let id = key.keyIdentifier?.string
    // What the set holds by mistake is not kept.
    key.privateExponent = nil
    let name = JWKIdentifier(string: id ?? "key")
    key.keyIdentifier = name
    let keys = JWTKeyCollection()
    guard (try? await keys.add(jwk: key)) != nil,
      let verifier = try? await keys.getKey(for: name, alg: algorithm.rawValue)
    else { return nil }
    return TokenKey(id: id, algorithm, verifier)
  }

  private struct WebKeyUse: Decodable {
    var use: String?
    var alg: String?
  }
}
