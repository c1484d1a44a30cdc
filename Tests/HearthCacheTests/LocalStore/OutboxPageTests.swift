import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("A long outbox")
struct OutboxPageTests {
  private func pages(
    _ store: LocalStore, of user: String? = nil, _ limits: LocalStore.OutboxPageLimits, between: () throws -> Void = {}
  ) throws -> [[BatchID]] {
    let last = try store.outbox.highestBatchID(of: .user(user)) ?? -1
    var pages: [[BatchID]] = []
    var after: BatchID = -1
    while true {
      let page = try store.outbox.page(after: after, through: last, of: user, limits)
      pages.append(page.batches.map(\.batchID))
      if page.isLast { return pages }
      after = try #require(page.batches.last?.batchID)
      try between()
    }
  }

  @Test("is listed in pages of a bounded number of batches, each batch once, in order", arguments: Backing.allCases)
  func count(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    #expect(try pages(store, .init(batchCount: 2)) == [[]])
    for n in 0..<4 { try store.write(.set(key("rooms/\(n)"), [:])) }
    _ = try store.changeUser("alice")
    try store.write(.set(key("rooms/alice"), [:]))
    _ = try store.changeUser(nil)
    try store.write(.set(key("rooms/last"), [:]))
    #expect(try pages(store, .init(batchCount: 2)) == [[1, 2], [3, 4], [6]])
    #expect(try pages(store, .init(batchCount: 5)) == [[1, 2, 3, 4, 6]])
    #expect(try pages(store, of: "alice", .init(batchCount: 2)) == [[5]])
    #expect(try pages(store, of: "bob", .init(batchCount: 2)) == [[]])
  }

  @Test("is listed in pages of a bounded number of bytes, or of one batch that is larger")
  func bytes() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let text = Value.string(String(repeating: "a", count: 1_000))
    for n in 0..<3 { try cache.store.write(.set(key("rooms/\(n)"), ["text": text])) }
    #expect(try pages(cache.store, .init(byteCount: 1)) == [[1], [2], [3]])
    #expect(try pages(cache.store, .init(byteCount: 1_500)) == [[1, 2], [3]])
  }

  @Test("is listed as it was at the beginning, without the writes answered since")
  func changesMeanwhile() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let store = cache.store
    for n in 0..<4 { try store.write(.set(key("rooms/\(n)"), [:])) }
    var time: Int64 = 10
    let listed = try pages(store, .init(batchCount: 1)) {
      try store.write(.set(key("rooms/late"), [:]))
      if time < 12 { try store.acknowledgeNext(at: time) }
      time += 1
    }
    #expect(listed == [[1], [3], [4]] || listed == [[1], [2], [3], [4]])
    #expect(listed.joined().allSatisfy { $0 <= 4 })
  }

  @Test("a change of the user reads no batch, and nothing of documents that nobody looks at")
  func userChange() throws {
    func statements(outbox count: Int, showing queries: [Query]) throws -> (count: Int, changes: DocumentMap) {
      let cache = try TestCache(.memory)
      defer { cache.close() }
      for n in 0..<count { try cache.store.write(.set(key("rooms/\(n)"), [:])) }
      try cache.store.write(.set(key("halls/a"), [:]), .set(key("halls/a/rooms/b"), [:]))
      try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'FF'")
      var statements = 0
      cache.database.injectFailure = { point in
        if case .statement(let sql) = point {
          statements += 1
          #expect(!sql.contains("cache_mutation_batches"))
        }
        return nil
      }
      let changes = try cache.store.changeUser("alice", showing: queries)
      return (statements, changes)
    }
    let short = try statements(outbox: 3, showing: [collection("halls"), collection("rooms/1")])
    let long = try statements(outbox: 300, showing: [collection("halls"), collection("rooms/1")])
    #expect(Set(short.changes.keys) == [key("halls/a"), key("rooms/1")])
    #expect(long.changes == short.changes && long.count == short.count)
    #expect(try statements(outbox: 300, showing: []).changes.isEmpty)
    let group = Query(path: ResourcePath(), collectionGroup: "rooms")
    #expect(try statements(outbox: 3, showing: [group]).changes.count == 4)
  }
}
