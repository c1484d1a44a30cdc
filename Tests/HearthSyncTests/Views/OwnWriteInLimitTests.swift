import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A pending write of the user takes a document out of a full limit, or moves it back. The backend may have one that takes its place, which it
/// sends after the write, whatever the cache has.
@Suite("A limit with a gap that a pending write has made")
struct OwnWriteInLimitTests {
  private static let first = rooms.ordered(by: "n").with(limit: 2)
  private static let last = rooms.ordered(by: "n", .descending).with(limit: 2, type: .last)
  private static let removal = Mutation.delete(key("rooms/1"))
  private static let move = Mutation.patch(key("rooms/1"), ["n": 9], mask: FieldMask([field("n")]))

  private func room(_ number: Int64, _ version: Int64 = 10) -> Document {
    found("rooms/\(number)", version, ["n": .integer(number)])
  }

  /// A client with these rooms in its cache and without a listener.
  private func client(_ numbers: [Int64] = [1, 2, 4]) throws -> TestClient {
    let client = try TestClient(durable: true)
    let all = client.listen(rooms)
    try client.fill(2, numbers.map { room($0) }, at: 10)
    client.post(.unlisten(all))
    return client
  }

  /// A client with a pending write that reads the query, on target 4. The backend has sent what it has before the write, and has found the room
  /// that has moved up, on target 1.
  private func waitingClient(_ query: Query, _ write: Mutation) throws -> (client: TestClient, read: ListenerID) {
    let client = try client()
    client.write(write)
    let read = client.listen(query, .get)
    try client.fill(4, [room(1), room(2)], at: 20)
    #expect(client.engine.activeLimboDocuments == [key("rooms/4"): 1])
    try client.fill(1, [room(4)], at: 30)
    return (client, read)
  }

  @Test(
    "a read is answered with what the backend has after the write", arguments: [first, last], [removal, move])
  func read(_ query: Query, _ write: Mutation) throws {
    let (client, read) = try waitingClient(query, write)
    #expect(client.snapshots[read] == nil)
    try client.snapshot(31)
    #expect(client.snapshots[read] == nil)
    try client.commit(at: 40)
    try client.snapshot(35)
    #expect(client.snapshots[read] == nil, "the snapshot is older than the write")
    try send(write, client)
    #expect(client.snapshots[read]?.count == 1)
    #expect(client.snapshots[read]?.last?.ids == (query == Self.first ? ["2", "3"] : ["3", "2"]))
    #expect(client.snapshots[read]?.last?.isFromCache == false)
  }

  /// The backend commits the first write, and sends what it has then.
  private func commit(_ write: Mutation, _ client: TestClient) throws {
    try client.commit(at: 40)
    try send(write, client)
  }

  private func send(_ write: Mutation, _ client: TestClient) throws {
    let isRemoved = write == Self.removal
    try client.take("rooms/1", outOf: 4, as: isRemoved ? missing("rooms/1", 40) : found("rooms/1", 40, ["n": 9]))
    try client.put(room(3), into: 4)
    try client.snapshot(41)
  }

  @Test(
    "a read waits as well where nothing else is in the cache, and a listener does not",
    arguments: [first, last], [removal, move])
  func nothingElse(_ query: Query, _ write: Mutation) throws {
    let client = try client([1, 2])
    client.write(write)
    let read = client.listen(query, .get)
    let listener = client.listen(query)
    try client.fill(4, [room(1), room(2)], at: 20)
    #expect(client.snapshots[read] == nil)
    #expect(client.snapshots[listener]?.last?.isFromCache == false && client.engine.activeLimboDocuments.isEmpty)
    try commit(write, client)
    #expect(client.snapshots[read]?.map(\.ids) == [query == Self.first ? ["2", "3"] : ["3", "2"]])
    #expect(client.snapshots[read]?.last?.isFromCache == false)
  }

  @Test(
    "and where a document with a pending write of its own takes the place",
    arguments: [
      ([1, 2], set("rooms/5", 5)), ([1, 2, 4], .patch(key("rooms/4"), ["m": 1], mask: FieldMask([field("m")]))),
    ] as [([Int64], Mutation)])
  func otherWrite(_ cached: [Int64], _ other: Mutation) throws {
    let client = try client(cached)
    client.write(Self.removal)
    client.write(other)
    let read = client.listen(Self.first, .get)
    try client.fill(4, [room(1), room(2)], at: 20)
    #expect(client.snapshots[read] == nil && client.engine.activeLimboDocuments.isEmpty)
    try commit(Self.removal, client)
    #expect(client.snapshots[read]?.map(\.ids) == [["2", "3"]])
  }

  @Test(
    "a read does not wait for writes that leave no gap",
    arguments: [
      ([.patch(key("rooms/2"), ["m": 1], mask: FieldMask([field("m")]))], ["1", "2"]),
      ([set("rooms/0", 0)], ["0", "1"]),
      ([removal, set("rooms/0", 0)], ["0", "2"]),
      ([.delete(key("rooms/2")), .set(key("rooms/x"), ["n": 1.5])], ["1", "x"]),
      ([.patch(key("rooms/2"), ["n": 0], mask: FieldMask([field("n")]))], ["2", "1"]),
    ] as [([Mutation], [String])])
  func noGap(_ writes: [Mutation], _ expected: [String]) throws {
    let client = try client([1, 2])
    for write in writes { client.write(write) }
    let read = client.listen(Self.first, .get)
    try client.fill(4, [room(1), room(2)], at: 20)
    #expect(client.snapshots[read]?.map(\.ids) == [expected])
    #expect(client.snapshots[read]?.last?.isFromCache == false)
  }

  @Test("a read from the server alongside a listener waits as well")
  func freshRead() throws {
    let client = try client([1, 2])
    client.listen(Self.first)
    try client.fill(4, [room(1), room(2)], at: 20)
    client.write(Self.removal)
    var fresh = ListenOptions.get
    fresh.needsFreshAnswer = true
    let read = client.listen(Self.first, fresh)
    try client.fill(1, [], at: 30)
    #expect(client.snapshots[read] == nil)
    try commit(Self.removal, client)
    #expect(client.snapshots[read]?.map(\.ids) == [["2", "3"]])
  }

  @Test(
    "a read gets what the cache has if the write is not answered in time, each in its own", arguments: [false, true])
  func unansweredWrite(isFresh: Bool) throws {
    let client = try client([1, 2])
    var options = ListenOptions.get
    options.needsFreshAnswer = isFresh
    func read() throws -> ListenerID {
      let others = Set(client.watched.keys)
      let read = client.listen(Self.first, options)
      for target in client.watched.keys where !others.contains(target) { try client.fill(target, [], at: 20) }
      return read
    }
    let listener = client.listen(Self.first)
    try client.fill(4, [room(1), room(2)], at: 20)
    client.write(Self.removal)
    let first = try read()
    #expect(client.snapshots[first] == nil)
    let start = client.now
    #expect(client.timers[.ownWritesTimeout] == start + .seconds(10))
    client.now += .seconds(4)
    let second = try read()
    try client.fire(.ownWritesTimeout)
    #expect(client.snapshots[first]?.map(\.summary) == ["cache [2] +2"])
    #expect(client.snapshots[second] == nil, "it has begun later")
    #expect(client.timers[.ownWritesTimeout] == start + .seconds(14))
    try client.fire(.ownWritesTimeout)
    #expect(client.snapshots[second]?.map(\.ids) == [["2"]])
    #expect(client.timers[.ownWritesTimeout] == nil)
    try commit(Self.removal, client)
    #expect(client.snapshots[listener]?.last?.summary == "server [2 3] +3")
    let last = client.listen(Self.first, .get)
    #expect(client.snapshots[last]?.map(\.ids) == [["2", "3"]])
  }

  @Test("without a gap, and without writes, the cache is not asked again")
  func cost() throws {
    let client = try client([1, 2])
    client.listen(Self.first)
    client.listen(rooms)
    try client.fill(2, [room(1), room(2)], at: 20)
    try client.fill(4, [room(1), room(2)], at: 21)
    client.failing = ["Synchronize views"]
    try client.put(found("rooms/1", 30, ["n": 0]), into: 2, 4)
    try client.snapshot(30)
    client.write(set("rooms/0", -1))
    try client.commit(at: 40)
    try client.put(found("rooms/0", 40, number(-1)), into: 2, 4)
    try client.take("rooms/2", outOf: 4)
    try client.snapshot(41)
    #expect(!client.logs.contains { $0.0 == .error })
  }

  @Test("a document that enters limbo in between, again and again, does not make the wait longer")
  func limboInBetween() throws {
    let (client, read) = try waitingClient(Self.first, Self.removal)
    let end = try #require(client.timers[.ownWritesTimeout])
    client.now += .seconds(6)
    try client.put(found("rooms/0", 35, number(0)), into: 4)
    try client.take("rooms/2", outOf: 4)
    try client.snapshot(35)
    let lookup = try #require(client.engine.activeLimboDocuments[key("rooms/2")])
    try client.fill(lookup, [room(2)], at: 36)
    #expect(client.snapshots[read] == nil && client.timers[.ownWritesTimeout] == end)
    client.now += .seconds(4)
    try client.fire(.ownWritesTimeout)
    #expect(client.snapshots[read] != nil)
  }

  @Test("further reads of the same result wait as well")
  func furtherReads() throws {
    let (client, _) = try waitingClient(Self.first, Self.removal)
    let reads = [Self.first, Self.last].map { client.listen($0, .get) }
    try client.snapshot(31)
    #expect(reads.allSatisfy { client.snapshots[$0] == nil })
    try client.refuseWrite(.permissionDenied)
    #expect(reads.map { client.snapshots[$0]?.map(\.ids) } == [[["1", "2"]], [["2", "1"]]])
    #expect(reads.allSatisfy { client.snapshots[$0]?.last?.isFromCache == false })
  }

  @Test("being offline ends the wait with the cache's state")
  func offline() throws {
    let (client, read) = try waitingClient(Self.first, Self.removal)
    client.setNetwork(isEnabled: false)
    #expect(client.snapshots[read]?.map(\.ids) == [["2", "4"]])
    #expect(client.snapshots[read]?.last?.isAnswered == false)
    let other = try self.client([1, 2])
    other.write(Self.removal)
    let second = other.listen(Self.first, .get)
    try other.fill(4, [room(1), room(2)], at: 20)
    other.setNetwork(isEnabled: false)
    #expect(other.snapshots[second]?.map(\.summary) == ["cache [2] +2"])
    #expect(other.snapshots[second]?.last?.isAnswered == false)
  }

  @Test("where the backend's result does not fill the limit, nothing can be missing")
  func roomLeft() throws {
    let client = try client()
    client.write(Self.removal)
    let read = client.listen(rooms.ordered(by: "n").with(limit: 3), .get)
    try client.fill(4, [room(1), room(2)], at: 20)
    try client.fill(1, [room(4)], at: 30)
    #expect(client.snapshots[read]?.map(\.ids) == [["2", "4"]] && client.snapshots[read]?.last?.isAnswered == true)
  }

  @Test("a document that no write has taken out is a disagreement for good, once the cache can say so")
  func noWrite() throws {
    let client = try client()
    let read = client.listen(Self.first, .get)
    try client.fill(4, [room(1), room(4)], at: 20)
    #expect(client.engine.activeLimboDocuments == [key("rooms/2"): 1])
    client.failing = ["Synchronize views"]
    try client.fill(1, [room(2)], at: 30)
    #expect(client.snapshots[read] == nil)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.snapshots[read]?.map(\.ids) == [["1", "2"]] && client.snapshots[read]?.last?.isAnswered == true)
    let mirrored = client.listen(Self.last, .get)
    #expect(client.snapshots[mirrored]?.map(\.ids) == [["2", "1"]])
  }

  // MARK: - Several clients

  /// A client with the streams and another one, with the rooms 1, 2 and 4 in their cache.
  private func pair(_ users: (String, String)? = nil) throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let (cache, a, b) = try SharedCache.makePair()
    if let users {
      a.post(.changeUser(users.0))
      b.post(.changeUser(users.1))
    }
    let all = b.listen(rooms)
    cache.deliver()
    try a.fill(2, [room(1), room(2), room(4)], at: 10)
    cache.deliver()
    b.post(.unlisten(all))
    cache.deliver()
    return (cache, a, b)
  }

  /// The backend commits the removal, and sends what it has then.
  private func commitRemoval(_ client: SharedTestClient, _ cache: SharedCache) throws {
    try client.commit(at: 40)
    try client.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/1"), removedTargetIDs: [4], document: missing("rooms/1", 40))))
    try client.put([room(3)], into: 4)
    try client.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(41))))
    cache.deliver()
  }

  @Test("a client without the connection waits as well")
  func secondaryClient() throws {
    let (cache, a, b) = try pair()
    b.write(Self.removal)
    cache.deliver()
    let read = b.listen(Self.first, .get)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    try a.fill(1, [room(4)], at: 30)
    cache.deliver()
    #expect(b.snapshots[read] == nil)
    try commitRemoval(a, cache)
    #expect(b.ids(read) == ["2", "3"] && b.snapshots[read]?.last?.isFromCache == false)
  }

  @Test("it is answered also by a change that leaves its result as it shows it")
  func secondaryClientWithoutChange() throws {
    let (cache, a, b) = try pair()
    b.write(Self.removal)
    cache.deliver()
    let read = b.listen(rooms.filtered("n", .equal, 1).with(limit: 1), .get)
    cache.deliver()
    try a.fill(4, [room(1)], at: 20)
    cache.deliver()
    #expect(b.snapshots[read] == nil)
    try a.commit(at: 40)
    try a.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/1"), removedTargetIDs: [4], document: missing("rooms/1", 40))))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(41))))
    cache.deliver()
    #expect(b.snapshots[read]?.map(\.ids) == [[]] && b.snapshots[read]?.last?.isFromCache == false)
  }

  @Test(
    "it waits at once, also where the one with the connection has not heard of the write", arguments: [true, false])
  func secondaryClientAtOnce(isListening: Bool) throws {
    let (cache, a, b) = try pair()
    let listener = (isListening ? b : a).listen(Self.first)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    #expect((isListening ? b : a).snapshots[listener]?.last?.isFromCache == false)
    b.write(Self.removal)
    let second = b.listen(Self.first)
    #expect(b.snapshots[second]?.last?.summary == "cache [2 4] +2 +4")
    let reads = [Self.first, Self.last].map { b.listen($0, .get) }
    #expect(reads.allSatisfy { b.snapshots[$0] == nil })
    cache.deliver()
    let lookup = try #require(a.watched.first { !$0.isMultiple(of: 2) })
    try a.fill(lookup, [room(4)], at: 30)
    cache.deliver()
    #expect(reads.allSatisfy { b.snapshots[$0] == nil })
    try commitRemoval(a, cache)
    #expect(reads.map { b.ids($0) } == [["2", "3"], ["3", "2"]])
    #expect((reads + [second]).allSatisfy { b.snapshots[$0]?.last?.isFromCache == false })
  }

  @Test("a write of one user keeps no read of another one waiting")
  func otherUsersWrite() throws {
    let (cache, a, b) = try pair(("alice", "bob"))
    a.write(Self.removal)
    cache.deliver()
    let read = b.listen(Self.first, .get)
    let listener = b.listen(Self.first)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    #expect(b.snapshots[read] == nil, "the document that has moved up at the other client is looked up")
    try a.fill(1, [room(4)], at: 30)
    cache.deliver()
    for id in [read, listener] { #expect(b.ids(id) == ["1", "2"] && b.snapshots[id]?.last?.isFromCache == false) }
    // The own view of the client with the write waits.
    let own = a.listen(Self.first, .get)
    #expect(a.snapshots[own] == nil)
    try commitRemoval(a, cache)
    #expect(a.ids(own) == ["2", "3"] && b.ids(listener) == ["2", "3"])
  }

  @Test("a gap that only a client without the connection has is seen by that client, until its write is sent")
  func secondaryUser() throws {
    let (cache, a, b) = try pair(("alice", "bob"))
    let listener = b.listen(Self.first)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    b.write(Self.removal)
    let read = b.listen(Self.first, .get)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.ids == ["2", "4"] && b.snapshots[listener]?.last?.isFromCache == true)
    #expect(b.snapshots[read] == nil)
    cache.takeLease(for: b)
    cache.deliver()
    try b.commit(at: 40)
    try b.send(.targetChange(WatchTargetChange(state: .added, targetIDs: [4])))
    try b.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/1"), removedTargetIDs: [4], document: missing("rooms/1", 40))))
    try b.put([room(3)], into: 4)
    try b.send(.targetChange(WatchTargetChange(state: .current, targetIDs: [4], resumeToken: [1])))
    try b.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(41))))
    #expect(b.ids(read) == ["2", "3"] && b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("a result is in sync for the others although it could not be published in between that it was not")
  func failedPublishing() throws {
    let (cache, a, b) = try pair()
    let listener = b.listen(Self.first)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    a.failing = ["Publish target states"]
    try a.send(.targetChange(WatchTargetChange(state: .reset, targetIDs: [4])))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(30))))
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
    try a.put([room(1), room(2)], into: 4)
    try a.send(.targetChange(WatchTargetChange(state: .current, targetIDs: [4], resumeToken: [1])))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(31))))
    a.failing = []
    cache.wait(90)
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    let read = b.listen(Self.last, .get)
    cache.wait(90)
    #expect(b.ids(read) == ["2", "1"])
  }
}
