import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// A sync that fails is reported once. The system may have forgotten what it did not write, so later syncs prove nothing.
@Suite("A sync of the cache's log that fails")
struct FailedSyncTests {
  private static let failedSync = StoreError(kind: .io, message: "injected", sqliteCode: 10 | 4 << 8)

  private func expectFailedSync(_ store: LocalStore) {
    guard case .syncFailed? = store.reopening else {
      Issue.record("\(String(describing: store.reopening))")
      return
    }
  }

  @Test("at a commit has the cache reopened")
  func commit() throws {
    let cache = try TestCache(.file)
    cache.database.injectFailure = { $0 == .commit ? Self.failedSync : nil }
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.database.injectFailure = nil
    expectFailedSync(cache.store)
    cache.close()
  }

  @Test("during the checkpoint after a commit has the cache reopened, although SQLite does not report it")
  func checkpoint() throws {
    let folder = TemporaryFolder()
    var options = Database.Options()
    options.logPages = 1
    let opened = try CacheFile.openStore(
      folder: folder.path, databaseID: TestCache.databaseID, options: CacheFile.Options(database: options)
    ) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new")
    }
    try opened.store.write(.set(key("rooms/a"), [:]))
    #expect(opened.store.reopening == nil)
    opened.cache.database.injectFailure = { $0 == .checkpoint ? Self.failedSync : nil }
    try opened.store.write(.set(key("rooms/b"), [:]))
    expectFailedSync(opened.store)
    opened.cache.close()
  }

  @Test("at the close of the last client has the next one set the file aside and save the outbox")
  func close() throws {
    let folder = TemporaryFolder()
    func open() throws -> (cache: OpenedCache, store: LocalStore) {
      try CacheFile.openStore(
        folder: folder.path, databaseID: TestCache.databaseID, options: CacheFile.Options()
      ) { database, _ in
        try LocalStore(
          database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
          newCacheID: "new")
      }
    }
    let first = try open()
    try first.store.write(.set(key("rooms/a"), [:]))
    first.cache.database.injectFailure = { $0 == .checkpoint ? Self.failedSync : nil }
    first.cache.close()
    #expect(CacheFiles(folder: folder.path).markedDamage != nil)
    let second = try open()
    #expect(second.cache.recovery?.savedBatchCount == 1)
    #expect(try second.store.pendingBatches().count == 1)
    second.cache.close()
    #expect(CacheFiles(folder: folder.path).markedDamage == nil)
  }

  @Test("counts also where the cache must be reopened because rows of it were repaired")
  func besideRepair() throws {
    let cache = try TestCache(.file)
    _ = try cache.store.allocateTarget(collection("rooms").target)
    cache.store.transactions.health.noteRepair("another process has repaired the cache")
    guard case .targetsWereRepaired? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
    cache.database.injectFailure = { $0 == .commit ? Self.failedSync : nil }
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.database.injectFailure = nil
    expectFailedSync(cache.store)
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.close()
  }

  @Test("counts also where damage was found before it: nothing is stored behind it")
  func behindDamage() throws {
    let cache = try TestCache(.file)
    cache.store.noteDamagedFile("found by another client")
    cache.database.injectFailure = { $0 == .commit ? Self.failedSync : nil }
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.database.injectFailure = nil
    #expect(cache.store.reopening == .fileIsDamaged("found by another client"))
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.close()
  }

  @Test("is no other failure of the disk")
  func otherFailure() throws {
    let cache = try TestCache(.file)
    let full = StoreError(kind: .full, message: "injected", sqliteCode: 13)
    cache.database.injectFailure = { $0 == .commit ? full : nil }
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/a"), [:])) }
    cache.database.injectFailure = nil
    #expect(cache.store.reopening == nil)
    try cache.store.write(.set(key("rooms/a"), [:]))
    cache.close()
  }
}
