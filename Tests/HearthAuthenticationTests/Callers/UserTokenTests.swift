import Foundation
import HearthModel
import Testing

@testable import HearthAuthentication
@testable import HearthRPC
@testable import HearthServer

@Suite("Tokens that are made in place of a login service")
struct UserTokenTests {
  private static func token(_ user: String = "ada", _ claims: [String] = []) throws -> UserToken {
    try UserToken(
      user: user, issuer: "https://login.example.com", audience: "my-app", validFor: 600,
      from: Int(Date().timeIntervalSince1970), claims: claims)
  }

  private static func metadata(_ token: String) -> CallMetadata {
    var metadata = CallMetadata()
    metadata.add(name: "authorization", value: "Bearer \(token)")
    return metadata
  }

  @Test("a signed one names its user to a server with the secret, with all its claims")
  func signed() async throws {
    try await withTemporaryFolder { folder in
      let file = "\(folder)/secret"
      try Data("\(String(repeating: "s", count: 40))\n".utf8).write(to: URL(fileURLWithPath: file))
      let keys = try await TokenKeys.secret(inFile: file, logger: quietLogger)
      let authenticator = TokenAuthenticator(issuers: [
        TokenIssuer(name: "https://login.example.com", audiences: ["my-app"], keys: keys)
      ])
      let user = "a\"d\\a\u{e9}\n"
      let token = try Self.token(
        user, ["admin=true", "role=\"editor = 1\"", "level=3", "share=0.5", "tags=[\"a\",null]", "a.b\"c={\"d\":{}}"])
      let identity = try await authenticator.identify(Self.metadata(try await token.signed(withSecretInFile: file)))
      guard case .user(let caller)? = identity.caller as? Caller else {
        Issue.record("\(identity) is no user")
        return
      }
      #expect(caller.id == user)
      let expected: [String: Value] = [
        "admin": .boolean(true), "role": .string("editor = 1"), "level": .integer(3), "share": .double(0.5),
        "tags": .array([.string("a"), .null]), "a.b\"c": .map(["d": .map([:])]),
      ]
      for (name, value) in expected { #expect(caller.claims[name] == value, "\(name)") }

      let other = "\(folder)/other"
      try Data(String(repeating: "o", count: 40).utf8).write(to: URL(fileURLWithPath: other))
      let forged = try await token.signed(withSecretInFile: other)
      await #expect(throws: CallStatus.self) { try await authenticator.identify(Self.metadata(forged)) }
      let unsigned = try token.unsigned()
      await #expect(throws: CallStatus.self) { try await authenticator.identify(Self.metadata(unsigned)) }
      try Data("short".utf8).write(to: URL(fileURLWithPath: other))
      await #expect(throws: TokenKeyError.self) { try await token.signed(withSecretInFile: other) }
      await #expect(throws: TokenKeyError.self) { try await token.signed(withSecretInFile: "\(folder)/none") }
    }
  }

  @Test("an unsigned one names its user to a server in development")
  func unsigned() throws {
    let token = try UserToken(user: "alice", issuer: nil, audience: nil, validFor: 60, from: 1_800_000_000).unsigned()
    #expect(token.hasSuffix(".") && token.split(separator: ".").count == 2)
    let identity = try DevelopmentAuthenticator().identify(Self.metadata(token))
    guard case .user(let caller)? = identity.caller as? Caller else {
      Issue.record("\(identity) is no user")
      return
    }
    #expect(caller.id == "alice" && caller.claims["exp"] == .integer(1_800_000_060))
  }

  @Test(
    "a claim without JSON, one that is set already, and users without a name are refused with what is wrong",
    arguments: [
      ("ada", ["role=editor"], "'role=\"editor\"'"), ("ada", ["admin"], "name=JSON"), ("ada", ["=1"], "name=JSON"),
      ("ada", ["sub=\"eve\""], "sub is set by the other options"), ("ada", ["a=1", "a=2"], "a is given twice"),
      ("ada", ["a=1,\"sub\":\"eve\""], "not JSON"), ("ada", ["a="], "not JSON"), ("", [], "1 to 255"),
      (String(repeating: "x", count: 256), [], "256 bytes"),
      ("ada", ["a=\"\(String(repeating: "x", count: 8_000))\""], "fewer claims"),
    ])
  func mistakes(user: String, claims: [String], text: String) throws {
    let mistake = #expect(throws: UserToken.Mistake.self) { _ = try Self.token(user, claims).unsigned() }
    #expect(mistake?.description.contains(text) == true, "\(mistake?.description ?? "")")
  }
}
