import Foundation
import Testing

@testable import Hearth

@Suite("Without a network", .timeLimit(.minutes(1)))
struct OfflineTests {
  @Test("a write is visible at once to gets, queries and listeners, and marked as pending")
  func writesAreVisible() async throws {
    let db = try await TestFirestore.offline()
    let city = db.document("cities/SF")
    let (events, _) = db.collection("cities").record()
    let empty = try await events.next().get()
    #expect(empty.isEmpty)
    #expect(empty.metadata.isFromCache)

    city.setData(["name": "San Francisco", "population": 860_000, "regions": ["west"]], completion: nil)

    let event = try await events.next().get()
    #expect(event.ids == ["SF"])
    #expect(event.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: true))
    #expect(event.documentChanges.map(\.type) == [.added])
    #expect(event.documentChanges.first?.newIndex == 0)
    #expect(event.documentChanges.first?.oldIndex == UInt(NSNotFound))
    let snapshot = try await city.getDocument()
    #expect(snapshot.exists)
    #expect(snapshot.metadata.hasPendingWrites)
    #expect(snapshot.data()?["population"] as? Int == 860_000)
    #expect(snapshot.get("regions") as? [String] == ["west"])
    let found = try await db.collection("cities").whereField("population", isGreaterThan: 1000).getDocuments()
    #expect(found.ids == ["SF"])
    #expect(found.documents.first?.metadata.hasPendingWrites == true)
  }

  @Test("a document that is not in the cache is an error, an empty query is not")
  func missing() async throws {
    let db = try await TestFirestore.offline()
    for source in [FirestoreSource.default, .server, .cache] {
      let error = await thrown { try await db.document("cities/SF").getDocument(source: source) }
      #expect(error?.domain == FirestoreErrorDomain)
      #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
      #expect(error?.localizedDescription.hasPrefix("Failed to get document ") == true)
      #expect(error?.localizedFailureReason?.contains("cities/SF") == true)
    }
    for source in [FirestoreSource.default, .cache] {
      let result = try await db.collection("cities").getDocuments(source: source)
      #expect(result.isEmpty && result.metadata.isFromCache && result.documentChanges.isEmpty)
    }
    let error = await thrown { try await db.collection("cities").getDocuments(source: .server) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    let (events, _) = db.document("cities/SF").record()
    let snapshot = try await events.next().get()
    #expect(!snapshot.exists)
    #expect(snapshot.metadata.isFromCache)
  }

  @Test("the error of a read that the server has not answered says why, with the error of the last attempt")
  func reasons() async throws {
    let disabled = try await TestFirestore.offline()
    let unreachable = try TestFirestore(host: "127.0.0.1:1").firestore
    for (db, cause) in [(disabled, "disableNetwork()"), (unreachable, "refused")] {
      let document = await thrown { try await db.document("cities/SF").getDocument(source: .server) }
      let query = await thrown { try await db.collection("cities").getDocuments(source: .server) }
      for error in [document, query] {
        let error = try #require(error)
        #expect(error.code == FirestoreErrorCode.unavailable.rawValue)
        #expect(error.localizedFailureReason?.contains(cause) == true, "\(error)")
        #expect((error.userInfo[NSUnderlyingErrorKey] == nil) == (db === disabled), "\(error)")
      }
      try await db.terminate()
    }
  }

  @Test("a cached document answers the default source, and names itself when only the server will do")
  func sources() async throws {
    let db = try await TestFirestore.offline()
    let city = db.document("cities/SF")
    city.setData(["a": 1], completion: nil)
    #expect(try await city.getDocument(source: .default).metadata.isFromCache)
    #expect(try await city.getDocument(source: .cache).data()?["a"] as? Int == 1)
    let error = await thrown { try await city.getDocument(source: .server) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(error?.localizedDescription.contains("does exist in the local cache") == true)
  }

  @Test("set, merge, update and delete change the local view as documented")
  func mutations() async throws {
    let db = try await TestFirestore.offline()
    let city = db.document("cities/SF")
    func data() async throws -> NSDictionary {
      (try await city.getDocument(source: .cache).data() ?? [:]) as NSDictionary
    }
    city.setData(["a": 1, "m": ["x": 1, "y": 1]], completion: nil)
    city.setData(["m": ["x": 2], "b": 2], merge: true, completion: nil)
    #expect(try await data() == ["a": 1, "b": 2, "m": ["x": 2, "y": 1]])
    city.setData(["a": 9, "b": 9], mergeFields: ["b"], completion: nil)
    #expect(try await data() == ["a": 1, "b": 9, "m": ["x": 2, "y": 1]])
    city.updateData(["m.y": FieldValue.delete(), "a": ["z": 1], FieldPath(["d.e"]): true], completion: nil)
    #expect(try await data() == ["a": ["z": 1], "b": 9, "m": ["x": 2], "d.e": true])
    city.setData([:], completion: nil)
    #expect(try await data() == [:])
    city.delete(completion: nil)
    #expect(await thrown { try await city.getDocument() } != nil)
    #expect(try await db.collection("cities").getDocuments().isEmpty)
    db.document("cities/unknown").updateData(["a": 1], completion: nil)
    #expect(await thrown { try await db.document("cities/unknown").getDocument() } != nil)
  }

  @Test("field values are computed on the local view and stack")
  func transforms() async throws {
    let db = try await TestFirestore.offline()
    let city = db.document("cities/SF")
    city.setData(["n": 1, "tags": ["a"], "t": "before"], completion: nil)
    for _ in 0..<3 {
      city.updateData(
        [
          "n": FieldValue.increment(Int64(2)), "tags": FieldValue.arrayUnion(["b"]), "t": FieldValue.serverTimestamp(),
          "low": FieldValue.minimum(Int64(4)), "high": FieldValue.maximum(2.5),
        ], completion: nil)
    }
    city.updateData(["tags": FieldValue.arrayRemove(["a"])], completion: nil)
    let snapshot = try await city.getDocument()
    #expect(snapshot["n"] as? Int == 7)
    #expect(snapshot["tags"] as? [String] == ["b"])
    #expect(snapshot["low"] as? Int == 4)
    #expect(snapshot["high"] as? Double == 2.5)
    #expect(snapshot["t"] is NSNull)
    #expect(snapshot.get("t", serverTimestampBehavior: .previous) as? String == "before")
    let estimate = snapshot.data(with: .estimate)?["t"] as? Timestamp
    #expect(abs(try #require(estimate).dateValue().timeIntervalSinceNow) < 60)
  }

  @Test("a batch is one event, and one of nothing succeeds at once")
  func batches() async throws {
    let db = try await TestFirestore.offline()
    let cities = db.collection("cities")
    cities.document("DC").setData(["n": 1], completion: nil)
    let (events, _) = cities.order(by: "n").record()
    #expect(try await events.next().get().ids == ["DC"])
    let batch = db.batch()
    batch.setData(["n": 3], forDocument: cities.document("LA"))
    batch.setData(["n": 2], forDocument: cities.document("SF"))
    batch.updateData(["n": 4], forDocument: cities.document("SF"))
    batch.deleteDocument(cities.document("DC"))
    batch.commit(completion: nil)
    let event = try await events.next().get()
    #expect(event.ids == ["LA", "SF"])
    #expect(event.documentChanges.map(\.type) == [.removed, .added, .added])
    try await db.batch().commit()
    #expect(throws: ProgrammingError("A write batch can no longer be used after commit has been called.")) {
      try batch.validateIsOpen()
    }
    let foreign = try TestFirestore().firestore
    #expect(throws: ProgrammingError("Provided document reference is from a different Cloud Firestore instance.")) {
      try db.batch().validate(foreign.document("a/b"))
    }
  }

  @Test("queries filter, order, limit and page on the cache")
  func queries() async throws {
    let db = try await TestFirestore.offline()
    let cities = db.collection("cities")
    for (id, state, population) in [("SF", "CA", 860), ("LA", "CA", 3900), ("DC", "DC", 680), ("SD", "CA", 1400)] {
      cities.document(id).setData(["state": state, "population": population], completion: nil)
    }
    db.document("countries/US/cities/X").setData(["state": "CA", "population": 1], completion: nil)
    func ids(_ query: Query) async throws -> [String] { try await query.getDocuments(source: .cache).ids }
    let californian = cities.whereField("state", isEqualTo: "CA")
    #expect(try await ids(californian) == ["LA", "SD", "SF"])
    #expect(try await ids(californian.order(by: "population").limit(to: 2)) == ["SF", "SD"])
    #expect(try await ids(californian.order(by: "population").limit(toLast: 2)) == ["SD", "LA"])
    #expect(try await ids(cities.whereField("state", in: ["DC", "NY"])) == ["DC"])
    #expect(try await ids(cities.whereField(FieldPath.documentID(), in: ["DC", "SF"])) == ["DC", "SF"])
    let either = Filter.orFilter([
      Filter.whereField("state", isEqualTo: "DC"), Filter.whereField("population", isGreaterThan: 3000),
    ])
    #expect(try await ids(cities.whereFilter(either)) == ["DC", "LA"])
    let bySize = cities.order(by: "population")
    #expect(try await ids(bySize.start(at: [860]).end(before: [3900])) == ["SF", "SD"])
    let page = try await bySize.limit(to: 2).getDocuments(source: .cache)
    let last = try #require(page.documents.last)
    #expect(try await ids(bySize.start(afterDocument: last)) == ["SD", "LA"])
    #expect(try await ids(db.collectionGroup("cities").whereField("population", isLessThan: 700)) == ["X", "DC"])
  }

  @Test("network switches are idempotent, and waiting for writes depends on the queue")
  func network() async throws {
    let db = try await TestFirestore.offline()
    try await db.disableNetwork()
    try await db.waitForPendingWrites()
    db.document("a/b").setData(["n": 1], completion: nil)
    let answered = Recorder<String>()
    db.waitForPendingWrites { _ in answered.record("queue empty") }
    db.enableNetwork { _ in answered.record("enabled") }
    db.enableNetwork { _ in answered.record("enabled again") }
    #expect(try await answered.next() == "enabled")
    #expect(try await answered.next() == "enabled again")
    #expect(!answered.events.contains("queue empty"))
  }

  @Test("an unreachable backend is noticed, and reads then come from the cache")
  func unreachable() async throws {
    let db = try TestFirestore(host: "127.0.0.1:1").firestore
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.document("a/b").getDocument().metadata.isFromCache)
    let error = await thrown { try await db.document("a/c").getDocument() }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(try await db.pendingWrites().count == 1)
  }

  @Test("the outbox can be listed, oldest first")
  func outbox() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/1").setData(["n": 1], completion: nil)
    let batch = db.batch()
    batch.updateData(["n": 2], forDocument: db.document("a/1")).deleteDocument(db.document("a/2"))
    batch.commit(completion: nil)
    let writes = try await db.pendingWrites()
    #expect(
      writes.map { $0.operations.map { "\($0.kind) \($0.documentPath)" } } == [
        ["set a/1"], ["update a/1", "delete a/2"],
      ])
    #expect(writes[0].id < writes[1].id)
  }

  @Test("a cancelled task stops waiting, the write stays queued")
  func cancellation() async throws {
    let db = try await TestFirestore.offline()
    let waiting = Task { try await db.document("a/b").setData(["n": 1]) }
    let (events, _) = db.document("a/b").record()
    _ = try await events.next { (try? $0.get().exists) == true }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(try await db.pendingWrites().count == 1)
  }

  @Test("listeners of the cache hear local writes and never ask the backend")
  func cacheListener() async throws {
    let db = try TestFirestore().firestore
    let (events, _) = db.collection("a").record(includeMetadataChanges: true, source: .cache)
    #expect(try await events.next().get().isEmpty)
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await events.next().get().ids == ["b"])
  }

  @Test("snapshots come as an asynchronous sequence")
  func sequences() async throws {
    let db = try await TestFirestore.offline()
    var seen: [[String]] = []
    for try await snapshot in db.collection("a").snapshots {
      seen.append(snapshot.ids)
      if seen.count == 3 { break }
      db.document("a/\(seen.count)").setData([:], completion: nil)
    }
    #expect(seen == [[], ["1"], ["1", "2"]])
    var existed: [Bool] = []
    for try await snapshot in db.document("a/9").snapshots(includeMetadataChanges: true) {
      existed.append(snapshot.exists)
      if snapshot.exists { break }
      db.document("a/9").setData([:], completion: nil)
    }
    #expect(existed == [false, true])
  }

  @Test("documents of equal data are equal snapshots; metadata changes need a listener that includes them")
  func equality() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/b").setData(["n": 1, "m": ["x": 1]], completion: nil)
    let first = try await db.document("a/b").getDocument(source: .cache)
    let second = try await db.document("a/b").getDocument(source: .cache)
    #expect(first == second)
    #expect(first.hash == second.hash)
    db.document("a/b").setData(["n": 2], completion: nil)
    #expect(try await db.document("a/b").getDocument(source: .cache) != first)
    let query = db.collection("a")
    #expect(try await query.getDocuments(source: .cache) == query.getDocuments(source: .cache))
    #expect(throws: ProgrammingError.self) {
      try QuerySnapshot.validate(includeMetadataChanges: true, excludesMetadataChanges: true)
    }
  }
}
