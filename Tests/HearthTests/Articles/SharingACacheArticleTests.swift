import Foundation
import Testing

@testable import Hearth

/// The programs of the article "Sharing a cache between processes". Each client here stands for a process.
@Suite("The article \"Sharing a cache between processes\"", .timeLimit(.minutes(1)))
struct SharingACacheArticleTests {
  let article: Article
  private let cache: SharedCache
  private var folder: URL { cache.directory }

  init() throws {
    article = try Article("SharingACache")
    cache = try SharedCache()
  }

  /// A client that was not used yet, in place of a process.
  private func fresh(_ host: String = "127.0.0.1:1", user: String? = nil) throws -> Firestore {
    let name = try cache.name()
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    let db = Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
    let settings = db.settings
    settings.host = host
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "test")
    if let user {
      settings.credentials = IDTokenCredentials(userID: user) { _ in IDToken("owner", userID: user) }
    }
    db.settings = settings
    return db
  }

  /// The same with the shared cache.
  private func open(_ host: String = "127.0.0.1:1", user: String? = nil) throws -> Firestore {
    let db = try fresh(host, user: user)

    let settings = db.settings
    settings.cacheSettings = PersistentCacheSettings(directory: folder)
    db.settings = settings

    return db
  }

  private func openOffline(user: String? = nil) async throws -> Firestore {
    let db = try open(user: user)
    try await db.disableNetwork()
    return db
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  private func write(_ db: Firestore) {
    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
  }

  private func listen(_ db: Firestore, _ print: Printout) -> any ListenerRegistration {
    let registration = db.collection("notes").addSnapshotListener { snapshot, _ in
      guard let snapshot else { return }
      print("notes:", snapshot.count, "waiting for the backend:", snapshot.metadata.hasPendingWrites)
    }
    return registration
  }

  @Test("a listener in one process hears of a write in another without a network")
  func writing() async throws {
    let print = Printout()
    let (first, second) = (try await openOffline(), try await openOffline())
    let (events, early) = second.collection("notes").record(source: .cache)
    #expect(try await events.next().get().isEmpty)
    write(first)
    #expect(try await events.next().get().ids == ["1"])

    let late = listen(second, print)
    #expect(try await print.lines(1) == article.printed("What the others see, and when"))
    #expect(try await second.pendingWrites().count == 1, "the outbox is common")

    early.remove()
    late.remove()
    try await first.terminate()
    #expect(try await second.document("notes/1").getDocument(source: .cache)["text"] as? String == "Buy milk")
    try await second.terminate()
  }

  private func writeAndEnd(_ db: Firestore) async throws {
    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    _ = try await db.pendingWrites()  // on disk: this process may end now
    try await db.terminate()
  }

  @Test("what a process wrote that has ended is sent by one that runs, or by the next one", arguments: [true, false])
  func shortProcess(isAppRunning: Bool) async throws {
    try await TestBackend.run { host in
      let app = try open(host)
      if isAppRunning { #expect(try await app.collection("notes").getDocuments(source: .server).isEmpty) }
      try await writeAndEnd(try open(isAppRunning ? host : "127.0.0.1:1"))
      try await app.waitForPendingWrites()
      #expect(try await app.collection("notes").getDocuments(source: .server).ids == ["1"])
      try await app.terminate()
    }
  }

  private func callAnn(_ db: Firestore, _ print: Printout) async throws {
    try await db.document("notes/2").setData(["text": "Call Ann"])
    print("stored by the backend")
    let notes = try await db.collection("notes").getDocuments(source: .server)
    print("notes:", notes.count)
  }

  @Test("a process without streams writes and reads as if it had them, also after the one with streams has ended")
  func secondary() async throws {
    try await TestBackend.run { host in
      let print = Printout()
      let first = try open(host)
      #expect(try await first.collection("notes").getDocuments(source: .server).isEmpty)
      let second = try open(host)
      try await callAnn(second, print)
      #expect(print.lines == article.printed("Who talks to the backend"))
      #expect(
        try await first.document("notes/2").getDocument(source: .cache).exists, "what one has read is there for all")
      let count = try await second.collection("notes").count.getAggregation(source: .server)
      #expect(count.count == 1)

      try await first.terminate()
      try await second.document("notes/3").setData(["text": "Water the plants"])
      #expect(try await second.collection("notes").getDocuments(source: .server).ids == ["2", "3"])
      try await second.terminate()
    }
  }

  @Test("the network that one process disables is not disabled for the others")
  func network() async throws {
    try await TestBackend.run { host in
      let (first, second) = (try open(host), try open(host))
      #expect(try await first.collection("notes").getDocuments(source: .server).isEmpty)
      _ = try await second.pendingWrites()
      try await first.disableNetwork()
      try await second.document("notes/1").setData(["text": "Buy milk"])
      // The writes of the process without a network go out too.
      try await first.document("notes/2").setData(["text": "Call Ann"])
      let error = await thrown { _ = try await first.collection("notes").count.getAggregation(source: .server) }
      #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
      try await second.terminate()
      try await first.terminate()
    }
  }

  @Test("each user has an outbox, in whichever process")
  func users() async throws {
    let print = Printout()
    let (db, other) = (try await openOffline(user: "alice"), try await openOffline(user: "bob"))

    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    print("alice waits for", try await db.pendingWrites().count)
    print("bob waits for", try await other.pendingWrites().count)
    print("notes that bob sees:", try await other.collection("notes").getDocuments(source: .cache).count)

    #expect(print.lines == article.printed("Several users"))
    try await db.terminate()
    try await other.terminate()
  }

  @Test("the writes of a user are sent in a turn of that user, while a process of another one keeps running")
  func otherUsersWait() async throws {
    try await TestBackend.run { host in
      let alice = try open(host, user: "alice")
      try await alice.document("notes/1").setData(["text": "Buy milk"])
      let bob = try open(host, user: "bob")
      try await bob.document("notes/2").setData(["text": "Call Ann"])
      #expect(try await bob.pendingWrites().isEmpty)
      #expect(try await bob.document("notes/1").getDocument(source: .server).exists)
      try await alice.terminate()
      try await bob.terminate()
    }
  }

  @Test("a process with another backend is refused until the others have ended")
  func otherBackend() async throws {
    let first = try await openOffline()
    try await first.waitForPendingWrites()
    let second = try open("127.0.0.1:2")
    let error = await thrown { _ = try await second.pendingWrites() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription.contains("http://127.0.0.1:1") == true, "\(String(describing: error))")
    #expect(error?.localizedDescription.contains("http://127.0.0.1:2") == true)
    try await first.terminate()
    try await second.disableNetwork()
    #expect(try await second.pendingWrites().isEmpty)
    try await second.terminate()
  }

  @Test("a process that keeps others out is the only one")
  func single() async throws {
    let (first, second) = (try fresh(), try open())
    do {
      let db = first
      let settings = db.settings

      settings.cacheSettings = PersistentCacheSettings(directory: folder, processes: .single)

      db.settings = settings
    }
    try await first.disableNetwork()
    let start = ContinuousClock.now
    let error = await thrown { _ = try await second.pendingWrites() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(ContinuousClock.now - start >= FolderWait.limit)
    try await first.terminate()
    try await second.disableNetwork()
    #expect(try await second.pendingWrites().isEmpty)
    try await second.terminate()
  }

  private func takeOver(_ db: Firestore) async throws {
    try await db.enablePersistence(directory: folder, forceOwnership: true)
  }

  private func writeUnlessTaken(_ db: Firestore, _ print: Printout) async throws {
    do {
      try await db.document("notes/2").setData(["text": "Call Ann"])
    } catch FirestoreErrorCode.failedPrecondition {
      print("the cache belongs to another process now")
      try await db.terminate()
    }
  }

  @Test("a process takes the cache with its outbox, and the others hear of it")
  func takingOver() async throws {
    let print = Printout()
    let (first, second) = (try await openOffline(), try fresh())
    write(first)
    let (events, _) = first.collection("notes").record()
    #expect(try await events.next().get().count == 1)

    try await takeOver(second)
    try await writeUnlessTaken(first, print)

    #expect(print.lines == article.printed("One process only"))
    let end = try await events.next { if case .failure = $0 { true } else { false } }
    #expect(throws: NSError.self) { try end.get() }
    try await second.disableNetwork()
    #expect(try await second.pendingWrites().count == 1)
    try await second.terminate()
  }

  @Test("a process that clears the cache ends the others")
  func clearing() async throws {
    let (first, second) = (try await openOffline(), try await openOffline())
    write(first)
    #expect(try await first.pendingWrites().count == 1)
    try await second.terminate()
    try await second.clearPersistence()
    let error = await thrown { _ = try await first.pendingWrites() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    try await first.terminate()
    let next = try await openOffline()
    #expect(try await next.pendingWrites().isEmpty)
    try await next.terminate()
  }
}
