import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// Rows of users whose key is damaged: nobody's writes are taken for those of another.
@Suite("Damaged users")
struct DamagedUserTests {
  private func damage(_ cache: TestCache, _ value: String, of user: String) throws {
    try cache.database.execute("UPDATE cache_users SET user_key = \(value) WHERE user_key = '=\(user)'")
  }

  private static let garbage = ["x'FF00'", "CAST(x'FF' AS TEXT)", "'alice'"]

  @Test("the writes of a user whose key is damaged are set aside, and the client is reopened", arguments: garbage)
  func running(value: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/n"), [:]))
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    _ = try cache.store.changeUser(nil)
    try damage(cache, value, of: "alice")
    #expect(throws: CacheError.self) { try cache.store.changeUser("alice") }
    guard case .targetsWereRepaired? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
    try cache.restart()
    #expect(cache.store.reopening == nil)
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1])
    for user in ["alice", "bob"] {
      _ = try cache.store.changeUser(user)
      #expect(try cache.store.pendingBatches().isEmpty)
      #expect(try cache.store.outbox.holds(2, nil) == false)
    }
    #expect(try cache.store.write(.set(key("rooms/b"), [:])).batchID == 3)
  }

  @Test("a start sets them aside and keeps the rest of the cache", arguments: garbage)
  func start(value: String) throws {
    let cache = try TestCache(.file)
    let target = try cache.store.allocateTarget(collection("rooms").target).targetID
    try cache.store.receive(found("rooms/a", 3, [:]), at: 3, for: [target], token: "token")
    try cache.store.releaseTarget(target)
    try cache.store.pin(collection("rooms"))
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/b"), [:]))
    try damage(cache, value, of: "alice")
    cache.close()
    let opened = try CacheFile.openStore(folder: cache.folder.path, databaseID: TestCache.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new")
    }
    defer { opened.cache.close() }
    #expect(opened.cache.recovery == nil && opened.store.reopening == nil)
    #expect(try opened.store.pinnedQueries() == [collection("rooms")])
    #expect(try opened.store.found(collection("rooms")) == ["rooms/a"])
    #expect(try opened.store.targetData(for: collection("rooms").target)?.resumeToken == [UInt8]("token".utf8))
    #expect(try opened.store.outbox.holds(1, nil) == false)
    let kept = try opened.cache.database.firstRow("SELECT user_id FROM cache_unreadable_batches") {
      try $0.int64(at: 0)
    }
    #expect(kept == MutationQueue.unknownUser)
  }

  @Test("a second start that finds it gives the cache up, because callers may wait for the writes", arguments: garbage)
  func startAgain(value: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/b"), [:]))
    _ = try cache.store.changeUser(nil)
    try damage(cache, value, of: "alice")
    #expect(throws: CacheError.self) { try cache.store.start() }
    guard case .targetsWereRepaired? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
  }

  @Test(
    "an outbox that only looks empty in a running client, because of the page of an index, is not taken for an empty one"
  )
  func emptyIndex() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), [:]))
    let index = try cache.rootPage(of: "cache_mutation_batches_by_user")
    let empty = try cache.rootPage(of: "cache_targets_by_canonical_id")
    try cache.damageWhileOpen { $0.replaceSubrange(index, with: Data($0[empty])) }
    #expect(throws: StoreError.self) { try cache.store.nextMutationBatch(after: unknownBatchID) }
    guard case .fileIsDamaged? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
  }

  @Test("a user who comes back under another number cannot take back what a process may have sent already")
  func reserved() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    #expect(try cache.store.noteSending(1, reserving: 2).reserved == 3)
    try cache.store.acknowledgeNext(at: 1)
    _ = try cache.store.changeUser("bob")
    try damage(cache, "x'FF00'", of: "alice")
    #expect(try cache.store.write(.set(key("rooms/b"), [:])).batchID == 2)
    _ = try cache.store.changeUser("alice")
    for number: BatchID in [3, 4] {
      #expect(try cache.store.write(.set(key("rooms/\(number)"), [:])).batchID == number)
    }
    #expect(throws: CacheError.batchMayBeSent(3)) {
      try cache.store.withdraw(3, evenIfSent: false, .rejected, at: .epoch)
    }
    _ = try cache.store.withdraw(4, evenIfSent: false, .rejected, at: .epoch)
    #expect(try cache.store.pendingBatches().map(\.batchID) == [3])
  }

  @Test("a user who has come back cannot do so after a later repair either")
  func reservedBeforeRepair() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    #expect(try cache.store.noteSending(1, reserving: 3).reserved == 4)
    try cache.store.acknowledgeNext(at: 1)
    _ = try cache.store.changeUser("bob")
    try damage(cache, "x'FF00'", of: "alice")
    #expect(try cache.store.write(.set(key("rooms/b"), [:])).batchID == 2)
    _ = try cache.store.changeUser("alice")
    #expect(try cache.store.write(.set(key("rooms/3"), [:])).batchID == 3)
    cache.store.noteDamage(CacheError.corruptRecord(table: "cache_overlays", row: "1", reason: "found by a test"))
    #expect(try cache.store.write(.set(key("rooms/4"), [:])).batchID == 4)
    #expect(throws: CacheError.batchMayBeSent(4)) {
      try cache.store.withdraw(4, evenIfSent: false, .rejected, at: .epoch)
    }
  }

  @Test("what was set aside before stays aside when another user gets the number of the row", arguments: garbage)
  func setAsideBefore(value: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    try cache.database.execute(
      """
      INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason)
      SELECT batch_id, user_id, batch, 'of a newer release' FROM cache_mutation_batches
      """)
    try cache.database.execute("DELETE FROM cache_mutation_batches")
    try damage(cache, value, of: "alice")
    try cache.restart()
    _ = try cache.store.changeUser("bob")
    try cache.store.write(.set(key("rooms/b"), [:]))
    try cache.restart()
    _ = try cache.store.changeUser("bob")
    #expect(try cache.store.pendingBatches().map(\.keys) == [[key("rooms/b")]])
  }

  @Test("a user whose row has gone is not taken for the one who gets its number")
  func numberGivenAgain() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    _ = try cache.store.changeUser("bob")
    try cache.database.execute("DELETE FROM cache_users")
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/b"), [:])) }
    #expect(try cache.store.pendingBatches().isEmpty)
    guard case .fileIsDamaged? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
  }

  @Test(
    "an outbox is saved although a page of it has changed places with another one",
    arguments: [
      ("sqlite_autoindex_cache_users_1", "cache_targets_by_canonical_id"),
      ("cache_mutation_batches_by_user", "cache_targets_by_canonical_id"),
      ("cache_users", "cache_unreadable_batches"), ("cache_mutation_batches", "cache_unreadable_batches"),
    ])
  func swappedPages(name: String, other: String) throws {
    let cache = try TestCache(.file)
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    _ = try cache.store.allocateTarget(collection("rooms").target)
    try cache.swapPages(name, other)
    let opened = try cache.openAsClient(user: "alice")
    defer { opened.cache.close() }
    #expect(opened.cache.recovery?.savedBatchCount == 1)
    #expect(try opened.store.pendingBatches().map(\.batchID) == [1])
  }

  @Test("a table of users that has lost rows which its index has is not repaired, but saved, and their writes with it")
  func lostUsersOfRunningClient() throws {
    let cache = try TestCache(.file)
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    try cache.swapPages("cache_users", "cache_unreadable_batches", whileOpen: true)
    // A user without a row, whose queue is empty.
    _ = try cache.store.changeUser("bob")
    #expect(throws: (any Error).self) { try cache.store.nextMutationBatch(after: unknownBatchID) }
    guard case .fileIsDamaged? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
    cache.close()
    let opened = try cache.openAsClient(user: "alice")
    defer { opened.cache.close() }
    #expect(opened.cache.recovery?.savedBatchCount == 1)
    #expect(try opened.store.pendingBatches().map(\.batchID) == [1])
  }

  private static let damages: [(String, @Sendable (Data) -> Data)] = [
    ("zeroed", { Data(count: $0.count) }), ("overwritten", { Data(repeating: 0xA5, count: $0.count) }),
    ("emptied", { Data($0.prefix(1) + [0, 0, 0, 0, 0x20]) + Data(count: $0.count - 6) }),
  ]

  @Test(
    "no write is stored in a file that no longer says whose it is: it waits for another one", arguments: [0, 1, 2])
  func writeAfterDamage(kind: Int) throws {
    let cache = try TestCache(.file)
    _ = try cache.store.changeUser("alice")
    try cache.store.write(.set(key("rooms/a"), [:]))
    let pages = try ["cache_users", "sqlite_autoindex_cache_users_1"].map(cache.rootPage)
    try cache.damageWhileOpen { bytes in
      for page in pages { bytes.replaceSubrange(page, with: Self.damages[kind].1(Data(bytes[page]))) }
    }
    #expect(throws: (any Error).self, "\(Self.damages[kind].0)") { try cache.store.write(.set(key("rooms/b"), [:])) }
    #expect(cache.store.reopening != nil)
    cache.close()
    let opened = try cache.openAsClient(user: "alice")
    defer { opened.cache.close() }
    #expect(try opened.store.pendingBatches().isEmpty, "it is not known whose the first one is")
    #expect(try opened.store.write(.set(key("rooms/b"), [:])).batchID > 1)
  }
}
