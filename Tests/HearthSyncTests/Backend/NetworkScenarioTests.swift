import HearthModel
import Testing

@testable import HearthSync

@Suite("Network")
struct NetworkScenarioTests {
  private let rooms = collection("rooms")

  @Test("disabling the network shows synced results as from the cache; enabling it brings them back in sync")
  func disableAndEnable() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    _ = client.takeTold()
    let off = client.request(.disableNetwork).rawValue
    #expect(client.takeTold() == ["listener \(listener): cache [a] ", "request \(off): OK"])
    #expect(client.watchStream == nil && client.engine.onlineState == .offline)
    let late = client.listen(collection("users"), .get).rawValue
    #expect(client.takeTold() == ["listener \(late): cache [] "])
    let on = client.request(.enableNetwork).rawValue
    #expect(client.takeTold() == ["request \(on): OK"])
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    #expect(client.watched[4] != nil)
    try client.acknowledge(2, 4)
    try client.current(2, 4, token: "t")
    try client.snapshot(20)
    #expect(
      client.takeTold() == ["listener \(listener): server [a] ", "listener \(late): server [] "])
  }

  @Test("switching the network twice is harmless")
  func switchingTwice() throws {
    let client = try TestClient()
    client.listen(rooms)
    let opened = client.openedStreams
    client.setNetwork(isEnabled: true)
    #expect(client.openedStreams == opened && client.watchStream != nil)
    client.setNetwork(isEnabled: false)
    client.setNetwork(isEnabled: false)
    client.setNetwork(isEnabled: true)
    client.setNetwork(isEnabled: true)
    #expect(client.openedStreams == opened + 1)
  }

  @Test("one failed attempt means offline: listeners get what the cache has, and attempts go on with pauses")
  func unreachable() throws {
    let client = try TestClient()
    client.isReachable = false
    let listener = client.listen(rooms, .get).rawValue
    #expect(client.takeTold() == ["listener \(listener): cache [] "])
    #expect(client.engine.onlineState == .offline)
    #expect(client.logs.filter { $0.0 == .warning }.count == 1)
    try client.fire(.listenStreamConnectionBackoff)
    #expect(client.timers[.listenStreamConnectionBackoff] == client.now + .seconds(1))
    client.isReachable = true
    try client.fire(.listenStreamConnectionBackoff)
    try client.fill(2, [], at: 10)
    #expect(client.engine.onlineState == .online)
    #expect(client.takeTold() == ["listener \(listener): server [] "])
    #expect(client.logs.filter { $0.0 == .warning }.count == 1)
  }

  @Test("ten seconds without an answer mean offline; a late answer means online")
  func slow() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fire(.onlineStateTimeout)
    #expect(client.now == .seconds(10))
    #expect(client.takeTold() == ["listener \(listener): cache [] "])
    try client.fill(2, [], at: 10)
    #expect(client.takeTold() == ["listener \(listener): server [] "])
  }

  @Test("a broken stream is opened again with the tokens, and what was being looked up is asked for again")
  func reconnect() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    try client.take("rooms/b", outOf: 2)
    try client.snapshot(11, token: "token-11")
    #expect(client.engine.activeLimboDocuments == [key("rooms/b"): 1])
    try client.breakWatchStream()
    #expect(client.engine.onlineState == .unknown)
    try client.fire(.listenStreamConnectionBackoff)
    #expect(client.watched[2]?.resumeToken == Array("token-11".utf8))
    #expect(client.watched[2]?.expectedCount == 1)
    #expect(client.watched[1]?.purpose == .limboResolution)
    // Answers outstanding on the old stream are forgotten with it: one answer each is enough.
    try client.acknowledge(1, 2)
    try client.current(1, 2, token: "t")
    _ = client.takeTold()
    try client.snapshot(20)
    #expect(client.takeTold().map { $0.hasSuffix("server [a] -b") } == [true])
  }

  @Test("a stream without targets is closed after a minute, and opened for the next one")
  func idleWatchStream() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    try client.fill(2, [], at: 10)
    client.post(.unlisten(listener))
    try client.fire(.listenStreamIdle)
    #expect(client.watchStream == nil && client.engine.onlineState == .unknown)
    client.listen(rooms)
    #expect(client.watchStream != nil && client.watched.count == 1)
  }

  @Test("a write stream without writes is closed after a minute")
  func idleWriteStream() throws {
    let client = try TestClient()
    client.write(.delete(key("rooms/a")))
    try client.commit(at: 10)
    try client.fire(.writeStreamIdle)
    #expect(client.writeStream == nil)
    client.write(.delete(key("rooms/a")))
    #expect(client.sentBatches.count == 1)
  }

  @Test("a change of connectivity replaces the streams without a pause")
  func connectivity() throws {
    let client = try TestClient()
    client.isReachable = false
    client.listen(rooms)
    try client.fire(.listenStreamConnectionBackoff)
    client.isReachable = true
    client.post(.connectivityChanged)
    #expect(client.watchStream != nil && client.watched.count == 1)
    #expect(client.timers[.listenStreamConnectionBackoff] == nil)
  }

  @Test("an error before the handshake concerns the stream: the batch stays, whatever the code")
  func handshakeError() throws {
    let client = try TestClient()
    client.isReachable = false
    client.write(.delete(key("rooms/a")))
    #expect(client.takeTold() == [])
    client.isReachable = true
    try client.fire(.writeStreamConnectionBackoff)
    #expect(client.sentBatches.count == 1)
  }

  @Test("after the end nothing happens any more, and requests are refused")
  func shutdown() throws {
    let client = try TestClient()
    client.listen(rooms)
    client.write(.delete(key("rooms/a")))
    _ = client.takeTold()
    let watch = try #require(client.watchStream)
    client.post(.shutdown)
    #expect(client.watchStream == nil && client.writeStream == nil && client.timers.isEmpty)
    client.post(.watchStreamClosed(watch, error(.unavailable)))
    client.post(.timerFired(.onlineStateTimeout))
    client.post(.shutdown)
    #expect(client.takeTold() == [])
    let listener = client.listen(rooms).rawValue
    let write = client.write(.delete(key("rooms/a"))).rawValue
    let wait = client.request(.waitForPendingWrites).rawValue
    let read = client.request(.readDocument(key("rooms/a")))
    #expect(
      client.takeTold() == [
        "listener \(listener): error FAILED_PRECONDITION", "write \(write): FAILED_PRECONDITION",
        "request \(wait): FAILED_PRECONDITION",
      ])
    #expect(client.answers == [.requestFailed(read, .terminated)])
  }
}
