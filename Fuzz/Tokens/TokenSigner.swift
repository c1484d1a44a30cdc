import Foundation
import JWTKit
import TestSupport

@testable import HearthAuthentication

/// An issuer of tokens with a key of its own. All keys are the same in each run, so that an input can be repeated.
struct TokenSigner: Sendable {
  let issuer: String
  let audience: String
  let algorithm: TokenAlgorithm
  let keyID: String?
  private let signing: any JWTAlgorithm

  static let secret = Array("a secret that an issuer shares with this server".utf8)

  /// One for each algorithm that is accepted, but for ES256, whose signatures are different each time.
  static func all() async throws -> [TokenSigner] {
    let edwards = try EdDSA.PrivateKey(
      d: String(repeating: "A", count: 42) + "E", curve: .ed25519)
    let rsa = try Insecure.RSA.PrivateKey(pem: TestServiceAccount.privateKey)
    return [
      TokenSigner(
        issuer: "https://securetoken.google.com/demo", audience: "demo", algorithm: .eddsa, keyID: "edwards",
        signing: try await JWTKeyCollection().add(eddsa: edwards).getKey()),
      TokenSigner(
        issuer: "https://id.example.com", audience: "app", algorithm: .hs256, keyID: nil,
        signing: try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256).getKey()),
      TokenSigner(
        issuer: TestServiceAccount.email, audience: "https://firestore.googleapis.com/", algorithm: .rs256,
        keyID: TestServiceAccount.keyID,
        signing: try await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha256).getKey()),
    ]
  }

  /// The key that verifies the tokens.
  func verifyingKey() async throws -> TokenKey {
    switch algorithm {
    case .hs256: return try await TokenKey.secret(Self.secret)
    case .rs256:
      guard let key = await TokenKey.pem(TestServiceAccount.publicKey, id: keyID) else { throw NoKey() }
      return key
    case .eddsa, .es256:
      let edwards = try EdDSA.PrivateKey(
        d: String(repeating: "A", count: 42) + "E", curve: .ed25519)
      guard let key = await TokenKey.pem(edwards.publicKey.pemRepresentation, id: keyID) else { throw NoKey() }
      return key
    }
  }

  private struct NoKey: Error {}

  /// A token with this header and payload, whatever they are, and a good signature.
  func token(header: [UInt8]? = nil, payload: [UInt8]) throws -> String {
    let signed = Self.url(header ?? Array(self.header.utf8)) + "." + Self.url(payload)
    return signed + "." + Self.url(try signing.sign(Array(signed.utf8)))
  }

  var header: String {
    let id = keyID.map { #","kid":"\#($0)""# } ?? ""
    return #"{"alg":"\#(algorithm.rawValue)"\#(id)}"#
  }

  static func url(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
