import Foundation
import HearthModel
import HearthTransport
import Synchronization
import TestSupport
import Testing

@testable import Hearth

@Suite("Credentials", .timeLimit(.minutes(2)))
struct CredentialsTests {
  private func offline(
    _ credentials: IDTokenCredentials, name: String = UUID().uuidString,
    cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings()
  ) async throws -> Firestore {
    let firestore = try TestFirestore(name: name, cache: cache).firestore
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

  @Test("a token of a user who was replaced while it was fetched is not used")
  func outdatedToken() async throws {
    let credentials = Mutex<IDTokenCredentials?>(nil)
    let calls = Mutex(0)
    let own = IDTokenCredentials(userID: "alice") { _ in
      let isFirst = calls.withLock { calls in
        calls += 1
        return calls == 1
      }
      guard isFirst else { return IDToken("token-of-bob", userID: "bob") }
      credentials.withLock { $0 }?.setUser("bob")
      return IDToken("token-of-alice", userID: "alice")
    }
    credentials.withLock { $0 = own }
    #expect(try await own.accessToken(forcingRefresh: false) == "token-of-bob")
    #expect(own.userID == "bob")
    credentials.withLock { $0 = nil }
  }

  @Test("a request that was prepared for one user is not made as another")
  func changedUser() async throws {
    let credentials = IDTokenCredentials(userID: "alice") { _ in IDToken("token-of-bob", userID: "bob") }
    let error = await #expect(throws: (any Error).self) { _ = try await credentials.accessToken(forcingRefresh: false) }
    #expect((error as NSError?)?.code == FirestoreErrorCode.aborted.rawValue)
    #expect(credentials.userID == "bob")
    #expect(try await credentials.accessToken(forcingRefresh: false) == "token-of-bob")
  }

  @Test("a refused token is fetched anew, again and again until that works")
  func forcedRefresh() async throws {
    let forced = Mutex<[Bool]>([])
    let source = TokenSource(name: "ID token") { forcingRefresh in
      let calls = forced.withLock { forced in
        forced.append(forcingRefresh)
        return forced.count
      }
      if calls == 2 { throw URLError(.notConnectedToInternet) }
      return "token-\(calls)"
    }
    #expect(try await source.token() == AccessToken("token-1"))
    source.invalidate()
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error?.code == .unavailable)
    #expect(error?.message.hasPrefix("The ID token cannot be fetched: ") == true)
    #expect(try await source.token() == AccessToken("token-3"))
    #expect(try await source.token() == AccessToken("token-4"))
    #expect(forced.withLock { $0 } == [false, true, true, false])
  }

  @Test("errors of a provider keep their code and lose every token")
  func providerErrors() async throws {
    let calls = Mutex(0)
    let source = TokenSource(name: "ID token") { _ in
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      guard number > 1 else { return "opaque-s3cret" }
      throw NSError.firestore(.unauthenticated, "opaque-s3cret and eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln are old.")
    }
    _ = try await source.token()
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error == StatusError(code: .unauthenticated, message: "(hidden) and (hidden) are old."))
  }

  @Test("a provider that never answers counts as failed in the end")
  func silentProvider() async throws {
    let (silence, end) = AsyncStream.makeStream(of: Void.self)
    let source = TokenSource(name: "ID token", limit: .milliseconds(10)) { _ in
      await Task { for await _ in silence {} }.value
      return nil
    }
    let error = await #expect(throws: StatusError.self) { _ = try await source.token() }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("nothing came within") == true)
    end.finish()
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

  @Test("without an App Check token requests are made without one")
  func appCheckFails() async throws {
    let source = AppCheckSource(FirestoreAppCheck { _ in throw URLError(.timedOut) })
    #expect(try await source.token() == nil)
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
    arguments: [("/nowhere/root.pem", .failedPrecondition), (nil, .invalidArgument)]
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
