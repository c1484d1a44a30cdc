import Foundation
import FuzzSupport
import HearthModel
import HearthServer
import JWTKit
import Logging
import TestSupport

@testable import HearthAuthentication
@testable import HearthRPC

@main
private enum Main {
  /// Tokens, headers and keys as anybody may send them, and tokens whose signature is good.
  static func main() async throws {
    let fuzz = try await TokenFuzz()
    try FuzzProgram.run(seeds: TokenSeeds.make(fuzz)) { bytes in
      guard let kind = bytes.first else { return }
      FuzzProgram.wait { await fuzz.run(TokenFuzz.Kind(number: kind), bytes.dropFirst()) }
    }
  }
}

final class TokenFuzz: Sendable {
  enum Kind: UInt8, CaseIterable {
    /// The text of a token.
    case text
    /// The header `authorization`.
    case header
    /// The payload of a token with a good signature, behind a byte that chooses the signer.
    case payload
    /// The header of such a token.
    case tokenHeader
    /// The choices for the claims of such a token.
    case claims
    /// Changes of a good token.
    case changes
    /// A text of keys.
    case keys

    init(number: UInt8) {
      self = Self(rawValue: number % UInt8(Self.allCases.count)) ?? .text
    }
  }

  let signers: [TokenSigner]
  /// A good token of each signer.
  let goodTokens: [String]
  private let authenticator: TokenAuthenticator
  /// Demands App Check tokens, and takes none.
  private let appAuthenticator: TokenAuthenticator

  init() async throws {
    signers = try await TokenSigner.all()
    goodTokens = try signers.map { signer in
      let claims =
        #"{"iss":"\#(signer.issuer)","aud":"\#(signer.audience)","sub":"alice","exp":\#(GeneratedClaims.now + 9)}"#
      return try signer.token(payload: Array(claims.utf8))
    }
    let logger = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
    var issuers: [TokenIssuer] = []
    for signer in signers {
      let keys = TokenKeys(TokenKeySet([try await signer.verifyingKey()]), logger: logger)
      issuers.append(
        TokenIssuer(
          name: signer.issuer, audiences: [signer.audience], keys: keys,
          role: signer.algorithm == .rs256 ? .administrator : .user))
    }
    let administrators = try AdministratorTokens([String(repeating: "k", count: 40)], source: "fuzz")
    let clock = TokenClock(wall: { Double(GeneratedClaims.now) }, steady: { .now })
    func authenticator(appCheck: TokenIssuer?) -> TokenAuthenticator {
      TokenAuthenticator(
        issuers: issuers, appCheck: appCheck, administrators: administrators, clock: clock,
        known: KnownTokens(maximumCount: 1_000, maximumBytes: 1 << 20))
    }
    self.authenticator = authenticator(appCheck: nil)
    appAuthenticator = authenticator(
      appCheck: .appCheck(projectNumber: "42", keys: TokenKeys(TokenKeySet([]), logger: logger)))
  }

  func run(_ kind: Kind, _ input: ArraySlice<UInt8>) async {
    var choices = ByteChoices(input)
    switch kind {
    case .text:
      let text = String(decoding: input, as: UTF8.self)
      _ = try? Token(text)
      let caller = await caller("Bearer \(text)")
      precondition(caller == nil, "accepted a token that nobody signed: \(text)")
    case .header:
      let text = String(decoding: input, as: UTF8.self)
      let caller = await caller(text)
      precondition(caller == nil, "accepted the header \(text)")
    case .payload:
      let signer = choices.element(signers)
      await checkSigned(header: nil, payload: Array(choices.rest), signer)
    case .tokenHeader:
      let signer = choices.element(signers)
      await checkSigned(header: Array(choices.rest), payload: Array("{}".utf8), signer)
    case .claims: await checkClaims(&choices)
    case .changes: await checkChanges(&choices)
    case .keys: await checkKeys(Data(input))
    }
  }

  // MARK: - Callers

  /// The caller that an authorization header identifies; nil if it is refused.
  private func caller(_ header: String) async -> Caller? {
    var metadata = CallMetadata()
    metadata.add(name: "authorization", value: header)
    do {
      if case .identity(let identity) = try authenticator.known(metadata) { return identity.caller as? Caller }
      let identity = try await authenticator.identify(metadata)
      guard case .identity = try authenticator.known(metadata) else {
        preconditionFailure("a token that was verified is not known")
      }
      // An app's token is demanded of users, and there is none that would be accepted.
      metadata.add(name: "x-firebase-appcheck", value: header)
      let app = try? await appAuthenticator.identify(metadata)
      if case .owner? = identity.caller as? Caller {} else { precondition(app == nil, "a user's token is an app's") }
      return identity.caller as? Caller
    } catch {
      precondition(error.code == .unauthenticated, "refused with \(error)")
      return nil
    }
  }

  /// - Parameter signer: Whose key has signed the token that has identified the caller.
  private func check(_ caller: Caller, by signer: TokenSigner) {
    switch caller {
    case .owner: precondition(signer.algorithm == .rs256, "a user's token is an administrator's")
    case .nobody: preconditionFailure("a token is nobody's")
    case .user(let user):
      precondition(signer.algorithm != .rs256 && user.issuer == signer.issuer, "a token of another issuer")
      precondition((1...255).contains(user.id.utf8.count), "the subject \(user.id)")
      precondition(user.claims["iss"] == .string(signer.issuer) && user.claims["sub"] == .string(user.id))
    }
  }

  // MARK: - Signed tokens

  private func checkSigned(header: [UInt8]?, payload: [UInt8], _ signer: TokenSigner) async {
    guard let token = try? signer.token(header: header, payload: payload) else { return }
    if let caller = await caller("Bearer \(token)") { check(caller, by: signer) }
  }

  private func checkClaims(_ choices: inout ByteChoices) async {
    let signer = choices.element(signers)
    let claims = GeneratedClaims(of: signer, by: &choices)
    guard let token = try? signer.token(payload: claims.payload) else { return }
    let caller = await caller("Bearer \(token)")
    let isExpected = claims.isGood && token.utf8.count <= Token.maximumBytes
    let text = String(decoding: claims.payload, as: UTF8.self)
    precondition((caller != nil) == isExpected, "\(caller == nil ? "refused" : "accepted") \(text)")
    guard let caller else { return }
    check(caller, by: signer)
    if case .user(let user) = caller { precondition(user.id == claims.subject) }
  }

  /// Changes some characters of a good token.
  private func checkChanges(_ choices: inout ByteChoices) async {
    let good = choices.element(goodTokens)
    var token = Array(good.utf8)
    for _ in 0...choices.below(4) {
      // The last character has bits that no byte needs.
      let place = choices.chance(20) ? token.count - 1 : choices.below(token.count)
      switch choices.below(4) {
      case 0: token.remove(at: place)
      case 1: token.insert(UInt8(0x21 + choices.below(94)), at: place)
      case 2: token.swapAt(place, choices.below(token.count))
      default: token[place] = UInt8(0x21 + choices.below(94))
      }
    }
    let text = String(decoding: token, as: UTF8.self)
    let caller = await caller("Bearer \(text)")
    precondition((caller != nil) == (text == good), "\(caller == nil ? "refused" : "accepted") \(text) for \(good)")
  }

  // MARK: - Keys

  private func checkKeys(_ text: Data) async {
    guard let set = try? await TokenKeySet(reading: text, from: "fuzz") else { return }
    // The key of the RSA signer is among the seeds.
    for (signer, text) in zip(signers, goodTokens) where signer.algorithm != .rs256 {
      guard let token = try? Token(text) else { preconditionFailure("a good token has no good form") }
      let keys = set.candidates(for: token)
      precondition(signer.algorithm != .hs256 || keys.isEmpty, "a public key is a shared secret")
      precondition(!keys.contains { $0.verifies(token) }, "another key has verified a token")
    }
  }
}
