import HearthModel
import Testing

@testable import HearthSync

@Suite("Backends that do not answer")
struct UnreachableBackendTests {
  private let rooms = collection("rooms")

  enum Fault: CaseIterable {
    /// Each attempt fails at once.
    case refuses
    /// Streams open, and nothing is ever said on them.
    case isSilent
    /// No attempt comes to an end.
    case isBlackHole
  }

  /// Reads once, lets time pass until there is an answer, and returns how long that took.
  private func timeOfRead(_ client: TestClient) throws -> Duration {
    let start = client.now
    let listener = client.listen(rooms, .get)
    while client.snapshots[listener] == nil {
      guard let next = client.timers.min(by: { $0.value < $1.value }) else { throw TestFailure("waits for ever") }
      try client.fire(next.key)
    }
    client.post(.unlisten(listener))
    return client.now - start
  }

  @Test(
    "one-time reads without a listener are answered within ten seconds, the twelfth as the first",
    arguments: Fault.allCases)
  func reads(_ fault: Fault) throws {
    let client = try TestClient(durable: true)
    client.isReachable = fault != .refuses
    client.isBlackHole = fault == .isBlackHole
    for number in 1...12 {
      let time = try timeOfRead(client)
      #expect(time <= .seconds(10), "read \(number)")
      // Some come before the next attempt to reach the backend, some after it.
      if number.isMultiple(of: 2), client.timers[.listenStreamConnectionBackoff] != nil {
        try client.fire(.listenStreamConnectionBackoff)
      }
    }
  }

  @Test("a read is answered at once after an attempt has failed, and waits for the backend once it is reached")
  func atOnce() throws {
    let client = try TestClient(durable: true)
    client.isReachable = false
    #expect(try timeOfRead(client) == .zero)
    #expect(try timeOfRead(client) == .zero)
    client.isReachable = true
    try client.fire(.listenStreamConnectionBackoff)
    let get = client.listen(rooms, .get)
    #expect(client.snapshots[get] == nil)
    let target = try #require(client.watched.keys.first)
    try client.fill(target, [found("rooms/a", 1)], at: 10)
    #expect(client.snapshots[get]?.last?.summary == "server [a] +a")
  }

  @Test("a read on a stream that has died without a sign is answered after ten seconds, as often as it happens")
  func deadStream() throws {
    let client = try TestClient(durable: true)
    client.listen(collection("users"))
    try client.fill(2, [], at: 10)
    #expect(client.engine.onlineState == .online)
    #expect(try timeOfRead(client) == .seconds(10))
    #expect(try timeOfRead(client) == .zero)
    try client.snapshot(20)
    #expect(client.engine.onlineState == .online)
    #expect(try timeOfRead(client) == .seconds(10))
  }

  @Test("a long answer is waited for as long as it goes on")
  func longAnswer() throws {
    let client = try TestClient(durable: true)
    client.listen(collection("users"))
    try client.fill(2, [], at: 10)
    let get = client.listen(rooms, .get)
    try client.acknowledge(4)
    for number in 1...5 as ClosedRange<Int64> {
      try client.put(found("rooms/\(number)", number), into: 4)
      try client.fire(.onlineStateTimeout)
    }
    #expect(client.snapshots[get] == nil && client.engine.onlineState == .online)
    try client.current(4, token: "t")
    try client.snapshot(20)
    #expect(client.snapshots[get]?.last?.ids.count == 5)
    try client.fire(.onlineStateTimeout)
    #expect(client.timers[.onlineStateTimeout] == nil && client.engine.onlineState == .online)
  }

  /// Lets the timer of the online state fire until a read is answered.
  private func answer(_ read: ListenerID, of client: TestClient, in firings: Int) throws -> ViewSnapshot {
    for _ in 0..<firings where client.snapshots[read] == nil { try client.fire(.onlineStateTimeout) }
    return try #require(client.snapshots[read]?.last)
  }

  @Test("a backend that acknowledges a target and then says nothing is not waited for without end")
  func acknowledgedOnly() throws {
    let client = try TestClient(durable: true)
    let get = client.listen(rooms, .get)
    try client.acknowledge(2)
    #expect(client.engine.onlineState == .online && client.snapshots[get] == nil)
    #expect(client.timers[.onlineStateTimeout] != nil)
    #expect(try answer(get, of: client, in: 2).isFromCache)
    #expect(client.now <= .seconds(20) && client.engine.onlineState == .offline)
    // A backend that says something again is asked again, and may fall silent again.
    try client.put(found("rooms/a", 1), into: 2)
    #expect(client.engine.onlineState == .online)
    let second = client.listen(collection("users"), .get)
    #expect(client.snapshots[second] == nil)
    #expect(try answer(second, of: client, in: 2).isFromCache)
  }

  @Test("a target that must be asked for again is not waited for without end")
  func askedAgain() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    try client.fire(.onlineStateTimeout)
    #expect(client.timers[.onlineStateTimeout] == nil)
    try client.count(2, in: 2)
    try client.snapshot(20)
    let get = client.listen(rooms, .get)
    #expect(client.timers[.onlineStateTimeout] != nil)
    #expect(try answer(get, of: client, in: 2).isFromCache)
  }

  @Test("a backend whose snapshots are older than those that the cache has seen is not waited for, and is told of once")
  func olderSnapshots() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.post(.unlisten(listener))
    try client.fire(.listenStreamIdle)
    let get = client.listen(rooms, .get)
    let target = try #require(client.watched.keys.first)
    let start = client.now
    try client.fill(target, [found("rooms/a", 1)], at: 5)
    try client.snapshot(6)
    #expect(client.engine.onlineState == .online && client.snapshots[get] == nil)
    let early = try answer(get, of: client, in: 1)
    #expect(early.isFromCache && early.ids == ["a"] && client.now - start == .seconds(10))
    let warnings = client.logs.filter { $0.0 == .warning }.map { $0.1 }
    #expect(warnings.count == 1)
    for stated in [version(5), version(10)] {
      #expect(warnings.first?.contains("\(stated)") == true, "\(warnings)")
    }
    // A newer one counts again.
    try client.snapshot(20)
    #expect(client.snapshots[get]?.last?.isFromCache == false && client.engine.onlineState == .online)
  }

  @Test("a stream that ends before each snapshot is opened again after growing pauses, until a snapshot is complete")
  func endsBeforeSnapshot() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    var pauses: [Duration] = []
    for _ in 1...5 {
      try client.acknowledge(2)
      try client.breakWatchStream(.internal)
      let due = try #require(client.timers[.listenStreamConnectionBackoff])
      pauses.append(due - client.now)
      try client.fire(.listenStreamConnectionBackoff)
    }
    #expect(pauses == [.zero, .seconds(1), .seconds(1.5), .seconds(2.25), .seconds(3.375)])
    try client.fill(2, [], at: 10)
    try client.breakWatchStream(.internal)
    #expect(client.timers[.listenStreamConnectionBackoff] == client.now)
  }

  @Test("switching the network off, and a change of it, give up the connection")
  func connection() throws {
    let client = try TestClient()
    client.listen(rooms)
    client.setNetwork(isEnabled: false)
    #expect(client.droppedConnections == 1)
    client.setNetwork(isEnabled: true)
    client.post(.connectivityChanged)
    #expect(client.droppedConnections == 2 && client.watchStream != nil)
    client.changeUser("alice")
    #expect(client.droppedConnections == 2)
  }
}
