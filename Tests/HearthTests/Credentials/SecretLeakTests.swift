import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// Everything that a test got to read, searched for secrets in the end.
private final class Texts: Sendable {
  private let texts = Mutex<[String]>([])

  func add(_ text: String) { texts.withLock { $0.append(text) } }

  /// An error in all the forms in which programs print errors.
  func add(_ error: (any Error)?) throws {
    let error = try #require(error)
    let cocoa = error as NSError
    add("\(error) \(String(reflecting: error)) \(error.localizedDescription) \(cocoa) \(cocoa.userInfo)")
    add(dumping: error)
    if let underlying = cocoa.userInfo[NSUnderlyingErrorKey] as? any Error { try add(underlying) }
  }

  func add<Value>(dumping value: Value) {
    var text = ""
    dump(value, to: &text)
    add("\(text) \(value) \(String(reflecting: value))")
  }

  func contains(_ text: String) -> Bool { texts.withLock { $0.contains { $0.contains(text) } } }
}

/// A token with parts that occur nowhere else.
private func webToken(_ user: String) throws -> String {
  let parts = try [["alg": "RS256", "kid": "key-of-\(user)"], ["sub": user, "nonce": UUID().uuidString]].map {
    try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys).base64EncodedString()
  }
  let signature = Data((0..<64).map { UInt8($0) ^ 0x5a }).base64EncodedString()
  return (parts + [signature]).joined(separator: ".").replacingOccurrences(of: "=", with: "")
    .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
}

@Suite("Secrets stay secret", .withLogging, .timeLimit(.minutes(2)))
struct SecretLeakTests {
  private let folder: TemporaryFolder
  private let texts = Texts()

  init() throws {
    folder = try TemporaryFolder()
    try TestAuthority.root.write(to: folder.url.appendingPathComponent("root.pem"), atomically: true, encoding: .utf8)
    CapturedLog.begin()
  }

  /// The texts that may occur nowhere: the secret, its parts, and the beginnings and ends of these.
  private func shards(_ secret: String) -> [String] {
    [secret] + secret.split(separator: ".").flatMap { [String($0), String($0.prefix(20)), String($0.suffix(20))] }
  }

  private func search(for secrets: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    let files = folder.contents().filter { $0.key.hasPrefix("cache") }
    for shard in secrets.flatMap(shards) {
      #expect(!texts.contains(shard), "in a text: \(shard)", sourceLocation: sourceLocation)
      #expect(!CapturedLog.contains(shard), "in the log: \(shard)", sourceLocation: sourceLocation)
      for (name, content) in files {
        #expect(content.range(of: Data(shard.utf8)) == nil, "in \(name): \(shard)", sourceLocation: sourceLocation)
      }
    }
  }

  private func client(_ server: SecureServer, _ change: (FirestoreSettings) throws -> Void) throws -> Firestore {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    let firestore = Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
    let settings = FirestoreSettings()
    settings.host = server.host
    settings.cacheSettings = PersistentCacheSettings(directory: folder.url.appendingPathComponent("cache"))
    settings.dispatchQueue = DispatchQueue(label: "test")
    settings.trustedCertificateFiles = [folder.url.appendingPathComponent("root.pem").path]
    try change(settings)
    firestore.settings = settings
    texts.add(dumping: settings)
    texts.add(dumping: firestore)
    return firestore
  }

  @Test(
    "a backend that repeats tokens whole, in part and cut off brings them into no error, log or file",
    arguments: [
      RPCError.Code.permissionDenied, .unauthenticated, .invalidArgument, .failedPrecondition, .internalError,
      .notFound,
    ])
  func hostileBackend(code: RPCError.Code) async throws {
    let (token, appCheck) = (try webToken("alice"), try webToken("app"))
    let refuses = Mutex(false)
    let check: SecureServer.Check = { method, authorization, appCheck in
      guard refuses.withLock({ $0 }) else { return }
      let sent = [authorization, appCheck].compactMap { $0 }
      let parts = sent.flatMap { $0.split(separator: ".").map(String.init) }
      let cutOff = sent.map { "\($0.prefix(60))..." }
      throw RPCError(
        code: code, message: "\(method) got token=\(sent) parts=\(parts) [\(cutOff.joined(separator: "|"))]",
        metadata: ["token": "\(sent.joined())", "grpc-status-details-bin": .binary(Array(sent.joined().utf8))])
    }
    try await SecureServer.run(check: check) { server in
      let credentials = IDTokenCredentials(userID: "alice") { _ in IDToken(token, userID: "alice") }
      let firestore = try client(server) {
        $0.credentials = credentials
        $0.appCheck = FirestoreAppCheck { _ in appCheck }
      }
      let notes = firestore.collection("notes")
      try await notes.document("a").setData(["x": 1])
      _ = try await notes.document("a").getDocument()
      texts.add("\(try await notes.explain())")
      refuses.withLock { $0 = true }
      try await firestore.disableNetwork()
      notes.document("b").setData(["x": 1], completion: nil)
      try await firestore.enableNetwork()
      try texts.add(await thrown { _ = try await notes.count.getAggregation(source: .server) })
      try texts.add(
        await thrown { _ = try await notes.document("c").getDocument(source: .server) })
      try texts.add(
        await thrown {
          _ = try await firestore.runTransaction { transaction, error in
            do { _ = try transaction.getDocument(notes.document("d")) } catch let failure as NSError {
              // Only the first attempt matters here.
              error?.pointee = NSError(
                domain: "test", code: 1,
                userInfo: [NSUnderlyingErrorKey: failure, NSLocalizedDescriptionKey: "\(failure)"])
            }
            return nil
          }
        })
      texts.add(dumping: credentials)
      try await firestore.terminate()
    }
    search(for: [token, appCheck])
    #expect(texts.contains("RunAggregationQuery got token="), "the backend's message itself must be there")
  }

  @Test("a provider whose errors repeat its tokens brings them into no error or log")
  func leakingProvider() async throws {
    struct Failure: Error {
      let refreshToken: String
      let idToken: String
    }
    let token = try webToken("alice")
    let refreshToken = "1//0gabcdefghijklmnopqrstuvwxyz"
    let opaque = "ya29.a0AfB_byC-abcdefghijklmnopqrstuvwxyz"
    let calls = Mutex(0)
    try await SecureServer.run { server in
      let credentials = IDTokenCredentials(userID: "alice") { _ in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        switch call % 3 {
        case 0: throw Failure(refreshToken: refreshToken, idToken: token)
        case 1: throw NSError.firestore(.permissionDenied, "Bearer \(token) id=\(opaque)")
        default:
          throw NSError(
            domain: "auth", code: 17,
            userInfo: ["token": token, NSLocalizedDescriptionKey: "Refreshing with \(refreshToken) failed."])
        }
      }
      let firestore = try client(server) { $0.credentials = credentials }
      let count = firestore.collection("notes").count
      for _ in 0..<6 { try texts.add(await thrown { _ = try await count.getAggregation(source: .server) }) }
      try await firestore.terminate()
    }
    search(for: [token, refreshToken, opaque])
    #expect(texts.contains("The ID token cannot be fetched: Refreshing with (hidden) failed. (auth 17)"))
  }

  @Test("credentials show nothing of their secrets, however they are printed")
  func printing() async throws {
    let lines = TestServiceAccount.privateKey.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("---") }
    let account = try ServiceAccountCredentials(json: try TestServiceAccount.file())
    let token = try #require(try await account.accessToken(forcingRefresh: false))
    let idToken = IDToken(try webToken("alice"), userID: "alice")
    let users = IDTokenCredentials(userID: "alice") { _ in idToken }
    _ = try await users.accessToken(forcingRefresh: false)
    let settings = FirestoreSettings()
    for credentials in [account, users, .emulatorOwner, .anonymous] as [any FirestoreCredentials] {
      settings.credentials = credentials
      settings.appCheck = FirestoreAppCheck { _ in idToken.value }
      texts.add(dumping: credentials)
      texts.add(dumping: settings)
      let values = try settings.values()
      texts.add(dumping: values)
      let client = try ClientCredentials(
        values, endpoint: try Endpoint(host: "localhost", usesTLS: true), environment: [:])
      _ = try await client.access.token()
      _ = try await client.appCheck.token()
      texts.add(dumping: client)
    }
    texts.add(dumping: [idToken])
    search(for: lines + [token, idToken.value])
    #expect(texts.contains("alice") && texts.contains(TestServiceAccount.email))
  }
}
