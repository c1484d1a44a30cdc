import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("A client that was suspended, and taken for dead by others")
struct SuspendedClientTests {
  @Test("a client whose row was removed while it was suspended hears what became of its writes")
  func answersDuringSuspension() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    cache.deliver()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    let wait = b.request(.waitForPendingWrites)
    b.suspend()
    cache.wait(2)
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 2)
    try a.commit(at: 10)
    cache.deliver()
    b.resume()
    cache.wait(2)
    #expect(b.writes[write] == .some(nil))
    #expect(b.answers[wait] != nil)
    _ = c
  }

  @Test("an answer whose notice cannot be read yet is not taken for lost")
  func unreadAnswer() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    b.suspend()
    cache.wait(2)
    b.hooks["Look for targets"] = {
      try? a.commit(at: 10)
      b.failing = ["Lookup mutation documents"]
    }
    b.resume()
    #expect(b.hooks.isEmpty && a.sentBatches.isEmpty && b.writes[write] == nil)
    b.failing = []
    cache.wait(60)
    #expect(b.writes[write] == .some(nil))
    _ = c
  }

  @Test("a wait for pending writes ends if their answers were removed before the client read them")
  func waitWithoutNotice() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.write(set("rooms/1", 1))
    cache.deliver()
    let wait = b.request(.waitForPendingWrites)
    b.suspend()
    cache.wait(2)
    // Nobody is left who could read a notice.
    try a.commit(at: 10)
    b.resume()
    cache.wait(2)
    #expect(b.answers[wait] != nil)
  }

  /// The first call with which a client finds out that its cache has come to another backend.
  enum Discovery: CaseIterable {
    case write, resumption, resumptionWithHeldWrite, end
  }

  @Test(
    "a cache that has come to another backend gets none of a suspended client's writes", arguments: Discovery.allCases)
  func otherBackend(_ discovery: Discovery) throws {
    let cache = try SharedCache()
    let a = try cache.client("a")
    let b = try cache.client("b", busyTimeout: .milliseconds(20))
    let stopped = try Database(.file(path: cache.file))
    try stopped.execute("BEGIN IMMEDIATE")
    if discovery == .resumptionWithHeldWrite { b.write(set("rooms/1", 1)) }
    b.suspend()
    try stopped.execute("ROLLBACK")
    cache.wait(2)
    a.post(.shutdown)
    a.kill()
    let other = try cache.client("c", backend: "https://other.example")
    other.write(set("rooms/2", 2))
    switch discovery {
    case .write: b.write(set("rooms/1", 1))
    case .resumption, .resumptionWithHeldWrite: b.resume()
    case .end: break
    }
    b.post(.shutdown)
    #expect(b.store.ending as? CacheError == .otherBackend(own: "", others: "https://other.example"))
    #expect(b.engine.heldWriteIDs.count == (discovery == .write || discovery == .resumptionWithHeldWrite ? 1 : 0))
    #expect(try other.store.pendingBatches().count == 1)
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 1)
    #expect(try cache.count("SELECT lease_holder FROM cache_sharing") == 3)
  }

  @Test("a client that others took for dead joins them again, also when that fails at first")
  func rejoinFails() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    b.suspend()
    cache.wait(2)
    b.failing = ["Join cache"]
    b.resume()
    b.failing = []
    cache.wait(5)
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 2)
    a.write(set("rooms/1", 1))
    cache.wait(2)
    #expect(b.ids(listener) == ["1"])
    #expect(a.watched.count == 1)
  }

  @Test("a suspended client's target that was collected is watched again")
  func targetCollectedDuringSuspension() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    b.suspend()
    // The primary client lets go of the target.
    let c = try cache.client("c")
    cache.wait(3)
    #expect(a.watched.isEmpty)
    try cache.execute("DELETE FROM cache_targets")
    b.resume()
    cache.wait(3)
    #expect(a.watched.count == 1)
    a.write(set("rooms/1", 1))
    cache.wait(1)
    #expect(b.ids(listener) == ["1"])
    // Another listener of the same query.
    let second = b.listen(rooms, ListenOptions())
    #expect(b.errors[second] == nil)
    _ = c
  }

  @Test("the streams open again if the lease was given back while the storage refused an answer")
  func storageFailureAndSuspension() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.kill()
    cache.wait(2)
    let write = a.write(set("rooms/1", 1))
    a.failing = ["Acknowledge batch"]
    try a.commit(at: 10)
    a.suspend()
    a.failing = []
    a.resume()
    cache.wait(60)
    #expect(a.engine.isPrimary)
    a.listen(rooms)
    #expect(a.watchStream != nil)
    // Sent a second time, it could be carried out a second time.
    #expect(a.writes[write] == .some(nil) && a.sentBatches.isEmpty)
  }

  @Test("a resumed client takes the row that another client has made for its target in between")
  func targetMadeAnewDuringSuspension() throws {
    let (cache, a, b) = try SharedCache.makePair()
    var fromCache = ListenOptions.everything
    fromCache.source = .cache
    b.listen(rooms, fromCache)
    cache.deliver()
    let former = b.engine.targetID(of: rooms)
    b.suspend()
    let c = try cache.client("c")
    cache.wait(3)
    try cache.execute("DELETE FROM cache_targets")
    c.listen(rooms)
    cache.wait(1)
    b.resume()
    cache.wait(1)
    let listener = b.listen(rooms)
    b.write(set("rooms/9", 9))
    cache.wait(1)
    guard let target = b.engine.targetID(of: rooms) else { throw TestFailure("no target") }
    #expect(target != former && a.watched.contains(target))
    try a.fill(target, [found("rooms/1", 10, number(1))], at: 10)
    cache.wait(1)
    #expect(b.ids(listener) == ["1", "9"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("a first result that was computed before is computed again, for the row that the target has now")
  func backgroundQueryDuringSuspension() throws {
    let cache = try SharedCache()
    let a = try cache.client("a")
    let b = try cache.client("b", limits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1))
    let listener = b.listen(rooms)
    #expect(b.queries.count == 1)
    b.suspend()
    cache.wait(3)
    a.write(set("rooms/1", 1))
    try cache.execute("DELETE FROM cache_targets")
    b.resume()
    cache.wait(2)
    try b.runQuery()
    #expect(b.snapshots[listener] == nil && b.queries.count == 1)
    try b.runQuery()
    #expect(b.ids(listener) == ["1"])
    cache.wait(1)
    guard let target = b.engine.targetID(of: rooms) else { throw TestFailure("no target") }
    #expect(a.watched == [target])
    try a.fill(target, [found("rooms/2", 10, number(2))], at: 10)
    cache.wait(1)
    #expect(b.ids(listener) == ["1", "2"])
    b.post(.unlisten(listener))
    cache.wait(1)
    #expect(a.watched.isEmpty)
  }

  @Test("a client that has not joined the others again tells them of the answers that it stores")
  func answersBeforeJoining() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    #expect(a.sentBatches.count == 1)
    a.answersLate = true
    a.suspend()
    cache.wait(3)
    #expect(b.engine.isPrimary)
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 1)
    a.failing = ["Join cache"]
    a.resume()
    try a.commitLate(at: 10)
    cache.wait(1)
    #expect(b.writes[write] == .some(nil))
    a.failing = []
    a.endParting()
    cache.wait(5)
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 2)
    #expect(b.writes.count == 1)
  }

  @Test("a batch whose late answer another client has stored is not sent again when the stream breaks")
  func answeredElsewhere() throws {
    let (cache, a, b) = try SharedCache.makePair()
    for n in Int64(1)...2 { a.write(set("rooms/\(n)", n)) }
    a.answersLate = true
    a.suspend()
    cache.wait(3)
    b.write(set("rooms/3", 3))
    #expect(b.sentBatches.count == 3)
    a.resume()
    for time in Int64(1)...2 { try a.commitLate(at: 10 * time) }
    a.endParting()
    cache.wait(1)
    try b.breakWriteStream()
    cache.wait(60)
    #expect(b.sentBatches == [[set("rooms/3", 3)]])
  }

  @Test("a first result that was computed while another client took the lease is computed again")
  func backgroundQueryAndLostLease() throws {
    let cache = try SharedCache()
    let a = try cache.client("a", limits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1))
    let b = try cache.client("b")
    let listener = a.listen(rooms)
    #expect(a.queries.count == 1)
    b.listen(rooms)
    cache.deliver()
    a.isRunning = false
    cache.takeLease(for: b)
    #expect(b.engine.isPrimary)
    try b.fill(2, [found("rooms/1", 1, number(1))], at: 10)
    a.isRunning = true
    cache.wait(2)
    try a.runQuery()
    if !a.queries.isEmpty { try a.runQuery() }
    cache.wait(1)
    #expect(a.ids(listener) == ["1"])
    #expect(a.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("batches behind those whose late answers another client has stored are sent")
  func roomAfterForeignAnswers() throws {
    let (cache, a, b) = try SharedCache.makePair()
    for n in Int64(1)...12 { a.write(set("rooms/\(n)", n)) }
    a.answersLate = true
    a.suspend()
    cache.wait(3)
    #expect(b.sentBatches.count == 10)
    a.resume()
    for time in Int64(1)...10 { try a.commitLate(at: 10 * time) }
    a.endParting()
    cache.wait(1)
    try b.breakWriteStream()
    cache.wait(60)
    #expect(b.sentBatches == [[set("rooms/11", 11)], [set("rooms/12", 12)]])
  }

  @Test("a client that was away sees that the primary one is online again, although the notice is gone")
  func onlineStateMissed() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    a.listen(rooms)
    a.post(.request(RequestID(rawValue: 900), .disableNetwork))
    cache.wait(2)
    let former = b.engine.onlineState
    b.suspend()
    cache.wait(2)
    try cache.execute("UPDATE cache_sharing SET online_state = 1")
    try cache.execute("DELETE FROM cache_notices")
    b.resume()
    cache.wait(2)
    #expect(former != .online && b.engine.onlineState == .online)
    _ = c
  }

  @Test("the caller of a write hears its answer that came while its process counted as dead, without any other client")
  func answeredWhileTakenForDead() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let writes = [b.write(.set(key("rooms/1"), ["n": 1])), b.write(.set(key("rooms/2"), ["n": 1]))]
    cache.deliver()
    #expect(a.sentBatches.count == 2)
    b.whileTakenForDead { a.fire(.clientMetadataRefresh) }
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 1)
    for time in [10, 11] { try a.commit(at: Int64(time)) }
    b.fire(.clientMetadataRefresh)
    cache.wait(2)
    #expect(writes.allSatisfy { b.writes[$0] == .some(nil) })
  }

  @Test("the same if the client that answers has come when the others counted as dead")
  func answeredByNewClient() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let write = b.write(.set(key("rooms/1"), ["n": 1]))
    cache.deliver()
    a.kill()
    var next: SharedTestClient?
    b.whileTakenForDead { next = try? cache.client("c") }
    let c = try #require(next)
    #expect(c.engine.isPrimary && c.sentBatches.count == 1)
    try c.commit(at: 10)
    b.fire(.clientMetadataRefresh)
    cache.wait(2)
    #expect(b.writes[write] == .some(nil))
  }

  @Test("the caller of a write hears that another client has taken it back")
  func takenBackWhileTakenForDead() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    b.whileTakenForDead { a.fire(.clientMetadataRefresh) }
    _ = a.request(.withdraw(1, evenIfSent: true))
    b.fire(.clientMetadataRefresh)
    cache.wait(2)
    #expect((b.writes[write] ?? nil)?.code == .cancelled)
  }

  @Test("outcomes that are kept for clients that count as dead go before those of receipts")
  func briefOutcomes() throws {
    let cache = try SharedCache()
    let a = try cache.client("a")
    a.write(set("rooms/1", 1))
    a.kill()
    let day: Int64 = 24 * 3600
    try cache.execute("UPDATE cache_globals SET keeping_seconds = \(40 * day)")
    let b = try cache.client("b")
    cache.wait(2)
    try b.commit(at: 10)
    #expect(try cache.count("SELECT count(*) FROM cache_write_outcomes") == 1)
    #expect(try cache.count("SELECT max(kept_at) FROM cache_write_outcomes") == 11 * day)
  }
}
