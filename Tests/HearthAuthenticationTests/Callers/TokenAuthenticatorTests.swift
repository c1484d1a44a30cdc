import Foundation
import HearthModel
import JWTKit
import TestSupport
import Testing

@testable import HearthAuthentication
@testable import HearthRPC
@testable import HearthServer

@Suite("Callers with tokens", .timeLimit(.minutes(1)))
struct TokenAuthenticatorTests {
  private let clock = HandClock()
  private let issuer: TestIssuer
  private let source: TestKeySource
  private let known = KnownTokens()

  init() throws {
    issuer = try TestIssuer()
    source = try TestKeySource([issuer])
  }

  private static let firebase = "https://securetoken.google.com/demo"
  private static let now = Int(HandClock.start)

  private static var claims: [String: Any] {
    [
      "iss": firebase, "aud": "demo", "sub": "alice", "iat": now - 10, "auth_time": now - 10, "exp": now + 3600,
      "admin": true,
    ]
  }

  private func authenticator(
    _ more: [TokenIssuer] = [], appCheck: TokenIssuer? = nil, administrators: AdministratorTokens? = nil
  ) -> TokenAuthenticator {
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    return TokenAuthenticator(
      issuers: [.firebase(project: "demo", keys: keys)] + more, appCheck: appCheck, administrators: administrators,
      clock: clock.clock, known: known)
  }

  private func metadata(_ headers: (String, String)...) -> CallMetadata {
    var metadata = CallMetadata()
    for (name, value) in headers { metadata.add(name: name, value: value) }
    return metadata
  }

  private func bearer(_ token: String) -> CallMetadata { metadata(("authorization", "Bearer \(token)")) }

  private func user(_ identity: CallIdentity?) throws -> Caller.User {
    guard case .user(let user)? = identity?.caller as? Caller else { throw Mistaken() }
    return user
  }

  private struct Mistaken: Error {}

  private func isOwner(_ identity: CallIdentity?) -> Bool {
    if case .owner? = identity?.caller as? Caller { true } else { false }
  }

  private func isNobody(_ identity: CallIdentity?) -> Bool {
    if case .nobody? = identity?.caller as? Caller { true } else { false }
  }

  private func refusal(
    _ metadata: CallMetadata, by authenticator: TokenAuthenticator
  ) async throws -> CallStatus {
    let known = try? authenticator.known(metadata).identity
    #expect(known == nil)
    return try #require(await #expect(throws: CallStatus.self) { _ = try await authenticator.identify(metadata) })
  }

  // MARK: - Users

  @Test("a token of Firebase Auth is a user's, with its claims, and costs one signature")
  func user() async throws {
    let authenticator = authenticator()
    let call = bearer(try await issuer.token(Self.claims))
    let before = try authenticator.known(call).identity
    #expect(before == nil)
    let identity = try await authenticator.identify(call)
    let user = try user(identity)
    #expect(user.issuer == Self.firebase && user.id == "alice" && user.claims["admin"] == .boolean(true))
    #expect(try self.user(authenticator.known(call).identity).id == "alice")
    // With the leeway for clocks that differ.
    let expiry = try #require(identity.expiry)
    #expect(abs((expiry - clock.clock.steady()) / .seconds(1) - 3660) < 1)
  }

  @Test("a call without a token is nobody's")
  func nobody() throws {
    #expect(isNobody(try authenticator().known(metadata()).identity))
  }

  /// Claims that differ from good ones in one thing, and a word of the error.
  private static var badClaims: [(change: [String: Any?], word: String)] {
    [
      (["iss": "https://securetoken.google.com/other"], "issuer"), (["iss": nil], "iss"), (["iss": 1], "iss"),
      (["aud": "other"], "aud"), (["aud": nil], "aud"), (["aud": ["other", "another"]], "aud"), (["aud": [1]], "aud"),
      (["exp": now - 61], "expired"), (["exp": nil], "exp"), (["exp": "tomorrow"], "exp"),
      (["iat": now + 61], "iat"), (["nbf": now + 61], "nbf"), (["auth_time": now + 61], "auth_time"),
      (["iat": "x"], "iat"), (["sub": ""], "sub"), (["sub": nil], "sub"), (["sub": 1], "sub"),
      (["sub": String(repeating: "x", count: 256)], "sub"),
    ]
  }

  @Test("each wrong claim is refused, and named", arguments: badClaims.indices)
  func badClaim(index: Int) async throws {
    let (change, word) = Self.badClaims[index]
    var claims = Self.claims
    for (name, value) in change { claims[name] = value }
    let status = try await refusal(bearer(try await issuer.token(claims)), by: authenticator())
    #expect(status.code == .unauthenticated && status.message.contains(word), "\(status.message)")
    #expect(known.count == 0)
  }

  @Test("clocks may differ by a minute, and one of several audiences is enough")
  func leeway() async throws {
    for change in [["exp": Self.now - 59], ["iat": Self.now + 59], ["nbf": Self.now + 59]] as [[String: Any]] {
      let token = try await issuer.token(Self.claims.merging(change) { $1 })
      _ = try await authenticator().identify(bearer(token))
    }
    let token = try await issuer.token(Self.claims.merging(["aud": ["x", "demo"]]) { $1 })
    _ = try await authenticator().identify(bearer(token))
  }

  @Test("a signature of another key, of no key, or over something else is refused")
  func badSignatures() async throws {
    let good = try await issuer.token(Self.claims)
    let parts = good.split(separator: ".").map(String.init)
    let stranger = try await TestIssuer().token(Self.claims)
    let changed = Self.claims.merging(["sub": "mallory"]) { $1 }
    let other = try await issuer.token(changed).split(separator: ".").map(String.init)
    let header = try await issuer.token(Self.claims, header: ["alg": "none"])
    // The public key as a shared secret.
    let secret = try await JWTKeyCollection().add(hmac: HMACKey(from: issuer.pem), digestAlgorithm: .sha256).getKey()
    let confused = try TestIssuer.token(Self.claims, algorithm: "HS256", keyID: "k1") { try secret.sign($0) }
    for token in [
      stranger, "\(other[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).AAAA", "\(parts[0]).\(parts[1]).",
      header, confused, good + "A", "x\(good)",
    ] {
      let status = try await refusal(bearer(token), by: authenticator())
      #expect(status.code == .unauthenticated)
      #expect(!status.message.contains(parts[2]))
    }
  }

  @Test("the token of clients that take the server for an emulator is refused with the variable that makes them do so")
  func owner() async throws {
    let status = try await refusal(bearer("owner"), by: authenticator())
    #expect(status.code == .unauthenticated && status.message.contains("FIRESTORE_EMULATOR_HOST"), "\(status.message)")
  }

  @Test(
    "a header of another form is refused",
    arguments: ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer a b", "Bearer owner", "bearerx"])
  func badHeaders(header: String) async throws {
    let authenticator = authenticator()
    let call = metadata(("authorization", header))
    let status = await #expect(throws: CallStatus.self) { _ = try await authenticator.identify(call) }
    #expect(status?.code == .unauthenticated)
  }

  @Test("a call with two tokens is refused")
  func twoHeaders() async throws {
    let token = try await issuer.token(Self.claims)
    let call = metadata(("authorization", "Bearer \(token)"), ("authorization", "Bearer \(token)"))
    let status = #expect(throws: CallStatus.self) { _ = try authenticator().known(call) }
    #expect(status?.code == .unauthenticated)
  }

  @Test("a token that was good is refused when it has expired, and verified again when the keys have changed")
  func knownTokens() async throws {
    let authenticator = authenticator()
    let call = bearer(try await issuer.token(Self.claims))
    _ = try await authenticator.identify(call)
    // The key is withdrawn.
    let other = try TestIssuer(keyID: "k2")
    try source.set([other])
    clock.move(by: 3_601)
    _ = try? authenticator.known(call)
    try await waitUntil { source.readCount == 2 }
    try await waitUntil { (try? authenticator.known(call).identity) == nil }
    let status = try await refusal(call, by: authenticator)
    #expect(status.message.contains("k1"))
    let next = bearer(try await other.token(Self.claims.merging(["exp": Self.now + 3_700]) { $1 }))
    _ = try await authenticator.identify(next)
    clock.move(by: 200)
    let expired = #expect(throws: CallStatus.self) { _ = try authenticator.known(next) }
    #expect(expired?.code == .unauthenticated && expired?.message.contains("expired") == true)
  }

  /// A server that limits failures does not take a guess for a token that was good a moment ago.
  @Test("a key that is taken out of its file verifies nothing more after a second, not even one call of a known token")
  func withdrawnFromFile() async throws {
    let source = try TestKeySource([issuer], isLocal: true, maximumAge: .seconds(1))
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    let authenticator = TokenAuthenticator(
      issuers: [.firebase(project: "demo", keys: keys)], appCheck: nil, administrators: nil, clock: clock.clock,
      known: known)
    let call = bearer(try await issuer.token(Self.claims))
    guard case .unknown = try authenticator.known(call) else { throw Mistaken() }
    _ = try await authenticator.identify(call)
    guard case .identity = try authenticator.known(call) else { throw Mistaken() }
    clock.move(by: 2)
    guard case .toBeConfirmed = try authenticator.known(call) else { throw Mistaken() }
    #expect(try user(await authenticator.identify(call)).id == "alice")
    guard case .identity = try authenticator.known(call) else { throw Mistaken() }
    try source.set([try TestIssuer(keyID: "k2")], maximumAge: .seconds(1))
    clock.move(by: 2)
    #expect(try await refusal(call, by: authenticator).message.contains("k1"))
    guard case .unknown = try authenticator.known(call) else { throw Mistaken() }
  }

  @Test("keys that cannot be had make a call unavailable, not refused")
  func unavailableKeys() async throws {
    source.fail()
    let status = try await refusal(bearer(try await issuer.token(Self.claims)), by: authenticator())
    #expect(status.code == .unavailable)
  }

  @Test("an OpenID provider's tokens are its users', and a secret's are signed with HS256")
  func otherIssuers() async throws {
    try await withTemporaryFolder { folder in
      let secret = String(repeating: "s", count: 32)
      try Data("\(secret)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/secret"))
      let keys = try await TokenKeys.secret(inFile: "\(folder)/secret", logger: quietLogger)
      let authenticator = authenticator([
        TokenIssuer(name: "https://id.example.com", audiences: ["caf\u{e9}"], keys: keys, projects: ["shop"])
      ])
      var claims: [String: Any] = [
        "iss": "https://id.example.com", "aud": "caf\u{e9}", "sub": "alice", "exp": Self.now + 60,
      ]
      let signer = try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256).getKey()
      let token = try TestIssuer.token(claims, algorithm: "HS256", keyID: nil) { try signer.sign($0) }
      let user = try user(try await authenticator.identify(bearer(token)))
      #expect(user.issuer == "https://id.example.com" && user.id == "alice" && user.projects == ["shop"])
      // Firebase's users are others.
      let firebase = try self.user(try await authenticator.identify(bearer(try await issuer.token(Self.claims))))
      #expect(Caller.user(user).boundTo != Caller.user(firebase).boundTo && firebase.projects == ["demo"])
      // Shown alike, but another audience.
      claims["aud"] = "cafe\u{301}"
      let foreign = try TestIssuer.token(claims, algorithm: "HS256", keyID: nil) { try signer.sign($0) }
      #expect(try await refusal(bearer(foreign), by: authenticator).message.contains("its audience (aud)"))
      // An issuer's key signs for that issuer only.
      let mixed = try await issuer.token(claims)
      #expect(try await refusal(bearer(mixed), by: authenticator).code == .unauthenticated)
      try Data("short".utf8).write(to: URL(fileURLWithPath: "\(folder)/secret"))
      await #expect(throws: TokenKeyError.self) {
        _ = try await TokenKeys.secret(inFile: "\(folder)/secret", logger: quietLogger)
      }
    }
  }

  // MARK: - Administrators

  @Test("a service account's own token is the owner's; one for another service or of another key is refused")
  func serviceAccount() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/account.json"
      try TestServiceAccount.file().write(to: URL(fileURLWithPath: path))
      let account = try await TokenIssuer.serviceAccount(contentsOfFile: path, logger: quietLogger)
      let authenticator = authenticator([account])
      let signer = try await JWTKeyCollection().add(
        rsa: Insecure.RSA.PrivateKey(pem: TestServiceAccount.privateKey), digestAlgorithm: .sha256
      ).getKey()
      func token(_ change: [String: Any]) throws -> String {
        let claims: [String: Any] = [
          "iss": TestServiceAccount.email, "sub": TestServiceAccount.email,
          "aud": "https://firestore.googleapis.com/", "iat": Self.now, "exp": Self.now + 3600,
        ]
        return try TestIssuer.token(
          claims.merging(change) { $1 }, algorithm: "RS256", keyID: TestServiceAccount.keyID
        ) { try signer.sign($0) }
      }
      let call = bearer(try token([:]))
      #expect(isOwner(try await authenticator.identify(call)))
      #expect(isOwner(try authenticator.known(call).identity))
      for change in [["aud": "https://pubsub.googleapis.com/"], ["iss": Self.firebase], ["exp": Self.now - 100]]
        as [[String: Any]]
      {
        #expect(try await refusal(bearer(try token(change)), by: authenticator).code == .unauthenticated)
      }
    }
  }

  @Test("the file of a service account that is none is named, and its key is not")
  func badServiceAccount() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/account.json"
      let files: [Data?] = [
        nil, Data("nonsense".utf8), Data("{}".utf8), try TestServiceAccount.file(changing: ["client_email": "x"]),
        try TestServiceAccount.file(changing: ["private_key": "secret words"]),
        try TestServiceAccount.file(changing: ["private_key": TestServiceAccount.shortPrivateKey]),
      ]
      for file in files {
        try file?.write(to: URL(fileURLWithPath: path))
        let error = await #expect(throws: TokenKeyError.self) {
          _ = try await TokenIssuer.serviceAccount(contentsOfFile: path, logger: quietLogger)
        }
        #expect(error?.description.contains(path) == true && error?.description.contains("secret words") == false)
      }
    }
  }

  @Test("an administrator's secret is the owner's token, and known when it was used")
  func secrets() async throws {
    let secret = String(repeating: "k", count: 40)
    let authenticator = authenticator(administrators: try AdministratorTokens([secret], source: "test"))
    let before = try authenticator.known(bearer(secret)).identity
    #expect(before == nil, "a server that limits guesses compares it for nothing")
    #expect(isOwner(try await authenticator.identify(bearer(secret))))
    #expect(isOwner(try authenticator.known(bearer(secret)).identity))
    for other in [secret + "k", String(secret.dropLast()), secret.uppercased()] {
      #expect(try await refusal(bearer(other), by: authenticator).code == .unauthenticated)
    }
  }

  @Test("secrets are read from a file, one in each line; one that can be guessed is refused without a word of it")
  func secretFile() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/tokens"
      let (a, b) = (String(repeating: "a", count: 32), String(repeating: "b", count: 64))
      try Data("# tokens\n\n \(a) \r\n\(b)\n".utf8).write(to: URL(fileURLWithPath: path))
      let tokens = try AdministratorTokens(contentsOfFile: path)
      let known = [a, b, "# tokens", ""].map { tokens.contains(KnownTokens.digest($0[...], .caller)) }
      #expect(known == [true, true, false, false])
      for text in ["", "# nothing\n", "guessable", "with space " + a, "ü" + a] {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: TokenKeyError.self) { _ = try AdministratorTokens(contentsOfFile: path) }
        #expect(error?.description.contains(path) == true && error?.description.contains("guess") == false)
      }
      #expect(throws: TokenKeyError.self) { _ = try AdministratorTokens(contentsOfFile: "\(folder)/missing") }
    }
  }

  // MARK: - App Check

  @Test("where App Check is demanded, everyone but administrators needs such a token, and it is nobody's by itself")
  func appCheck() async throws {
    let apps = try TestIssuer(keyID: "app")
    let appKeys = TokenKeys(try TestKeySource([apps]), clock: clock.clock, logger: quietLogger)
    let secret = String(repeating: "k", count: 40)
    let authenticator = authenticator(
      appCheck: .appCheck(projectNumber: "42", keys: appKeys),
      administrators: try AdministratorTokens([secret], source: "test"))
    let app = try await apps.token([
      "iss": "https://firebaseappcheck.googleapis.com/42", "aud": ["projects/42", "projects/demo"], "sub": "1:42:ios:a",
      "exp": Self.now + 600,
    ])
    let token = try await issuer.token(Self.claims)
    #expect(isOwner(try await authenticator.identify(bearer(secret))))
    for call in [bearer(token), metadata(), metadata(("x-firebase-appcheck", token))] {
      #expect(try await refusal(call, by: authenticator).code == .unauthenticated)
    }
    // For a caller the app's token is none.
    #expect(try await refusal(bearer(app), by: authenticator).code == .unauthenticated)
    let both = metadata(("authorization", "Bearer \(token)"), ("x-firebase-appcheck", app))
    let identity = try await authenticator.identify(both)
    #expect(try user(identity).id == "alice")
    #expect(try user(authenticator.known(both).identity).id == "alice")
    let expiry = try #require(identity.expiry)
    #expect(abs((expiry - clock.clock.steady()) / .seconds(1) - 660) < 1)
    #expect(isNobody(try await authenticator.identify(metadata(("x-firebase-appcheck", app)))))
  }

  // MARK: - Bounds

  @Test("known tokens take bounded memory: the oldest go")
  func bounded() {
    let known = KnownTokens(maximumCount: 100, maximumBytes: 5_000)
    func entry(_ bytes: Int, _ expiry: Double) -> KnownTokens.Entry {
      KnownTokens.Entry(caller: .nobody, expiry: expiry, issuer: 0, release: 1, byteCount: bytes)
    }
    for number in 0..<1_000 { known.remember(entry(10, Double(number)), for: KnownTokens.digest("\(number)", .caller)) }
    #expect(known.count == 100)
    #expect(known[KnownTokens.digest("899", .caller)] == nil && known[KnownTokens.digest("900", .caller)] != nil)
    // The same one again and again.
    for number in 0..<1_000 { known.remember(entry(10, Double(number)), for: KnownTokens.digest("999", .caller)) }
    #expect(known[KnownTokens.digest("999", .caller)] != nil)
    known.remember(entry(4_990, 0), for: KnownTokens.digest("large", .caller))
    #expect(known.count <= 2 && known[KnownTokens.digest("large", .caller)] != nil)
  }
}

extension KnownCaller {
  /// Nil unless it is known.
  fileprivate var identity: CallIdentity? {
    if case .identity(let identity) = self { identity } else { nil }
  }
}
