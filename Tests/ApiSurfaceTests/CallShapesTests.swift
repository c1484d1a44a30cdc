import Foundation
import Hearth
import Testing

extension GuideTests {
  private func withWatches(_ body: (Firestore) async throws -> Void) async throws {
    try await withClient { db in
      let light = db.document("lights/AN")
      try await CallShapes.writeInBatches(
        db,
        [
          "w1": CallShapes.nestedData(name: "Night", nickname: nil, light: light),
          "w2": ["name": "Day", "light": light, "began": Timestamp(seconds: 5_000, nanoseconds: 0)],
        ])
      try await body(db)
    }
  }

  @Test("references, filters and data in other shapes")
  func shapesOfQueries() async throws {
    try await withWatches { db in
      #expect(
        CallShapes.references(db)
          == [
            "cities/SF", "cities/SF/landmarks/Tower/rooms", "SF", "cities/SF/landmarks/Tower", nil, "SF", "rooms",
          ])
      let lights = [db.document("lights/AN"), db.document("lights/KU")]
      let grown = CallShapes.grownQuery(db, seas: ["Baltic"], lights: lights)
      #expect(try await grown.getDocuments(source: .server).documents.map(\.documentID) == ["w1"])
      let expected: [Set<String>] = [
        ["w1", "w2"], ["w1", "w2"], ["w1", "w2"], ["w1", "w2"], ["w1"], ["w1", "w2"], ["w1", "w2"], ["w1"],
        ["w1", "w2"],
      ]
      for (query, ids) in zip(CallShapes.filters(db, lights), expected) {
        for source in [FirestoreSource.server, .cache] {
          let found = try await query.getDocuments(source: source).documents.map(\.documentID)
          #expect(Set(found) == ids, "\(query) \(source)")
        }
      }
    }
  }

  @Test("reading in other shapes")
  func shapesOfReads() async throws {
    try await withWatches { db in
      let document = try await db.document("watches/w1").getDocument()
      #expect(
        CallShapes.optionals(document)
          == ["Chance", "1", "6", "1000.0", "true", "Ida+Kate", "AN", "56.7", "true"])
      #expect(document["extra"] as? Int == 1 && document["a"] as? Int == 1 && document["b"] as? Int == 2)
      #expect((document["ended"] as? Timestamp)?.nanoseconds == 500_000_000)
      #expect(CallShapes.optionals(nil).first == "?")
      #expect(try await CallShapes.readEach(db, ["w1", "w2", "w3"]) == ["w1", "w2"])
      #expect(try await CallShapes.readAtOnce(db) == (2, true, 2))
      #expect(try await CallShapes.continuation(db) == ["w1", "w2"])
      #expect(await first { CallShapes.group(db, ["w1", "w3"], $0) } == 2)
      let read = await withCheckedContinuation { continuation in
        CallShapes.resultOf(db, "w1") { continuation.resume(returning: $0) }
      }
      #expect(try read.get() == "w1")
      let missing = await withCheckedContinuation { continuation in
        CallShapes.resultOf(db, "w4") { continuation.resume(returning: $0) }
      }
      #expect(throws: (any Error).self) { try missing.get() }
      var registrations: [any ListenerRegistration] = []
      var changes: [String] = []
      for await change in reports({ registrations.append(CallShapes.changes(db, $0)) }) {
        changes.append(change)
        if changes.count == 2 { db.document("watches/w2").delete(completion: nil) }
        if changes.count == 3 { break }
      }
      #expect(changes == ["+w1@0", "+w2@1", "-w2@1"])
      for registration in registrations { registration.remove() }
    }
  }

  @Test("writing in other shapes")
  func shapesOfWrites() async throws {
    try await withWatches { db in
      let failure = await withCheckedContinuation { continuation in
        CallShapes.writeWithClosures(db) { continuation.resume(returning: $0 as NSError?) }
      }
      #expect(failure == nil)
      let written = try await db.document("watches/w9").getDocument(source: .server)
      #expect(!written.exists)
      #expect(try await CallShapes.transfer(db) == 5)
      #expect(try await db.document("watches/w2").getDocument(source: .server)["given"] as? Int == 6)
      #expect(await first { CallShapes.transferWithClosures(db, $0) } == "gone")
      #expect(try await CallShapes.estimates(db) == [true, true, true, true])
    }
  }

  @Test("a model on the main actor and a store that is an actor")
  func shapesOfIsolation() async throws {
    try await withWatches { db in
      let store = WatchStore(db: db)
      #expect(try await store.watch("w1") == "Night")
      try await store.rename("w1", to: "Late")
      #expect(try await store.watch("w1") == "Late")
      await store.collect("w1")
      #expect(try await store.firstNames() == ["Late", "Day"])
    }
  }

  @Test("a model on the main actor gets its callbacks there")
  @MainActor
  func modelOnTheMainActor() async throws {
    FirebaseApp.configure(name: "main-actor", options: FirebaseOptions(projectID: "demo-guides"))
    let app = try #require(FirebaseApp.app(name: "main-actor"))
    let db = Firestore.firestore(app: app)
    let settings = db.settings
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    settings.cacheSettings = MemoryCacheSettings()
    db.settings = settings
    try await db.disableNetwork()
    let (changes, continuation) = AsyncStream<Void>.makeStream()
    let list = WatchList(db: db)
    list.start { continuation.yield() }
    list.add("Dog watch")
    for await _ in changes where list.names == ["Dog watch"] { break }
    #expect(list.problem == nil)
    list.stop()
    await app.delete()
  }
}
