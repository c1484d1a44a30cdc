import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// One of two processes repairs the table of users, in which the key of the other one's user is damaged.
@Suite("A user whose row another process removes")
struct RemovedUserTests {
  /// The primary client without a user, and another one of alice.
  private func makePair() throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let (cache, a, b) = try SharedCache.makePair()
    b.post(.changeUser("alice"))
    cache.deliver()
    return (cache, a, b)
  }

  private func damageKey(_ cache: SharedCache) throws {
    try cache.execute("UPDATE cache_users SET user_key = 'alice' WHERE user_key = '=alice'")
  }

  @Test("writes under another number, and not as the user who has got the former one", arguments: [false, true])
  func numberGivenAgain(listens: Bool) throws {
    let (cache, a, b) = try makePair()
    if listens { b.listen(rooms) }
    b.write(set("rooms/before"))
    let withdrawal = StatusError(code: .cancelled, message: "not wanted any more")
    _ = try b.store.withdraw(1, evenIfSent: false, withdrawal, at: .epoch)
    try damageKey(cache)
    a.post(.changeUser("bob"))
    a.write(set("rooms/bob"))
    #expect(a.store.reopening == nil)
    #expect(try cache.count("SELECT user_id FROM cache_users WHERE user_key = '=bob'") == 1)

    b.write(set("rooms/alice"))
    #expect(try a.store.pendingBatches().map(\.keys) == [[key("rooms/bob")]])
    #expect(try b.store.pendingBatches().map(\.keys) == [[key("rooms/alice")]])
    cache.deliver()
    #expect(b.store.reopening == nil)
  }

  @Test("hears that the writes which wait are set aside, with a listener or without", arguments: [false, true])
  func waitingWrites(listens: Bool) throws {
    let (cache, a, b) = try makePair()
    if listens { b.listen(rooms) }
    let write = b.write(set("rooms/a"))
    let wait = b.request(.waitForPendingWrites)
    try damageKey(cache)
    a.post(.changeUser("bob"))
    cache.deliver()
    #expect(b.writes[write]??.code == .dataLoss)
    #expect(b.answers[wait] != nil)
    #expect(try cache.count("SELECT count(*) FROM cache_unreadable_batches") == 1)
  }
}
