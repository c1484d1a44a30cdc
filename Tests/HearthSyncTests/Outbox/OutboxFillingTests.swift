import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Sender of the outbox, reading the outbox")
struct OutboxFillingTests {
  private func makeSender(capacity: Int = 10) -> OutboxSender {
    OutboxSender(
      configuration: SyncConfiguration(maxPendingWriteBatches: capacity, jitter: { 0 }), numbers: StreamNumbers(),
      cacheID: "c", user: nil)
  }

  private func fill(
    _ sender: inout OutboxSender, _ cache: PartCache, before conflicting: BatchID? = nil, untilEndIsKnown: Bool = false
  ) -> OutboxSender.Filling {
    sender.fill(from: cache.store, before: conflicting, untilEndIsKnown: untilEndIsKnown, isRefused: { _ in false })
  }

  @Test("batches are read as far as there is room; nothing is read again once the end is known")
  func room() throws {
    let cache = try PartCache()
    try cache.write(1...3)
    var small = makeSender(capacity: 2)
    _ = fill(&small, cache)
    #expect(small.lastBatchID == 2 && !small.hasRoom && !small.reachesEndOfOutbox)
    var sender = makeSender()
    _ = fill(&sender, cache)
    #expect(sender.lastBatchID == 3 && sender.reachesEndOfOutbox)
    try cache.write(4...4)
    _ = fill(&sender, cache, untilEndIsKnown: true)
    #expect(sender.lastBatchID == 3)
    _ = fill(&sender, cache)
    #expect(sender.lastBatchID == 4)
    sender.assertInvariants()
  }

  @Test("a batch whose conflict is open is not sent, nor what is behind it")
  func conflict() throws {
    let cache = try PartCache()
    try cache.write(1...3)
    var sender = makeSender()
    _ = fill(&sender, cache, before: 2)
    #expect(sender.lastBatchID == 1 && !sender.reachesEndOfOutbox)
  }

  @Test("a failure of the cache ends the reading; batches before it are on their way")
  func failure() throws {
    let cache = try PartCache()
    try cache.write(1...3)
    var sender = makeSender()
    cache.fail(with: StoreError(kind: .io, message: "made to fail"))
    let filling = fill(&sender, cache)
    #expect(filling.failure is StoreError && filling.actions.isEmpty && sender.batchCount == 0)
    cache.fail(with: nil)
    #expect(fill(&sender, cache).failure == nil && sender.batchCount == 3)
  }

  @Test("what may be at the backend is stored ahead of it, and the rest is given back when the stream has ended")
  func marks() throws {
    let cache = try PartCache()
    try cache.write(1...2)
    var sender = makeSender()
    #expect(try sender.reserveSending(of: 2, in: cache.store))
    #expect(try !sender.reserveSending(of: 2, in: cache.store))
    #expect(try cache.store.outbox.lastBatchThatMayBeSent() >= 2)
    _ = fill(&sender, cache)
    _ = sender.batchesAdded(canWrite: true, now: .zero)
    _ = sender.opened(1, now: .zero)
    _ = sender.received(WriteResponse(streamToken: [7]), on: 1)
    #expect(sender.batchesAtBackend == [1, 2])
    #expect(sender.endSendingIfStopped(in: cache.store) == [])
    _ = sender.stop()
    #expect(sender.endSendingIfStopped(in: cache.store) == [])
    #expect(try cache.store.outbox.lastBatchThatMayBeSent() == 2)
  }
}
