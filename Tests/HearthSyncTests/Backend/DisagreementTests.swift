import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A document that matches a query here and not at the backend, for good: it exists as it is shown, and the query's result does not have it.
@Suite("A document about which client and backend disagree")
struct DisagreementTests {
  private let query = rooms.filtered("n", .greaterThan, 0)

  /// A client with a cached document that the backend's result of the query, on target 4, does not have.
  private func client(_ options: ListenOptions, _ query: Query) throws -> (client: TestClient, read: ListenerID) {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/1", 10, ["n": 1]), found("rooms/2", 10, ["n": 2])], at: 10)
    _ = client.takeTold()
    let read = client.listen(query, options)
    try client.fill(4, [found("rooms/1", 10, ["n": 1])], at: 20)
    #expect(client.watched[1]?.target == Query(path: key("rooms/2").path).target, "it is looked up")
    return (client, read)
  }

  @Test("does not keep a read waiting once it was looked up")
  func read() throws {
    let (client, read) = try client(.get, query)
    #expect(client.takeTold().isEmpty)
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    #expect(client.takeTold() == ["listener \(read.rawValue): cache [1 2] +1 +2"])
    #expect(client.snapshots[read]?.last?.isAnswered == true)
    let second = client.listen(query, .get)
    #expect(client.takeTold() == ["listener \(second.rawValue): cache [1 2] +1 +2"], "at once, without another lookup")
    #expect(client.addRequests.map(\.targetID) == [2, 4, 1])
  }

  @Test("keeps it waiting until the backend has said everything about it")
  func unfinishedLookup() throws {
    let (client, read) = try client(.get, query)
    try client.acknowledge(1)
    try client.put(found("rooms/2", 10, ["n": 2]), into: 1)
    try client.snapshot(30)
    #expect(client.snapshots[read] == nil)
    try client.current(1, token: "found")
    try client.snapshot(31)
    #expect(client.snapshots[read]?.last?.isAnswered == true)
  }

  /// A client that looks up one document at a time, with two cached documents that the backend's result of the query, on target 4, does not have.
  private func clientWithTwo() throws -> (client: TestClient, read: ListenerID) {
    let client = try TestClient(durable: true, maxConcurrentLimboResolutions: 1)
    client.listen(rooms)
    try client.fill(2, (1...3).map { found("rooms/\($0)", 10, ["n": .integer($0)]) }, at: 10)
    let read = client.listen(query, .get)
    try client.fill(4, [found("rooms/1", 10, ["n": 1])], at: 20)
    return (client, read)
  }

  @Test("keeps no other one from being looked up, however many there are")
  func moreThanPlaces() throws {
    let (client, read) = try clientWithTwo()
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1])
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    #expect(client.snapshots[read] == nil)
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1, key("rooms/3"): 3])
    try client.fill(3, [found("rooms/3", 10, ["n": 3])], at: 31)
    #expect(client.snapshots[read]?.map(\.isAnswered) == [true] && client.snapshots[read]?.last?.isFromCache == true)
    // As many as there are places are still heard of.
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1])
    try client.take("rooms/2", outOf: 1, as: missing("rooms/2", 40))
    try client.snapshot(40)
    #expect(client.snapshots[read]?.last?.ids == ["1", "3"])
    #expect(client.snapshots[read]?.last?.isAnswered == true)
    #expect(client.engine.activeLimboDocuments.isEmpty)
  }

  @Test("is looked up again on a new stream before a read is answered")
  func newStream() throws {
    let (client, _) = try clientWithTwo()
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    try client.fill(3, [found("rooms/3", 10, ["n": 3])], at: 31)
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1], "one at a time")
    #expect(client.watched.keys.sorted() == [1, 2, 4])
    let second = client.listen(query, .get)
    try client.fill(2, [], at: 40)
    try client.fill(4, [], at: 41)
    #expect(client.snapshots[second] == nil)
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 42)
    #expect(client.snapshots[second] == nil)
    try client.fill(5, [], at: 43)
    #expect(client.snapshots[second]?.map(\.ids) == [["1", "2"]])
  }

  @Test("is no disagreement when the lookup brings another state, or none")
  func resolved() throws {
    for answer in [[found("rooms/2", 30, ["n": -1])], []] {
      let (client, read) = try client(.get, query)
      try client.fill(1, answer, at: 30)
      #expect(client.takeTold().last == "listener \(read.rawValue): server [1] +1")
    }
  }

  @Test("changes nothing for a listener: its result is still said to be from the cache")
  func listener() throws {
    let (client, listener) = try client(.everything, query)
    _ = client.takeTold()
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    #expect(client.takeTold().isEmpty && client.snapshots[listener]?.last?.isFromCache == true)
  }

  @Test("does not keep a read of a mirrored limit waiting either")
  func mirroredLimit() throws {
    let limited = query.ordered(by: "n").with(limit: 5)
    let (client, _) = try client(.get, limited)
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    let mirrored = client.listen(query.ordered(by: "n", .descending).with(limit: 5, type: .last), .get)
    #expect(client.snapshots[mirrored]?.last?.isAnswered == true)
  }

  @Test("keeps no read waiting that begins with a mirrored limit while it is looked up")
  func mirroredLimitMeanwhile() throws {
    let limited = query.ordered(by: "n").with(limit: 5)
    let (client, _) = try client(.get, limited)
    let mirrored = client.listen(query.ordered(by: "n", .descending).with(limit: 5, type: .last), .get)
    #expect(client.snapshots[mirrored] == nil)
    try client.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    #expect(client.snapshots[mirrored]?.last?.isAnswered == true)
  }

  @Test("does not keep a client without the connection waiting")
  func secondaryClient() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.listen(rooms)
    cache.deliver()
    try a.fill(2, [found("rooms/1", 10, ["n": 1]), found("rooms/2", 10, ["n": 2])], at: 10)
    cache.deliver()
    let read = b.listen(query, .get)
    cache.deliver()
    try a.fill(4, [found("rooms/1", 10, ["n": 1])], at: 20)
    cache.deliver()
    #expect(b.snapshots[read] == nil)
    try a.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    cache.deliver()
    #expect(b.ids(read) == ["1", "2"])
  }

  @Test("is said to be from the cache at every client that shares the cache, until they agree")
  func secondaryMetadata() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.listen(rooms)
    cache.deliver()
    try a.fill(2, [found("rooms/1", 10, ["n": 1]), found("rooms/2", 10, ["n": 2])], at: 10)
    cache.deliver()
    let listeners = [a.listen(query, .everything), b.listen(query, .everything)]
    let read = b.listen(query, .get)
    cache.deliver()
    try a.fill(4, [found("rooms/1", 10, ["n": 1])], at: 20)
    try a.fill(1, [found("rooms/2", 10, ["n": 2])], at: 30)
    cache.deliver()
    let late = [b.listen(query, .get), b.listen(query, .everything)]
    cache.deliver()
    func snapshots() -> [ViewSnapshot?] {
      [a.snapshots[listeners[0]]?.last] + ([listeners[1], read] + late).map { b.snapshots[$0]?.last }
    }
    for snapshot in snapshots() {
      #expect(snapshot?.isFromCache == true && snapshot?.documents.count == 2, "\(String(describing: snapshot))")
    }
    // The backend comes to the same result.
    try a.put([found("rooms/2", 40, ["n": 2])], into: 4)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(40))))
    cache.deliver()
    #expect(a.snapshots[listeners[0]]?.last?.isFromCache == false)
    for listener in [listeners[1], late[1]] { #expect(b.snapshots[listener]?.last?.isFromCache == false) }
  }
}
