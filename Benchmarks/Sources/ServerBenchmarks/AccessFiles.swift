internal import BenchmarkKit
internal import Foundation
internal import HearthAuthentication
internal import HearthRPC
internal import HearthServer
internal import JWTKit
internal import Logging
internal import TestSupport

/// The files of a server that demands TLS and tells callers apart, and those of its clients.
struct AccessFiles {
  /// The parts of the protection.
  struct Protection: OptionSet {
    let rawValue: Int
    static let tls = Protection(rawValue: 1)
    /// Tokens of users, signed with RS256, and rules.
    static let tokens = Protection(rawValue: 2)
  }

  private let folder: String
  private let token: String

  private static let project = "benchmark"
  private static let matchCount = 10

  /// Writes the files into an empty folder.
  init(in folder: String) async throws {
    self.folder = folder
    token = try await Self.makeToken()
    let files = [
      (Self.certificate, TestAuthority.server), (Self.key, TestAuthority.serverKey),
      (Self.authority, TestAuthority.root), (Self.tokenKey, TestServiceAccount.publicKey), (Self.rulesName, Self.rules),
    ]
    for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
  }

  private static let (certificate, key, authority) = ("certificate.pem", "key.pem", "authority.pem")
  private static let (tokenKey, rulesName) = ("token-key.pem", "firestore.rules")

  /// The arguments of the load generator.
  func loadArguments(_ protection: Protection) -> [String] {
    (protection.contains(.tls) ? ["-ca", "\(folder)/\(Self.authority)"] : [])
      + (protection.contains(.tokens) ? ["-token", token] : [])
  }

  /// The arguments of the server's process, for ``configure(_:by:_:)``.
  func hostArguments(_ protection: Protection) -> [String] { ["--access", folder, "\(protection.rawValue)"] }

  /// Protects a server, in its process.
  static func configure(
    _ configuration: inout EmbeddedServer.Configuration, by folder: String, _ protection: Protection, logger: Logger
  ) async throws {
    if protection.contains(.tls) {
      configuration.certificate = .init(
        certificate: "\(folder)/\(certificate)", key: "\(folder)/\(key)", clientAuthorities: nil)
    }
    guard protection.contains(.tokens) else { return }
    configuration.callers = .locked(
      try await authenticator(by: folder, logger: logger), AccessRules(databases: UsersDatabases(projects: [project])))
    configuration.rulesFile = "\(folder)/\(rulesName)"
  }

  static func authenticator(by folder: String, logger: Logger) async throws -> TokenAuthenticator {
    let keys = TokenKeys(TokenKeyFile(path: "\(folder)/\(tokenKey)"), logger: logger)
    try await keys.load()
    return TokenAuthenticator(issuers: [.firebase(project: project, keys: keys)])
  }

  /// Measures what a token costs.
  func cost(_ scenario: TokenCost.Scenario) throws -> Load.Reading {
    let words = [TokenCost.command, folder, token, scenario.rawValue]
    return try JSONDecoder().decode(
      Load.Reading.self, from: Subprocess.output(of: CommandLine.arguments[0], words))
  }

  /// As Firebase Auth makes them: about 1,000 bytes.
  private static func makeToken() async throws -> String {
    let now = Int(Date().timeIntervalSince1970)
    let claims: [String: Any] = [
      "iss": "https://securetoken.google.com/\(project)", "aud": project, "sub": "8uHbXq2T7cWJ5dLk0aVfYrNe1mS3",
      "user_id": "8uHbXq2T7cWJ5dLk0aVfYrNe1mS3", "iat": now, "auth_time": now, "exp": now + 86_400,
      "name": "Some Body", "picture": "https://lh3.example.com/a/AAcHTtd0x1y2z3a4b5c6d7e8f9g0h1i2j3k4l5m6n7o8p9=s96-c",
      "email": "somebody@example.com", "email_verified": true, "editor": true,
      "firebase": [
        "identities": ["email": ["somebody@example.com"], "example.com": ["108432196432197654321"]],
        "sign_in_provider": "example.com",
      ],
    ]
    let header = ["alg": "RS256", "kid": TestServiceAccount.keyID, "typ": "JWT"]
    let signed = try [header, claims].map { url(try JSONSerialization.data(withJSONObject: $0)) }
      .joined(separator: ".")
    let key = try Insecure.RSA.PrivateKey(pem: TestServiceAccount.privateKey)
    let signer = try await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256).getKey()
    return signed + "." + url(Data(try signer.sign(Array(signed.utf8))))
  }

  private static func url(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// Ten matches. The last one is that of the load.
  private static var rules: String {
    let others = (1..<matchCount).map { number in
      """
          match /collection\(number)/{document} {
            allow read: if isSignedIn() && resource.data.members.hasAny([request.auth.uid]);
            allow write: if isSignedIn() && request.resource.data.owner == request.auth.uid;
          }
      """
    }
    return """
      rules_version = '2';
      service cloud.firestore {
        match /databases/{database}/documents {
          function isSignedIn() { return request.auth != null && request.auth.token.email_verified == true; }
          function isPlace(data) {
            return data.title is string && data.title.size() <= 100 && data.rank >= 0 && data.tags.size() <= 10
              && data.keys().hasAll(['title', 'group', 'rank', 'price']);
          }
      \(others.joined(separator: "\n"))
          match /places/{place} {
            allow read: if isSignedIn();
            allow create, update: if isSignedIn() && request.auth.token.editor == true && isPlace(request.resource.data);
            allow delete: if false;
          }
        }
      }
      """
  }
}
