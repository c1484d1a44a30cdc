import HearthModel
import Testing

@testable import HearthSync

/// A query's result was noted as free of documents in limbo while a waiting write hid that one document is not in it.
@Suite("Results from before the end of a waiting write")
struct RefusedWriteResultTests {
  private let large = rooms.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(2)))
  private let patch = Mutation.patch(key("rooms/a"), ["m": .integer(1)], mask: FieldMask([field("m")]))

  @Test("two users: a new listener finds the document of a refused write", arguments: [false, true])
  func refused(hasLimit: Bool) throws {
    let query = hasLimit ? large.with(limit: 3, type: .first) : large
    let (cache, a, b) = try SharedCache.makePair()
    b.post(.changeUser("other"))
    let listener = a.listen(rooms)
    try a.fill(try #require(a.watched.first), [found("rooms/a", 5, ["n": .integer(4)])], at: 5)
    a.post(.unlisten(listener))
    a.write(patch)
    let first = a.listen(query)
    try a.fill(try #require(a.watched.first), [], at: 10)
    #expect(a.snapshots[first]?.last?.isFromCache == false)
    cache.deliver()
    // The write ends without an effect.
    try a.breakWriteStream(StatusError(code: .permissionDenied, message: "no"))
    cache.deliver()
    #expect(a.ids(first) == ["a"])
    #expect(a.snapshots[first]?.last?.isFromCache == true)
    let second = b.listen(query)
    #expect(b.ids(second) == a.ids(first))
    let cached = b.listen(query.with(limit: 7, type: .first), ListenOptions(source: .cache))
    #expect(b.ids(cached) == ["a"])
  }

  /// A way in which a waiting write ends.
  enum End: CaseIterable {
    case refused
    /// It was carried out at 8, and another user has taken the document out of the result at 9.
    case committedBefore
    case cancelled
  }

  @Test("one user: a new listener without a network finds the document", arguments: End.allCases)
  func alone(_ end: End) throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 5, ["n": .integer(4)])], at: 5)
    client.post(.unlisten(listener))
    client.write(end == .cancelled ? .delete(key("rooms/a")) : patch)
    let first = client.listen(large)
    try client.fill(4, [], at: 10)
    #expect(client.snapshots[first]?.last?.isFromCache == false)
    switch end {
    case .refused: try client.refuseWrite(.permissionDenied)
    case .committedBefore: try client.commit(at: 8)
    case .cancelled: client.request(.withdraw(1, evenIfSent: true))
    }
    #expect(client.snapshots[first]?.last?.ids == ["a"])
    client.post(.unlisten(first))
    client.setNetwork(isEnabled: false)
    let again = client.listen(large)
    #expect(client.snapshots[again]?.last?.ids == ["a"])
    let all = client.listen(rooms)
    #expect(client.snapshots[all]?.last?.ids == ["a"])
  }
}
