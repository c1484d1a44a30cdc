import Foundation
import HearthModel
import HearthTransport
import JWTKit
import Synchronization
import TestSupport
import Testing

/// A clock that stands still until a test moves it.
private final class HandClock: Sendable {
  private let seconds = Mutex<Double>(1_800_000_000)

  var now: @Sendable () -> Date { { Date(timeIntervalSince1970: self.seconds.withLock { $0 }) } }

  func move(by change: Double) { seconds.withLock { $0 += change } }
}

private struct SeenClaims: JWTPayload, Equatable {
  var iss: String
  var sub: String
  var aud: String
  var iat: Int
  var exp: Int

  func verify(using algorithm: some JWTAlgorithm) {}
}

@Suite("Service accounts", .timeLimit(.minutes(2)))
struct ServiceAccountTests {
  private func source(_ clock: HandClock) throws -> ServiceAccountTokens {
    ServiceAccountTokens(
      try ServiceAccount(json: try TestServiceAccount.file(), source: "Test account"), now: clock.now)
  }

  @Test("a token is signed by the account's key, for Firestore only and for an hour")
  func claims() async throws {
    let token = try await source(HandClock()).token(forcingRefresh: false)
    #expect(
      try await claims(of: token)
        == SeenClaims(
          iss: TestServiceAccount.email, sub: TestServiceAccount.email, aud: "https://firestore.googleapis.com/",
          iat: 1_800_000_000, exp: 1_800_003_600))
    let header = try #require(token.split(separator: ".").first)
    let padded = header + String(repeating: "=", count: (4 - header.count % 4) % 4)
    let json = try #require(Data(base64Encoded: String(padded)))
    #expect(
      try JSONDecoder().decode([String: String].self, from: json)
        == ["alg": "RS256", "typ": "JWT", "kid": TestServiceAccount.keyID])
  }

  /// The claims of a token that the account's key has signed.
  private func claims(of token: String) async throws -> SeenClaims {
    let keys = JWTKeyCollection()
    await keys.add(rsa: try Insecure.RSA.PublicKey(pem: TestServiceAccount.publicKey), digestAlgorithm: .sha256)
    return try await keys.verify(token, as: SeenClaims.self)
  }

  @Test("a token is kept until five minutes before its end", arguments: [(3299.0, true), (3300, false), (-1, false)])
  func refresh(seconds: Double, isKept: Bool) async throws {
    let clock = HandClock()
    let source = try source(clock)
    let first = try await source.token(forcingRefresh: false)
    clock.move(by: seconds)
    #expect((try await source.token(forcingRefresh: false) == first) == isKept)
  }

  @Test("a token that was refused is not handed out again")
  func forced() async throws {
    let clock = HandClock()
    let source = try source(clock)
    let first = try await source.token(forcingRefresh: false)
    clock.move(by: 1)
    let second = try await source.token(forcingRefresh: true)
    #expect(second != first)
    #expect(try await source.token(forcingRefresh: false) == second)
  }

  @Test("a clock out of all bounds does not stop the program", arguments: [-1e300, 1e300, .infinity, -.infinity])
  func absurdClock(seconds: Double) async throws {
    let clock = HandClock()
    clock.move(by: seconds)
    _ = try await source(clock).token(forcingRefresh: false)
  }

  @Test(
    "a member that is missing or wrong is named, with the file, and no key is shown",
    arguments: [
      ("type", nil, "is missing"), ("type", "authorized_user", "is \"authorized_user\""),
      ("client_email", nil, "is missing"), ("client_email", "", "is empty"), ("client_email", "nobody", "e-mail"),
      ("private_key", nil, "is missing"), ("private_key", "c2VjcmV0", "PEM"),
      ("private_key", TestServiceAccount.privateKey.replacingOccurrences(of: "MII", with: "SIS"), "RSA key"),
      ("private_key", TestServiceAccount.shortPrivateKey, "2048 bits"),
      ("private_key", TestAuthority.serverKey, "RSA key"), ("private_key", TestServiceAccount.publicKey, "RSA key"),
    ] as [(String, String?, String)])
  func wrongMember(name: String, value: String?, fault: String) throws {
    let file = try TemporaryFile(try TestServiceAccount.file(changing: [name: value]))
    let error = #expect(throws: StatusError.self) { _ = try ServiceAccount(contentsOfFile: file.path) }
    let message = try #require(error).message
    #expect(error?.code == .invalidArgument)
    #expect(message.contains(file.path) && message.contains("\"\(name)\"") && message.contains(fault))
    if name == "private_key" { #expect(keyLines(value).allSatisfy { !message.contains($0) }) }
  }

  @Test("a key in the older PKCS #1 form signs as well")
  func pkcs1() async throws {
    let der = try #require(
      Data(base64Encoded: TestServiceAccount.privateKey.split(separator: "\n").dropFirst().dropLast().joined()))
    // PKCS #8 puts 26 bytes before the key: version, algorithm and the header of the octet string (RFC 5208).
    let body = der.dropFirst(26).base64EncodedString(options: .lineLength64Characters)
    let pem = "-----BEGIN RSA PRIVATE KEY-----\n\(body)\n-----END RSA PRIVATE KEY-----\n"
    let account = try ServiceAccount(json: try TestServiceAccount.file(changing: ["private_key": pem]), source: "Test")
    let clock = HandClock()
    let token = try await ServiceAccountTokens(account, now: clock.now).token(forcingRefresh: false)
    // Not the tokens themselves: the members of their JSON are in no particular order.
    #expect(try await claims(of: token) == claims(of: source(clock).token(forcingRefresh: false)))
  }

  @Test("without a key id the token names none")
  func noKeyID() async throws {
    let json = try TestServiceAccount.file(changing: ["private_key_id": nil, "project_id": nil])
    let account = try ServiceAccount(json: json, source: "Test")
    #expect(account.projectID == nil)
    let token = try await ServiceAccountTokens(account, now: HandClock().now).token(forcingRefresh: false)
    let header = try #require(token.split(separator: ".").first)
    let padded = header + String(repeating: "=", count: (4 - header.count % 4) % 4)
    let decoded = try JSONDecoder().decode(
      [String: String].self, from: try #require(Data(base64Encoded: String(padded))))
    #expect(decoded == ["alg": "RS256", "typ": "JWT"])
  }

  @Test("hostile files are refused in bounded time", arguments: 0..<4)
  func hostile(variant: Int) throws {
    let nested = [String](repeating: "[", count: 60_000).joined()
    let texts = [
      nested, "{\"type\":\(nested)", "{\"type\":1e999999999}", String(repeating: "{\"type\":", count: 7000),
    ]
    let error = #expect(throws: StatusError.self) {
      _ = try ServiceAccount(json: Data(texts[variant].utf8), source: "Test account")
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.hasPrefix("Test account") == true)
  }

  @Test("a member of another type is named", arguments: ["type", "client_email", "private_key", "private_key_id"])
  func wrongType(name: String) throws {
    let json = try TestServiceAccount.file(changing: [name: ["a", 1] as [Any]])
    let error = #expect(throws: StatusError.self) { _ = try ServiceAccount(json: json, source: "Test account") }
    #expect(error?.message == "Test account: member \"\(name)\" is not a string.")
  }

  @Test("a file that is no JSON object is refused without a word of its content", arguments: ["", "{", "[1]", "hush"])
  func notJSON(content: String) throws {
    let file = try TemporaryFile(Data("\(content)".utf8))
    let error = #expect(throws: StatusError.self) { _ = try ServiceAccount(contentsOfFile: file.path) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message == "Service account file \"\(file.path)\" is not a JSON object.")
  }

  @Test("a file that cannot be read, or is far too large, is named")
  func unreadable() throws {
    let missing = #expect(throws: StatusError.self) { _ = try ServiceAccount(contentsOfFile: "/nowhere/key.json") }
    #expect(missing?.code == .failedPrecondition)
    #expect(missing?.message.contains("/nowhere/key.json") == true)
    let folder = FileManager.default.temporaryDirectory.path
    #expect(
      #expect(throws: StatusError.self) { _ = try ServiceAccount(contentsOfFile: folder) }?.code == .failedPrecondition)
    let large = try TemporaryFile(Data(repeating: UInt8(ascii: " "), count: 100_000))
    #expect(
      #expect(throws: StatusError.self) { _ = try ServiceAccount(contentsOfFile: large.path) }?.code == .invalidArgument
    )
  }

  @Test("an account does not show its key")
  func hiddenKey() throws {
    let account = try ServiceAccount(json: try TestServiceAccount.file(), source: "Test account")
    var text = "\(account) \(String(reflecting: account))"
    dump(account, to: &text)
    #expect(keyLines(TestServiceAccount.privateKey).allSatisfy { !text.contains($0) })
    #expect(text.contains(TestServiceAccount.email))
  }

  /// The lines of a key that nobody may see.
  private func keyLines(_ pem: String?) -> [String] {
    (pem ?? "").split(separator: "\n").map(String.init).filter { !$0.hasPrefix("-----") && $0.count > 7 }
  }
}

@Suite("Secrets in texts")
struct SecretTextTests {
  @Test(
    "what is or looks like a token is taken out",
    arguments: [
      ("no secret", "no secret"), ("token s3cret-token!", "token (hidden)!"),
      ("s3cret-tokens3cret-token", "(hidden)(hidden)"), ("s3cret-toke", "s3cret-toke"), ("", ""),
      ("bad jwt \"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.\" (expired)", "bad jwt \"(hidden)\" (expired)"),
      ("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln", "(hidden)"),
      ("eyJ is no token. Nor eyJ.x", "eyJ is no token. Nor eyJ.x"),
      ("token=eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln&x", "token=(hidden)&x"),
      ("only its eyJhbGciOiJub25lIn0 part", "only its (hidden) part"),
      ("keyJohnHasALongNameToo", "keyJohnHasALongNameToo"),
      ("[ya29.a0AfB_byC-0123456789]", "[(hidden)]"), ("1//0gabcdefghijklmnop", "(hidden)"),
      ("cut off: s3cret-token...", "cut off: (hidden)..."),
      ("long-opaque-to...", "(hidden)..."), ("long-opaque-token.with-second-part", "(hidden)"),
      ("only with-second-part", "only (hidden)"),
      ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a (hidden) b"),
      ("-----BEGIN PRIVATE KEY-----\nMII", "(hidden)"), ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
    ])
  func hidden(text: String, expected: String) {
    #expect(
      SecretText.hidden(in: text, secrets: ["s3cret-token", "owner", "long-opaque-token.with-second-part"]) == expected)
  }

  @Test("tokens that begin alike are taken out whole")
  func commonBeginning() {
    let secrets = ["opaque-token-of-app-1", "opaque-token-of-app-2"]
    #expect(SecretText.hidden(in: "\(secrets)", secrets: secrets) == "[\"(hidden)\", \"(hidden)\"]")
  }

  @Test("words such as owner stay, so that messages can be read")
  func words() {
    #expect(SecretText.hidden(in: "the owner", secrets: ["owner"]) == "the owner")
  }
}

/// A file that is gone when the test ends.
private final class TemporaryFile {
  let path: String

  init(_ content: Data) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-\(UUID().uuidString).json").path
    try content.write(to: URL(fileURLWithPath: path))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
