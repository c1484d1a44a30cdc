import HearthModel
import HearthWire
import Testing

@testable import HearthSync

@Suite("A document in limbo when the lease changes hands")
struct LimboTakenOverTests {
  @Test(
    "is looked up by the next holder, although the result that it begins with lacks the document",
    arguments: [true, false])
  func lookedUpAgain(isReset: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = a.listen(rooms.filtered("n", .equal, 1))
    let (first, second) = (found("rooms/1", 10, ["n": 1]), found("rooms/2", 10, ["n": 1]))
    try a.fill(2, [first, second], at: 10)
    cache.deliver()
    if isReset {
      try a.send(.targetChange(WatchTargetChange(state: .reset, targetIDs: [2])))
      try a.fill(2, [second], at: 20)
    } else {
      try a.send(.documentChange(WatchDocumentChange(key: first.key, removedTargetIDs: [2])))
      try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(20))))
    }
    #expect(a.ids(listener) == ["1", "2"] && a.snapshots[listener]?.last?.isFromCache == true)
    cache.takeLease(for: b)
    cache.wait(2)
    try b.fill(2, [], at: 30)
    cache.deliver()
    #expect(a.snapshots[listener]?.last?.isFromCache == true, "shows what nobody has confirmed")
    // The lookup.
    try b.fill(1, [], at: 40)
    cache.deliver()
    #expect(a.ids(listener) == ["2"] && a.snapshots[listener]?.last?.isFromCache == false)
  }
}
