import Foundation
import HearthStore
import Testing

@testable import Hearth

@Suite("A cache that is damaged while it is used", .timeLimit(.minutes(1)))
struct DamagedCacheTests {
  let folder: TemporaryFolder
  let name = UUID().uuidString

  init() throws {
    folder = try TemporaryFolder()
  }

  private var cachePath: String {
    folder.url.appendingPathComponent("\(name)/demo-hearth/(default)/cache.sqlite").path
  }

  private func makeFirestore(_ host: String) throws -> Firestore {
    try TestFirestore(name: name, cache: PersistentCacheSettings(directory: folder.url), host: host).firestore
  }

  /// A cache with a query that was listened to and a pending write.
  private func fill(_ host: String) async throws {
    let db = try makeFirestore(host)
    try await db.document("a/known").setData(["n": 1])
    let (events, registration) = db.collection("a").record(includeMetadataChanges: true)
    while try await events.next().get().metadata.isFromCache {}
    registration.remove()
    try await db.disableNetwork()
    db.document("a/pending").setData(["n": 2], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    try await db.terminate()
  }

  @Test(
    "ends its listeners once and goes on: reads and listeners are answered, pending and new writes arrive",
    arguments: ["cache_targets", "cache_mutation_batches_by_user", "documents", "cache_target_documents"])
  func pages(table: String) async throws {
    try await TestBackend.run { host in
      try await fill(host)
      try TablePages.overwrite(table, in: cachePath)
      let db = try makeFirestore(host)
      try await db.disableNetwork()
      let outcome = Recorder<NSError?>()
      db.document("a/new").setData(["n": 3]) { outcome.record($0 as NSError?) }
      let (events, _) = db.collection("a").record()
      var failures = 0
      switch try await events.next() {
      case .success: break
      case .failure(let error):
        failures += 1
        #expect(error.code == FirestoreErrorCode.dataLoss.rawValue, "\(error)")
      }
      let (others, _) = db.collection("a").record()
      #expect(try await others.next().get().ids.contains("new"))
      #expect(try await db.pendingWrites().count == 2)
      try await db.enableNetwork()
      #expect(try await outcome.next() == nil)
      try await db.waitForPendingWrites()
      #expect(try await db.collection("a").getDocuments(source: .server).ids == ["known", "new", "pending"])
      // The start looks at these by itself.
      #expect(failures == (["cache_targets", "cache_mutation_batches_by_user"].contains(table) ? 0 : 1))
      try await db.terminate()
      #expect(FileManager.default.fileExists(atPath: cachePath + ".corrupt"))
    }
  }

  @Test("heals a damaged row without its listeners noticing, when they rely on nothing of it")
  func row() async throws {
    try await TestBackend.run { host in
      try await fill(host)
      let database = try Database(.file(path: cachePath))
      try database.execute("UPDATE cache_targets SET target = x'FF'")
      try database.execute("UPDATE cache_overlays SET mutation = x'FF'")
      database.close()
      let db = try makeFirestore(host)
      try await db.disableNetwork()
      let (events, _) = db.collection("a").record()
      #expect(try await events.next().get().ids == ["known", "pending"])
      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      #expect(try await db.collection("a").getDocuments(source: .server).ids == ["known", "pending"])
      try await db.terminate()
      #expect(!FileManager.default.fileExists(atPath: cachePath + ".corrupt"))
    }
  }
}
