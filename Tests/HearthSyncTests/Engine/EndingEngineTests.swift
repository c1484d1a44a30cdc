import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthSync

@Suite("An engine that sends nothing more, and calls beside writes that are in memory only")
struct EndingEngineTests {
  private func set(_ path: String) -> Mutation { .set(key(path), ["n": .integer(1)]) }

  @Test("pending writes of a query cannot be listed while a refused write that is submitted again is in memory only")
  func resubmittedInMemory() throws {
    let cache = try SharedCache()
    let client = try cache.client("a", busyTimeout: .milliseconds(20))
    client.write(set("rooms/1"))
    try client.breakWriteStream(StatusError(code: .permissionDenied, message: "the rules forbid it"))
    cache.deliver()
    let rejected = try client.store.outbox.rejectedBatches(of: nil)
    #expect(rejected.count == 1)
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    client.post(
      .writes([
        LocalWrite(
          id: WriteID(rawValue: 900), mutations: [], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
          identity: BatchIdentity(high: 1, low: 900), keepsOutcome: true,
          resubmits: try #require(rejected.first?.batch.batchID))
      ]))
    #expect(client.engine.heldWriteCount == 1)
    let read = client.request(.readPendingWrites(rooms, maximumDocuments: 10))
    #expect(client.failedRequests[read]?.code == .unavailable)
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    let again = client.request(.readPendingWrites(rooms, maximumDocuments: 10))
    guard case .pendingWrites(let writes?) = client.answers[again] else {
      Issue.record("no answer when the file is free")
      return
    }
    #expect(writes.keys.map(\.path.canonicalString) == ["rooms/1"])
  }

  @Test("a user without writes does not wait for those of the former user that are in memory only")
  func waitBesideFormerUser() throws {
    let cache = try SharedCache()
    let client = try cache.client("a", busyTimeout: .milliseconds(20))
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    client.write(set("rooms/1"))
    client.post(.changeUser("other"))
    let wait = client.request(.waitForPendingWrites)
    cache.wait(30)
    #expect(client.answers[wait] != nil)
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    #expect(client.answers[wait] != nil)
  }

  @Test("the caller of a write that is at the backend hears its answer, although its row cannot be read any more")
  func unreadableAtBackend() throws {
    let cache = try SharedCache()
    let client = try cache.client("a")
    client.listen(rooms)
    cache.deliver()
    let write = client.write(set("rooms/1"))
    #expect(client.sentBatches.count == 1)
    try cache.execute("UPDATE cache_mutation_batches SET batch = x'ffff'")
    let target = try #require(client.engine.targetID(of: rooms))
    try? client.fill(target, [found("rooms/1", 20, ["n": .integer(7)])], at: 20)
    cache.wait(5)
    try? client.commit(at: 30)
    cache.wait(5)
    let end = try #require(client.writes[write])
    #expect(end?.code != .dataLoss)
  }

  @Test("nothing is opened or sent any more, whatever happens", arguments: 0..<200)
  func nothingMore(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (cache, a, b) = try SharedCache.makePair()
    a.answersLate = true
    b.answersLate = true
    a.listen(rooms)
    b.listen(collection("halls"))
    cache.deliver()
    for number in 0..<3 { a.write(set("rooms/\(number)")) }
    if generator.below(2) == 0 { a.post(.changeUser("x")) }
    if generator.below(2) == 0 { a.write(set("rooms/later")) }
    if generator.below(3) == 0 { _ = a.request(.disableNetwork) }
    cache.deliver()
    a.post(.stopSending)
    let sent = a.sentBatchCount
    for _ in 0..<12 {
      switch generator.below(12) {
      case 0: _ = a.request(.enableNetwork)
      case 1: _ = a.request(.disableNetwork)
      case 2: a.post(.connectivityChanged)
      case 3: a.post(.changeUser(["x", "y", nil][generator.below(3)]))
      case 4: cache.wait(generator.below(20))
      case 5: b.write(set("halls/\(generator.below(3))"))
      case 6: _ = b.request(.retryNow)
      case 7: b.post(.changeUser(["x", nil][generator.below(2)]))
      case 8: try? a.commitLate(at: Int64(100 + generator.below(50)))
      case 9: a.post(.othersChanged)
      case 10: b.listen(collection("c\(generator.below(4))"))
      default: _ = b.request(.disableNetwork)
      }
      cache.deliver()
      #expect(a.watchStream == nil && a.writeStream == nil && a.driver.streams.opening.isEmpty)
    }
    #expect(a.sentBatchCount == sent)
    a.endParting()
    #expect(!a.engine.awaitsAnswers)
    a.post(.shutdown)
    cache.deliver()
    #expect(a.engine.heldWriteIDs.isEmpty)
  }
}
