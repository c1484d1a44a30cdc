import Foundation
import Hearth
import Synchronization
import Testing

/// The session of an app's user: a stand-in for the one in the reader's app.
private final class Session: Sendable {
  private let user = Mutex<String?>(nil)

  var userID: String? { user.withLock { $0 } }

  func signIn(_ userID: String?) { user.withLock { $0 = userID } }

  func idToken(refreshing: Bool) async throws -> String { "id-token" }

  func appCheckToken(refreshing: Bool) async throws -> String { "app-check-token" }
}

/// The code of the article "Reaching Cloud Firestore".
private enum SigningIn {
  static func twoApps() -> Firestore? {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
    FirebaseApp.configure(name: "archive", options: FirebaseOptions(projectID: "my-archive"))
    let archive = FirebaseApp.app(name: "archive").map { Firestore.firestore(app: $0) }
    return archive
  }

  static func server() throws {
    let settings = Firestore.firestore().settings
    settings.credentials = try ServiceAccountCredentials(contentsOfFile: "/etc/my-server/firestore.json")
    Firestore.firestore().settings = settings
  }

  static func app(_ session: Session) -> IDTokenCredentials {
    let credentials = IDTokenCredentials(userID: session.userID) { forcingRefresh in
      guard let userID = session.userID else { return nil }  // no user is signed in
      return IDToken(try await session.idToken(refreshing: forcingRefresh), userID: userID)
    }
    let settings = Firestore.firestore().settings
    settings.credentials = credentials
    settings.appCheck = FirestoreAppCheck { forcingRefresh in
      try await session.appCheckToken(refreshing: forcingRefresh)
    }
    Firestore.firestore().settings = settings
    return credentials
  }

  static func users(_ credentials: IDTokenCredentials) {
    credentials.setUser("alice")  // after sign-in
    credentials.setUser(nil)  // after sign-out
  }

  static func gateway() {
    let settings = Firestore.firestore().settings
    settings.host = "firestore.example.com"
    settings.trustedCertificateFiles = ["/etc/my-server/authority.pem"]
    Firestore.firestore().settings = settings
  }
}

extension DefaultAppArticles {
  @Suite("The article \"Reaching Cloud Firestore\"")
  struct SigningInArticleTests {
    @Test("shows code that is compiled")
    func code() throws {
      let article = try Article("SigningIn")
      #expect(article.blocks("swift").count == 5)
      #expect(try article.codeNotCompiled(in: #filePath) == [])
    }

    @Test("two apps have databases of their own")
    func apps() async throws {
      let archive = try #require(SigningIn.twoApps())
      #expect(archive.app.options.projectID == "my-archive" && archive !== Firestore.firestore())
      #expect(Firestore.firestore().app.options.projectID == "my-project")
      await archive.app.delete()
      await FirebaseApp.app()?.delete()
    }

    @Test("a key file that is missing is an error with its path, before anything is asked for")
    func missingFile() async throws {
      FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
      let error = await thrown { try SigningIn.server() }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(error?.localizedDescription.contains("/etc/my-server/firestore.json") == true)
      await FirebaseApp.app()?.delete()
    }

    @Test("each user has an outbox, from the start and after each change")
    func outboxes() async throws {
      FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
      let session = Session()
      session.signIn("alice")
      let credentials = SigningIn.app(session)
      let db = Firestore.firestore()
      let settings = db.settings
      #expect(settings.credentials === credentials && settings.appCheck != nil)
      settings.cacheSettings = MemoryCacheSettings()
      db.settings = settings
      try await db.disableNetwork()
      db.document("notes/hers").setData([:], completion: nil)
      #expect(try await db.pendingWrites().count == 1)
      credentials.setUser("bob")
      #expect(try await db.pendingWrites().isEmpty)
      SigningIn.users(credentials)
      #expect(credentials.userID == nil)
      #expect(try await db.pendingWrites().isEmpty)
      credentials.setUser("alice")
      #expect(try await db.pendingWrites().flatMap(\.operations).map(\.documentPath) == ["notes/hers"])
      await FirebaseApp.app()?.delete()
    }

    @Test("a gateway's authority that cannot be read is named by every operation")
    func gateway() async throws {
      FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
      SigningIn.gateway()
      let error = await thrown { try await Firestore.firestore().document("a/b").getDocument(source: .cache) }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(error?.localizedDescription.contains("/etc/my-server/authority.pem") == true)
      await FirebaseApp.app()?.delete()
    }
  }
}
