import Foundation
import HearthServer
import HearthStore
import Logging
import Synchronization
import Testing

@testable import Hearth

/// Differences from the official SDK that no other suite has to do with. `DifferenceProof` names those of the other suites.
@Suite("Differences from the official SDK", .timeLimit(.minutes(2)))
struct DifferenceTests {
  // MARK: - Swift

  @Test("what is Sendable")
  func sendable() {
    func check<Value: Sendable>(_ type: Value.Type) -> Bool { true }
    #expect(check(Firestore.self) && check(FirebaseApp.self) && check(FirebaseOptions.self))
    #expect(check(PersistentCacheSettings.self) && check(MemoryCacheSettings.self))
    #expect(check(LoadBundleTask.self) && check(PersistentCacheIndexManager.self))
  }

  @Test("enums are closed")
  func enums() {
    func name(_ source: AggregateSource) -> String {
      switch source {
      case .server: "server"
      case .cache: "cache"
      case .default: "default"
      }
    }
    func name(_ behavior: ServerTimestampBehavior) -> String {
      switch behavior {
      case .none: "none"
      case .estimate: "estimate"
      case .previous: "previous"
      }
    }
    #expect(name(AggregateSource.cache) == "cache" && name(ServerTimestampBehavior.previous) == "previous")
  }

  @Test("spellings that are added")
  func spellings() {
    #expect(FieldValue.increment(1) == FieldValue.increment(Int64(1)))
    #expect(FieldValue.increment(1) != FieldValue.increment(1.0))
    _ = Filter.whereField("n", isGreaterThanOrEqualTo: 1)
    guard case .arrayContains("tags", _) = QueryPredicate.where("tags", arrayContains: "x") else {
      Issue.record("another predicate")
      return
    }
    #expect(MemoryEagerGCSettings() == MemoryEagerGCSetting())
  }

  @Test("asynchronous calls do not need the settings' queue")
  func blockedQueue() async throws {
    let db = try TestFirestore().firestore
    let settings = db.settings
    settings.dispatchQueue = DispatchQueue(label: "blocked")
    settings.dispatchQueue.suspend()
    defer { settings.dispatchQueue.resume() }
    db.settings = settings
    try await db.disableNetwork()
    let calls = Mutex(0)
    db.document("a/b").addSnapshotListener { _, _ in calls.withLock { $0 += 1 } }
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.document("a/b").getDocument()["n"] as? Int == 1)
    for try await snapshot in db.document("a/b").snapshots {
      #expect(snapshot["n"] as? Int == 1)
      break
    }
    #expect(calls.withLock { $0 } == 0)
    try await db.terminate()
  }

  // MARK: - Setting up

  @Test("nothing is collected")
  func nothingCollected() async throws {
    FirebaseApp.configure(name: "uncollected", options: FirebaseOptions(projectID: "p"))
    let app = try #require(FirebaseApp.app(name: "uncollected"))
    #expect(!app.isDataCollectionDefaultEnabled && app.options.googleAppID.isEmpty)
    await app.delete()
  }

  @Test("the cache settings say what is used")
  func cacheSettings() throws {
    #expect(FirestoreSettings().cacheSettings.isEqual(PersistentCacheSettings()))
    let db = try TestFirestore(cache: MemoryCacheSettings()).firestore
    _ = db.collection("a")
    let same = db.settings
    same.cacheSettings = MemoryCacheSettings()
    db.settings = same
    #expect(db.settings == same)
  }

  @Test("a memory cache without limit keeps everything")
  func unlimitedMemory() async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let unlimited = MemoryLRUGCSettings(sizeBytes: FirestoreCacheSizeUnlimited as NSNumber)
    let collectors: [(any MemoryGarbageCollectorSettings & NSObjectProtocol, isKept: Bool)] = [
      (unlimited, true), (MemoryEagerGCSetting(), false),
    ]
    for (collector, isKept) in collectors {
      let cache = MemoryCacheSettings(garbageCollectorSettings: collector)
      let db = try TestFirestore(cache: cache, host: "127.0.0.1:\(server.port)").firestore
      try await db.document("a/b").setData(["n": 1])
      let isThere = await thrown { try await db.document("a/b").getDocument(source: .cache) } == nil
      #expect(isThere == isKept)
      try await db.terminate()
    }
    await server.shutdown()
  }

  @Test("messages go to the program's own handler of logs")
  func logs() throws {
    CapturedLog.begin()
    let db = try TestFirestore(host: "former.example").firestore
    db.useEmulator(withHost: "127.0.0.1", port: 1)
    #expect(CapturedLog.contains("Overriding previously set host value former.example"))
  }

  // MARK: - Values and queries

  @Test("1 and 1.0 are one element to arrays and filters, and two to listeners")
  func numbers() async throws {
    let db = try await TestFirestore.offline()
    let document = db.document("a/b")
    document.setData(["list": [1], "map": ["n": 1]], completion: nil)
    document.updateData(["list": FieldValue.arrayUnion([1.0])], completion: nil)
    #expect((try await document.getDocument()["list"] as? [Any])?.count == 1)
    let collection = db.collection("a")
    #expect(try await collection.whereField("list", arrayContains: 1.0).getDocuments().count == 1)
    #expect(try await collection.whereField("map.n", in: [1.0, 2]).getDocuments().count == 1)

    let (events, registration) = document.record()
    _ = try await events.next()
    document.updateData(["map.n": 1.0], completion: nil)
    let changed = try await events.next().get()
    #expect((changed["map.n"] as? NSNumber).map { String(cString: $0.objCType) } == "d")
    registration.remove()
  }

  @Test("ids with numbers are ordered by number, as documents and as values")
  func numericIDs() async throws {
    let db = try await TestFirestore.offline()
    let collection = db.collection("a")
    for id in ["__id12__", "__id7__", "b", "a"] {
      collection.document(id).setData(["self": collection.document(id)], completion: nil)
    }
    let expected = ["__id7__", "__id12__", "a", "b"]
    #expect(try await collection.getDocuments().ids == expected)
    #expect(try await collection.order(by: "self").getDocuments().ids == expected)
    for id in ["__id7x__", "__id__", "c"] { db.collection("c").document(id).setData([:], completion: nil) }
    #expect(try await db.collection("c").getDocuments().ids == ["__id7x__", "__id__", "c"])
  }

  @Test("queries that differ in a later decimal are two")
  func decimals() async throws {
    let db = try await TestFirestore.offline()
    db.document("a/b").setData(["n": 0.12], completion: nil)
    let one = db.collection("a").whereField("n", isGreaterThan: 0.11)
    let other = db.collection("a").whereField("n", isGreaterThan: 0.12)
    #expect(one != other)
    let (first, _) = one.record()
    let (second, _) = other.record()
    #expect(try await first.next().get().count == 1)
    #expect(try await second.next().get().count == 0)
  }

  // MARK: - Errors

  @Test("failures of the storage have codes that say what can be done")
  func storageFailures() {
    let codes: [(StoreError.Kind, FirestoreErrorCode.Code)] = [
      (.full, .resourceExhausted), (.corrupt, .dataLoss), (.newerSchema, .failedPrecondition),
      (.readOnly, .failedPrecondition), (.io, .unavailable),
    ]
    for (kind, code) in codes {
      let error = NSError.firestore(StoreError(kind: kind, message: "why") as any Error)
      #expect(error.domain == FirestoreErrorDomain && error.code == code.rawValue)
      #expect(error.userInfo[NSUnderlyingErrorKey] != nil)
    }
  }
}
