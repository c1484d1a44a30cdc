import HearthModel
import Testing

@testable import HearthSync

/// The state that a client shows must not depend on who held the lease before.
@Suite("A client whose role changes")
struct RoleChangeTests {
  private static let cacheOnly = ListenOptions(
    includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true, source: .cache)

  private func set(_ path: String) -> Mutation { .set(key(path), ["n": .integer(1)]) }

  /// A client that awaits a late answer to its write, and another one that has the lease since and is online.
  private func makeParted() throws -> (SharedCache, SharedTestClient, SharedTestClient) {
    let (cache, a, b) = try SharedCache.makePair()
    b.answersTargets = true
    a.answersLate = true
    a.write(set("rooms/1"))
    cache.takeLease(for: b)
    cache.wait(2)
    b.listen(collection("halls"))
    cache.wait(2)
    return (cache, a, b)
  }

  @Test("is offline with its network disabled, also when it gets the lease", arguments: [true, false])
  func disabledNetwork(isSuspended: Bool) throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.answersTargets = true
    let listener = b.listen(rooms)
    cache.deliver()
    let own = a.listen(rooms)
    try a.fill(2, [found("rooms/1", 10)], at: 10)
    cache.deliver()
    _ = a.request(.disableNetwork)
    cache.wait(3)
    #expect(b.engine.isPrimary)
    if isSuspended { a.suspend() }
    b.post(.unlisten(listener))
    b.post(.shutdown)
    b.kill()
    if isSuspended { a.resume() }
    cache.wait(5)
    #expect(a.engine.isPrimary && a.engine.onlineState == .offline)
    #expect(a.snapshots[own]?.last?.isFromCache == true)
    let (read, first) = (a.listen(collection("halls"), .get), a.listen(collection("halls")))
    cache.wait(60)
    #expect(a.snapshots[read]?.last?.isFromCache == true && a.ids(first) == [])
    _ = a.request(.enableNetwork)
    #expect(a.watchStream != nil)
  }

  @Test("shows acknowledgements to listeners to the cache once nobody wants the backend to be asked any more")
  func listenerToCache() throws {
    let (cache, a, c) = try SharedCache.makePair()
    let listener = a.listen(rooms, Self.cacheOnly)
    let other = c.listen(rooms)
    cache.deliver()
    try a.fill(2, [], at: 10)
    cache.deliver()
    cache.takeLease(for: c)
    cache.wait(2)
    try c.fill(2, [], at: 20)
    cache.deliver()
    c.post(.unlisten(other))
    cache.wait(2)
    let write = a.write(set("rooms/1"))
    cache.deliver()
    try c.commit(at: 30)
    cache.wait(3)
    #expect(a.writes[write] == .some(nil))
    #expect(a.ids(listener) == ["1"] && a.snapshots[listener]?.last?.hasPendingWrites == false)
  }

  @Test("does not stay offline after an answer that it could not store at once")
  func lateAnswer() throws {
    let (cache, a, _) = try makeParted()
    #expect(a.engine.onlineState == .online)
    a.failing = ["Acknowledge batch"]
    try a.commitLate(at: 10)
    a.failing = []
    a.endParting()
    cache.wait(120)
    #expect(a.engine.onlineState == .online)
  }

  @Test("ends a wait for the writes of a user whose outbox it could not show when another client sent the last of them")
  func waitOfNewUser() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.post(.changeUser("bob"))
    a.write(set("rooms/1"))
    cache.deliver()
    b.failing = ["Handle user change"]
    b.post(.changeUser("bob"))
    let wait = b.request(.waitForPendingWrites)
    try a.commit(at: 10)
    cache.deliver()
    a.kill()
    cache.wait(10)
    #expect(b.engine.isPrimary)
    b.failing = []
    cache.wait(90)
    #expect(b.answers[wait] != nil)
  }

  @Test("says that a target is open that it does not watch any more, although the backend has said nothing of it")
  func unwatchedBeforeSnapshot() throws {
    let (cache, a, c) = try SharedCache.makePair()
    let listener = a.listen(rooms, Self.cacheOnly)
    let other = c.listen(rooms)
    cache.deliver()
    try a.fill(2, [found("rooms/1", 10)], at: 10)
    cache.deliver()
    cache.takeLease(for: c)
    cache.wait(2)
    c.answersTargets = true
    c.post(.unlisten(other))
    cache.wait(2)
    c.answersTargets = false
    #expect(a.snapshots[listener]?.last?.isFromCache == true)
    let write = a.write(set("rooms/2"))
    cache.deliver()
    try c.commit(at: 30)
    cache.wait(3)
    #expect(a.writes[write] == .some(nil) && a.snapshots[listener]?.last?.hasPendingWrites == false)
    let read = a.listen(rooms, .get)
    cache.wait(2)
    #expect(a.snapshots[read] == nil)
  }

  @Test("stays offline alongside a silent primary client, also after an answer that it could not store at once")
  func lateAnswerBesideSilentClient() throws {
    let (cache, a, b) = try makeParted()
    b.isRunning = false
    a.listen(rooms)
    cache.wait(40)
    #expect(a.engine.onlineState == .offline)
    a.failing = ["Acknowledge batch"]
    try a.commitLate(at: 10)
    a.failing = []
    a.endParting()
    cache.wait(120)
    #expect(a.engine.onlineState == .offline)
    let read = a.listen(collection("others"), .get)
    cache.wait(60)
    #expect(a.snapshots[read]?.last?.isFromCache == true)
  }

  @Test("is offline while it cannot store what the backend says, also when it gets the lease")
  func restingStorage() throws {
    let (cache, a, b) = try makeParted()
    a.failing = ["Acknowledge batch"]
    try a.commitLate(at: 10)
    a.endParting()
    b.breakWatchStream()
    cache.wait(10)
    b.kill()
    cache.wait(90)
    #expect(a.engine.isPrimary && a.watchStream == nil)
    #expect(a.engine.onlineState == .offline)
    let read = a.listen(collection("others"), .get)
    cache.wait(60)
    #expect(a.snapshots[read]?.last?.isFromCache == true)
    a.failing = []
    cache.wait(300)
    a.listen(rooms)
    #expect(a.watchStream != nil)
  }
}
