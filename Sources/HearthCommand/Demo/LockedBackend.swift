import Crypto
import Foundation
import Hearth
import HearthAuthentication
import HearthRPC
import HearthRules
import HearthServer
import Logging
import SwiftASN1
import X509

/// A server of the demo that tells users apart, with a certificate and rules of its own.
struct LockedBackend {
  /// Each user may read and write her own notes, and nobody any other document.
  static let rules = """
    rules_version = '2';
    service cloud.firestore {
      match /databases/{database}/documents {
        match /users/{user}/notes/{note} {
          allow read, write: if request.auth.uid == user;
        }
      }
    }
    """

  private static let issuer = "https://demo.example"

  let server: EmbeddedServer
  /// The certificate in PEM form, which clients have to trust.
  let certificateFile: String
  private let secret: String
  private let project: String

  var address: BackendAddress { BackendAddress(host: "127.0.0.1", port: server.port) }

  /// Makes the files in the folder and starts the server.
  init(folder: URL, project: String) async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    let logger = Logger(label: "hearth.demo", factory: { _ in SwiftLogNoOpLogHandler() })
    certificateFile = path("certificate.pem")
    secret = (0..<4).map { _ in UUID().uuidString }.joined()
    self.project = project
    try Self.write(secret, to: path("secret"))
    try Self.makeCertificate(at: certificateFile, key: path("key.pem"))
    let keys = try await TokenKeys.secret(inFile: path("secret"), logger: logger)
    let callers = TokenAuthenticator(issuers: [TokenIssuer(name: Self.issuer, audiences: [project], keys: keys)])
    let rules = AccessRules(try RuleSet(Self.rules), databases: UsersDatabases(projects: [project]))
    let files = ServerCertificate.Files(certificate: certificateFile, key: path("key.pem"))
    server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger) {
      $0.callers = .locked(callers, rules)
      $0.certificate = files
    }
  }

  /// Returns credentials of a user who is signed in, as a provider of tokens would issue them.
  func credentials(of user: String) -> IDTokenCredentials {
    let token = IDToken(token(of: user), userID: user)
    return IDTokenCredentials(userID: user) { _ in token }
  }

  /// A JSON Web Token, signed with the secret that the provider shares with the server.
  private func token(of user: String) -> String {
    let now = Int(Date().timeIntervalSince1970)
    let claims =
      #"{"iss":"\#(Self.issuer)","aud":"\#(project)","sub":"\#(user)","iat":\#(now),"exp":\#(now + 3_600)}"#
    let signed = Self.base64URL(#"{"alg":"HS256","typ":"JWT"}"#.utf8) + "." + Self.base64URL(claims.utf8)
    let signature = HMAC<SHA256>.authenticationCode(
      for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
    return signed + "." + Self.base64URL(signature)
  }

  private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// A certificate for this machine's own address, valid for a day, which vouches for itself.
  private static func makeCertificate(at path: String, key keyPath: String) throws {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName("Hearth's demo") }
    let signer = Certificate.PrivateKey(key)
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: signer.publicKey,
      notValidBefore: Date() - 3_600, notValidAfter: Date() + 86_400, issuer: name, subject: name,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames([.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))])
      },
      issuerPrivateKey: signer)
    try write(try certificate.serializeAsPEM().pemString, to: path)
    try write(key.pemRepresentation, to: keyPath)
  }

  /// Only this user may read the file.
  private static func write(_ text: String, to path: String) throws {
    guard
      FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    else { throw DemoError(description: "the file \(path) could not be written") }
  }
}
