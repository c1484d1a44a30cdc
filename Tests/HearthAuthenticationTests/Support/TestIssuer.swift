import Foundation
import HearthModel
import HearthRPC
import JWTKit
import Logging
import Synchronization

@testable import HearthAuthentication

/// An issuer of tokens with keys of its own.
struct TestIssuer: Sendable {
  enum Kind: CaseIterable {
    case ecdsa, eddsa
  }

  let kind: Kind
  let keyID: String
  private let ecdsa = ES256PrivateKey()
  private let eddsa: EdDSA.PrivateKey

  init(_ kind: Kind = .ecdsa, keyID: String = "k1") throws {
    self.kind = kind
    self.keyID = keyID
    eddsa = try EdDSA.PrivateKey()
  }

  var algorithm: String { kind == .ecdsa ? "ES256" : "EdDSA" }

  /// The public key of a JSON Web Key set.
  var webKey: [String: String] {
    switch kind {
    case .ecdsa:
      let (x, y) = ecdsa.publicKey.parameters ?? ("", "")
      return ["kty": "EC", "crv": "P-256", "x": Self.url(x), "y": Self.url(y), "kid": keyID, "use": "sig"]
    case .eddsa:
      let x = eddsa.publicKey.rawRepresentation.base64EncodedString()
      return ["kty": "OKP", "crv": "Ed25519", "x": Self.url(x), "kid": keyID, "alg": "EdDSA"]
    }
  }

  var pem: String { kind == .ecdsa ? ecdsa.publicKey.pemRepresentation : eddsa.publicKey.pemRepresentation }

  static func webKeySet(_ keys: [[String: String]]) throws -> Data {
    try JSONSerialization.data(withJSONObject: ["keys": keys])
  }

  static func url(_ base64: String) -> String {
    base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// A token with these claims, signed by the issuer.
  ///
  /// - Parameter header: Overrides members of the header; nil removes one.
  func token(_ claims: [String: Any], header change: [String: Any?] = [:]) async throws -> String {
    let keys = JWTKeyCollection()
    if kind == .ecdsa { await keys.add(ecdsa: ecdsa) } else { await keys.add(eddsa: eddsa) }
    let signer = try await keys.getKey()
    return try Self.token(claims, header: change, algorithm: algorithm, keyID: keyID) { try signer.sign($0) }
  }

  static func token(
    _ claims: [String: Any], header change: [String: Any?] = [:], algorithm: String, keyID: String?,
    sign: ([UInt8]) throws -> [UInt8]
  ) throws -> String {
    var header: [String: Any] = ["alg": algorithm, "typ": "JWT"]
    header["kid"] = keyID
    for (name, value) in change { header[name] = value }
    let signed = try [header, claims].map { part in
      url(try JSONSerialization.data(withJSONObject: part).base64EncodedString())
    }.joined(separator: ".")
    return signed + "." + url(Data(try sign(Array(signed.utf8))).base64EncodedString())
  }
}

/// Clocks that stand still until a test moves them.
final class HandClock: Sendable {
  static let start = 1_800_000_000.0
  private let passed = Mutex(0.0)
  private let begin = ContinuousClock.now

  func move(by seconds: Double) { passed.withLock { $0 += seconds } }

  var clock: TokenClock {
    TokenClock(
      wall: { [self] in Self.start + passed.withLock { $0 } },
      steady: { [self] in begin + .seconds(passed.withLock { $0 }) })
  }
}

/// A place of keys that a test changes.
final class TestKeySource: TokenKeySource {
  private struct State {
    var result: Result<TokenKeyText?, TokenKeyError>
    var readCount = 0
    var isSilent = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  let name = "The test's keys"
  let isLocal: Bool
  private let state: Mutex<State>

  init(_ issuers: [TestIssuer], isLocal: Bool = false, maximumAge: Duration = .seconds(3600)) throws {
    self.isLocal = isLocal
    let text = TokenKeyText(try TestIssuer.webKeySet(issuers.map(\.webKey)), maximumAge: maximumAge)
    state = Mutex(State(result: .success(text)))
  }

  var readCount: Int { state.withLock { $0.readCount } }

  func set(_ issuers: [TestIssuer], maximumAge: Duration = .seconds(3600)) throws {
    let text = TokenKeyText(try TestIssuer.webKeySet(issuers.map(\.webKey)), maximumAge: maximumAge)
    state.withLock { $0.result = .success(text) }
  }

  func fail() { state.withLock { $0.result = .failure(TokenKeyError("no answer")) } }

  /// From now on readings wait until ``speak()``.
  func beSilent() { state.withLock { $0.isSilent = true } }

  func speak() {
    let waiting = state.withLock { state in
      state.isSilent = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for reading in waiting { reading.resume() }
  }

  func read() async throws -> TokenKeyText? {
    await withCheckedContinuation { continuation in
      let waits = state.withLock { state in
        state.readCount += 1
        if state.isSilent { state.waiting.append(continuation) }
        return state.isSilent
      }
      if !waits { continuation.resume() }
    }
    return try state.withLock { $0.result }.get()
  }
}

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
