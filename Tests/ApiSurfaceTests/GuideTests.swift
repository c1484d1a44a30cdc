import Foundation
import Hearth
import HearthServer
import Logging
import Testing

/// The calls of the guides, made against a server: they compile, and they do what the page says.
@Suite("Guides", .timeLimit(.minutes(2)))
struct GuideTests {
  /// A client of a server of its own, with callbacks on a queue of its own.
  func withClient(_ body: (Firestore) async throws -> Void) async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-guides"))
    let app = try #require(FirebaseApp.app(name: name))
    let db = Firestore.firestore(app: app)
    let settings = db.settings
    settings.host = "127.0.0.1:\(server.port)"
    settings.isSSLEnabled = false
    settings.cacheSettings = MemoryCacheSettings()
    settings.dispatchQueue = DispatchQueue(label: "test")
    db.settings = settings
    do {
      try await body(db)
    } catch {
      await app.delete()
      await server.shutdown()
      throw error
    }
    await app.delete()
    await server.shutdown()
  }

  /// The reports of a callback, in order.
  func reports<Report: Sendable>(_ start: (@escaping @Sendable (Report) -> Void) -> Void) -> AsyncStream<Report> {
    let (stream, continuation) = AsyncStream<Report>.makeStream()
    start { continuation.yield($0) }
    return stream
  }

  func first<Report: Sendable>(
    where isWanted: (Report) -> Bool = { _ in true }, _ start: (@escaping @Sendable (Report) -> Void) -> Void
  ) async -> Report? {
    for await report in reports(start) where isWanted(report) { return report }
    return nil
  }

  @Test("get started")
  func getStarted() async throws {
    try await withClient { db in
      await WritingGuides.firstDocuments(db)
      #expect(Set(await WritingGuides.readThem(db)) == ["Darling", "Lewis"])
    }
  }

  @Test("add data")
  func addData() async throws {
    try await withClient { db in
      await WritingGuides.set(db)
      #expect(await first { WritingGuides.setWithCompletion(db, $0) } == "Document successfully written!")
      await WritingGuides.dataTypes(db)
      WritingGuides.merge(db)
      WritingGuides.addAndUseReference(db)
      let added = try #require(await first { WritingGuides.addWithCompletion(db, $0) })
      await WritingGuides.update(db)
      let light = try await db.document("lights/LS").getDocument(source: .server)
      #expect(light["name"] as? String == "Longstone" && light["country"] == nil && light["built"] as? Int == 1826)
      #expect(light["lens.maker"] as? String == "Chance" && light["signals"] as? [String] == ["fog"])
      #expect(light["visitors"] as? Int == 50 && light["lastVisit"] is Timestamp)
      await WritingGuides.remove(db)
      #expect(await first { WritingGuides.removeWithCompletion(db, $0) } == "Document successfully removed!")
      #expect(try await db.document("lights/LS").getDocument(source: .server)["automated"] == nil)
      let one = try await db.document("data/one").getDocument(source: .server)
      #expect(one["nullExample"] is NSNull && one["objectExample.b.nested"] as? String == "foo")
      #expect((one["arrayExample"] as? [Any])?.count == 3 && one["numberExample"] as? Double == 3.14159265)
      #expect(try await db.collection("lights").document(added).getDocument(source: .server).exists)
      #expect(try await db.collection("lights").getDocuments(source: .server).count == 3)
    }
  }

  @Test("transactions and batched writes")
  func transactions() async throws {
    try await withClient { db in
      await WritingGuides.set(db)
      try await db.document("lights/LS").updateData(["visitors": 50])
      try await db.document("lights/RK").setData([:])
      await WritingGuides.transaction(db)
      #expect(await WritingGuides.transactionWithResult(db) == 52)
      #expect(await WritingGuides.transactionWithResult(db) == nil)
      #expect(
        await first { WritingGuides.transactionWithCompletion(db, $0) } == "Transaction successfully committed!")
      let light = try await db.document("lights/LS").getDocument(source: .server)
      #expect(light["visitors"] as? Int == 52 && light["open"] as? Bool == true)
      await WritingGuides.batch(db)
      #expect(await first { WritingGuides.batchWithCompletion(db, $0) } == "Batch write succeeded.")
      let ids = try await db.collection("lights").getDocuments(source: .server).documents.map(\.documentID)
      #expect(ids == ["AN", "LS", "NW"])
      #expect(try await db.document("lights/LS").getDocument(source: .server)["visitors"] as? Int == 1000)
    }
  }

  @Test("get data")
  func getData() async throws {
    try await withClient { db in
      try await ReadingGuides.exampleData(db)
      #expect(await ReadingGuides.getDocument(db) == "Anholt")
      #expect(await first { ReadingGuides.getDocumentWithCompletion(db, $0) }?.contains("Anholt") == true)
      #expect(await ReadingGuides.getFromCache(db) == "Anholt")
      #expect(await ReadingGuides.getSome(db) == ["AN", "KU"])
      #expect(await ReadingGuides.getSubcollection(db) == ["lamp"])
      #expect(Set(await ReadingGuides.getGroup(db)) == ["lamp", "watch"])
    }
  }

  @Test("listen")
  func listen() async throws {
    try await withClient { db in
      try await ReadingGuides.exampleData(db)
      var registrations: [any ListenerRegistration] = []
      #expect(
        await first { registrations.append(ReadingGuides.listenToDocument(db, $0)) } == "Server data: Longstone")
      #expect(
        await first(where: { $0.count == 2 }) { ReadingGuides.listenToQuery(db, $0) } == ["Anholt", "Kullen"])
      #expect(await first { registrations.append(ReadingGuides.listenToCache(db, $0)) } == "Longstone")
      #expect(try await ReadingGuides.awaitSnapshots(db) == 5)
      var changes: [String] = []
      for await change in reports({ registrations.append(ReadingGuides.listenToChanges(db, $0)) }) {
        changes.append(change)
        if changes.count == 2 { db.document("lights/KU").updateData(["height": 16], completion: nil) }
        if change == "Modified: KU" { db.document("lights/AN").delete(completion: nil) }
        if change == "Removed: AN" { break }
      }
      #expect(changes.prefix(3) == ["New: AN", "New: KU", "Modified: KU"])
      for registration in registrations { registration.remove() }
    }
  }

  @Test("query, order and limit, cursors")
  func queries() async throws {
    try await withClient { db in
      try await ReadingGuides.exampleData(db)
      for (query, ids) in ReadingGuides.queries(db) {
        #expect(Set(try await query.getDocuments(source: .server).documents.map(\.documentID)) == ids, "\(query)")
        #expect(Set(try await query.getDocuments(source: .cache).documents.map(\.documentID)) == ids, "\(query)")
      }
      for (query, ids) in ReadingGuides.orders(db) {
        #expect(try await query.getDocuments(source: .server).documents.map(\.documentID) == ids, "\(query)")
        #expect(try await query.getDocuments(source: .cache).documents.map(\.documentID) == ids, "\(query)")
      }
      #expect(try await ReadingGuides.cursorAtDocument(db) == ["LS", "HI", "RS", "AN"])
      #expect(await first { ReadingGuides.paginate(db, $0) } == ["HI", "RS"])
    }
  }

  @Test("aggregate")
  func aggregate() async throws {
    try await withClient { db in
      try await ReadingGuides.exampleData(db)
      #expect(try await ReadingGuides.aggregate(db) == [2, 2, 56, 28])
    }
  }

  @Test("bundles")
  func bundles() async throws {
    try await withClient { db in
      try await db.disableNetwork()
      #expect(await first { ReadingGuides.load(db, Self.bundle, $0) } == ["RS"])
      #expect(try await ReadingGuides.loadAndWait(db, InputStream(data: Self.bundle)) == 1)
    }
  }

  /// A document and a query of its name, as a server SDK writes them.
  static var bundle: Data {
    let root = "projects/demo-guides/databases/(default)/documents"
    let time = "2026-01-01T00:00:00Z"
    let elements = [
      #"{"namedQuery":{"name":"latest-lights","bundledQuery":{"parent":"\#(root)","structuredQuery":{"from":"#
        + #"[{"collectionId":"lights"}]},"limitType":"FIRST"},"readTime":"\#(time)"}}"#,
      #"{"documentMetadata":{"name":"\#(root)/lights/RS","readTime":"\#(time)","exists":true,"queries":["latest-lights"]}}"#,
      #"{"document":{"name":"\#(root)/lights/RS","createTime":"\#(time)","updateTime":"\#(time)","fields":{}}}"#,
    ]
    let body = elements.map { "\($0.utf8.count)\($0)" }.joined()
    let metadata =
      #"{"metadata":{"id":"lights","createTime":"\#(time)","version":1,"totalDocuments":1,"totalBytes":\#(body.utf8.count)}}"#
    return Data("\(metadata.utf8.count)\(metadata)\(body)".utf8)
  }
}
