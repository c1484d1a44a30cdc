import HearthModel
import Testing

@testable import HearthSync

/// The result of a query at the backend helps to run the query again, also for another user of the same cache.
@Suite("A result that another user has left")
struct OtherUsersResultTests {
  private let large = rooms.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(2)))

  /// One client has the document, with a waiting write of its user, and the backend does not have it in the result.
  private func clients() throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let (cache, a, b) = try SharedCache.makePair()
    b.post(.changeUser("other"))
    let listener = a.listen(rooms)
    try a.fill(try #require(a.watched.first), [found("rooms/a", 5, ["n": .integer(4)])], at: 5)
    a.post(.unlisten(listener))
    return (cache, a, b)
  }

  private func write(_ client: SharedTestClient) {
    client.write(.patch(key("rooms/a"), ["m": .integer(1)], mask: FieldMask([field("m")])))
  }

  @Test("lacks no document that the other user's waiting write keeps from being looked up")
  func waitingWrite() throws {
    let (cache, a, b) = try clients()
    write(a)
    let first = a.listen(large)
    try a.fill(try #require(a.watched.first), [], at: 10)
    #expect(a.snapshots[first]?.last?.isFromCache == false)
    cache.deliver()
    let second = b.listen(large)
    #expect(b.ids(second) == ["a"])
    #expect(b.snapshots[second]?.last?.isFromCache == true)
  }

  @Test("lacks no document that has left the result since then")
  func leavesLater() throws {
    let (cache, a, b) = try clients()
    a.listen(large)
    let target = try #require(a.watched.first)
    try a.fill(target, [found("rooms/a", 5, ["n": .integer(4)])], at: 10)
    write(a)
    try a.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/a"), updatedTargetIDs: [], removedTargetIDs: [target], document: nil)))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(12))))
    cache.deliver()
    let second = b.listen(large)
    #expect(b.ids(second) == ["a"])
    #expect(b.snapshots[second]?.last?.isFromCache == true)
  }

  @Test(
    "is not confirmed by the other user's waiting deletion of a document that the backend does not send",
    arguments: [false, true])
  func waitingDeletion(listensBefore: Bool) throws {
    let (cache, a, b) = try clients()
    a.write(.delete(key("rooms/a")))
    let first = a.listen(large)
    var second = listensBefore ? b.listen(large) : nil
    try a.fill(try #require(a.watched.first), [found("rooms/b", 6, ["n": .integer(4)])], at: 10)
    #expect(a.snapshots[first]?.last?.isFromCache == false)
    cache.deliver()
    second = second ?? b.listen(large)
    let listener = try #require(second)
    #expect(b.ids(listener) == ["a", "b"])
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
    // A read that waits for the backend is answered, and marked.
    let read = b.listen(large, .get)
    cache.deliver()
    #expect(b.snapshots[read]?.last?.isFromCache == true)

    try a.commit(at: 11)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(12))))
    cache.deliver()
    #expect(b.ids(listener) == ["b"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("is confirmed again by each change that the backend sends, also one that adds a document")
  func laterChanges() throws {
    let (cache, a, b) = try clients()
    a.listen(large)
    let listener = b.listen(large)
    let target = try #require(a.watched.first)
    try a.fill(target, [found("rooms/a", 5, ["n": .integer(4)])], at: 10)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    try a.put([found("rooms/c", 11, ["n": .integer(5)])], into: target)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(11))))
    cache.deliver()
    #expect(b.ids(listener) == ["a", "c"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("is compared no more when a client has found that the last one of another user is dead")
  func deadUser() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    c.post(.changeUser("other"))
    cache.deliver()
    a.listen(large)
    let listener = b.listen(large)
    let target = try #require(a.watched.first)
    try a.fill(target, [found("rooms/a", 5, ["n": .integer(4)])], at: 5)
    cache.deliver()
    c.kill()
    b.post(.setVisibility(true))
    cache.deliver()
    try a.put([found("rooms/c", 11, ["n": .integer(5)])], into: target)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(11))))
    cache.deliver()
    #expect(b.ids(listener) == ["a", "c"])
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("is compared from the moment at which a client has another user")
  func changeOfUser() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let first = a.listen(large)
    let listener = b.listen(large)
    let target = try #require(a.watched.first)
    try a.fill(target, [found("rooms/a", 5, ["n": .integer(4)])], at: 5)
    try a.put([found("rooms/c", 6, ["n": .integer(5)])], into: target)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(6))))
    write(a)
    cache.deliver()
    #expect(b.ids(listener) == ["a", "c"])
    try a.send(
      .documentChange(
        WatchDocumentChange(key: key("rooms/a"), updatedTargetIDs: [], removedTargetIDs: [target], document: nil)))
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(12))))
    #expect(a.snapshots[first]?.last?.isFromCache == false)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.isFromCache == false)
    b.post(.changeUser("other"))
    #expect(b.ids(listener) == ["a", "c"])
    #expect(b.snapshots[listener]?.last?.isFromCache == true)
  }
}
