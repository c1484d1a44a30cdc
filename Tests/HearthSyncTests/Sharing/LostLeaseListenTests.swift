import HearthModel
import Testing

@testable import HearthSync

@Suite("A listener that begins while another client takes the lease")
struct LostLeaseListenTests {
  private func room(_ number: Int64) -> Document { found("rooms/\(number)", 10, ["n": .integer(number)]) }

  @Test("gets its first snapshot, although the views without listeners go just then")
  func firstSnapshot() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let all = a.listen(rooms)
    try a.fill(2, [room(1), room(2), room(4)], at: 10)
    a.post(.unlisten(all))
    // The pending write leaves a gap in the limit, so that a view on it looks for the user's own writes.
    a.write(.delete(key("rooms/1")))
    a.listen(rooms.ordered(by: "n").with(limit: 2))
    try a.fill(4, [room(1), room(2)], at: 20)
    try a.fill(1, [room(4)], at: 30)
    cache.deliver()
    // The event in which the listener to the mirrored query begins must show and store something.
    b.write(.patch(key("rooms/2"), ["m": 1], mask: FieldMask([field("m")])))
    a.hooks["notifyLocalViewChanges"] = { cache.takeLease(for: b) }
    let listener = a.listen(rooms.ordered(by: "n", .descending).with(limit: 2, type: .last))
    #expect(a.hooks.isEmpty && !a.engine.isPrimary)
    #expect(a.snapshots[listener]?.first?.ids == ["4", "2"])
    cache.wait(2)
    #expect(b.engine.isPrimary && b.watched.contains(4))
    a.write(.delete(key("rooms/4")))
    #expect(a.ids(listener) == ["2"])
  }

  @Test("leaves nothing at the former holder of the lease, which finds out while it follows the other listeners")
  func followed() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    let listener = b.listen(rooms)
    b.listen(rooms, ListenOptions(source: .cache))
    cache.deliver()
    try a.fill(2, [], at: 10)
    cache.deliver()
    b.write(.set(key("rooms/1"), ["n": 1]))
    cache.deliver()
    try a.commit(at: 20)
    // The view that is kept for the listener to the cache shows the write when nobody waits for the backend any more.
    b.post(.unlisten(listener))
    c.listen(collection("halls"))
    a.hooks["notifyLocalViewChanges"] = { cache.takeLease(for: b) }
    a.post(.othersChanged)
    #expect(a.hooks.isEmpty && !a.engine.isPrimary)
    cache.wait(2)
    #expect(b.engine.isPrimary && b.watched == [4])
  }
}
