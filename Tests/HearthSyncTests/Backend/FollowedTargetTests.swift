import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Targets of other clients that the primary one cannot follow")
struct FollowedTargetTests {
  private let halls = collection("halls")

  /// Lets two clients listen. The first client cannot read the second one's first target, but can read its second target.
  private func listen(_ a: SharedTestClient, _ b: SharedTestClient) {
    failFirstRead(a)
    b.listen(rooms)
    b.listen(halls)
  }

  private func failFirstRead(_ client: SharedTestClient) {
    client.hooks["Get target data"] = { [unowned client] in
      client.failing = ["Get target data"]
      client.hooks["Get target data"] = { client.failing = [] }
    }
  }

  @Test("one that cannot be followed does not keep the others from it, and is followed later")
  func oneFails() throws {
    let (cache, a, b) = try SharedCache.makePair()
    listen(a, b)
    a.post(.othersChanged)
    #expect(a.watched == [4])
    cache.wait(60)
    #expect(a.watched == [2, 4])
  }

  @Test("one that cannot be followed does not keep a client from taking the streams over")
  func takeover() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    c.listen(rooms)
    c.listen(halls)
    cache.deliver()
    failFirstRead(b)
    a.kill()
    b.fire(.clientMetadataRefresh)
    #expect(b.watched == [4])
    cache.wait(60)
    #expect(b.watched == [2, 4])
  }

  @Test("what they show is not collected in between")
  func garbageCollection() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = a.listen(rooms)
    try a.fill(2, [found("rooms/1", 1, ["n": 1])], at: 10)
    a.post(.unlisten(listener))
    cache.deliver()
    a.failing = ["Get target data"]
    let other = b.listen(rooms, ListenOptions(source: .cache))
    #expect(b.ids(other) == ["1"])
    let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
    #expect(try !a.engine.collectGarbage(everything).hasCollected)
    a.failing = []
    cache.wait(60)
    _ = try a.engine.collectGarbage(everything)
    #expect(try cache.count("SELECT count(*) FROM documents") == 1)
    b.post(.unlisten(other))
    cache.wait(1)
    _ = try a.engine.collectGarbage(everything)
    #expect(try cache.count("SELECT count(*) FROM documents") == 0)
  }

  @Test("what a pending write of another user brings into a limited result is not collected")
  func limitedResultOfOtherUser() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.post(.changeUser("bob"))
    let listener = a.listen(rooms)
    try a.fill(2, [found("rooms/1", 1, ["n": 1]), found("rooms/2", 1, ["n": 2])], at: 10)
    a.post(.unlisten(listener))
    cache.deliver()
    let other = b.listen(rooms.with(limit: 1, type: .first), ListenOptions(source: .cache))
    b.write(.delete(key("rooms/1")))
    cache.deliver()
    #expect(b.ids(other) == ["2"])
    let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
    _ = try a.engine.collectGarbage(everything)
    #expect(try cache.count("SELECT count(*) FROM documents") == 2)
    b.post(.unlisten(other))
    cache.wait(1)
    _ = try a.engine.collectGarbage(everything)
    // One of them has a pending write.
    #expect(try cache.count("SELECT count(*) FROM documents") == 1)
  }

  @Test("those of clients whose notices were removed unread are followed, too")
  func noticesRemoved() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    cache.deliver()
    for client in [a, b, c] { client.store.noticeLimits = LocalStore.NoticeLimits(betweenMarks: 1, waiting: 2) }
    a.isRunning = false
    b.listen(rooms)
    for n in 1...5 {
      c.write(.set(key("rooms/\(n)"), ["n": 1]))
      cache.deliver()
    }
    #expect(try cache.count("SELECT trimmed_through FROM cache_sharing") > 0)
    a.isRunning = true
    a.post(.othersChanged)
    #expect(a.watched.count == 1)
    #expect(a.sentBatches.count == 5)
  }

  @Test("one whose refusal was removed unread is watched and refused again")
  func refusalRemoved() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let c = try cache.client("c")
    let listener = b.listen(rooms)
    cache.deliver()
    for client in [a, b, c] { client.store.noticeLimits = LocalStore.NoticeLimits(betweenMarks: 1, waiting: 2) }
    b.isRunning = false
    try a.refuse(2)
    #expect(try cache.count("SELECT count(*) FROM cache_client_targets") == 0)
    for n in 1...5 {
      c.write(.set(key("rooms/\(n)"), ["n": 1]))
      cache.deliver()
    }
    b.isRunning = true
    b.post(.othersChanged)
    cache.wait(1)
    #expect(b.errors[listener] == nil && a.watched == [2])
    try a.refuse(2)
    cache.wait(1)
    #expect(b.errors[listener]?.code == .permissionDenied)
  }

  @Test("one whose end could not be stored is left out once it can")
  func endNotStored() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    #expect(a.watched == [2])
    b.failing = ["Release target"]
    b.post(.unlisten(listener))
    b.failing = []
    cache.wait(60)
    #expect(a.watched.isEmpty)
    #expect(try cache.count("SELECT count(*) FROM cache_client_targets") == 0)
  }

  @Test("one whose refusal could not be stored is asked for again")
  func refusalNotStored() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    a.failing = ["Publish rejected target", "Release target"]
    try a.refuse(2)
    a.failing = []
    cache.wait(60)
    #expect(b.errors[listener] == nil && a.watched == [2])
    try a.refuse(2)
    cache.wait(1)
    #expect(b.errors[listener]?.code == .permissionDenied)
  }

  @Test("a notice that cannot be read is removed, and everything is read again")
  func unreadableNotice() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    b.isRunning = false
    a.write(.set(key("rooms/1"), ["n": 1]))
    try cache.execute("UPDATE cache_notices SET kind = 99")
    b.isRunning = true
    cache.wait(60)
    #expect(b.ids(listener) == ["1"])
    a.write(.set(key("rooms/2"), ["n": 1]))
    cache.wait(2)
    #expect(b.ids(listener) == ["1", "2"])
    #expect([a, b].filter(\.engine.isPrimary).count == 1)
  }
}
