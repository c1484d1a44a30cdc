import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// The client with the lease is one that can connect.
@Suite("A holder of the lease without a connection")
struct CutOffHolderTests {
  private static let noRoute = StatusError(code: .unavailable, message: "no route")
  private static let badToken = StatusError(code: .unauthenticated, message: "the token has expired")

  private func changes(_ cache: SharedCache) throws -> Int64 {
    try cache.count("SELECT lease_number FROM cache_sharing")
  }

  @Test("it leaves the lease to another client of its user, which keeps it", arguments: [noRoute, badToken])
  func oneUser(error: StatusError) throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.connectionError = error
    b.answersTargets = true
    let listener = b.listen(rooms)
    cache.wait(55)
    #expect(a.engine.isPrimary)
    cache.wait(10)
    #expect(b.engine.isPrimary && b.engine.onlineState == .online)
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    cache.wait(1200)
    #expect(b.engine.isPrimary)
    #expect(try changes(cache) == 2)
  }

  @Test("it leaves the lease also if there are only writes to send")
  func writesOnly() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.connectionError = Self.noRoute
    b.write(set("rooms/b"))
    cache.wait(70)
    #expect(b.engine.isPrimary)
    #expect(b.sentBatches.map { $0[0].key } == [key("rooms/b")])
  }

  @Test(
    "a holder that the backend answers keeps the lease, also while its writes are refused for now",
    arguments: [StatusCode.resourceExhausted, .aborted, .unavailable])
  func refusedWrites(code: StatusCode) throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] {
      client.answersTargets = true
      client.writeError = StatusError(code: code, message: "the quota is used up")
    }
    let number = try changes(cache)
    let listener = b.listen(rooms)
    b.write(set("rooms/b"))
    cache.wait(20)
    let snapshots = b.snapshots[listener]?.count
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    cache.wait(600)
    #expect(a.engine.isPrimary && a.sentBatchCount > 1)
    #expect(try changes(cache) == number)
    #expect(b.snapshots[listener]?.count == snapshots)
    a.writeError = nil
    cache.wait(120)
    #expect(a.sentBatches.count == 1 && b.sentBatchCount == 0)
  }

  @Test("a holder whose token is refused with its first write leaves the lease")
  func refusedToken() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.writeError = Self.badToken
    a.write(set("rooms/a"))
    cache.wait(70)
    #expect(b.engine.isPrimary && b.sentBatches.count == 1)
  }

  @Test("while nothing waits for the backend the lease stays where it is")
  func nothingWaits() throws {
    let (cache, a, _) = try SharedCache.makePair()
    a.connectionError = Self.noRoute
    cache.wait(600)
    #expect(a.engine.isPrimary)
  }

  @Test("a holder whose network is switched off by its application and wanted by nobody keeps the lease")
  func switchedOff() throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] { client.post(.request(RequestID(rawValue: 900), .disableNetwork)) }
    a.listen(rooms)
    cache.wait(300)
    #expect(try changes(cache) <= 2)
  }

  @Test("a user whose client cannot connect takes little of the time of one whose client can, and is tried again")
  func twoUsers() throws {
    let cache = try SharedCache()
    let (a, c) = (try cache.client("a"), try cache.client("c"))
    c.post(.changeUser("carol"))
    c.connectionError = Self.badToken
    a.answersTargets = true
    c.answersTargets = true
    a.listen(rooms)
    c.write(set("rooms/c"))
    cache.wait(10)
    #expect(c.engine.isPrimary)
    cache.wait(110)
    #expect(a.engine.isPrimary && a.engine.onlineState == .online)
    var secondsOnline = 0
    for _ in 0..<3600 {
      cache.wait()
      if a.engine.isPrimary, a.engine.onlineState == .online { secondsOnline += 1 }
    }
    #expect(secondsOnline > 3200)
    #expect(try changes(cache) < 16)
    #expect(c.sentBatchCount == 0)
    // It has a new token, and need not wait.
    c.connectionError = nil
    c.post(.changeUser("carol"))
    cache.wait(10)
    #expect(c.sentBatchCount == 1)
  }

  enum Help: CaseIterable {
    case otherNetwork, retryNow, otherToken
  }

  @Test(
    "an event that may help a client with unsuccessful turns counts also if another process held the file then",
    arguments: Help.allCases)
  func helpWhileHeld(_ help: Help) throws {
    let cache = try SharedCache()
    let (a, c) = (try cache.client("a"), try cache.client("c", busyTimeout: .milliseconds(20)))
    c.post(.changeUser("carol"))
    c.connectionError = Self.noRoute
    a.answersTargets = true
    a.listen(rooms)
    c.write(set("rooms/c"))
    cache.wait(900)
    #expect(a.engine.isPrimary && a.engine.onlineState == .online && c.sentBatchCount == 0)
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    c.connectionError = nil
    switch help {
    case .otherNetwork: c.post(.connectivityChanged)
    case .retryNow: _ = c.request(.retryNow)
    case .otherToken: c.post(.changeUser("carol"))
    }
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    #expect(c.sentBatchCount == 1)
  }

  @Test("while no client can connect the lease changes at most once a minute, and one that can then has it")
  func allCutOff() throws {
    let cache = try SharedCache()
    let clients = try ["a", "b", "c"].map { try cache.client($0) }
    for client in clients {
      client.connectionError = Self.noRoute
      client.answersTargets = true
    }
    clients[0].listen(rooms)
    var holders: Set<String> = []
    for _ in 0..<3600 {
      cache.wait()
      for client in clients where client.engine.isPrimary { holders.insert(client.name) }
    }
    #expect(holders == ["a", "b", "c"])
    #expect(try changes(cache) <= 61)
    clients[1].connectionError = nil
    cache.wait(200)
    #expect(clients[1].engine.isPrimary)
    let number = try changes(cache)
    cache.wait(1800)
    #expect(try changes(cache) == number)
  }

  @Test("after an outage of all, each user has its turn as soon as before")
  func outageEnds() throws {
    let cache = try SharedCache()
    let (a, c) = (try cache.client("a"), try cache.client("c"))
    c.post(.changeUser("carol"))
    for client in [a, c] {
      client.connectionError = Self.noRoute
      client.answersTargets = true
      client.listen(rooms)
    }
    a.write(set("rooms/a"))
    c.write(set("rooms/c"))
    cache.wait(900)
    for client in [a, c] { client.connectionError = nil }
    var time: Int64 = 10
    for _ in 0..<150 {
      cache.wait()
      for client in [a, c] where !client.sentBatches.isEmpty {
        time += 1
        try client.commit(at: time)
      }
    }
    #expect(a.writes.values.allSatisfy { $0 == .some(nil) } && c.writes.values.allSatisfy { $0 == .some(nil) })
    #expect(a.writes.count == 1 && c.writes.count == 1)
  }

  @Test("a process that is stopped does not keep the lease from one that can connect")
  func stoppedHeir() throws {
    let cache = try SharedCache()
    let (a, b, c) = (try cache.client("a"), try cache.client("b"), try cache.client("c"))
    a.connectionError = Self.noRoute
    c.answersTargets = true
    a.listen(rooms)
    cache.wait(50)
    b.isRunning = false
    cache.wait(25)
    #expect(c.engine.isPrimary)
    b.isRunning = true
    cache.wait(300)
    #expect(c.engine.isPrimary)
  }

  /// A read that is made once, with the time to the next one. An attempt to connect may wait for its turn, but no longer than 10 seconds.
  private func read(_ client: SharedTestClient, in cache: SharedCache) -> ViewSnapshot? {
    let read = client.listen(rooms, .get)
    cache.deliver()
    for _ in 0..<12 where client.snapshots[read] == nil { cache.wait() }
    client.post(.unlisten(read))
    cache.wait(5)
    return client.snapshots[read]?.last
  }

  @Test("it leaves the lease also if others only make reads that are each over at the next look at the lease")
  func oneTimeReads() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.connectionError = Self.noRoute
    b.answersTargets = true
    var last: ViewSnapshot?
    for _ in 0..<25 {
      last = read(b, in: cache)
      #expect(last != nil)
    }
    #expect(b.engine.isPrimary && last?.isFromCache == false)
    #expect(try changes(cache) == 2)
  }

  @Test("while no client can connect, reads do not make the lease change more often than listeners")
  func allCutOffReading() throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] { client.connectionError = Self.noRoute }
    for _ in 0..<60 { for client in [a, b] { #expect(read(client, in: cache)?.isFromCache == true) } }
    #expect(try changes(cache) <= 1 + cache.now.components.seconds / 60)
  }

  /// A read that is over as soon as the attempt to connect has failed; the client goes on trying for a moment.
  private func readInVain(_ client: SharedTestClient, in cache: SharedCache) {
    let read = client.listen(rooms, .get)
    cache.deliver()
    for _ in 0..<12 where client.snapshots[read] == nil { cache.wait() }
    #expect(client.snapshots[read]?.last?.isFromCache == true)
    client.post(.unlisten(read))
  }

  @Test(
    "one failure is none of a minute: a holder to which nothing is asked since keeps the lease",
    arguments: [true, false])
  func oneFailure(isOver: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.connectionError = Self.noRoute
    b.connectionError = Self.noRoute
    readInVain(a, in: cache)
    if isOver { a.connectionError = nil }
    a.answersTargets = true
    cache.wait(120)
    #expect(a.engine.isPrimary)
    #expect(try changes(cache) == 1)
    a.connectionError = nil
    #expect(read(a, in: cache)?.isFromCache == false)
  }

  @Test("failures between which the backend was reached are none of a minute", arguments: [true, false])
  func separateFailures(isAsked: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.answersTargets = true
    a.connectionError = Self.noRoute
    readInVain(a, in: cache)
    // The stream that the read has begun opens, and lasts although nothing is asked.
    a.connectionError = nil
    a.answersTargets = true
    cache.wait(3)
    if isAsked { #expect(read(a, in: cache)?.isFromCache == false) }
    cache.wait(40)
    a.connectionError = Self.noRoute
    a.breakWatchStream()
    cache.wait(20)
    readInVain(a, in: cache)
    cache.wait(30)
    #expect(a.engine.isPrimary)
    for _ in 0..<6 where a.engine.isPrimary {
      readInVain(a, in: cache)
      cache.wait(10)
    }
    #expect(!a.engine.isPrimary)
  }

  @Test("a holder whose token is refused on each stream leaves the lease, also if others only make reads")
  func refusedStreams() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.openedStreamError = Self.badToken
    b.answersTargets = true
    for _ in 0..<12 where !b.engine.isPrimary { _ = read(b, in: cache) }
    #expect(b.engine.isPrimary)
  }

  @Test("a holder that has been reached by a read since keeps the lease")
  func reachedByReads() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.connectionError = Self.noRoute
    #expect(read(b, in: cache)?.isFromCache == true)
    a.connectionError = nil
    a.answersTargets = true
    cache.wait(30)
    #expect(read(b, in: cache)?.isFromCache == false)
    cache.wait(600)
    #expect(a.engine.isPrimary)
    #expect(try changes(cache) == 1)
  }
}
