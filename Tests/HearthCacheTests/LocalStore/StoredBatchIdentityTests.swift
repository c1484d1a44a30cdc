import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Batch identities")
struct StoredBatchIdentityTests {
  private let identities = [BatchIdentity(high: 1, low: .max), BatchIdentity(high: .max, low: 0)]

  private func write(_ store: LocalStore, _ identity: BatchIdentity) throws {
    _ = try store.write([.set(key("rooms/a"), [:])], localWriteTime: time(1), identity: identity)
  }

  @Test("are kept in the rows of the outbox, over a restart and over the salvage of a damaged file")
  func kept() throws {
    let cache = try TestCache(.file)
    try write(cache.store, identities[0])
    _ = try cache.store.write(many: [
      LocalWrite(mutations: [.delete(key("rooms/b"))], localWriteTime: time(2), identity: identities[1])
    ])
    #expect(try cache.store.pendingBatches().map(\.identity) == identities)
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.identity) == identities)
    try cache.database.execute("DROP TABLE cache_targets")
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.identity) == identities)
    cache.close()
  }

  @Test("tell apart two batches with one number, which a folder that was put back gives twice")
  func numbersComeAgain() throws {
    var labels: Set<String> = []
    for identity in identities {
      let cache = try TestCache(.memory)
      try write(cache.store, identity)
      let batch = try cache.store.batch(1)
      labels.insert(BatchLabel(cacheID: cache.store.cacheID, identity: try #require(batch.identity)).text)
      cache.close()
    }
    #expect(labels.count == 2)
  }
}
