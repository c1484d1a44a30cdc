import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A conflict ends a write while earlier ones wait for the backend.
@Suite("An answer out of turn")
struct OutOfTurnAnswerTests {
  @Test("does not end another process's wait for what was written before")
  func waitOfOtherProcess() throws {
    let rules = ConflictRules([
      ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))
    ])
    let cache = try SharedCache()
    let a = try cache.client("a", conflictRules: rules)
    let b = try cache.client("b", conflictRules: rules)
    b.write(set("halls/1"))
    let second = b.write(set("rooms/1"))
    let wait = b.request(.waitForPendingWrites)
    cache.deliver()
    #expect(a.sentBatches.count == 1)
    #expect(a.lookUps.map(\.keys) == [[key("rooms/1")]])
    // The backend has the document as it was written.
    try a.answerLookUp(found("rooms/1", 5, number(1)))
    cache.deliver()
    #expect(try #require(b.writes[second]) == nil)
    #expect(b.answers[wait] == nil)
    try a.commit(at: 10)
    cache.deliver()
    #expect(b.answers[wait] != nil)
  }
}
