import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Damaged rows")
struct RowRepairTests {
  private func makeCache() throws -> (cache: TestCache, target: TargetID) {
    let cache = try TestCache(.file)
    let target = try cache.store.allocateTarget(collection("rooms").target).targetID
    try cache.store.receive(
      found("rooms/a", 3, ["n": .integer(1)]), found("rooms/b", 3, ["n": .integer(2)]), at: 3, for: [target],
      token: "token")
    try cache.store.releaseTarget(target)
    return (cache, target)
  }

  @Test("of a target cost its token, and nobody notices", arguments: ["x'FF'", "x''", "'text'"])
  func target(value: String) throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.database.execute("UPDATE cache_targets SET target = \(value)")
    let data = try cache.store.allocateTarget(collection("rooms").target)
    #expect(data.resumeToken.isEmpty)
    #expect(try cache.store.found(collection("rooms")) == ["rooms/a", "rooms/b"])
    #expect(cache.store.reopening == nil)
  }

  @Test("of a target's documents cost its token, and nobody notices", arguments: ["x'FF'", "'a'", "'a//b'"])
  func targetDocument(value: String) throws {
    let (cache, target) = try makeCache()
    defer { cache.close() }
    try cache.database.execute("UPDATE cache_target_documents SET path = \(value) WHERE path = 'rooms/a'")
    #expect(try cache.store.confirmedKeys(for: target) == [key("rooms/b")])
    #expect(try cache.store.targetData(for: collection("rooms").target)?.resumeToken == [])
    #expect(cache.store.reopening == nil)
  }

  @Test("of the list of tables, which then lacks one, have the file reopened")
  func missingTable() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.database.execute("DROP TABLE cache_target_documents")
    #expect(throws: StoreError.self) { try cache.store.confirmedKeys(for: 2) }
    guard case .fileIsDamaged? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
  }

  @Test("of uses do not stop the collector", arguments: ["x'FF'", "'a'", "CAST(x'FF' AS TEXT)"])
  func use(value: String) throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.store.receive(found("rooms/c", 4, [:]), found("rooms/d", 4, [:]), at: 4)
    try cache.database.execute("UPDATE cache_document_uses SET path = \(value) WHERE path = 'rooms/c'")
    let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100, maxSequenceNumbers: 1000)
    _ = try cache.store.collectGarbage(everything, isShown: { _ in false })
    #expect(try cache.store.read("rooms/c").isUnknown && cache.store.read("rooms/d").isUnknown)
  }

  @Test(
    "of overlays are rebuilt from the queue",
    arguments: ["x'FF'", "'text'", "(SELECT mutation FROM cache_overlays WHERE path = 'rooms/x')"])
  func overlay(value: String) throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.store.write(.patch(key("rooms/a"), ["m": .integer(2)], mask: mask("m")))
    try cache.store.write(.set(key("rooms/x"), [:]))
    try cache.database.execute("UPDATE cache_overlays SET mutation = \(value) WHERE path = 'rooms/a'")
    #expect(try cache.store.read("rooms/a").values == ["n": .integer(1), "m": .integer(2)])
    #expect(try cache.store.pendingBatches().count == 2)
    #expect(cache.store.reopening == nil)
  }

  @Test("of documents are removed, and the backend is asked for them again; pending writes stay")
  func document() throws {
    let (cache, target) = try makeCache()
    defer { cache.close() }
    try cache.store.write(.patch(key("rooms/a"), ["m": .integer(2)], mask: mask("m"), precondition: .none))
    try cache.database.execute("UPDATE documents SET fields = x'FF' WHERE id = 'a'")
    #expect(try cache.store.read(collection("rooms")).documents.map(\.key) == [key("rooms/a"), key("rooms/b")])
    #expect(try cache.store.read("rooms/a").values == ["m": .integer(2)])
    #expect(try cache.store.targetData(for: collection("rooms").target)?.resumeToken == [])
    #expect(try cache.store.confirmedKeys(for: target).count == 2)
    #expect(try cache.store.pendingBatches().count == 1)
    #expect(cache.store.reopening == nil)
  }

  @Test("of documents that are listened to are an error, and a reason to reopen the cache")
  func listened() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    _ = try cache.store.allocateTarget(collection("rooms").target)
    try cache.database.execute("UPDATE documents SET fields = x'FF' WHERE id = 'a'")
    #expect(throws: StoreError.self) { try cache.store.read("rooms/a") }
    guard case .targetsWereRepaired? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
    try cache.restart()
    #expect(try cache.store.allocateTarget(collection("rooms").target).resumeToken == [])
    #expect(try cache.store.found(collection("rooms")) == ["rooms/b"])
    #expect(cache.store.reopening == nil)
  }

  @Test("of the queue that have lost their user find it again, and are never another user's")
  func owner() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), ["by": .string("nobody")]))
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), ["by": .string("alice")]))
    try cache.database.execute("UPDATE cache_mutation_batches SET user_id = 'x'")
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1])
    _ = try cache.store.changeUser("alice")
    #expect(try cache.store.pendingBatches().map(\.batchID) == [2])
    #expect(try cache.store.read("rooms/a").values == ["by": .string("alice")])
  }

  @Test("that only a new file helps against mark the file, and the next opening saves the outbox")
  func hopeless() throws {
    let folder = TemporaryFolder()
    for round in 0..<3 {
      let (cache, store) = try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID) {
        database, _ in
        try LocalStore(
          database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
          newCacheID: "id")
      }
      #expect((cache.recovery != nil) == (round > 0) && store.cacheID == "id")
      #expect(try store.pendingBatches().count == round)
      try store.write(.set(key("rooms/\(round)"), [:]))
      store.database.injectFailure = { point in
        guard case .statement(let sql) = point, sql.contains("FROM cache_targets") else { return nil }
        return StoreError(kind: .corrupt, message: "injected", sqliteCode: 11)
      }
      #expect(throws: StoreError.self) { try store.allocateTarget(collection("rooms").target) }
      #expect(store.reopening == .fileIsDamaged("injected"))
      try cache.markDamaged("injected")
      cache.close()
      let kept = try folder.names().filter { $0.contains(".corrupt") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
      #expect(kept == (round > 0 ? ["cache.sqlite.corrupt"] : []))
    }
  }

  @Test("are left to the next use while they cannot be repaired, because the disk is full")
  func fullDisk() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.database.execute("UPDATE cache_targets SET target = x'FF'")
    cache.database.injectFailure = { $0 == .commit ? StoreError(kind: .full, message: "full") : nil }
    #expect(throws: CacheError.self) { try cache.store.targetData(for: collection("rooms").target) }
    #expect(cache.store.reopening == nil)
    cache.database.injectFailure = nil
    #expect(try cache.store.targetData(for: collection("rooms").target) == nil)
  }

  @Test("of batches that were set aside go back into the queue when a release can read them")
  func readableAgain() throws {
    let (cache, _) = try makeCache()
    defer { cache.close() }
    try cache.store.write(.patch(key("rooms/a"), ["m": .integer(2)], mask: mask("m")))
    try cache.store.write(.set(key("rooms/b"), [:]))
    try cache.database.execute("CREATE TABLE before AS SELECT batch FROM cache_mutation_batches WHERE batch_id = 1")
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = x'FF' WHERE batch_id = 1")
    #expect(try cache.store.setAsideUnreadableBatches().batches.count == 1)
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.batchID) == [2])
    try cache.database.execute("UPDATE cache_unreadable_batches SET batch = (SELECT batch FROM before)")
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1, 2])
    #expect(try cache.store.read("rooms/a").values == ["n": .integer(1), "m": .integer(2)])
  }
}
