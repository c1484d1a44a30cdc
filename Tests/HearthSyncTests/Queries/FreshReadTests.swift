import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A read that wants the backend's answer although a listener to the same query is open.
@Suite("Fresh reads alongside a listener")
struct FreshReadTests {
  private static let room = Query(path: key("rooms/1").path)
  private static let fresh = {
    var options = ListenOptions.get
    options.needsFreshAnswer = true
    return options
  }()

  /// A client with a listener in sync on target 2.
  private func client(_ query: Query = rooms) throws -> TestClient {
    let client = try TestClient()
    client.listen(query)
    try client.fill(2, [found("rooms/1", 10, ["n": 1])], at: 10)
    _ = client.takeTold()
    return client
  }

  @Test(
    "the backend is asked with a target of its own, which continues from the listener's state",
    arguments: [rooms, room])
  func ownTarget(query: Query) throws {
    let client = try client(query)
    let read = client.listen(query, Self.fresh)
    #expect(client.takeTold().isEmpty)
    #expect(client.watched.keys.sorted() == [1, 2] && client.watched[1]?.target == query.target)
    #expect(client.watched[1]?.resumeToken == Array("token-10".utf8) && client.watched[1]?.expectedCount == 1)
    try client.acknowledge(1)
    try client.put(found("rooms/1", 20, ["n": 2]), into: 1, 2)
    try client.current(1, token: "own")
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener 1: server [1] ~1", "listener \(read.rawValue): server [1] +1"])
    #expect(try client.snapshots[read]?.last?.documents.first?.fields.decoded()["n"] == 2)
    #expect(client.watched.keys.sorted() == [2])
  }

  @Test("an answer without changes confirms what is known", arguments: [rooms, room])
  func unchanged(query: Query) throws {
    let client = try client(query)
    let read = client.listen(query, Self.fresh)
    try client.acknowledge(1)
    try client.current(1, token: "own")
    #expect(client.takeTold().isEmpty, "there is no consistent snapshot yet")
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(read.rawValue): server [1] +1"])
  }

  @Test("a snapshot of the listener's own target is no answer")
  func otherSnapshot() throws {
    let client = try client()
    client.listen(rooms, Self.fresh)
    try client.put(found("rooms/1", 15, ["n": 2]), into: 2)
    try client.snapshot(15)
    #expect(client.takeTold() == ["listener 1: server [1] ~1"])
  }

  @Test("a read that the backend refuses fails alone")
  func refused() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    try client.reject(1, .resourceExhausted)
    #expect(client.takeTold() == ["listener \(read.rawValue): error RESOURCE_EXHAUSTED"])
    try client.put(found("rooms/2", 20), into: 2)
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener 1: server [1 2] +2"])
  }

  @Test("being offline ends the wait with the cache's state")
  func offline() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    client.setNetwork(isEnabled: false)
    #expect(client.takeTold().contains("listener \(read.rawValue): cache [1] +1"))
    let second = client.listen(rooms, Self.fresh)
    #expect(client.takeTold() == ["listener \(second.rawValue): cache [1] +1"])
  }

  @Test("after an interruption the read's target is asked for again")
  func interruption() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
    #expect(client.watched.keys.sorted() == [1, 2])
    try client.fill(2, [], at: 20)
    #expect(client.snapshots[read] == nil)
    try client.fill(1, [], at: 21)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("a listener that goes in between leaves the view to the read; a read that goes takes its target along")
  func removals() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    client.post(.unlisten(ListenerID(rawValue: 1)))
    try client.fill(1, [found("rooms/1", 20)], at: 20)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [1] +1"])
    let second = client.listen(rooms, Self.fresh)
    #expect(client.watched.keys.sorted() == [2, 3])
    client.post(.unlisten(second))
    client.post(.unlisten(read))
    #expect(client.watched.isEmpty)
  }

  @Test("a read for which nobody waits ends alongside a listener, with what the cache has", arguments: [rooms, room])
  func abandoned(query: Query) throws {
    let client = try client(query)
    for _ in 0..<3 {
      let read = client.listen(query, Self.fresh)
      #expect(client.watched.count == 2)
      client.post(.abandonRead(read))
      #expect(client.watched.keys.sorted() == [2])
      #expect(client.snapshots[read]?.map(\.summary) == ["cache [1] +1"])
    }
    try client.put(found("rooms/1", 20, ["n": 2]), into: 2)
    try client.snapshot(20)
    #expect(client.snapshots[ListenerID(rawValue: 1)]?.last?.summary == "server [1] ~1")
  }

  @Test("a read for which nobody waits goes on if no other listener brings its answer")
  func abandonedAlone() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    client.listen(rooms, ListenOptions(source: .cache))
    client.post(.unlisten(ListenerID(rawValue: 1)))
    client.post(.abandonRead(read))
    #expect(client.watched.keys.sorted() == [1, 2] && client.snapshots[read] == nil)
    let ordinary = client.listen(Self.room, Self.fresh)
    client.post(.abandonRead(ordinary))
    #expect(client.watched.keys.sorted() == [1, 2, 4] && client.snapshots[ordinary] == nil)
    try client.fill(1, [found("rooms/1", 20)], at: 20)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("without an open listener the read is an ordinary one, and with one to the cache too")
  func ordinary() throws {
    let client = try TestClient()
    client.listen(rooms, ListenOptions(source: .cache))
    let read = client.listen(rooms, Self.fresh)
    #expect(client.watched.keys.sorted() == [2])
    try client.fill(2, [found("rooms/1", 10)], at: 10)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  /// The listener's target has no documents any more, and the one that was in its view is looked up: the read is answered then.
  private func expectEmptyAnswer(to read: ListenerID, of client: TestClient) throws {
    #expect(client.snapshots[read] == nil)
    try client.acknowledgeRemoval(2)
    try client.fill(2, [], at: 22)
    let limbo = try #require(client.watched.keys.first { $0 > 1 && !$0.isMultiple(of: 2) })
    try client.fill(limbo, [], at: 23)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [] "])
  }

  @Test("a count for the read's target that disagrees is one for the listener's, whose view is not taken for confirmed")
  func mismatchOfOwnTarget() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    try client.acknowledge(1)
    try client.count(0, in: 1)
    try client.current(1, token: "own")
    try client.snapshot(20)
    #expect(client.snapshots[read] == nil && client.watched[1]?.resumeToken == [])
    #expect(client.snapshots[ListenerID(rawValue: 1)]?.last?.isFromCache == true)
    #expect(client.watched[2]?.resumeToken == [], "the listener's target is asked for again")
    try client.acknowledgeRemoval(1)
    try client.acknowledge(1)
    try client.current(1, token: "own")
    try client.snapshot(21)
    // The read's target has its whole result, the view has not.
    try expectEmptyAnswer(to: read, of: client)
  }

  @Test("a document that the backend's names exclude is looked up before the read is answered")
  func namesOfOwnTarget() throws {
    let client = try client()
    let read = client.listen(rooms, Self.fresh)
    try client.acknowledge(1)
    // No name is in this filter.
    try client.count(0, in: 1, names: BloomFilterData(bitmap: [0], padding: 0, hashCount: 1))
    try client.current(1, token: "own")
    try client.snapshot(20)
    #expect(client.snapshots[read] == nil)
    let limbo = try #require(client.watched.keys.first { $0 > 1 && !$0.isMultiple(of: 2) })
    try client.fill(limbo, [], at: 21)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [] "])
  }

  @Test("the same where client and backend disagree about another document of the result")
  func namesBesideADispute() throws {
    let client = try TestClient()
    client.listen(rooms)
    let (one, two) = (found("rooms/1", 10, ["n": 1]), found("rooms/2", 10, ["n": 2]))
    try client.fill(2, [one, two], at: 10)
    let positive = rooms.filtered("n", .greaterThan, 0)
    client.listen(positive)
    try client.fill(4, [one], at: 20)
    try client.fill(1, [two], at: 30)
    let read = client.listen(positive, Self.fresh)
    try client.acknowledge(3)
    try client.count(0, in: 3, names: BloomFilterData(bitmap: [0], padding: 0, hashCount: 1))
    try client.current(3, token: "own")
    try client.snapshot(40)
    #expect(client.snapshots[read] == nil)
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1, key("rooms/1"): 5])
    try client.fill(5, [], at: 41)
    #expect(client.snapshots[read]?.map(\.summary) == ["cache [2] +2"])
    #expect(client.snapshots[read]?.last?.isAnswered == true)
  }

  @Test("a client that loses the connection to another process answers from its view")
  func lostLease() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.listen(rooms)
    try a.fill(2, [found("rooms/1", 10)], at: 10)
    cache.deliver()
    let read = a.listen(rooms, Self.fresh)
    #expect(a.snapshots[read] == nil)
    cache.takeLease(for: b)
    cache.deliver()
    a.fire(.clientMetadataRefresh)
    cache.wait(2)
    try b.fill(2, [found("rooms/1", 20)], at: 20)
    cache.wait(2)
    #expect(a.snapshots[read]?.isEmpty == false)
  }
}
