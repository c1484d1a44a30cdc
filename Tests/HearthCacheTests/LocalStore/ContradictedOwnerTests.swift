import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// One bit of a file says something else about whose a batch is than the rest of the file does.
@Suite("Batches whose owner is contradicted")
struct ContradictedOwnerTests {
  /// A cache in which alice, bob and another user have written, in the rows 1, 2 and 3, with a waiting batch of bob's for each room.
  private func makeCache(rooms: [String] = ["a"], other: String = "carol") throws -> TestCache {
    let cache = try TestCache(.file)
    for user in ["alice", "bob", other] {
      _ = try cache.store.changeUser(user)
      try cache.store.write(.set(key("rooms/\(user)"), [:]))
      try cache.store.acknowledgeNext(at: 5)
    }
    _ = try cache.store.changeUser("bob")
    for room in rooms { try cache.store.write(.set(key("rooms/\(room)"), ["text": .string("\(room) waits")])) }
    return cache
  }

  /// Makes the third user the one that the row of a batch names. The index and the list of documents go on naming bob.
  private func giveRowToOther(_ batchID: BatchID, in cache: TestCache, isUnreadable: Bool = false) throws {
    let row = try cache.database.firstRow(
      "SELECT batch FROM cache_mutation_batches WHERE batch_id = ?", .integer(batchID)
    ) { Data(try $0.bytes(at: 0)) }
    let batch = try #require(row)
    try cache.damage { bytes in
      let range = try #require(bytes.range(of: batch))
      #expect(bytes.range(of: bytes[range], in: range.upperBound..<bytes.endIndex) == nil)
      // The number of the user is the byte before the batch.
      #expect(bytes[range.lowerBound - 1] == 2)
      bytes[range.lowerBound - 1] = 3
      if isUnreadable { bytes.replaceSubrange(range, with: Data(repeating: 0xFF, count: range.count)) }
    }
  }

  private func pending(_ store: LocalStore) throws -> [String: [BatchID]] {
    var pending: [String: [BatchID]] = [:]
    for user in ["alice", "bnb", "bob", "carol"] {
      _ = try store.changeUser(user)
      let batches = try store.pendingBatches().map(\.batchID)
      if !batches.isEmpty { pending[user] = batches }
    }
    return pending
  }

  private func setAside(_ database: Database) throws -> [String] {
    var rows: [String] = []
    try database.forEachRow(
      "SELECT batch_id || ' ' || coalesce(user_key, user_id) FROM cache_unreadable_batches LEFT JOIN cache_users USING (user_id)"
    ) {
      rows.append(try $0.string(at: 0))
      return true
    }
    return rows
  }

  private func expectDamagedFile(_ store: LocalStore) {
    guard case .fileIsDamaged? = store.reopening else {
      Issue.record("\(String(describing: store.reopening))")
      return
    }
  }

  @Test("stay those of the user whom the index and the list of documents name")
  func majority() throws {
    let cache = try makeCache()
    try giveRowToOther(4, in: cache)
    let (opened, store) = try cache.openAsClient(user: "carol")
    defer { opened.close() }
    #expect(opened.recovery?.savedBatchCount == 1)
    #expect(try pending(store) == ["bob": [4]])
  }

  @Test(
    "are nobody's where no two of three agree",
    arguments: ["DELETE FROM cache_batch_documents", "UPDATE cache_batch_documents SET user_id = 1"])
  func noMajority(statement: String) throws {
    let cache = try makeCache()
    try cache.database.execute(statement)
    try giveRowToOther(4, in: cache)
    let (opened, store) = try cache.openAsClient(user: "carol")
    defer { opened.close() }
    #expect(opened.recovery?.setAsideBatchCount == 1)
    #expect(try pending(store).isEmpty)
    #expect(try setAside(opened.database) == ["4 -1"])
  }

  @Test(
    "are nobody's where the table of users and its index give their user different names",
    arguments: ["cache_users", "sqlite_autoindex_cache_users_1"])
  func contradictedName(place: String) throws {
    let cache = try makeCache()
    try rename("=bob", "=bnb", in: place, of: cache)
    let (opened, store) = try cache.openAsClient(user: "bnb")
    defer { opened.close() }
    #expect(try pending(store).isEmpty)
    #expect(try setAside(opened.database) == ["4 -1"])
  }

  @Test(
    "stay those of their user where the other name is certainly another user's",
    arguments: ["cache_users", "sqlite_autoindex_cache_users_1"])
  func nameOfAnother(place: String) throws {
    let cache = try makeCache(other: "bnb")
    try rename("=bob", "=bnb", in: place, of: cache)
    let (opened, store) = try cache.openAsClient(user: "bnb")
    defer { opened.close() }
    #expect(try pending(store) == ["bob": [4]])
  }

  private func rename(_ name: String, _ other: String, in place: String, of cache: TestCache) throws {
    let page = try cache.rootPage(of: place)
    try cache.damage { bytes in
      let range = try #require(bytes.range(of: Data(name.utf8), in: page))
      bytes.replaceSubrange(range, with: Data(other.utf8))
    }
  }

  @Test("do not become another user's in a repair for another reason")
  func repair() throws {
    let cache = try makeCache(rooms: ["a", "b", "c"])
    try giveRowToOther(5, in: cache)
    let (opened, store) = try cache.openAsClient(user: "bob")
    #expect(opened.recovery == nil)
    try opened.database.execute("UPDATE cache_globals SET highest_batch_id = 0")
    #expect(throws: (any Error).self) {
      try store.transactions.repairing { try store.tables.globals.checkBatchCounter() }
    }
    expectDamagedFile(store)
    try opened.markDamaged("a page was damaged")
    opened.close()
    let (again, other) = try cache.openAsClient(user: "carol")
    defer { again.close() }
    #expect(try pending(other) == ["bob": [4, 5, 6]])
  }

  @Test("do not stay in the outbox when they are answered")
  func answer() throws {
    let cache = try makeCache(rooms: ["a", "b", "c"])
    try giveRowToOther(5, in: cache)
    let (opened, store) = try cache.openAsClient(user: "bob")
    defer { opened.close() }
    try store.acknowledgeNext(at: 10)
    #expect(try #require(try store.nextMutationBatch(after: 4)).batchID == 5)
    #expect(throws: StoreError.self) { try store.acknowledgeNext(at: 11) }
    expectDamagedFile(store)
  }

  @Test("and that cannot be read are set aside as those of their user")
  func unreadable() throws {
    let cache = try makeCache(rooms: ["a", "b", "c"])
    try giveRowToOther(5, in: cache, isUnreadable: true)
    let (opened, store) = try cache.openAsClient(user: "bob")
    #expect(throws: StoreError.self) { try store.setAsideUnreadableBatches() }
    expectDamagedFile(store)
    try opened.markDamaged("a page was damaged")
    opened.close()
    let (again, other) = try cache.openAsClient(user: "carol")
    defer { again.close() }
    #expect(try pending(other) == ["bob": [4, 6]])
    #expect(try setAside(again.database) == ["5 =bob"])
  }

  @Test("are not compared with the base of another user's batch")
  func bases() throws {
    let cache = try makeCache(rooms: [])
    cache.store.conflictRules = ConflictRules([ConflictRule(.collectionGroup("rooms"), .keepBoth)])
    try cache.store.write(.set(key("rooms/shared"), ["by": .string("bob")]))
    cache.store.conflictRules = ConflictRules()
    _ = try cache.store.changeUser("carol")
    try cache.store.write(.set(key("rooms/shared"), ["by": .string("carol")]))
    for statement in ["UPDATE cache_base_documents SET user_id = 3", "DROP TABLE cache_targets"] {
      try cache.database.execute(statement)
    }
    cache.close()
    let (opened, store) = try cache.openAsClient(user: nil)
    defer { opened.close() }
    #expect(try pending(store) == ["bob": [4], "carol": [5]])
    #expect(try store.tables.bases.isEmpty)
  }
}
