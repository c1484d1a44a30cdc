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
    #expect(b.ids(b.listen(large)) == ["a"])
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
    #expect(b.ids(b.listen(large)) == ["a"])
  }
}
