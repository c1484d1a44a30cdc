import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Numbers in the tables that processes share, which change while the processes run.
@Suite("Damaged tables of clients")
struct DamagedClientTablesTests {
  @Test(
    "keep no answer from the client that waits for it, and no client from joining and taking over",
    arguments: [
      "INSERT INTO cache_notices VALUES (9223372036854775807, 0, 6, 0, '', 0, 0, '')",
      "INSERT INTO cache_notices VALUES (-9223372036854775808, 0, 6, 0, '', 0, 0, '')",
      "UPDATE cache_notices SET number = 9223372036854775806 WHERE number = (SELECT max(number) FROM cache_notices)",
      "UPDATE cache_notices SET subject = 9223372036854775807, kind = 3",
      "UPDATE cache_sharing SET trimmed_through = 9223372036854775807",
      "UPDATE cache_sharing SET lease_number = 9223372036854775807",
      "UPDATE cache_sharing SET lease_number = -9223372036854775808, lease_holder = -1",
      "UPDATE cache_sharing SET highest_client_id = 9223372036854775807",
      "UPDATE cache_clients SET seen = 9223372036854775807",
      "DELETE FROM cache_sharing",
    ])
  func damage(_ sql: String) throws {
    let (cache, a, b) = try SharedCache.makePair()
    try cache.execute(sql)
    let write = b.write(set("rooms/1"))
    cache.wait(20)
    let sender = try #require([a, b].first { !$0.sentBatches.isEmpty })
    #expect(sender.engine.isPrimary)
    try sender.commit(at: 10)
    cache.wait(2)
    #expect(try #require(b.writes[write]) == nil)
    #expect([a, b].allSatisfy { $0.store.reopening == nil })
    // Numbers go on from where they are.
    a.kill()
    let c = try cache.client("c")
    cache.wait(20)
    c.write(set("rooms/2"))
    cache.wait(20)
    #expect([b, c].contains { $0.engine.isPrimary && $0.sentBatches.count == 1 })
  }

  @Test("do not hide whether the client with the connection is online", arguments: [true, false])
  func onlineState(isDisabled: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    if isDisabled {
      _ = b.request(.disableNetwork)
      _ = a.request(.disableNetwork)
    } else {
      a.answersTargets = true
      b.listen(collection("rooms"))
    }
    cache.wait(3)
    let state: OnlineState = isDisabled ? .offline : .online
    #expect(a.engine.isPrimary && b.engine.onlineState == state)
    try cache.execute("UPDATE cache_sharing SET trimmed_through = 9223372036854775807")
    b.write(set("halls/1"))
    cache.wait(3)
    #expect(b.engine.onlineState == state)
    #expect(try cache.count("SELECT online_state FROM cache_sharing") == state.rawValue)
    let c = try cache.client("c")
    #expect(c.engine.onlineState == state)
    let read = b.listen(collection("halls"), .get)
    cache.wait(20)
    #expect(b.snapshots[read]?.last?.isFromCache == isDisabled)
  }
}
