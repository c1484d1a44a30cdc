import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A listener to the cache keeps a view that the backend is not asked for.
@Suite("Listeners to the cache")
struct CacheListenerTests {
  private static let cache = ListenOptions(
    includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true, source: .cache)
  private static let room = Query(path: key("rooms/1").path)

  @Test(
    "a read after the last listener to the backend asks the backend again",
    arguments: [rooms, room, rooms.ordered(by: "n").with(limit: 3)])
  func staleRead(query: Query) throws {
    let client = try TestClient()
    client.listen(query, Self.cache)
    let first = client.listen(query, .get)
    try client.fill(2, [found("rooms/1", 10, ["n": 1])], at: 10)
    client.post(.unlisten(first))
    #expect(client.watched.isEmpty)
    try client.acknowledgeRemoval(2)
    _ = client.takeTold()

    let second = client.listen(query, .get)
    #expect(client.takeTold().isEmpty, "it waits for the backend")
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    try client.fill(2, [found("rooms/1", 20, ["n": 2])], at: 20)
    #expect(client.takeTold().last == "listener \(second.rawValue): server [1] +1")
    #expect(try client.snapshots[second]?.last?.documents.first?.fields.decoded()["n"] == 2)
  }

  @Test("without the backend's listeners the view is of the cache: later snapshots and later listeners say so")
  func endOfAgreement() throws {
    let client = try TestClient()
    client.listen(rooms, Self.cache)
    let read = client.listen(rooms, .get)
    try client.fill(2, [found("rooms/1", 10)], at: 10)
    #expect(client.takeTold().contains("listener 1: server [1] +1"))
    client.post(.unlisten(read))
    #expect(client.takeTold().isEmpty, "that it is of the cache is no change of its own")
    client.write(set("rooms/2"))
    #expect(client.takeTold() == ["listener 1: cache pending [1 2] +2"])
    let later = client.listen(rooms)
    #expect(client.takeTold() == ["listener \(later.rawValue): cache pending [1 2] +1 +2"])
  }

  @Test("a mirrored limit does not take over an agreement that has ended")
  func mirroredLimit() throws {
    let client = try TestClient()
    let query = rooms.ordered(by: "n").with(limit: 3)
    let mirrored = rooms.ordered(by: "n", .descending).with(limit: 3, type: .last)
    client.listen(query, Self.cache)
    let read = client.listen(query, .get)
    try client.fill(2, [found("rooms/1", 10, ["n": 1])], at: 10)
    client.post(.unlisten(read))
    try client.acknowledgeRemoval(2)
    _ = client.takeTold()
    let second = client.listen(mirrored, .get)
    #expect(client.takeTold().isEmpty)
    try client.fill(2, [], at: 20)
    #expect(client.takeTold().last == "listener \(second.rawValue): server [1] +1")
  }

  @Test("an acknowledgement and the server's time are shown", arguments: [rooms, room], [false, true])
  func acknowledgement(query: Query, durable: Bool) throws {
    let client = try TestClient(durable: durable)
    let listener = client.listen(query, Self.cache)
    let time = Value.timestamp(Timestamp(seconds: 7, nanoseconds: 0))
    client.write(
      .set(key("rooms/1"), ["n": 1], transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    _ = client.takeTold()
    try client.commit(at: 20, transformResults: [[time]])
    #expect(client.takeTold().last == "listener 1: cache [1] ~1")
    #expect(try client.snapshots[listener]?.last?.documents.first?.fields.decoded()["at"] == time)
    client.write(set("rooms/1"))
    client.write(.patch(key("rooms/1"), ["n": 1], mask: FieldMask([field("n")])))
    _ = client.takeTold()
    try client.commit(at: 21)
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == true, "one of two writes is pending")
    try client.commit(at: 22)
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == false)
    client.write(.delete(key("rooms/1")))
    try client.commit(at: 23)
    #expect(client.snapshots[listener]?.last?.ids == [])
  }

  /// A client with a listener to the cache, of a query whose document the backend has confirmed before.
  private func makeConfirmed(_ query: Query) throws -> (TestClient, ListenerID) {
    let client = try TestClient(durable: true)
    let first = client.listen(query)
    try client.fill(2, [found("rooms/1", 10, ["n": 1])], at: 10)
    client.post(.unlisten(first))
    try client.acknowledgeRemoval(2)
    return (client, client.listen(query, Self.cache))
  }

  @Test("a query is shown the acknowledgement of a document that the backend had confirmed for it")
  func confirmedBefore() throws {
    let (client, listener) = try makeConfirmed(rooms)
    client.write(set("rooms/1", 2))
    _ = client.takeTold()
    try client.commit(at: 20)
    #expect(client.takeTold() == ["write 3: OK", "listener 2: cache [1] =1"])
    client.write(set("rooms/2"))
    #expect(client.snapshots[listener]?.last?.summary == "cache pending [1 2] +2")
    #expect(client.snapshots[listener]?.last?.mutatedKeys == [key("rooms/2")])
    #expect(client.snapshots[listener]?.last?.documents.first?.hasLocalMutations == false)
    let second = client.listen(rooms, Self.cache)
    #expect(client.snapshots[second]?.last?.mutatedKeys == [key("rooms/2")])
    client.write(
      .set(key("rooms/1"), [:], transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    try client.commit(at: 21)
    try client.commit(at: 22, transformResults: [[.timestamp(Timestamp(seconds: 7, nanoseconds: 0))]])
    #expect(client.snapshots[listener]?.last?.summary == "cache [1 2] ~1")
  }

  @Test("a listener to a document that the backend had confirmed is shown the acknowledgement")
  func confirmedDocument() throws {
    let (client, listener) = try makeConfirmed(Self.room)
    client.write(set("rooms/1", 2))
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == true)
    try client.commit(at: 20)
    #expect(client.snapshots[listener]?.last?.summary == "cache [1] =1")
  }

  @Test("a document whose acknowledgement was shown leaves the result when the backend says so")
  func confirmedBeforeThenGone() throws {
    let (client, listener) = try makeConfirmed(rooms)
    client.write(set("rooms/1", 2))
    try client.commit(at: 20)
    let watching = client.listen(rooms)
    #expect(client.snapshots[watching]?.last?.hasPendingWrites == false)
    try client.acknowledge(2)
    try client.take("rooms/1", outOf: 2)
    try client.current(2, token: "token-30")
    try client.snapshot(30)
    let lookUp = try #require(client.watched.keys.first { $0 != 2 })
    try client.fill(lookUp, [], at: 40)
    #expect(client.snapshots[listener]?.last?.ids == [])
  }

  @Test("a view that waits for the backend shows the acknowledged state when its last listener to the backend goes")
  func endOfWaiting() throws {
    let client = try TestClient()
    let listener = client.listen(rooms, Self.cache)
    let watching = client.listen(rooms)
    try client.fill(2, [], at: 10)
    let time = Value.timestamp(Timestamp(seconds: 7, nanoseconds: 0))
    client.write(
      .set(key("rooms/1"), [:], transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    client.write(set("rooms/2"))
    try client.commit(at: 20, transformResults: [[time]])
    try client.commit(at: 21)
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == true, "the watch stream is to bring them")
    client.post(.unlisten(watching))
    #expect(client.snapshots[listener]?.last?.summary == "cache [1 2] ~1 =2")
    #expect(try client.snapshots[listener]?.last?.documents.first?.fields.decoded()["at"] == time)
  }

  @Test("the acknowledged state is shown later if the cache cannot be read when the last listener to the backend goes")
  func endOfWaitingWithoutCache() throws {
    let client = try TestClient()
    let listener = client.listen(rooms, Self.cache)
    let watching = client.listen(rooms)
    try client.fill(2, [], at: 10)
    client.write(set("rooms/1"))
    try client.commit(at: 20)
    client.failing = ["Synchronize views"]
    client.post(.unlisten(watching))
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == true)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.snapshots[listener]?.last?.summary == "cache [1] =1")
  }

  @Test("a view with a listener to the backend goes on waiting for it")
  func watched() throws {
    let client = try TestClient()
    client.listen(rooms, Self.cache)
    client.listen(rooms)
    try client.fill(2, [], at: 10)
    client.write(
      .set(key("rooms/1"), [:], transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    _ = client.takeTold()
    try client.commit(at: 20, transformResults: [[.timestamp(Timestamp(seconds: 7, nanoseconds: 0))]])
    #expect(client.takeTold() == ["write 3: OK"])
  }

  // MARK: - Several clients

  @Test("a client without the connection is told of an acknowledgement, and its read asks the backend again")
  func secondaryClient() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms, Self.cache)
    b.write(set("rooms/1"))
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.summary == "cache pending [1] +1")
    try a.commit(at: 5)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.hasPendingWrites == false)

    let first = b.listen(rooms, .get)
    cache.deliver()
    try a.fill(2, [found("rooms/1", 5, number(1))], at: 10)
    cache.deliver()
    #expect(b.snapshots[first]?.last?.isFromCache == false)
    b.post(.unlisten(first))
    cache.deliver()
    #expect(a.watched.isEmpty)
    try a.send(.targetChange(WatchTargetChange(state: .removed, targetIDs: [2])))
    let second = b.listen(rooms, .get)
    cache.deliver()
    #expect(b.snapshots[second] == nil, "it waits for the backend")
    try a.fill(2, [found("rooms/1", 20, number(2))], at: 20)
    cache.deliver()
    #expect(b.value(second, "1") == 2 && b.snapshots[second]?.last?.isFromCache == false)
  }

  @Test("a read does not take over an agreement whose end this client has not been shown")
  func secondaryClientBehind() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms, Self.cache)
    let first = b.listen(rooms, .get)
    cache.deliver()
    try a.fill(2, [found("rooms/1", 10, number(1))], at: 10)
    cache.deliver()
    b.post(.unlisten(first))
    b.isRunning = false
    cache.deliver()
    #expect(a.watched.isEmpty)
    try a.send(.targetChange(WatchTargetChange(state: .removed, targetIDs: [2])))
    b.isRunning = true
    #expect(b.snapshots[listener]?.last?.isFromCache == false, "it does not know yet")
    let second = b.listen(rooms, .get)
    #expect(b.snapshots[second] == nil, "it waits for the backend")
    cache.deliver()
    try a.fill(2, [found("rooms/1", 20, number(2))], at: 20)
    cache.deliver()
    #expect(b.value(second, "1") == 2 && b.snapshots[second]?.last?.isFromCache == false)
  }

  @Test("a read takes over what this client was not shown of an agreement that lasts, with its documents")
  func secondaryClientBehindAgreement() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.listen(rooms, Self.cache)
    cache.deliver()
    b.isRunning = false
    a.listen(rooms)
    try a.fill(try #require(a.watched.first), [found("rooms/1", 10, number(1))], at: 10)
    cache.deliver()
    b.isRunning = true
    let read = b.listen(rooms, .get)
    #expect(b.snapshots[read]?.map(\.summary) == ["server [1] +1"])
  }

  @Test("a read begins although the backend has refused its target just before")
  func secondaryClientBehindRefusal() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms, Self.cache)
    let first = b.listen(rooms, .get)
    cache.deliver()
    b.post(.unlisten(first))
    try a.refuse(2)
    let second = b.listen(rooms, .get)
    #expect(b.errors[listener]?.code == .permissionDenied)
    #expect(b.errors[second] == nil && b.snapshots[second] == nil)
    cache.deliver()
    try a.fill(try #require(a.watched.first), [found("rooms/1", 10, number(1))], at: 10)
    cache.deliver()
    #expect(b.snapshots[second]?.map(\.summary) == ["server [1] +1"])
  }
}
