import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("A primary client that is stopped")
struct PrimaryWatchTests {
  private func makePair(
    busyTimeout: Duration = .seconds(5)
  ) throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: busyTimeout)
    let b = try cache.client("b", busyTimeout: busyTimeout)
    a.listen(collection("others"))
    cache.deliver()
    let target = try #require(a.engine.targetID(of: collection("others")))
    try a.fill(target, [], at: 10)
    cache.deliver()
    #expect(a.engine.isPrimary && a.engine.onlineState == .online)
    return (cache, a, b)
  }

  @Test("another client shows what it has after a while, and what the backend has when the primary one goes on")
  func stoppedPrimary() throws {
    let (cache, a, b) = try makePair()
    a.isRunning = false
    let listener = b.listen(rooms)
    cache.wait(15)
    #expect(b.snapshots[listener] == nil, "a sign of life may come")
    cache.wait(10)
    #expect(b.ids(listener) == [])
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
    a.isRunning = true
    cache.wait(1)
    #expect(b.engine.onlineState == .online)
    let target = try #require(b.engine.targetID(of: rooms))
    try a.fill(target, [found("rooms/1", 20, ["n": .integer(1)])], at: 20)
    cache.wait(1)
    #expect(b.ids(listener) == ["1"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("views that agreed with the backend do so again when the primary client goes on")
  func agreementAfterSilence() throws {
    let (cache, a, b) = try makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    try a.fill(try #require(b.engine.targetID(of: rooms)), [found("rooms/1", 20, ["n": .integer(1)])], at: 20)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    a.isRunning = false
    b.listen(collection("halls"))
    cache.wait(25)
    #expect(b.engine.onlineState == .offline)
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
    a.isRunning = true
    cache.wait(2)
    #expect(b.engine.onlineState == .online)
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("a client waits for as long as the primary one runs and the backend sends something")
  func slowBackend() throws {
    let (cache, a, b) = try makePair()
    let listener = b.listen(rooms)
    for second in Int64(1)...12 {
      cache.wait(5)
      try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(10 + second))))
    }
    #expect(b.snapshots[listener] == nil)
    #expect(b.engine.onlineState == .online)
  }

  @Test("a client whose views agree with the backend takes a silent primary one for as online as before")
  func nothingToWaitFor() throws {
    let (cache, a, b) = try makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    let target = try #require(b.engine.targetID(of: rooms))
    try a.fill(target, [], at: 20)
    cache.deliver()
    a.isRunning = false
    cache.wait(120)
    #expect(b.snapshots[listener]?.count == 1)
    #expect(b.engine.onlineState == .online)
  }

  @Test("a read ends also if the primary client was stopped within a transaction")
  func stoppedInTransaction() throws {
    let cache = try SharedCache()
    let a = try cache.client("a")
    let b = try cache.client("b", busyTimeout: .milliseconds(20))
    let read = b.listen(rooms, ListenOptions(waitForSyncWhenOnline: true))
    cache.deliver()
    a.isRunning = false
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    cache.wait(30)
    #expect(b.snapshots[read]?.last?.isFromCache == true)
  }

  // MARK: - Reads

  enum Watchers: CaseIterable {
    /// Only the client with the connection listens to the query.
    case primary
    /// The other one as well.
    case both
  }

  /// The backend has answered the query some time ago, and nothing has happened since.
  private func makeQuietPair(
    _ watchers: Watchers = .both, busyTimeout: Duration = .seconds(5)
  ) throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let (cache, a, b) = try makePair(busyTimeout: busyTimeout)
    a.listen(rooms)
    if watchers == .both { b.listen(rooms) }
    cache.deliver()
    let target = try #require(a.engine.targetID(of: rooms))
    try a.fill(target, [found("rooms/1", 20, ["n": .integer(1)])], at: 20)
    cache.wait(60)
    return (cache, a, b)
  }

  @Test(
    "a read is not answered with what a primary client has said that was stopped since", arguments: Watchers.allCases)
  func readBesideStopped(watchers: Watchers) throws {
    let (cache, a, b) = try makeQuietPair(watchers)
    a.isRunning = false
    cache.wait(60)
    let reads = [b.listen(rooms, .get), b.listen(rooms, .get)]
    cache.wait(5)
    #expect(reads.allSatisfy { b.snapshots[$0] == nil }, "a sign of life may come")
    cache.wait(20)
    for read in reads { #expect(b.snapshots[read]?.map(\.summary) == ["cache [1] +1"]) }
    #expect(b.engine.onlineState == .offline)
  }

  @Test("what a client reads first after a pause is no sign of life of the primary one", arguments: Watchers.allCases)
  func readAfterPause(watchers: Watchers) throws {
    let (cache, a, b) = try makeQuietPair(watchers)
    b.isRunning = false
    try a.fill(try #require(a.engine.targetID(of: rooms)), [found("rooms/1", 30, ["n": .integer(2)])], at: 30)
    cache.wait(5)
    a.isRunning = false
    cache.wait(60)
    b.isRunning = true
    // An event that does not look at the file comes first.
    b.post(.observeStatus(true))
    cache.deliver()
    let read = b.listen(rooms, .get)
    let next = b.listen(rooms, .get)
    #expect(b.snapshots[read] == nil && b.snapshots[next] == nil, "the notices are old")
    a.isRunning = true
    cache.deliver()
    for read in [read, next] { #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"]) }
  }

  @Test("a sign of life that was read after a pause is asked for again at once")
  func signDuringPause() throws {
    let (cache, _, b) = try makeQuietPair()
    let read = b.listen(rooms, .get)
    b.isRunning = false
    cache.wait(30)
    b.isRunning = true
    // The timer of the question would repeat it, later.
    b.post(.othersChanged)
    #expect(b.snapshots[read] == nil)
    cache.deliver()
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  enum MissedSign: CaseIterable {
    /// Its notice was removed before the client read it.
    case removed
    /// The client reads it together with news for which it has to read everything again.
    case readWithUnknownNews
  }

  private func addUnknownNotice(_ cache: SharedCache) throws {
    try cache.execute(
      """
      INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message)
      VALUES (77, 99, 0, '', 0, 0, '')
      """)
  }

  @Test("a sign of life that a read has missed is asked for again at once", arguments: MissedSign.allCases)
  func missedSign(_ missed: MissedSign) throws {
    let (cache, a, b) = try makeQuietPair()
    let read = b.listen(rooms, .get)
    switch missed {
    case .removed:
      for client in [a, b] { client.store.noticeLimits = LocalStore.NoticeLimits(betweenMarks: 1, waiting: 4) }
      b.isRunning = false
      for n in Int64(1)...20 {
        a.write(set("halls/\(n)", n))
        cache.deliver()
      }
      cache.wait(2)
      #expect(try cache.count("SELECT count(*) FROM cache_notices") <= 8)
      b.isRunning = true
      b.post(.othersChanged)
    case .readWithUnknownNews: try addUnknownNotice(cache)
    }
    cache.deliver()
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
    #expect(b.engine.onlineState == .online)
  }

  @Test("a listener does not wait for a stopped primary client after notices were lost")
  func lostNoticesBesideStopped() throws {
    let (cache, a, b) = try makeQuietPair()
    a.isRunning = false
    b.listen(collection("halls"))
    cache.wait(25)
    #expect(b.engine.onlineState == .offline)
    try addUnknownNotice(cache)
    b.post(.othersChanged)
    let listener = b.listen(collection("halls/1/seats"))
    cache.wait(30)
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
    #expect(b.engine.onlineState == .offline)
    a.isRunning = true
    cache.wait(2)
    #expect(b.engine.onlineState == .online)
  }

  @Test("a read is answered as soon as a quiet primary client has given a sign of life", arguments: Watchers.allCases)
  func readBesideQuiet(watchers: Watchers) throws {
    let (cache, _, b) = try makeQuietPair(watchers)
    let read = b.listen(rooms, .get)
    #expect(b.snapshots[read] == nil)
    cache.deliver()
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
    // That holds for a while.
    cache.wait(5)
    let next = b.listen(rooms, .get)
    #expect(b.snapshots[next]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("a client that could not ask a primary one which was stopped within a transaction asks it when that goes on")
  func askedLater() throws {
    let (cache, a, b) = try makeQuietPair(busyTimeout: .milliseconds(20))
    a.isRunning = false
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    let read = b.listen(rooms, .get)
    cache.wait(30)
    #expect(b.snapshots[read]?.map(\.summary) == ["cache [1] +1"])
    #expect(b.engine.onlineState == .offline)
    try stopped.execute("ROLLBACK")
    a.isRunning = true
    cache.wait(2)
    #expect(b.engine.onlineState == .online)
    let next = b.listen(rooms, .get)
    cache.deliver()
    #expect(b.snapshots[next]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("a primary client that could not give a sign of life, because another process held the file, gives it later")
  func givenLater() throws {
    let (cache, _, b) = try makeQuietPair(busyTimeout: .milliseconds(20))
    let read = b.listen(rooms, .get)
    let stopped = try Database(.file(path: cache.file))
    defer { stopped.close() }
    try stopped.execute("BEGIN IMMEDIATE")
    cache.deliver()
    try stopped.execute("ROLLBACK")
    cache.wait(2)
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("a read that was removed waits for nothing")
  func removedRead() throws {
    let (cache, a, b) = try makeQuietPair()
    a.isRunning = false
    b.post(.unlisten(b.listen(rooms, .get)))
    cache.wait(60)
    #expect(b.engine.onlineState == .online)
  }

  @Test("a read that waits for a sign of life of a client that has ended is answered by the backend")
  func readBesideEnded() throws {
    let (cache, a, b) = try makeQuietPair()
    a.isRunning = false
    let read = b.listen(rooms, .get)
    a.kill()
    cache.wait(1)
    #expect(b.engine.isPrimary && b.snapshots[read] == nil)
    for target in b.watched.sorted().reversed() {
      try b.fill(target, [found("rooms/1", 20, ["n": .integer(1)])], at: 30)
    }
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  @Test(
    "a read that waits for a sign of life when this client gets the connection without a network has what the cache has"
  )
  func readWithoutNetwork() throws {
    let (cache, a, b) = try makeQuietPair()
    a.isRunning = false
    _ = b.request(.disableNetwork)
    let read = b.listen(rooms, .get)
    a.kill()
    cache.wait(1)
    #expect(b.engine.isPrimary)
    #expect(b.snapshots[read]?.first?.summary == "cache [1] +1")
  }
}
