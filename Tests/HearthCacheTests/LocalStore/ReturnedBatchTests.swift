import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The disk has lost a write of a page, so that rows are there again that had gone.
@Suite("Batches that come back after they were answered")
struct ReturnedBatchTests {
  private func write(_ cache: TestCache, _ name: String, _ number: UInt64, keepsOutcome: Bool = false) throws
    -> MutationBatch
  {
    let write = LocalWrite(
      mutations: [.set(key("rooms/\(name)"), [:])], localWriteTime: time(1),
      identity: BatchIdentity(high: 7, low: number), keepsOutcome: keepsOutcome)
    return try #require(try cache.store.write(many: [write]).first).batch
  }

  private func acknowledge(_ cache: TestCache, _ batch: MutationBatch) throws {
    _ = try cache.store.acknowledge(
      MutationBatchResult(batch: batch, commitVersion: version(5), results: [MutationResult(version: version(5))]))
  }

  private func setAside(_ database: Database) throws -> [String] {
    var rows: [String] = []
    try database.forEachRow("SELECT batch_id || ' ' || user_id || ' ' || reason FROM cache_unreadable_batches") {
      rows.append(try $0.string(at: 0))
      return true
    }
    return rows
  }

  @Test("in the queue are not sent again: those with an outcome go, the others are set aside")
  func queue() throws {
    let cache = try TestCache(.file)
    let committed = try write(cache, "committed", 1, keepsOutcome: true)
    let refused = try write(cache, "refused", 2)
    let plain = try write(cache, "plain", 3)
    let waiting = try write(cache, "waiting", 4)
    let page = try cache.rootPage(of: "cache_mutation_batches")
    #expect(try cache.database.truncateLog())
    let before = try cache.bytes()[page]
    for batch in [committed, plain] { try acknowledge(cache, batch) }
    _ = try cache.store.reject(refused, at: time(2))
    try cache.damage { $0.replaceSubrange(page, with: before) }

    let (opened, store) = try cache.openAsClient(user: nil)
    defer { opened.close() }
    let recovery = try #require(opened.recovery)
    #expect(recovery.savedBatchCount == 1 && recovery.setAsideBatchCount == 1 && recovery.lostBatchCount == 0)
    #expect(try store.pendingBatches().map(\.batchID) == [waiting.batchID])
    #expect(try store.outbox.rejectedBatches(of: nil).map(\.batch.batchID) == [refused.batchID])
    #expect(
      try store.outbox.fate(of: #require(committed.identity))
        == .ended(.committed(version(5), [MutationResult(version: version(5))])))
    let rows = try setAside(opened.database)
    #expect(rows.count == 1 && rows[0].hasPrefix("\(plain.batchID) -1 it may have been answered"), "\(rows)")
  }

  @Test("among those set aside do not go into the queue again", arguments: [false, true])
  func setAside(isSalvaged: Bool) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let batch = try write(cache, "a", 1, keepsOutcome: true)
    try cache.database.execute(
      """
      INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason)
      SELECT batch_id, user_id, batch, 'of a newer release' FROM cache_mutation_batches
      """)
    try acknowledge(cache, batch)
    if isSalvaged { try cache.database.execute("DROP TABLE cache_targets") }
    try cache.restart()
    #expect(try cache.store.pendingBatches().isEmpty)
    #expect(try setAside(cache.database).isEmpty)
  }
}
