import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// No number of a batch is given twice, so that none takes the place of another one that is kept.
@Suite("Numbers of batches")
struct BatchNumberTests {
  private func refuse(_ cache: TestCache, _ name: String) throws -> BatchID {
    let batchID = try cache.store.write(.set(key("rooms/\(name)"), [:])).batchID
    _ = try cache.store.reject(cache.store.batch(batchID), at: time(1))
    return batchID
  }

  private func kept(_ cache: TestCache) throws -> [String] {
    try cache.store.outbox.rejectedBatches(of: nil).flatMap { $0.batch.mutations.map(\.key.id) }
  }

  @Test(
    "are not those of refused ones after the counter was lost",
    arguments: [
      "DELETE FROM cache_globals", "UPDATE cache_globals SET highest_batch_id = 0",
      "UPDATE cache_globals SET highest_batch_id = 9223372036854775807",
      "UPDATE cache_globals SET highest_batch_id = 4611686018427387903",
      "DROP TABLE cache_targets; UPDATE cache_globals SET highest_batch_id = 4611686018427387903",
      "DROP TABLE cache_targets; UPDATE cache_globals SET highest_batch_id = 'a'",
    ])
  func lostCounter(damage: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    for number in 1...4 { _ = try cache.store.write(.set(key("rooms/\(number)"), [:])) }
    let refused = try refuse(cache, "first")
    for number in 1...4 { _ = try cache.store.withdraw(BatchID(number), evenIfSent: true, .rejected, at: time(1)) }
    try cache.database.execute(damage)
    try cache.restart()
    #expect(try kept(cache) == ["first"])
    #expect(try refuse(cache, "second") > refused)
    #expect(try kept(cache) == ["first", "second"])
  }

  @Test(
    "are not given again where the counter and the batches are lost: callers may still name them",
    arguments: [
      "UPDATE cache_globals SET highest_batch_id = 'a'",
      "DROP TABLE cache_targets; UPDATE cache_globals SET highest_batch_id = 'a'", "DROP TABLE cache_globals",
    ])
  func lostBatches(damage: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    for number in 1...9 { _ = try cache.store.write(.set(key("rooms/\(number)"), [:])) }
    for table in ["cache_mutation_batches", "cache_batch_documents"] {
      try cache.database.execute("DELETE FROM \(table) WHERE batch_id > 2")
    }
    try cache.database.execute(damage)
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1, 2])
    #expect(try cache.store.write(.set(key("rooms/new"), [:])).batchID > 9)
  }

  @Test("that are those of a refused batch all the same do not make that one leave the list")
  func sameNumber() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let refused = try refuse(cache, "first")
    try cache.database.execute("UPDATE cache_globals SET highest_batch_id = \(refused - 1)")
    #expect(try refuse(cache, "second") == refused)
    let batches = try cache.store.outbox.rejectedBatches(of: nil).map(\.batch)
    #expect(batches.map { $0.mutations[0].key.id } == ["first", "second"])
    #expect(Set(batches.map(\.batchID)).count == 2)
    // Each is found under the number that it is listed with.
    try cache.store.discardRejected([try #require(batches.last).batchID], of: nil)
    #expect(try kept(cache) == ["first"])
    #expect(try refuse(cache, "third") > refused + 1)
  }

  @Test("an answer is not taken for that of another batch with the same number")
  func answerForAnother() throws {
    let cache = try TestCache(.memory)
    let write = LocalWrite(
      mutations: [.set(key("rooms/a"), [:])], localWriteTime: time(1), identity: BatchIdentity(high: 1, low: 1))
    let batch = try #require(try cache.store.write(many: [write]).first).batch
    var other = batch
    other.identity = BatchIdentity(high: 1, low: 2)
    let unknown = CacheError.unknownBatch(batch.batchID, user: nil)
    #expect(throws: unknown) { try cache.store.reject(other, at: time(2)) }
    let answer = MutationBatchResult(
      batch: other, commitVersion: version(3), results: [MutationResult(version: version(3), transformResults: [])])
    #expect(throws: unknown) { try cache.store.acknowledge(answer) }
    #expect(try cache.store.pendingBatches() == [batch])
    #expect(try kept(cache).isEmpty)
    _ = try cache.store.reject(batch, at: time(4))
    #expect(try kept(cache) == ["a"])
  }

  @Test("of unreadable batches stay theirs")
  func unreadable() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    for name in ["a", "b"] {
      let batchID = try cache.store.write(.set(key("rooms/\(name)"), [:])).batchID
      try cache.database.execute("UPDATE cache_mutation_batches SET batch = x'FF' WHERE batch_id = \(batchID)")
      #expect(try cache.store.setAsideUnreadableBatches().batches.count == 1)
      try cache.database.execute("UPDATE cache_globals SET highest_batch_id = 0")
    }
    let count = try cache.database.firstRow("SELECT count(*) FROM cache_unreadable_batches") { try $0.int64(at: 0) }
    #expect(count == 2)
    try cache.restart()
    #expect(try cache.store.write(.set(key("rooms/c"), [:])).batchID > 2)
  }
}
