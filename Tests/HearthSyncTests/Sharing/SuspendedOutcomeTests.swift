import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Answers that come after a process was suspended and before the others have taken it for dead.
@Suite("An answer in the moment of a suspension")
struct SuspendedOutcomeTests {
  private func hears(_ write: WriteID, _ client: SharedTestClient, _ cache: SharedCache) throws {
    client.resume()
    cache.wait(5)
    #expect(try #require(client.writes[write]) == nil)
  }

  /// So many answers that notices of earlier ones go.
  private func removeNotices(_ cache: SharedCache, writer: SharedTestClient, sender: SharedTestClient) throws {
    for number in 0..<400 {
      writer.write(set("halls/\(number)"))
      cache.deliver()
      try sender.commit(at: Int64(20 + number))
      cache.deliver()
    }
    cache.wait(5)
  }

  @Test("the caller hears it, also if all other processes have ended and others have begun since")
  func othersBegin() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    b.suspend()
    // The row of the suspended client is still there: a notice is written for it.
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 2)
    try a.commit(at: 10)
    a.post(.shutdown)
    a.kill()
    let c = try cache.client("c")
    cache.wait(2)
    try hears(write, b, cache)
    _ = c
  }

  @Test("the caller hears it, also if others have read and removed the notices since")
  func noticesRemoved() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    cache.deliver()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    b.suspend()
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 3)
    try a.commit(at: 10)
    cache.wait(2)
    try removeNotices(cache, writer: c, sender: a)
    try hears(write, b, cache)
  }

  @Test("the caller hears it, also if the process that gets the answer has begun after the row was removed")
  func laterProcess() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    cache.deliver()
    let write = b.write(set("rooms/1", 1))
    cache.deliver()
    b.suspend()
    cache.wait(5)
    // The row is gone, and so is the process that has removed it.
    #expect(try cache.count("SELECT count(*) FROM cache_clients") == 2)
    a.post(.shutdown)
    a.kill()
    c.post(.shutdown)
    c.kill()
    let d = try cache.client("d")
    let e = try cache.client("e")
    cache.wait(5)
    #expect(d.engine.isPrimary)
    try d.commit(at: 10)
    cache.deliver()
    try removeNotices(cache, writer: e, sender: d)
    try hears(write, b, cache)
  }
}
