import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("A client that lives and does not read")
struct NoticeLimitTests {
  @Test("does not make the notices grow without end: behind a bound it looks for outcomes", arguments: [8, 1_000])
  func answers(waitingAnswers: Int64) throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] {
      client.store.noticeLimits = LocalStore.NoticeLimits(
        betweenMarks: 1, waiting: 4, waitingAnswers: waitingAnswers)
    }
    let write = b.write(set("rooms/b"))
    cache.deliver()
    b.isRunning = false
    try a.commit(at: 1)
    for n in 1...20 {
      a.write(set("rooms/\(n)"))
      cache.deliver()
      try a.commit(at: Int64(n + 1))
      cache.wait(1)
    }
    let count = try cache.count("SELECT count(*) FROM cache_notices")
    #expect(waitingAnswers == 8 ? count <= 16 : count > 20, "\(count)")
    #expect(try cache.count("SELECT count(*) FROM cache_notices WHERE kind <> 2") <= 16)
    b.isRunning = true
    b.post(.othersChanged)
    cache.wait(1)
    #expect(try #require(b.writes[write]) == nil)
  }
}
