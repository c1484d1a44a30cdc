import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Clients of several users on one cache")
struct LeaseTurnTests {
  /// Creates two clients without a user and one with a user. The first has the lease.
  private func makeClients() throws -> (SharedCache, SharedTestClient, SharedTestClient, SharedTestClient) {
    let cache = try SharedCache()
    let a = try cache.client("a")
    let b = try cache.client("b")
    let c = try cache.client("c")
    c.post(.changeUser("user"))
    cache.deliver()
    #expect(a.engine.isPrimary && !b.engine.isPrimary && !c.engine.isPrimary)
    return (cache, a, b, c)
  }

  @Test("the outbox of another user is sent by a client of that user, as soon as nothing of the holder's is on its way")
  func turns() throws {
    let (cache, a, _, c) = try makeClients()
    a.write(set("rooms/a1"))
    c.write(set("rooms/c1"))
    cache.wait(10)
    #expect(a.engine.isPrimary, "an answer may come")
    #expect(a.sentBatches.map { $0[0].key } == [key("rooms/a1")])
    // It would never end if more writes were sent during it.
    a.write(set("rooms/a2"))
    #expect(a.sentBatches.count == 1)
    try a.commit(at: 10)
    cache.wait(1)
    #expect(c.engine.isPrimary && !a.engine.isPrimary)
    #expect(c.sentBatches.map { $0[0].key } == [key("rooms/c1")])
    try c.commit(at: 20)
    cache.wait(6)
    #expect(!c.engine.isPrimary, "the others wait")
    #expect(a.engine.isPrimary)
    #expect(a.sentBatches.map { $0[0].key } == [key("rooms/a2")])
    try a.commit(at: 30)
    #expect(a.writes.values.allSatisfy { $0 == .some(nil) } && a.writes.count == 2)
    #expect(c.writes.values.allSatisfy { $0 == .some(nil) } && c.writes.count == 1)
  }

  @Test("a hidden client has its turn while another one is visible")
  func hiddenClient() throws {
    let (cache, a, _, c) = try makeClients()
    a.post(.setVisibility(true))
    c.write(set("rooms/c1"))
    cache.wait(7)
    #expect(c.engine.isPrimary)
    #expect(c.sentBatches.count == 1)
  }

  @Test("a change of the user that failed once at a secondary client leaves it as online as the primary one")
  func userChangeFails() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.failing = ["Handle user change"]
    b.post(.changeUser("otto"))
    b.failing = []
    cache.wait(2)
    let listener = b.listen(collection("rooms"))
    cache.wait(1)
    #expect(b.snapshots[listener] == nil, "the primary client is asking the backend")
    try a.fill(2, [], at: 10)
    cache.deliver()
    #expect(b.ids(listener) == [])
  }

  @Test(
    "the lease is not left while the backend may still answer what a former user has sent", arguments: [false, true])
  func lateAnswerOfFormerUser(disablesNetwork: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] { client.post(.changeUser("alice")) }
    cache.deliver()
    a.write(set("rooms/a1"))
    a.answersLate = true
    cache.wait(3)
    a.post(.changeUser("bob"))
    if disablesNetwork { _ = a.request(.disableNetwork) }
    cache.wait(10)
    #expect(b.sentBatchCount == 0, "the backend would commit it twice")
    try a.commitLate(at: 10)
    a.endParting()
    b.write(set("rooms/b1"))
    cache.wait(10)
    #expect(b.engine.isPrimary)
    #expect(b.sentBatches.map { $0[0].key } == [key("rooms/b1")])
  }

  @Test("the lease stays where it is while no other user has anything to send")
  func nobodyWaits() throws {
    let (cache, a, b, c) = try makeClients()
    a.write(set("rooms/a1"))
    b.write(set("rooms/b1"))
    cache.wait(20)
    #expect(a.engine.isPrimary)
    #expect(a.sentBatches.count == 2)
    // A user without a client that wants the network is not waited for.
    c.post(.request(RequestID(rawValue: 100), .disableNetwork))
    c.write(set("rooms/c1"))
    try a.commit(at: 10)
    try a.commit(at: 20)
    cache.wait(20)
    #expect(a.engine.isPrimary)
  }

  @Test("a client whose turn was ending sends again when all the others have left")
  func othersLeave() throws {
    let (cache, a, b, c) = try makeClients()
    a.write(set("rooms/a1"))
    c.write(set("rooms/c1"))
    cache.wait(10)
    a.write(set("rooms/a2"))
    #expect(a.sentBatches.count == 1)
    for other in [b, c] {
      other.post(.shutdown)
      other.kill()
    }
    try a.commit(at: 10)
    cache.wait(2)
    #expect(a.sentBatches.map { $0[0].key } == [key("rooms/a2")])
  }

  @Test("a lease that was left to a client that does not run is taken by another one")
  func heirThatIsStopped() throws {
    let (cache, a, b, c) = try makeClients()
    c.write(set("rooms/c1"))
    cache.deliver()
    c.isRunning = false
    cache.wait(5)
    #expect(!a.engine.isPrimary && !b.engine.isPrimary, "the lease was left to the third one")
    cache.wait(3)
    #expect(a.engine.isPrimary || b.engine.isPrimary)
    c.isRunning = true
    cache.wait(10)
    #expect(c.engine.isPrimary)
    #expect(c.sentBatches.count == 1)
  }

  @Test("a client that does not run has its turn rarely, and as soon as it runs again")
  func heirThatStaysStopped() throws {
    let (cache, a, b, c) = try makeClients()
    c.write(set("rooms/c1"))
    cache.deliver()
    c.isRunning = false
    cache.wait(300)
    let holder = try #require(a.engine.isPrimary ? a : b.engine.isPrimary ? b : nil)
    #expect(
      try #require(holder.engine.localStore.leaseNumber) < 8, "it was left in vain after 5 s, 2 minutes, 4 minutes")
    c.isRunning = true
    cache.wait(10)
    #expect(c.engine.isPrimary)
    #expect(c.sentBatches.count == 1)
  }

  @Test("a client that does not run keeps no other user from a turn")
  func stoppedBeforeAnotherUser() throws {
    let (cache, a, b, c) = try makeClients()
    // It takes a free lease before clients that are not visible, unless it is left to one of them.
    a.post(.setVisibility(true))
    b.post(.changeUser("another"))
    b.write(set("rooms/b1"))
    c.write(set("rooms/c1"))
    cache.deliver()
    b.isRunning = false
    cache.wait(40)
    #expect(c.sentBatches.count == 1)
    try c.commit(at: 10)
    b.isRunning = true
    cache.wait(20)
    #expect(b.sentBatches.count == 1)
    #expect(!a.engine.isPrimary)
  }

  @Test("a client without a connection holds the lease longer before another user tries")
  func withoutConnection() throws {
    let (cache, a, _, c) = try makeClients()
    c.write(set("rooms/c1"))
    a.listen(rooms)
    try #require(a.watchStream != nil)
    a.breakWatchStream(StatusError(code: .unavailable, message: "no connection"))
    cache.wait(20)
    #expect(a.engine.isPrimary)
    cache.wait(50)
    #expect(c.engine.isPrimary)
    #expect(c.sentBatches.count == 1)
  }
}
