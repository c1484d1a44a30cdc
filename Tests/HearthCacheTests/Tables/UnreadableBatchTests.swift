import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Batches that cannot be read")
struct UnreadableBatchTests {
  private static let damages = [
    "X'0A'", "X''", "'text'", "(SELECT batch FROM cache_mutation_batches WHERE batch_id = 1)",
  ]

  /// Three batches of one document, the second one damaged, and one batch of another document by another user.
  private func makeCache(_ damage: String, user: String? = nil) throws -> TestCache {
    let cache = try TestCache(.memory)
    let store = cache.store
    try store.receive(found("rooms/a", 1, ["n": .integer(0)]), at: 1)
    try store.write(.patch(key("rooms/a"), ["first": .integer(1)], mask: mask("first")))
    try store.write(
      .patch(key("rooms/a"), ["second": .integer(2)], mask: mask("second")), .set(key("rooms/b"), [:]))
    try store.write(.patch(key("rooms/a"), ["third": .integer(3)], mask: mask("third")))
    _ = try store.changeUser("alice")
    try store.write(.set(key("rooms/a"), ["alice": .integer(4)]))
    _ = try store.changeUser(user)
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = \(damage) WHERE batch_id = 2")
    return cache
  }

  @Test("leave the queue with their bytes kept; the others stay, and the local view is theirs", arguments: damages)
  func setAside(damage: String) throws {
    let cache = try makeCache(damage)
    defer { cache.close() }
    let store = cache.store
    let error = #expect(throws: CacheError.self) { try store.nextMutationBatch(after: 1) }
    guard case .unreadableBatch(2, _) = error else {
      Issue.record("\(String(describing: error)) is another error")
      return
    }
    let (batches, changes) = try store.setAsideUnreadableBatches()
    #expect(batches.map(\.batchID) == [2] && batches.allSatisfy { !$0.reason.isEmpty })
    let expected: MapValue = ["n": .integer(0), "first": .integer(1), "third": .integer(3)]
    #expect(changes[key("rooms/a")]?.values == expected && changes[key("rooms/b")]?.isFound == false)
    #expect(try store.read("rooms/a").values == expected)
    #expect(try store.pendingBatches().map(\.batchID) == [1, 3])
    #expect(
      try cache.database.firstRow("SELECT count(*) FROM cache_unreadable_batches WHERE batch_id = 2") {
        try $0.int64(at: 0)
      } == 1)
    try store.acknowledgeNext(at: 10)
    try store.acknowledgeNext(at: 11)
    #expect(try store.read("rooms/a").hasLocalMutations == false)
    _ = try store.changeUser("alice")
    #expect(try store.read("rooms/a").values == ["alice": .integer(4)])
  }

  @Test("of another user leave that user's queue and nothing else")
  func otherUser() throws {
    let cache = try makeCache("X'FF'", user: "alice")
    defer { cache.close() }
    let (batches, changes) = try cache.store.setAsideUnreadableBatches()
    #expect(batches.map(\.batchID) == [2] && changes.isEmpty)
    #expect(try cache.store.read("rooms/a").values == ["alice": .integer(4)])
    _ = try cache.store.changeUser(nil)
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1, 3])
    #expect(
      try cache.store.read("rooms/a").values
        == ["n": .integer(0), "first": .integer(1), "third": .integer(3)])
  }

  @Test("stay where they are when they cannot be set aside")
  func failure() throws {
    let cache = try makeCache("X'0A'")
    defer { cache.close() }
    let before = try cache.dump()
    for point in [Database.FailurePoint.transaction("Set unreadable batches aside"), .commit] {
      #expect(throws: StoreError.self) {
        try cache.failing(at: point) { _ = try cache.store.setAsideUnreadableBatches() }
      }
      #expect(try cache.dump() == before)
    }
  }

  @Test("are nothing where every batch can be read")
  func none() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), [:]))
    let before = try cache.dump()
    let (batches, changes) = try cache.store.setAsideUnreadableBatches()
    #expect(batches.isEmpty && changes.isEmpty)
    #expect(try cache.dump() == before)
  }

  @Test("do not lose an answer when they were sent before the damage was done")
  func answered() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), ["n": .integer(1)]))
    let batch = try cache.store.batch(1)
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'0A'")
    _ = try cache.store.acknowledge(
      MutationBatchResult(batch: batch, commitVersion: version(5), results: [MutationResult(version: version(5))]))
    #expect(try cache.store.read("rooms/a").values == ["n": .integer(1)])
    #expect(try cache.store.pendingBatchCount() == 0)
  }
}
