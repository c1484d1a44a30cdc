import Foundation
import HearthServer
import Testing

@testable import Hearth

/// The programs of the article "Working offline", and what they do.
@Suite("The article \"Working offline\"", .timeLimit(.minutes(2)))
struct OfflineArticleTests {
  let article: Article

  init() throws {
    article = try Article("Offline")
  }

  @Test("is found from the README, and leads to the others")
  func links() throws {
    #expect(try Article.text("README.md").contains("(Sources/Hearth/Hearth.docc/Offline.md)"))
    let text = try Article.text("Sources/Hearth/Hearth.docc/Offline.md")
    #expect(text.contains("<doc:OfflineCache>") && text.contains("<doc:OfflineQueries>"))
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("a document that was read once can be read again without a network")
  func kept() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      let city = db.document("cities/SF")
      let online = try await city.getDocument()
      print(online["name"] ?? "", "from cache:", online.metadata.isFromCache)

      try await db.disableNetwork()
      let offline = try await city.getDocument()
      print(offline["name"] ?? "", "from cache:", offline.metadata.isFromCache)
    }
    #expect(print.lines == article.printed("What is kept"))
  }

  @Test("the same code serves with and without a network")
  func sameCode() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      func bySize(_ state: String) async throws -> [String] {
        let cities = db.collection("cities").whereField("state", isEqualTo: state)
        let result = try await cities.order(by: "population", descending: true).getDocuments()
        return result.documents.map(\.documentID)
      }

      print(try await bySize("CA"))
      try await db.disableNetwork()
      print(try await bySize("CA"))
    }
    #expect(print.lines == article.printed("One program for both"))
  }

  @Test("without a network an app writes, reads, queries and listens")
  func everything() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let cities = db.collection("cities")
      cities.document("SD").setData(["name": "San Diego", "population": 1_400_000], completion: nil)
      cities.document("SF").updateData(["population": FieldValue.increment(Int64(5))], completion: nil)
      cities.document("LA").delete(completion: nil)

      print("population:", try await cities.document("SF").getDocument()["population"] ?? "")
      let large = cities.whereField("population", isGreaterThan: 1_000_000)
      print("large:", try await large.getDocuments().documents.map(\.documentID))
      for try await snapshot in cities.snapshots {
        print("all:", snapshot.documents.map(\.documentID))
        break
      }
    }
    #expect(print.lines == article.printed("Read, write, query and listen"))
  }

  /// The network comes and goes by itself here: nothing listens at the backend's port at first.
  @Test("writes go to the backend by themselves and in order when the network is back")
  func automatically() async throws {
    let gone = try await EmbeddedServer.start(port: 0, storage: .memory, logger: EndToEndTests.quiet)
    await gone.shutdown()
    let db = try TestFirestore(host: "127.0.0.1:\(gone.port)").firestore
    let print = Printout()

    let city = db.document("cities/SD")
    city.setData(["name": "San Diego"]) { error in
      print("first:", error?.localizedDescription ?? "the backend has it")
    }
    city.updateData(["population": 1_400_000]) { error in
      print("second:", error?.localizedDescription ?? "the backend has it")
    }

    // Answered from the cache, which is when the client has found out that nobody answers.
    #expect(try await city.getDocument()["population"] as? Int == 1_400_000)
    #expect(print.lines == [])
    let server = try await EmbeddedServer.start(port: gone.port, storage: .memory, logger: EndToEndTests.quiet)
    #expect(try await print.lines(2) == article.printed("Wait for the backend, or go on"))
    let other = try TestFirestore(host: "127.0.0.1:\(gone.port)").firestore
    #expect(try await other.document("cities/SD").getDocument(source: .server)["population"] as? Int == 1_400_000)
    try await db.terminate()
    try await other.terminate()
    await server.shutdown()
  }

  @Test("the outbox can be listed, and its end waited for")
  func outbox() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, other in
      let city = db.document("cities/SD")
      city.setData(["name": "San Diego"], completion: nil)
      city.updateData(["visits": FieldValue.increment(Int64(1))], completion: nil)
      for write in try await db.pendingWrites() {
        print(write.operations.map { "\($0.kind) \($0.documentPath)" })
      }

      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      print("waiting:", try await db.pendingWrites().count)

      #expect(try await other.document("cities/SD").getDocument(source: .server)["visits"] as? Int == 1)
    }
    #expect(print.lines == article.printed("Look into the outbox"))
  }

  @Test("what the backend refuses is taken back on the device")
  func refused() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      let (events, _) = db.document("cities/SD").record()
      #expect(try await !events.next().get().exists)

      let batch = db.batch()
      batch.setData(["name": "San Diego"], forDocument: db.document("cities/SD"))
      batch.updateData(["visits": 1], forDocument: db.document("cities/nowhere"))  // there is no such city
      do {
        try await batch.commit()
      } catch FirestoreErrorCode.notFound {
        print("refused")
      }
      print("exists:", try await db.document("cities/SD").getDocument().exists)

      #expect(try await events.next().get().exists, "shown while it waits")
      #expect(try await !events.next().get().exists, "taken back")
    }
    #expect(print.lines == article.printed("What the backend refuses"))
  }

  @Test("offline a known document is read, an unknown one is an error, and a query that knows none is empty")
  func knowledge() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let known = try await db.document("cities/SF").getDocument()
      print(known["name"] ?? "", "from cache:", known.metadata.isFromCache)

      do {
        _ = try await db.document("cities/NYC").getDocument()
      } catch FirestoreErrorCode.unavailable {
        print("New York is not known on this device")
      }

      let towns = try await db.collection("towns").getDocuments()
      print("towns:", towns.count, "from cache:", towns.metadata.isFromCache)
    }
    #expect(print.lines == article.printed("What the device knows"))
  }

  @Test("a snapshot says whether it is from the cache, maybe incomplete, or from the backend, complete and current")
  func metadata() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      #expect(try await db.document("cities/SF").getDocument().exists, "Los Angeles was never read")

      db.collection("cities").addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
        guard let snapshot else { return print("the listener has ended:", error!.localizedDescription) }
        let source = snapshot.metadata.isFromCache ? "the cache, maybe incomplete" : "the backend, complete"
        print("\(snapshot.count) from \(source)")
      }

      let lines = try await print.lines(2)
      #expect(lines == article.printed("Cache or backend"))
    }
  }

  @Test("a read can be told where its answer has to come from")
  func sources() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let city = db.document("cities/SF")
      print("cache:", try await city.getDocument(source: .cache)["name"] ?? "")
      do {
        _ = try await city.getDocument(source: .server)
      } catch FirestoreErrorCode.unavailable {
        print("server: cannot be reached")
      }
    }
    #expect(print.lines == article.printed("Choose the source of a read"))
  }

  @Test("listeners hear of changes in the cache, offline too")
  func listening() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let listener = db.collection("cities").addSnapshotListener { snapshot, error in
        guard let snapshot else { return print("the listener has ended:", error!.localizedDescription) }
        print(snapshot.documentChanges.map(\.document.documentID), "of", snapshot.count)
      }
      db.document("cities/SD").setData(["name": "San Diego"], completion: nil)
      db.document("cities/SF").updateData(["visits": 1], completion: nil)

      let lines = try await print.lines(3)
      #expect(lines == article.printed("Listen without a network"))
      listener.remove()
    }
  }

  @Test("documents, collections and queries can be listened to")
  func listened() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let cities = db.collection("cities")
      cities.document("SF").addSnapshotListener { snapshot, _ in
        print("document:", snapshot?["population"] ?? "none")
      }
      cities.addSnapshotListener { snapshot, _ in
        print("collection:", snapshot?.count ?? 0)
      }
      cities.whereField("population", isGreaterThan: 1_000_000).addSnapshotListener { snapshot, _ in
        print("query:", snapshot?.count ?? 0)
      }

      #expect(try await print.lines(3) == article.printed("Documents, collections and queries"))
      cities.document("SF").updateData(["population": 1_000_001], completion: nil)
      let lines = try await print.lines(6)
      #expect(Set(lines.suffix(3)) == ["document: 1000001", "collection: 2", "query: 2"])
    }
  }

  @Test("a change of metadata alone is told only to listeners that ask for it")
  func metadataChanges() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      let city = db.document("cities/SF")
      city.addSnapshotListener { snapshot, _ in
        print("plain:", snapshot?["population"] ?? "")
      }
      city.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
        print("detailed:", snapshot?["population"] ?? "", "waits:", snapshot?.metadata.hasPendingWrites ?? false)
      }

      #expect(try await print.lines(2).count == 2)
      try await city.updateData(["population": 860_001])

      _ = try await print.lines(5)
    }
    #expect(print.lines == article.printed("Changes of metadata"))
  }

  @Test("a server timestamp that is not there yet can be estimated")
  func serverTimestamp() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let note = db.document("notes/1")
      note.setData(["text": "Buy milk", "at": FieldValue.serverTimestamp()], completion: nil)
      let snapshot = try await note.getDocument()
      print("known:", snapshot["at"] is Timestamp)
      print("estimated:", snapshot.get("at", serverTimestampBehavior: .estimate) is Timestamp)
    }
    #expect(print.lines == article.printed("Server timestamps"))
  }

  @Test("with the network disabled, reads and listeners are answered from the cache and writes wait")
  func network() async throws {
    let print = Printout()
    try await ArticleCities.run { db, other, _ in
      #expect(try await db.document("cities/SF").getDocument().exists)
      let (events, _) = db.document("cities/SF").record(includeMetadataChanges: true)
      _ = try await events.next { (try? $0.get().metadata.isFromCache) == false }

      try await db.disableNetwork()
      let city = db.document("cities/SF")
      city.updateData(["population": 870_000], completion: nil)
      print(try await city.getDocument()["population"] ?? "", "waiting:", try await db.pendingWrites().count)

      let heard = try await events.next { (try? $0.get()["population"] as? Int) == 870_000 }.get()
      #expect(heard.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
      #expect(try await other.document("cities/SF").getDocument(source: .server)["population"] as? Int == 860_000)

      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      print(try await city.getDocument()["population"] ?? "", "waiting:", try await db.pendingWrites().count)

      _ = try await events.next {
        (try? $0.get().metadata) == SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
      }
      #expect(try await other.document("cities/SF").getDocument(source: .server)["population"] as? Int == 870_000)
    }
    #expect(print.lines == article.printed("Switch the network off and on"))
  }

  @Test("the forms with a completion call it when the switch is made")
  func networkWithCompletion() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      db.disableNetwork { _ in
        print("off")
      }
      db.enableNetwork { _ in
        print("on")
      }

      _ = try await print.lines(2)
    }
    #expect(print.lines == article.printed("In code that is not asynchronous"))
  }

  @Test("what only the backend can answer is an error")
  func backendOnly() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let count = db.collection("cities").count
      do {
        _ = try await count.getAggregation(source: .server)
      } catch FirestoreErrorCode.unavailable {
        print("known here:", try await count.getAggregation(source: .cache).count)
      }
    }
    #expect(print.lines == article.printed("What needs the backend"))
  }
}
