import Foundation
import Hearth
import HearthServer
import Logging
import Testing

/// The program of the article "Getting started", in the pieces between which its reader does something else.
private enum GettingStarted {
  static func start() -> Firestore {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "demo-list"))
    let db = Firestore.firestore()
    return db
  }

  static func chooseBackend(_ db: Firestore) {
    db.useEmulator(withHost: "127.0.0.1", port: 8080)
  }

  static func workOffline(
    _ db: Firestore, _ print: Printout
  ) async throws -> (list: CollectionReference, listener: any ListenerRegistration) {
    try await db.disableNetwork()

    let list = db.collection("list")
    list.document("milk").setData(["text": "Milk", "count": 2, "done": false], completion: nil)
    list.document("bread").setData(["text": "Bread", "count": 1, "done": false], completion: nil)

    let milk = try await list.document("milk").getDocument()
    print("\(milk["text"] ?? "?"), waits for the backend: \(milk.metadata.hasPendingWrites)")

    let open = list.whereField("done", isEqualTo: false).order(by: "text")
    for item in try await open.getDocuments().documents {
      print("\(item.documentID): \(item["count"] ?? "?")")
    }

    let listener = open.addSnapshotListener { snapshot, error in
      guard let snapshot else { return print("listener: \(error.map { "\($0)" } ?? "ended")") }
      print("listener: \(snapshot.count) to buy")
    }

    list.document("milk").updateData(["done": true, "count": FieldValue.increment(Int64(-2))], completion: nil)

    print("\(try await db.pendingWrites().count) writes wait")
    return (list, listener)
  }

  static func synchronise(_ db: Firestore, _ print: Printout) async throws {
    try await db.enableNetwork()
    try await db.waitForPendingWrites()
    print("\(try await db.pendingWrites().count) writes wait")
  }

  static func decode(_ list: CollectionReference, _ print: Printout) async throws {
    struct Item: Codable {
      @DocumentID var id: String?
      var text: String
      var count: Int
      var done: Bool
    }

    let items = try await list.order(by: "text").getDocuments(source: .server).documents.map { document in
      try document.data(as: Item.self)
    }
    print(items.map { "\($0.text): \($0.count)" }.joined(separator: ", "))
    #expect(items.map(\.id) == ["bread", "milk"] && items.map(\.done) == [false, true])
  }

  static func end(_ db: Firestore, _ listener: any ListenerRegistration) async throws {
    listener.remove()
    try await db.terminate()
  }
}

extension DefaultAppArticles {
  @Suite("The article \"Getting started\"")
  struct GettingStartedArticleTests {
    @Test("shows code that is compiled, and says everything that its program prints")
    func code() throws {
      let article = try Article("GettingStarted")
      // A test target can have neither a manifest nor a `@main`. The frame has the form of Examples/Notes.
      let frame = [
        "import Hearth", "", "@main", "struct List {", "  static func main() async throws {",
        "    // All that follows on this page goes here, step by step.", "  }", "}",
      ]
      let notCompiled = try article.codeNotCompiled(in: #filePath)
      #expect(notCompiled.count == 2 && notCompiled.first?.hasPrefix("// swift-tools-version") == true)
      #expect(notCompiled.last == frame.joined(separator: "\n"))
      #expect(try article.printedNotChecked(in: #filePath) == [])
    }

    @Test("shows a manifest that fits the package")
    func manifest() throws {
      let shown = try #require(try Article("GettingStarted").blocks("swift").first)
      let ours = try Article.text("Package.swift")
      let text = try Article.text("Sources/Hearth/Hearth.docc/GettingStarted.md")
      // A package that is named by its path has the name of its folder.
      #expect(
        shown.contains { $0.contains(#".package(path: "../hearth")"#) } && text.contains("in a folder called `hearth`"))
      #expect(shown.contains { $0.contains(#".product(name: "Hearth", package: "hearth")"#) })
      #expect(ours.contains(#".library(name: "Hearth", targets: ["Hearth"])"#))
      #expect(shown.first == Article.lines(ours).first)
      #expect(ours.contains("platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)]"))
      #expect(shown.contains("  platforms: [.macOS(.v15)],"))
      #expect(text.contains("the oldest versions are iOS 18, tvOS 18, watchOS 11 and visionOS 2."))
    }

    @Test("prints what it shows: offline, offline a second time, and in sync with the backend")
    func story() async throws {
      let article = try Article("GettingStarted")
      let folder = try TemporaryFolder()
      for (run, waiting) in ["3 writes wait", "6 writes wait"].enumerated() {
        let print = Printout()
        let db = try configure(cacheIn: folder, host: "127.0.0.1:1")
        let (_, listener) = try await GettingStarted.workOffline(db, print)
        let lines = try await print.lines(6)
        func isListener(_ line: String) -> Bool { line.hasPrefix("listener: ") }
        let shown = article.printed("Listen")
        #expect(lines.filter(isListener) == shown.filter(isListener))
        #expect(lines.filter { !isListener($0) }.dropLast() == shown.filter { !isListener($0) }.dropLast())
        #expect(lines.last { !isListener($0) } == waiting && (run > 0 || shown.last == waiting))
        try await GettingStarted.end(db, listener)
        await FirebaseApp.app()?.delete()
      }

      let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
      let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
      let db = try configure(cacheIn: folder, host: "127.0.0.1:\(server.port)")
      let (list, listener) = try await GettingStarted.workOffline(db, Printout())
      let print = Printout()
      try await GettingStarted.synchronise(db, print)
      try await GettingStarted.decode(list, print)
      #expect(print.lines == article.printed("Synchronise with the backend"))
      try await GettingStarted.end(db, listener)
      await FirebaseApp.app()?.delete()
      await server.shutdown()
    }

    /// The article's beginning, and then another backend and cache, which a test has to have for itself.
    private func configure(cacheIn folder: TemporaryFolder, host: String) throws -> Firestore {
      let db = GettingStarted.start()
      GettingStarted.chooseBackend(db)
      let settings = db.settings
      #expect(settings.host == "127.0.0.1:8080" && !settings.isSSLEnabled)
      settings.host = host
      settings.cacheSettings = PersistentCacheSettings(directory: folder.url)
      db.settings = settings
      return db
    }
  }
}
