import Foundation
import TestSupport
import Testing

@testable import HearthAuthentication

@Suite("The keys of an issuer")
struct TokenKeySetTests {
  private func token(_ issuer: TestIssuer) async throws -> Token { try Token(try await issuer.token(["sub": "a"])) }

  private func verifies(_ keys: TokenKeySet, _ token: Token) -> Bool {
    keys.candidates(for: token).contains { $0.verifies(token) }
  }

  @Test("are read from a JSON Web Key set or a public key in PEM form", arguments: TestIssuer.Kind.allCases)
  func forms(kind: TestIssuer.Kind) async throws {
    let (issuer, other) = (try TestIssuer(kind), try TestIssuer(kind))
    for text in [try TestIssuer.webKeySet([issuer.webKey]), Data(issuer.pem.utf8)] {
      let keys = try await TokenKeySet(reading: text, from: "test")
      #expect(verifies(keys, try await token(issuer)))
      #expect(!verifies(keys, try await token(other)))
    }
  }

  @Test("are read from an object of certificates, as Google publishes them")
  func certificates() async throws {
    let json = try JSONSerialization.data(withJSONObject: ["c1": TestAuthority.server, "c2": "nonsense"])
    let keys = try await TokenKeySet(reading: json, from: "test")
    let signed = try await TestIssuer(keyID: "c1").token(["sub": "a"])
    let token = try Token(signed)
    #expect(keys.candidates(for: token).count == 1)
    #expect(!verifies(keys, token))
  }

  @Test("that cannot be used are left out, and the private part of one is not kept")
  func unusable() async throws {
    let issuer = try TestIssuer()
    var encryption = try TestIssuer(keyID: "k2").webKey
    encryption["use"] = "enc"
    var otherAlgorithm = try TestIssuer(keyID: "k3").webKey
    otherAlgorithm["alg"] = "ES384"
    let set = try TestIssuer.webKeySet([
      encryption, otherAlgorithm, ["kty": "oct", "k": "c2VjcmV0", "kid": "k4"], ["kty": "future"], [:], issuer.webKey,
    ])
    let keys = try await TokenKeySet(reading: set, from: "test")
    #expect(verifies(keys, try await token(issuer)))
    for id in ["k2", "k3", "k4"] {
      #expect(keys.candidates(for: try await token(try TestIssuer(keyID: id))).isEmpty)
    }
  }

  @Test("a key with an id is no candidate for a token that names another one, or none")
  func keyIDs() async throws {
    let issuer = try TestIssuer(keyID: "k1")
    let keys = try await TokenKeySet(reading: try TestIssuer.webKeySet([issuer.webKey]), from: "test")
    for kid in ["k2", nil, ""] as [String?] {
      let token = try Token(try await issuer.token(["sub": "a"], header: ["kid": kid]))
      #expect(keys.candidates(for: token).isEmpty)
    }
  }

  @Test(
    "a text without one is an error that names its place",
    arguments: [
      "", "nonsense", "{}", "[]", #"{"keys":[]}"#, #"{"keys":1}"#, #"{"keys":[1,"x",null]}"#, #"{"a":1}"#,
      #"{"a":"not a certificate"}"#, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
      "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
      #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"a"}]}"#,
      #"{"keys":[{"kty":"RSA","n":"","e":"","kid":"a"}]}"#,
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"a"}]}"#,
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"a"}]}"#,
    ])
  func none(text: String) async throws {
    let error = await #expect(throws: TokenKeyError.self) {
      _ = try await TokenKeySet(reading: Data(text.utf8), from: "the place")
    }
    #expect(error?.description.hasPrefix("the place") == true)
  }

  @Test("too many, or too large a text, are refused")
  func tooMany() async throws {
    let keys = Array(repeating: ["kty": "EC"], count: 1_001)
    await #expect(throws: TokenKeyError.self) {
      _ = try await TokenKeySet(reading: try TestIssuer.webKeySet(keys), from: "test")
    }
    await #expect(throws: TokenKeyError.self) {
      _ = try await TokenKeySet(reading: Data(repeating: 32, count: (1 << 20) + 1), from: "test")
    }
  }
}
