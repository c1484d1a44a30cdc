import HearthModel
import Testing

@testable import HearthSync

@Suite("A document that another client shows as before its acknowledgement")
struct HeldBackDocumentTests {
  private func increment(_ path: String) -> Mutation {
    .patch(
      key(path), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field("n"), operation: .increment(1))])
  }

  @Test("leaves the result when the backend has taken it out without a message")
  func leftWithoutMessage() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(collection("rooms").ordered(by: "n", .descending).with(limit: 1))
    cache.deliver()
    try a.fill(2, [found("rooms/1", 10, ["n": 5])], at: 10)
    cache.deliver()
    b.write(increment("rooms/1"))
    b.write(.patch(key("rooms/1"), ["tag": "x"], mask: FieldMask([field("tag")])))
    cache.deliver()
    #expect(b.value(listener, "1") == .integer(6))
    // The primary client sees each answer by itself, the other one both at once: n jumps from 6 to 1 with no write left.
    try a.commit(at: 20, transformResults: [1])
    try a.commit(at: 21)
    cache.deliver()
    #expect(b.value(listener, "1") == .integer(6))
    try a.put([found("rooms/2", 15, ["n": 3])], into: 2)
    try a.send(.documentChange(WatchDocumentChange(key: key("rooms/1"), removedTargetIDs: [2])))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(30))))
    cache.wait(2)
    #expect(b.ids(listener) == ["2"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("is shown as it is when a later write is rejected after the backend has taken it out")
  func laterWriteRejected() throws {
    let client = try TestClient()
    client.listen(collection("rooms").ordered(by: "n", .descending).with(limit: 1))
    try client.fill(2, [found("rooms/1", 10, ["n": 5])], at: 10)
    client.write(.set(key("rooms/1"), ["n": 0]))
    client.write(.set(key("rooms/1"), ["n": 6]))
    try client.commit(at: 20)
    try client.put(found("rooms/2", 15, ["n": 3]), into: 2)
    try client.take("rooms/1", outOf: 2)
    try client.snapshot(30)
    _ = client.takeTold()
    try client.refuseWrite(.permissionDenied)
    #expect(client.takeTold().last == "listener 1: server [2] -1 +2")
  }

  @Test(
    "is looked up when a write goes that changes nothing of it, and a former one of the user is all that the cache has",
    arguments: [false, true])
  func writeWithoutChange(isWithdrawn: Bool) throws {
    let client = try TestClient(durable: true)
    client.write(.set(key("rooms/1"), ["n": 5]))
    try client.commit(at: 20)
    let listener = client.listen(rooms)
    client.write(.patch(key("rooms/1"), [:], mask: FieldMask([field("tag")])))
    // The backend has removed the document since.
    try client.fill(2, [], at: 30)
    #expect(client.snapshots[listener]?.last?.ids == ["1"] && client.engine.activeLimboDocuments.isEmpty)
    if isWithdrawn {
      client.request(.withdraw(2, evenIfSent: true))
    } else {
      try client.refuseWrite(.notFound)
    }
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == false)
    #expect(client.engine.activeLimboDocuments == [key("rooms/1"): 1])
    try client.fill(1, [], at: 40)
    #expect(client.snapshots[listener]?.last?.ids == [])
  }

  @Test("is looked up by the client that has the streams, also if another one takes the write back")
  func writeWithdrawnElsewhere() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.write(.set(key("rooms/1"), ["n": 5]))
    cache.deliver()
    try a.commit(at: 20)
    cache.deliver()
    let listener = a.listen(rooms)
    b.write(.patch(key("rooms/1"), [:], mask: FieldMask([field("tag")])))
    cache.deliver()
    try a.fill(2, [], at: 30)
    #expect(a.ids(listener) == ["1"] && a.engine.activeLimboDocuments.isEmpty)
    _ = b.request(.withdraw(2, evenIfSent: true))
    cache.deliver()
    #expect(a.engine.activeLimboDocuments == [key("rooms/1"): 1])
    try a.fill(1, [], at: 40)
    #expect(a.ids(listener) == [])
  }

  @Test("waits for its own target's part of the result after the stream was opened again")
  func snapshotOfAnotherTarget() throws {
    let client = try TestClient()
    client.listen(collection("rooms"))
    client.listen(collection("halls"))
    try client.fill(2, [found("rooms/1", 10, ["n": 5, "tag": "old"])], at: 10)
    try client.fill(4, [], at: 11)
    client.write(increment("rooms/1"))
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
    try client.fill(4, [], at: 30)
    _ = client.takeTold()
    try client.commit(at: 20, transformResults: [[8]])
    #expect(client.takeTold() == ["write 3: OK"], "the document of the result is to come")
  }

  @Test(
    "offline, a write that has gone is not shown any more: it was taken back, or another user signed in",
    arguments: [true, false])
  func goneOffline(isTakenBack: Bool) throws {
    let client = try TestClient(durable: true)
    client.write(.set(key("rooms/1"), ["n": .integer(5)]))
    try client.commit(at: 20)
    client.setNetwork(isEnabled: false)
    let listener = client.listen(rooms)
    client.write(.set(key("rooms/1"), ["n": .integer(6)]))
    #expect(client.snapshots[listener]?.last?.hasPendingWrites == true)
    if isTakenBack {
      client.request(.withdraw(2, evenIfSent: true))
    } else {
      client.post(.changeUser("bob"))
    }
    let last = client.snapshots[listener]?.last
    #expect(last?.hasPendingWrites == false)
    #expect(try last?.documents.first?.fields.decoded()["n"] == .integer(5))
  }

  @Test("eager garbage collection keeps what a view began with")
  func beginOfView() throws {
    let client = try TestClient()
    client.write(.set(key("rooms/1"), ["n": .integer(1)]))
    let options = ListenOptions(
      includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true, source: .cache)
    let listener = client.listen(rooms, options)
    try client.commit(at: 20)
    client.write(.patch(key("rooms/1"), ["tag": .string("x")], mask: FieldMask([field("tag")])))
    #expect(client.snapshots[listener]?.last?.ids == ["1"])
  }

  @Test("a write that has gone while the backend was heard of is not shown once it is not", arguments: [true, false])
  func goneBeforeOffline(isRefused: Bool) throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/1", 10, ["n": .integer(1)])], at: 10)
    client.write(.set(key("rooms/1"), ["n": .integer(5)]))
    try client.commit(at: 20)
    client.write(.set(key("rooms/1"), ["n": .integer(6)]))
    if isRefused {
      try client.refuseWrite(.permissionDenied)
      client.setNetwork(isEnabled: false)
    } else {
      client.isReachable = false
      client.post(.changeUser("bob"))
    }
    let last = client.snapshots[listener]?.last
    #expect(last?.hasPendingWrites == false)
    #expect(try last?.documents.first?.fields.decoded()["n"] == .integer(5))
  }
}
