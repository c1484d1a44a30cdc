import Foundation
import Hearth
import HearthServer
import HearthTesting
import Testing

// The tests that the article "Testing your app" shows. They run as a user's would, and use public API only.

/// A client with an app and a cache of its own, as on another device.
func device(_ server: TestServer) -> Firestore {
  let name = UUID().uuidString
  FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-notes"))
  let db = Firestore.firestore(app: FirebaseApp.app(name: name)!)
  let settings = db.settings
  settings.host = server.address
  settings.isSSLEnabled = false
  settings.cacheSettings = MemoryCacheSettings()
  db.settings = settings
  return db
}

@Suite("Notes", .timeLimit(.minutes(1)))
struct NotesTests {
  @Test("users write their own notes only")
  func rules() async throws {
    try await TestServer.run { server in
      try server.setSecurityRules(
        """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents/notes/{note} {
            allow read: if request.auth.uid == resource.data.owner;
            allow create: if request.auth.uid == request.resource.data.owner;
          }
        }
        """)
      let db = device(server)
      let settings = db.settings
      settings.credentials = IDTokenCredentials(userID: "alice") { _ in
        IDToken(try TestServer.token(userID: "alice"), userID: "alice")
      }
      db.settings = settings
      try await db.document("notes/a").setData(["owner": "alice"])
      #expect(try await db.document("notes/a").getDocument(source: .server).exists)
      await #expect {
        try await db.document("notes/b").setData(["owner": "bob"])
      } throws: {
        FirestoreErrorCode.permissionDenied ~= $0
      }
      try await db.terminate()
    }
  }

  @Test("rules with mistakes say where, and leave the former ones in force")
  func mistakenRules() async throws {
    try await TestServer.run { server in
      try server.setSecurityRules("service cloud.firestore { match /{path=**} { allow read: if false; } }")
      let error = #expect(throws: (any Error).self) {
        try server.setSecurityRules("service cloud.firestore {\n  match")
      }
      #expect(error.map { "\($0)" }?.contains("2") == true)
      let db = device(server)
      let refused = await #expect(throws: (any Error).self) {
        _ = try await db.document("notes/a").getDocument(source: .server)
      }
      #expect((refused as? NSError)?.code == FirestoreErrorCode.permissionDenied.rawValue)
      try await db.terminate()
    }
  }

  @Test("a note of one device is there on another one")
  func sharing() async throws {
    try await TestServer.run { server in
      let phone = device(server)
      let tablet = device(server)
      try await phone.document("notes/milk").setData(["text": "Buy milk"])
      let note = try await tablet.document("notes/milk").getDocument(source: .server)
      #expect(note["text"] as? String == "Buy milk")
      try await phone.terminate()
      try await tablet.terminate()
    }
  }

  @Test("a note that is written without a network waits, and is sent later")
  func offline() async throws {
    try await TestServer.run { server in
      let db = device(server)
      try await db.disableNetwork()
      db.document("notes/milk").setData(["text": "Buy milk"], completion: nil)
      #expect(try await db.pendingWrites().count == 1)

      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      let note = try await db.document("notes/milk").getDocument(source: .server)
      #expect(!note.metadata.hasPendingWrites)
      try await db.terminate()
    }
  }

  @Test("a refused note is shown with the reason, and a note for which the backend is gone waits")
  func misbehaviour() async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore()
      backend.reject(.writes.at("notes/milk"), with: .permissionDenied, message: "not your note")
      db.document("notes/milk").setData(["text": "Buy milk"], completion: nil)
      try await db.waitForPendingWrites()
      #expect(try await db.rejectedWrites.writes().map(\.error.localizedDescription) == ["not your note"])

      backend.goOffline()
      let receipt = db.document("notes/bread").withReceipt.setData(["text": "Buy bread"])
      try await receipt.saved()
      try await backend.others.document("notes/tea").setData(["text": "Buy tea"])
      backend.goOnline()
      try await db.outbox.retryNow()
      try await receipt.acknowledged()
      #expect(try await db.collection("notes").getDocuments(source: .server).count == 2)
      try await db.terminate()
    }
  }

  @Test("a note that was written offline is there after a restart of the app")
  func restartOfTheApp() async throws {
    try await ScriptedBackend.run { backend in
      backend.goOffline()
      let first = backend.firestore(named: "phone")
      try await first.document("notes/milk").withReceipt.setData(["text": "Buy milk"]).saved()
      try await first.terminate()

      let second = backend.firestore(named: "phone")
      #expect(try await second.document("notes/milk").getDocument(source: .cache)["text"] as? String == "Buy milk")
      backend.goOnline()
      try await second.outbox.retryNow()
      try await second.waitForPendingWrites()
      #expect(try await backend.others.document("notes/milk").getDocument(source: .server).exists)
      try await second.terminate()
    }
  }

  @Test("a view model sorts by text")
  func viewModel() throws {
    let snapshots = TestSnapshots()
    let first = try snapshots.query(in: "notes", ["milk": ["text": "Buy milk"]])
    let next = try snapshots.query(
      in: "notes", ["milk": ["text": "Buy milk"], "tea": ["text": "Buy tea"]], pending: ["tea"], since: first)
    #expect(next.documentChanges.map(\.type) == [.added])
    #expect(next.documents.last?.metadata.hasPendingWrites == true)
  }

  @Test("the list shows a note that another device adds")
  func listening() async throws {
    try await TestServer.run { server in
      let phone = device(server)
      let tablet = device(server)
      var texts: [String] = []
      for try await snapshot in tablet.collection("notes").snapshots {
        texts = snapshot.documents.compactMap { $0["text"] as? String }
        guard texts.isEmpty else { break }
        phone.document("notes/milk").setData(["text": "Buy milk"], completion: nil)
      }
      #expect(texts == ["Buy milk"])
      try await phone.terminate()
      try await tablet.terminate()
    }
  }

  @Test("the app goes on when the backend was restarted")
  func restart() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try await TestServer.start(folder: folder)
    let db = device(first)
    try await db.document("notes/milk").setData(["text": "Buy milk"])
    await first.stop()

    db.document("notes/bread").setData(["text": "Buy bread"], completion: nil)
    let second = try await TestServer.start(folder: folder, port: first.port)
    try await db.waitForPendingWrites()
    #expect(try await db.collection("notes").getDocuments(source: .server).count == 2)
    try await db.terminate()
    await second.stop()
  }
}

@Suite("The article \"Testing your app\"")
struct TestingArticleTests {
  @Test("shows tests that are compiled and run here")
  func blocks() throws {
    let article = try Article("Testing")
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(article.blocks("swift").count == 10)
  }

  @Test("names the product")
  func product() throws {
    let text = try Article.text("Sources/Hearth/Hearth.docc/Testing.md")
    for product in ["Hearth", "HearthServer", "HearthTesting"] {
      #expect(text.contains(#".product(name: "\#(product)", package: "hearth")"#))
    }
    let manifest = try Article.text("Package.swift")
    #expect(manifest.contains(#".library(name: "HearthServer", targets: ["HearthServer"])"#))
    #expect(manifest.contains(#".library(name: "HearthTesting", targets: ["HearthTesting"])"#))
  }
}
