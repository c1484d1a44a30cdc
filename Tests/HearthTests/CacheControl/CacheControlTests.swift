import Foundation
import TestSupport
import Testing

@testable import Hearth

@Suite("Clearing, pinning and prefetching", .timeLimit(.minutes(2)))
struct CacheControlTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func open(_ host: String = "127.0.0.1:1", name: String = UUID().uuidString) throws -> Firestore {
    try TestFirestore(name: name, cache: PersistentCacheSettings(directory: folder.url), host: host).firestore
  }

  /// The cities of two states at the backend.
  private func fill(_ host: String) async throws {
    let db = try TestFirestore(host: host).firestore
    for number in 0..<6 {
      try await db.document("cities/city-\(number)").setData(["state": number < 4 ? "CA" : "NY", "n": number])
    }
    try await db.terminate()
  }

  private func cached(_ query: Query) async throws -> [String] {
    try await query.getDocuments(source: .cache).ids
  }

  // MARK: - Clearing

  @Test("what was cleared is gone offline, and comes again from the backend")
  func clearAndComeBack() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let db = try open(host)
      let cities = db.collection("cities")
      try await cities.prefetch()
      try await db.disableNetwork()
      let cleared = try await db.clearCache(.query(cities.whereField("state", isEqualTo: "CA")))
      #expect(cleared.removedDocumentCount == 4 && cleared.listenedDocumentCount == 0 && !cleared.isErased)
      #expect(try await cached(cities) == ["city-4", "city-5"])
      #expect(try await cities.getDocuments(source: .cache).completeness.isComplete == false)
      try await db.enableNetwork()
      #expect(try await cities.getDocuments(source: .server).count == 6)
      #expect(try await cached(cities).count == 6)
      try await db.terminate()
    }
  }

  @Test("a query with a limit takes its result, no more")
  func limit() async throws {
    let db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 20))
    let first = db.collection("cities").order(by: FieldPath.documentID()).limit(to: 3)
    let ids = try await cached(first)
    #expect(try await db.clearCache(.query(first)).removedDocumentCount == 3)
    let left = try await cached(db.collection("cities"))
    #expect(left.count == 17 && Set(left).isDisjoint(with: ids))
    try await db.terminate()
  }

  @Test("documents with pending writes, and those that a listener of any process shows, stay")
  func spared() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let cache = try SharedCache()
      func join() throws -> Firestore {
        let settings = PersistentCacheSettings(directory: cache.directory)
        return try TestFirestore(name: try cache.name(), cache: settings, host: host).firestore
      }
      let (db, other) = (try join(), try join())
      try await db.collection("cities").prefetch()
      let (recorder, registration) = other.collection("cities").whereField("state", isEqualTo: "NY").record()
      _ = try await recorder.next { (try? $0.get().count) == 2 }
      try await db.disableNetwork()
      try await other.disableNetwork()
      db.document("cities/city-0").setData(["n": 100], completion: nil)
      let cleared = try await db.clearCache(.everything, securely: true)
      #expect(
        (cleared.removedDocumentCount, cleared.pendingDocumentCount, cleared.listenedDocumentCount) == (3, 1, 2))
      #expect(try await cached(db.collection("cities")) == ["city-0", "city-4", "city-5"])
      registration.remove()
      try await other.enableNetwork()
      try await db.enableNetwork()
      #expect(try await db.collection("cities").getDocuments(source: .server).count == 6)
      try await other.terminate()
      try await db.terminate()
    }
  }

  @Test("securely cleared, nothing is left in any file")
  func secure() async throws {
    let db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 200))
    try await db.setIndexConfiguration(indexes: [
      FirestoreIndex(collectionGroup: "cities", fields: [.init(fieldPath: "state", order: .ascending)])
    ])
    func files(with text: String) -> [String] {
      folder.contents().filter { $0.value.range(of: Data(text.utf8)) != nil }.keys.sorted()
    }
    let id = try #require(try await cached(db.collection("cities")).first)
    #expect(!files(with: id).isEmpty)
    let steps = Counter()
    let cleared = try await db.clearCache(.everything, securely: true) { _ in steps.increment() }
    #expect(cleared.isErased && cleared.removedDocumentCount == 200 && steps.value > 1)
    #expect(files(with: id) == [])
    #expect(files(with: "cities/") == [])
    try await db.terminate()
  }

  @Test("a cancelled task clears no further")
  func cancelled() async throws {
    let db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 1_000))
    let task = Task {
      try await db.clearCache(.everything) { cleared in
        if cleared.removedDocumentCount > 0 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let left = try await cached(db.collection("cities")).count
    #expect(left > 0 && left < 1_000)
    try await db.terminate()
  }

  @Test("what no cache holds is refused")
  func refused() async throws {
    let db = try await TestFirestore.offline()
    let other = try await TestFirestore.offline()
    for scope in [
      CacheScope.collectionGroup(""), .collectionGroup("a/b"), .document(other.document("a/b")),
      .query(other.collection("a")), .everything.olderThan(.distantFuture.addingTimeInterval(1e15)),
    ] {
      let error = await thrown { _ = try await db.clearCache(scope) }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue, "\(scope)")
    }
    #expect(try await db.clearCache(.everything).removedDocumentCount == 0)
    try await db.terminate()
    try await other.terminate()
  }

  @Test("an age takes what the backend has not confirmed since")
  func age() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let db = try open(host)
      try await db.collection("cities").prefetch()
      try await db.disableNetwork()
      let hour: TimeInterval = 3600
      let young = try await db.clearCache(.everything.olderThan(Date(timeIntervalSinceNow: -hour)))
      #expect(young.removedDocumentCount == 0)
      let old = try await db.clearCache(.everything.olderThan(Date(timeIntervalSinceNow: hour)))
      #expect(old.removedDocumentCount == 6)
      try await db.terminate()
    }
  }

  // MARK: - Pins and sizes

  @Test("pins are listed with their sizes, and survive a restart")
  func pins() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let name = UUID().uuidString
      let db = try open(host, name: name)
      let inCalifornia = db.collection("cities").whereField("state", isEqualTo: "CA")
      try await inCalifornia.pin()
      try await inCalifornia.prefetch()
      let report = try await db.cacheReport()
      #expect(report.collections.map(\.path) == ["cities"] && report.collections.map(\.documentCount) == [4])
      #expect(report.pinnedQueries.map(\.query) == [inCalifornia])
      #expect(report.pinnedQueries.map(\.documentCount) == [4])
      #expect(report.pinnedQueries[0].documentBytes == report.collections[0].documentBytes)
      #expect(report.pinnedQueries[0].lastSnapshotTime != nil && report.usedBytes > 0)
      try await db.terminate()
      let again = try open(host, name: name)
      let pinned = try await again.pinnedQueries()
      #expect(pinned == [again.collection("cities").whereField("state", isEqualTo: "CA")])
      try await pinned[0].unpin()
      #expect(try await again.pinnedQueries() == [])
      try await again.terminate()
    }
  }

  @Test("a memory cache that drops everything at once keeps a pinned query")
  func pinnedInMemory() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let eager = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSettings())
      let db = try TestFirestore(cache: eager, host: host).firestore
      let cities = db.collection("cities")
      try await cities.prefetch()
      #expect(try await cached(cities) == [])
      try await cities.pin()
      try await cities.prefetch()
      #expect(try await cached(cities).count == 6)
      #expect(try await db.cacheReport().pinnedQueries.map(\.documentCount) == [6])
      try await cities.unpin()
      #expect(try await cached(cities) == [])
      try await db.terminate()
    }
  }

  // MARK: - Prefetching

  @Test("a prefetch transfers everything the first time, and then only what has changed")
  func resumes() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let db = try open(host)
      let cities = db.collection("cities")
      func transfer() async throws -> [PrefetchProgress] {
        var all: [PrefetchProgress] = []
        for try await progress in cities.prefetchProgress(countsDocuments: true) { all.append(progress) }
        return all
      }
      let first = try await transfer()
      #expect(first.last?.isFinished == true && first.last?.receivedDocumentCount == 6)
      #expect(first.allSatisfy { $0.totalDocumentCount == nil || $0.totalDocumentCount == 6 })
      #expect(first.last?.totalDocumentCount == 6)
      let writer = try TestFirestore(host: host).firestore
      try await writer.document("cities/city-1").updateData(["n": 11])
      try await writer.terminate()
      #expect(try await transfer().last?.receivedDocumentCount == 1)
      #expect(try await db.document("cities/city-1").getDocument(source: .cache)["n"] as? Int == 11)
      try await db.terminate()
    }
  }

  @Test("offline a prefetch fails with unavailable")
  func offline() async throws {
    let db = try await TestFirestore.offline()
    let error = await thrown { try await db.collection("cities").prefetch() }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    try await db.terminate()
  }

  @Test("a backend that does not answer ends a prefetch at its limit, and a cancelled task at once")
  func bounded() async throws {
    let silent = try SilentBackend()
    let db = try TestFirestore(host: silent.host).firestore
    let error = await thrown { try await db.collection("cities").prefetch(within: .milliseconds(50)) }
    #expect(error?.code == FirestoreErrorCode.deadlineExceeded.rawValue)
    let task = Task { try await db.collection("cities").prefetch() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await db.terminate()
  }
}
