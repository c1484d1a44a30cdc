import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A pending write of the user takes a document out of a full limit, and the next one in the cache moves up. The backend may have a better one,
/// which it sends after the write.
@Suite("A limit with a hole that a pending write has made")
struct OwnWriteInLimitTests {
  private static let first = rooms.ordered(by: "n").with(limit: 2)
  private static let last = rooms.ordered(by: "n", .descending).with(limit: 2, type: .last)
  private static let removal = Mutation.delete(key("rooms/1"))
  private static let move = Mutation.patch(key("rooms/1"), ["n": 9], mask: FieldMask([field("n")]))

  private func room(_ number: Int64, _ version: Int64 = 10) -> Document {
    found("rooms/\(number)", version, ["n": .integer(number)])
  }

  /// A client with the rooms 1, 2 and 4 in its cache and without a listener.
  private func client() throws -> TestClient {
    let client = try TestClient(durable: true)
    let all = client.listen(rooms)
    try client.fill(2, [room(1), room(2), room(4)], at: 10)
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
    let isRemoved = write == Self.removal
    try client.take("rooms/1", outOf: 4, as: isRemoved ? missing("rooms/1", 40) : found("rooms/1", 40, ["n": 9]))
    try client.put(room(3), into: 4)
    try client.snapshot(41)
    #expect(client.snapshots[read]?.count == 1)
    #expect(client.snapshots[read]?.last?.ids == (query == Self.first ? ["2", "3"] : ["3", "2"]))
    #expect(client.snapshots[read]?.last?.isFromCache == false)
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

  @Test("a client without the connection waits as well")
  func secondaryClient() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let all = b.listen(rooms)
    cache.deliver()
    try a.fill(2, [room(1), room(2), room(4)], at: 10)
    cache.deliver()
    b.post(.unlisten(all))
    b.write(Self.removal)
    cache.deliver()
    let read = b.listen(Self.first, .get)
    cache.deliver()
    try a.fill(4, [room(1), room(2)], at: 20)
    cache.deliver()
    try a.fill(1, [room(4)], at: 30)
    cache.deliver()
    #expect(b.snapshots[read] == nil)
    try a.commit(at: 40)
    try a.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/1"), removedTargetIDs: [4], document: missing("rooms/1", 40))))
    try a.put([room(3)], into: 4)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(41))))
    cache.deliver()
    #expect(b.ids(read) == ["2", "3"] && b.snapshots[read]?.last?.isFromCache == false)
  }
}
