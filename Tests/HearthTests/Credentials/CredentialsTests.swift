import Foundation
import HearthModel
import HearthServer
import HearthTransport
import Synchronization
import TestSupport
import Testing

@testable import Hearth

@Suite("Credentials", .timeLimit(.minutes(2)))
struct CredentialsTests {
  private func offline(
    _ credentials: IDTokenCredentials, name: String = UUID().uuidString,
    cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings(), host: String = "127.0.0.1:1"
  ) async throws -> Firestore {
    let firestore = try TestFirestore(name: name, cache: cache, host: host).firestore
    let settings = firestore.settings
    settings.credentials = credentials
    firestore.settings = settings
    try await firestore.disableNetwork()
    return firestore
  }

  private static func signedOut(_ userID: String?) -> IDTokenCredentials {
    IDTokenCredentials(userID: userID) { _ in throw CancellationError() }
  }

  private func ids(_ firestore: Firestore) async throws -> [String] {
    try await firestore.collection("notes").getDocuments(source: .cache).ids
  }

  @Test("each user has an outbox: it goes with the user and comes back")
  func outboxes() async throws {
    let credentials = Self.signedOut(nil)
    let firestore = try await offline(credentials)
    firestore.document("notes/nobody").setData([:], completion: nil)
    credentials.setUser("alice")
    firestore.document("notes/alice").setData([:], completion: nil)
    #expect(try await ids(firestore) == ["alice"])
    credentials.setUser("bob")
    #expect(try await ids(firestore) == [])
    #expect(try await firestore.pendingWrites().isEmpty)
    credentials.setUser("alice")
    #expect(try await ids(firestore) == ["alice"])
    credentials.setUser("")
    #expect(try await ids(firestore) == ["nobody"])
    #expect(credentials.userID == nil)
    try await firestore.terminate()
  }

  @Test("waiting for pending writes fails when the user changes, and not when the same one signs in again")
  func waits() async throws {
    let credentials = Self.signedOut("alice")
    let firestore = try await offline(credentials)
    firestore.document("notes/a").setData([:], completion: nil)
    let waits = Recorder<NSError?>()
    firestore.waitForPendingWrites { waits.record($0 as NSError?) }
    credentials.setUser("alice")
    #expect(try await ids(firestore) == ["a"])
    #expect(waits.events.isEmpty)
    credentials.setUser("bob")
    #expect(try await waits.next()?.code == FirestoreErrorCode.cancelled.rawValue)
    try await firestore.terminate()
  }

  @Test("a write of a user who has gone waits, and hears its outcome when the user signs in again")
  func returning() async throws {
    try await TestBackend.run { host in
      let user = Mutex("alice")
      let credentials = IDTokenCredentials(userID: "alice") { _ in
        let name = user.withLock { $0 }
        return IDToken(try TestServer.token(userID: name), userID: name)
      }
      func signIn(_ name: String) {
        user.withLock { $0 = name }
        credentials.setUser(name)
      }
      let firestore = try await offline(credentials, host: host)
      let outcomes = Recorder<NSError?>()
      firestore.document("notes/a").setData([:]) { outcomes.record($0 as NSError?) }
      #expect(try await firestore.pendingWrites().count == 1)
      signIn("bob")
      try await firestore.enableNetwork()
      try await firestore.document("notes/b").setData([:])
      #expect(outcomes.events.isEmpty)
      #expect(try await firestore.cacheReport().pendingWriteCount == 1, "that of another user")
      signIn("alice")
      #expect(try await outcomes.next() == nil)
      #expect(try await firestore.cacheReport().pendingWriteCount == 0)
      try await firestore.terminate()
    }
  }

  @Test("the outbox of the user who was signed in is there after a restart, without any token")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let first = try await offline(
      Self.signedOut("alice"), name: name, cache: PersistentCacheSettings(directory: folder.url))
    first.document("notes/a").setData([:], completion: nil)
    #expect(try await ids(first) == ["a"])
    try await first.terminate()
    for (user, expected) in [(nil, []), ("alice", ["a"]), ("bob", [])] as [(String?, [String])] {
      let next = try await offline(
        Self.signedOut(user), name: name, cache: PersistentCacheSettings(directory: folder.url))
      #expect(try await ids(next) == expected)
      try await next.terminate()
    }
  }

  @Test(
    "what is answered after the user was replaced is used for neither user", arguments: ["alice", "bob", "eve", nil])
  func outdatedToken(answered: String?) async throws {
    let own = Mutex<IDTokenCredentials?>(nil)
    let credentials = IDTokenCredentials(userID: "alice") { _ in
      if let credentials = own.withLock({ $0.take() }) {
        credentials.setUser("bob")
        return answered.map { IDToken("token-of-\($0)", userID: $0) }
      }
      return IDToken("token-of-bob", userID: "bob")
    }
    own.withLock { $0 = credentials }
    let error = await thrown { _ = try await credentials.accessToken(forcingRefresh: false) }
    #expect(error?.code == FirestoreErrorCode.aborted.rawValue)
    #expect(credentials.userID == "bob")
    #expect(try await credentials.accessToken(forcingRefresh: false) == "token-of-bob")
  }

  @Test("a user who comes back while the token is on its way is still its owner")
  func sameUserAgain() async throws {
    let own = Mutex<IDTokenCredentials?>(nil)
    let credentials = IDTokenCredentials(userID: "alice") { _ in
      for user in ["alice", "bob", "alice"] { own.withLock { $0 }?.setUser(user) }
      return IDToken("token-of-alice", userID: "alice")
    }
    own.withLock { $0 = credentials }
    #expect(try await credentials.accessToken(forcingRefresh: false) == "token-of-alice")
    own.withLock { $0 = nil }
  }

  @Test(
    "any user id has an outbox of its own, also after a restart",
    arguments: [
      "a/b", "..", "\u{0}", "a\u{0}b", "=x", "'; DROP TABLE cache_users; --", "\u{1F469}\u{200D}\u{1F680}",
      "Rene\u{301}", "\u{1}", "\u{1}emulator:owner", "emulator:owner",
      String(repeating: "x", count: 10_000),
    ])
  func oddIDs(userID: String) async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let cache = PersistentCacheSettings(directory: folder.url)
    let first = try await offline(Self.signedOut(userID), name: name, cache: cache)
    first.document("notes/own").setData([:], completion: nil)
    #expect(try await ids(first) == ["own"])
    try await first.terminate()
    let credentials = Self.signedOut("a")
    let second = try await offline(credentials, name: name, cache: cache)
    #expect(try await ids(second) == [])
    credentials.setUser(userID)
    #expect(try await ids(second) == ["own"])
    try await second.terminate()
  }

  @Test("a request that was prepared for one user is not made as another")
  func changedUser() async throws {
    let credentials = IDTokenCredentials(userID: "alice") { _ in IDToken("token-of-bob", userID: "bob") }
    let error = await #expect(throws: (any Error).self) { _ = try await credentials.accessToken(forcingRefresh: false) }
    #expect((error as NSError?)?.code == FirestoreErrorCode.aborted.rawValue)
    #expect(credentials.userID == "bob")
    #expect(try await credentials.accessToken(forcingRefresh: false) == "token-of-bob")
  }

  @Test("a provider that never answers does not keep a client from ending")
  func terminateWhileFetching() async throws {
    let (silence, end) = AsyncStream.makeStream(of: Void.self)
    let (asked, asking) = AsyncStream.makeStream(of: Void.self)
    let firestore = try TestFirestore().firestore
    let settings = firestore.settings
    settings.credentials = IDTokenCredentials(userID: "alice") { _ in
      asking.yield()
      await Task { for await _ in silence {} }.value
      return nil
    }
    firestore.settings = settings
    let listener = firestore.collection("notes").addSnapshotListener { _, _ in }
    _ = await asked.first { _ in true }
    try await firestore.terminate()
    listener.remove()
    end.finish()
  }

  @Test("an ID token does not show itself")
  func hiddenToken() {
    let token = IDToken("s3cret", userID: "alice")
    var text = "\(token) \(String(reflecting: token))"
    dump(token, to: &text)
    #expect(!text.contains("s3cret"))
    #expect(text.contains("alice"))
  }
}

@Suite("Which credentials count")
struct CredentialChoiceTests {
  private let folder: TemporaryFolder
  private var path: String { folder.url.appendingPathComponent("account.json").path }

  init() throws {
    folder = try TemporaryFolder()
    try TestServiceAccount.file().write(to: URL(fileURLWithPath: path))
  }

  private func chosen(
    _ credentials: (any FirestoreCredentials)?, host: String, usesTLS: Bool, environment: [String: String]
  ) throws -> any CredentialsProvider {
    let settings = FirestoreSettings()
    settings.credentials = credentials
    return try ClientCredentials(
      try settings.values(), endpoint: try Endpoint(host: host, usesTLS: usesTLS), environment: environment
    ).access
  }

  @Test(
    "the environment's service account counts for Google's backends over TLS only",
    arguments: [
      ("firestore.googleapis.com", true, true), ("Firestore.GoogleAPIs.com", true, true),
      ("nam5-firestore.googleapis.com", true, true), ("localhost:8080", false, false),
      ("firestore.example.com", true, false), ("googleapis.com.example.org", true, false),
      ("firestore.googleapis.com:80", false, false),
    ])
  func automatic(host: String, usesTLS: Bool, isServiceAccount: Bool) throws {
    let environment = ["GOOGLE_APPLICATION_CREDENTIALS": path]
    let access = try chosen(nil, host: host, usesTLS: usesTLS, environment: environment)
    #expect((access is TokenSource) == isServiceAccount)
    #expect((access is NoCredentials) == !isServiceAccount)
    #expect(try chosen(nil, host: host, usesTLS: usesTLS, environment: [:]) is NoCredentials)
    #expect(try chosen(.anonymous, host: host, usesTLS: usesTLS, environment: environment) is NoCredentials)
  }

  @Test("a service account asks an emulator as its owner and signs nothing for it")
  func serviceAccountOnEmulator() async throws {
    let account = try ServiceAccountCredentials(contentsOfFile: path)
    #expect(account.clientEmail == TestServiceAccount.email)
    #expect(account.projectID == "demo-hearth")
    #expect(try chosen(account, host: "localhost:8080", usesTLS: false, environment: [:]) is OwnerCredentials)
    let overTLS = try chosen(account, host: "localhost:8080", usesTLS: true, environment: [:])
    #expect(try await overTLS.token()?.value.hasPrefix("eyJ") == true)
    #expect(try chosen(.emulatorOwner, host: "localhost:8080", usesTLS: false, environment: [:]) is OwnerCredentials)
  }

  @Test("a file of the environment that is wrong is named together with the variable")
  func wrongFile() throws {
    try TestServiceAccount.file(changing: ["client_email": nil]).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: NSError.self) {
      _ = try chosen(
        nil, host: "firestore.googleapis.com", usesTLS: true, environment: ["GOOGLE_APPLICATION_CREDENTIALS": path])
    }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(
      error?.localizedDescription
        == "Environment variable GOOGLE_APPLICATION_CREDENTIALS: Service account file \"\(path)\": "
        + "member \"client_email\" is missing.")
  }

  @Test("errors of a service account's file are errors of Firestore's domain")
  func publicErrors() {
    let missing = #expect(throws: NSError.self) { _ = try ServiceAccountCredentials(contentsOfFile: "/nowhere.json") }
    #expect(missing?.domain == FirestoreErrorDomain)
    #expect(missing?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    let empty = #expect(throws: NSError.self) { _ = try ServiceAccountCredentials(json: Data("{}".utf8)) }
    #expect(empty?.localizedDescription == "Service account: member \"type\" is missing.")
  }

  @Test(
    "a file of trusted certificates that is missing or has none is reported by every operation",
    arguments: [("/nowhere/root.pem", .failedPrecondition), ("/", .failedPrecondition), (nil, .invalidArgument)]
      as [(String?, FirestoreErrorCode.Code)])
  func trustedFiles(missing: String?, code: FirestoreErrorCode.Code) async throws {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    let firestore = Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
    let settings = firestore.settings
    settings.cacheSettings = MemoryCacheSettings()
    settings.trustedCertificateFiles = [missing ?? path]
    firestore.settings = settings
    let error = await #expect(throws: (any Error).self) { _ = try await firestore.document("a/b").getDocument() }
    #expect((error as NSError?)?.code == code.rawValue)
    #expect((error as NSError?)?.localizedDescription.contains("\"\(missing ?? path)\"") == true)
    try await firestore.terminate()
  }

  @Test(
    "a file of trusted certificates that is damaged is named with what is wrong",
    arguments: [
      ("", "has no certificate in PEM form"), ("garbage", "has no certificate in PEM form"),
      (TestAuthority.serverKey, "has no certificate in PEM form"),
      ("-----BEGIN CERTIFICATE-----\nMAA=", "certificate 1 without an end"),
      ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "certificate 1 damaged"),
      ("-----BEGIN CERTIFICATE-----\nMIIB*\n-----END CERTIFICATE-----", "certificate 1 damaged"),
      ("-----BEGIN CERTIFICATE-----\nMIIBMAA=\n-----END CERTIFICATE-----", "certificate 1 damaged"),
      (
        TestAuthority.root + "\n" + TestAuthority.otherRoot.replacingOccurrences(of: "MIIB", with: "MIIC"),
        "certificate 2 damaged"
      ),
      (String(repeating: "x", count: 1_100_000), "more than 1048576 bytes"),
    ])
  func damagedCertificates(content: String, fault: String) throws {
    let path = folder.url.appendingPathComponent("roots.pem").path
    try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: NSError.self) { try TrustedCertificates.check([path]) }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error?.localizedDescription.hasPrefix("Trusted certificate file \"\(path)\" has ") == true)
    #expect(error?.localizedDescription.contains(fault) == true, "\(error?.localizedDescription ?? "-")")
  }

  @Test("a file of several certificates, with text between them, is taken")
  func severalCertificates() throws {
    let path = folder.url.appendingPathComponent("roots.pem").path
    let text = "# ours\n\(TestAuthority.root)\n\n# theirs\r\n\(TestAuthority.otherRoot)\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try TrustedCertificates.check([path])
  }

  @Test("credentials are part of the settings' equality, by identity")
  func equality() {
    let appCheck = FirestoreAppCheck { _ in nil }
    let changes: [(FirestoreSettings) -> Void] = [
      { _ in }, { $0.credentials = .anonymous }, { $0.credentials = .emulatorOwner }, { $0.appCheck = appCheck },
      { $0.appCheck = FirestoreAppCheck { _ in nil } }, { $0.trustedCertificateFiles = ["/root.pem"] },
    ]
    for (i, change) in changes.enumerated() {
      let a = FirestoreSettings()
      change(a)
      #expect(a == a.copy() as? FirestoreSettings)
      for (j, other) in changes.enumerated() where i != j {
        let b = FirestoreSettings()
        other(b)
        #expect(a != b, "\(i) and \(j)")
      }
    }
  }
}
