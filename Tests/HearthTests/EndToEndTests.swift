import Foundation
import HearthServer
import Logging
import Testing

@testable import Hearth

/// The whole way: public API, cache, sync engine, transport and the embedded server, in one process.
@Suite("With a backend", .timeLimit(.minutes(2)))
struct EndToEndTests {
  static let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  func withServer(_ body: (_ host: String) async throws -> Void) async throws {
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: Self.quiet)
    do {
      try await body("127.0.0.1:\(server.port)")
    } catch {
      await server.shutdown()
      throw error
    }
    await server.shutdown()
  }

  @Test("what one client writes, another one reads, queries and hears")
  func twoClients() async throws {
    try await withServer { host in
      let writer = try TestFirestore(host: host).firestore
      let reader = try TestFirestore(host: host).firestore
      try await writer.document("cities/SF").setData(["state": "CA", "population": 860, "tags": ["west"]])
      try await writer.document("cities/LA").setData(["state": "CA", "population": 3900])

      let snapshot = try await reader.document("cities/SF").getDocument()
      #expect(!snapshot.metadata.isFromCache)
      #expect(snapshot["population"] as? Int == 860)
      #expect(snapshot["tags"] as? [String] == ["west"])
      #expect(try await !reader.document("cities/XX").getDocument(source: .server).exists)
      let result = try await reader.collection("cities").order(by: "population").getDocuments(source: .server)
      #expect(result.ids == ["SF", "LA"])
      #expect(!result.metadata.isFromCache)

      let (events, registration) = reader.collection("cities").whereField("state", isEqualTo: "CA")
        .record(includeMetadataChanges: true)
      _ = try await events.next { (try? $0.get().metadata.isFromCache) == false }
      try await writer.document("cities/SD").setData(["state": "CA", "population": 1400])
      let added = try await events.next { (try? $0.get().count) == 3 }.get()
      #expect(added.documentChanges.map(\.document.documentID) == ["SD"])
      try await writer.document("cities/LA").delete()
      _ = try await events.next { (try? $0.get().ids) == ["SD", "SF"] }
      registration.remove()
      try await writer.terminate()
      try await reader.terminate()
    }
  }

  @Test("conditions that are joined one by one are answered, and a query that no backend can read ends alone")
  func queriesThatCannotBeSent() async throws {
    try await withServer { host in
      let firestore = try TestFirestore(host: host).firestore
      let cities = firestore.collection("cities")
      let fields = Dictionary(uniqueKeysWithValues: (0..<60).map { ("f\($0)", 1) })
      try await cities.document("SF").setData(fields)
      let conditions = (0..<60).map { Hearth.Filter.whereField("f\($0)", isEqualTo: 1) }
      let joined = conditions.dropFirst().reduce(conditions[0]) { .andFilter([$0, $1]) }
      let nested = conditions.enumerated().dropFirst().reduce(conditions[0]) { inner, next in
        next.offset.isMultiple(of: 2) ? .andFilter([inner, next.element]) : .orFilter([inner, next.element])
      }
      let tooDeep = cities.whereFilter(nested)
      let long = String(repeating: "x", count: 5 << 20)
      let tooLarge = cities.whereField("text", isEqualTo: long)

      let (all, _) = cities.record(includeMetadataChanges: true)
      let (some, _) = cities.whereFilter(joined).record(includeMetadataChanges: true)
      let (document, _) = cities.document(long).record()
      await #expect(throws: NSError.self) { _ = try await document.next().get() }
      await #expect(throws: NSError.self) { try await cities.document(long).getDocument() }
      for (query, reason) in [(tooDeep, "nested too deep"), (tooLarge, "bytes"), (cities.order(by: long), "bytes")] {
        let (none, _) = query.record()
        let failure = await #expect(throws: NSError.self) { _ = try await none.next().get() }
        #expect(failure?.code == FirestoreErrorCode.invalidArgument.rawValue)
        #expect(failure?.localizedDescription.contains(reason) == true, "\(failure as Any)")
        for source in [FirestoreSource.default, .server, .cache] {
          await #expect(throws: NSError.self) { try await query.getDocuments(source: source) }
        }
        await #expect(throws: NSError.self) { try await query.count.getAggregation(source: .server) }
        await #expect(throws: NSError.self) { try await query.pin() }
      }
      _ = try await some.next { (try? $0.get().metadata.isFromCache) == false && (try? $0.get().count) == 1 }
      try await cities.document("LA").setData(fields)
      for events in [all, some] {
        _ = try await events.next { (try? $0.get().metadata.isFromCache) == false && (try? $0.get().count) == 2 }
      }
      try await firestore.terminate()
    }
  }

  @Test("values of every kind come back as they went")
  func values() async throws {
    try await withServer { host in
      let writer = try TestFirestore(host: host).firestore
      let reader = try TestFirestore(host: host).firestore
      let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_000)
      try await writer.document("v/1").setData([
        "null": NSNull(), "true": true, "int": Int64.max, "double": -0.5, "text": "é\u{301}", "bytes": Data([0, 255]),
        "time": time, "place": GeoPoint(latitude: 1.5, longitude: -2.5), "ref": writer.document("v/2"),
        "vector": FieldValue.vector([1.0, 2.0]), "list": [1, ["k": [2]]] as [Any], "map": ["a": ["b": "c"]],
        FieldPath(["x.y"]).description: 1,
      ])
      let data = try await reader.document("v/1").getDocument(source: .server)
      #expect(data["null"] is NSNull)
      #expect(data["true"] as? Bool == true)
      #expect(data["int"] as? Int64 == .max)
      #expect(data["double"] as? Double == -0.5)
      #expect((data["text"] as? String).map { Array($0.utf8) } == Array("é\u{301}".utf8))
      #expect(data["bytes"] as? Data == Data([0, 255]))
      #expect(data["time"] as? Timestamp == time)
      #expect(data["place"] as? GeoPoint == GeoPoint(latitude: 1.5, longitude: -2.5))
      #expect(data["ref"] as? DocumentReference == reader.document("v/2"))
      #expect(data["vector"] as? VectorValue == VectorValue([1, 2]))
      #expect(data["map.a.b"] as? String == "c")
      try await writer.terminate()
      try await reader.terminate()
    }
  }

  @Test("field values get the backend's results")
  func fieldValues() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let city = db.document("cities/SF")
      let before = Date()
      try await city.setData(["n": 1, "tags": ["a"], "gone": 1])
      try await city.updateData([
        "n": FieldValue.increment(Int64(5)), "tags": FieldValue.arrayUnion(["b", "a"]), "gone": FieldValue.delete(),
        "at": FieldValue.serverTimestamp(), "low": FieldValue.minimum(2.5), "high": FieldValue.maximum(Int64(3)),
      ])
      let snapshot = try await city.getDocument(source: .server)
      #expect(snapshot["n"] as? Int == 6)
      #expect(snapshot["tags"] as? [String] == ["a", "b"])
      #expect(snapshot["gone"] == nil)
      #expect(snapshot["low"] as? Double == 2.5)
      #expect(snapshot["high"] as? Int == 3)
      let time = try #require(snapshot["at"] as? Timestamp).dateValue()
      #expect(abs(time.timeIntervalSince(before)) < 60)
      try await db.terminate()
    }
  }

  @Test("a listener that includes metadata sees the write pending and then acknowledged")
  func metadata() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let (events, _) = db.document("a/b").record(includeMetadataChanges: true)
      _ = try await events.next { (try? $0.get().metadata.isFromCache) == false }
      try await db.document("a/b").setData(["n": 1])
      let pending = try await events.next().get()
      #expect(pending.metadata == SnapshotMetadata(hasPendingWrites: true, isFromCache: false))
      let acknowledged = try await events.next().get()
      #expect(acknowledged.metadata == SnapshotMetadata(hasPendingWrites: false, isFromCache: false))
      #expect(acknowledged["n"] as? Int == 1)
      try await db.terminate()
    }
  }

  @Test("a refused write reports its error and is rolled back; later ones go out")
  func refused() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let error = await thrown { try await db.document("a/missing").updateData(["n": 1]) }
      #expect(error?.domain == FirestoreErrorDomain)
      #expect(error?.code == FirestoreErrorCode.notFound.rawValue)
      let batch = db.batch()
      batch.setData(["n": 1], forDocument: db.document("a/1"))
      batch.updateData(["n": 2], forDocument: db.document("a/missing"))
      let batchError = await thrown { try await batch.commit() }
      #expect(batchError?.code == FirestoreErrorCode.notFound.rawValue)
      #expect(try await !db.document("a/1").getDocument().exists)
      let oversized = await thrown {
        try await db.document("a/big").setData(["text": String(repeating: "x", count: 1_100_000)])
      }
      #expect(oversized?.code == FirestoreErrorCode.invalidArgument.rawValue)
      try await db.document("a/2").setData(["n": 2])
      #expect(try await db.document("a/2").getDocument(source: .server)["n"] as? Int == 2)
      #expect(try await db.pendingWrites().isEmpty)
      try await db.terminate()
    }
  }

  @Test(
    "a write that no backend can take is refused instead of blocking the queue", arguments: [2.0, 15, 16.8, 17, 40])
  func oversized(mebibytes: Double) async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let error = await thrown {
        try await db.document("a/big").setData(["bytes": Data(count: Int(mebibytes * 1_048_576))])
      }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      try await db.document("a/small").setData(["n": 1])
      #expect(try await !db.document("a/big").getDocument(source: .server).exists)
      try await db.terminate()
    }
  }

  @Test("offline work is in sync after the network is back, each write exactly once and in order")
  func offlineCycles() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let other = try TestFirestore(host: host).firestore
      let (events, _) = db.collection("c").record(includeMetadataChanges: true)
      _ = try await events.next { (try? $0.get().metadata.isFromCache) == false }
      for cycle in 1...3 {
        try await db.disableNetwork()
        _ = try await events.next { (try? $0.get().metadata.isFromCache) == true }
        try await other.document("c/remote").setData(["n": cycle])
        for _ in 0..<20 {
          db.document("c/local").setData(["n": FieldValue.increment(Int64(1))], merge: true, completion: nil)
        }
        #expect(try await db.document("c/local").getDocument()["n"] as? Int == cycle * 20)
        #expect(try await db.pendingWrites().count == 20)
        try await db.enableNetwork()
        try await db.waitForPendingWrites()
        #expect(try await other.document("c/local").getDocument(source: .server)["n"] as? Int == cycle * 20)
        let synced = try await events.next {
          guard let snapshot = try? $0.get() else { return false }
          return snapshot.metadata == SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
            && snapshot.documents.first { $0.documentID == "remote" }?["n"] as? Int == cycle
        }.get()
        #expect(synced.ids == ["local", "remote"])
      }
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("a queue that was left by an earlier run goes out, and what was read is still there")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let cache = PersistentCacheSettings(directory: folder.url)
    let name = UUID().uuidString
    try await withServer { host in
      let first = try TestFirestore(name: name, cache: cache, host: host).firestore
      try await first.document("c/1").setData(["n": 1])
      _ = try await first.collection("c").getDocuments(source: .server)
      try await first.disableNetwork()
      for i in 2...30 { first.document("c/\(i)").setData(["n": i], completion: nil) }
      first.document("c/1").updateData(["n": FieldValue.increment(Int64(100))], completion: nil)
      try await first.terminate()

      let second = try TestFirestore(name: name, cache: cache, host: host).firestore
      try await second.disableNetwork()
      #expect(try await second.document("c/1").getDocument()["n"] as? Int == 101)
      #expect(try await second.pendingWrites().count == 30)
      try await second.enableNetwork()
      try await second.waitForPendingWrites()
      let reader = try TestFirestore(host: host).firestore
      let result = try await reader.collection("c").order(by: "n").getDocuments(source: .server)
      #expect(result.documents.map { $0["n"] as? Int } == Array(2...30) + [101])
      try await second.terminate()
      try await reader.terminate()
    }
  }

  @Test("the backend's restart is survived by listeners and writes")
  func backendRestart() async throws {
    let folder = try TemporaryFolder()
    let storage = StorageLocation.folder(path: folder.url.path)
    let first = try await EmbeddedServer.start(port: 0, storage: storage, logger: Self.quiet)
    let db = try TestFirestore(host: "127.0.0.1:\(first.port)").firestore
    let (events, _) = db.collection("c").record(includeMetadataChanges: true)
    try await db.document("c/1").setData(["n": 1])
    _ = try await events.next {
      (try? $0.get().metadata) == SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
    }
    await first.shutdown()
    _ = try await events.next { (try? $0.get().metadata.isFromCache) == true }
    db.document("c/2").setData(["n": 2], completion: nil)
    _ = try await events.next { (try? $0.get().count) == 2 }

    let second = try await EmbeddedServer.start(port: first.port, storage: storage, logger: Self.quiet)
    try await db.waitForPendingWrites()
    _ = try await events.next {
      (try? $0.get().metadata) == SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
    }
    #expect(try await db.collection("c").getDocuments(source: .server).ids == ["1", "2"])
    try await db.terminate()
    await second.shutdown()
  }
}
