import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Writes under a rule for conflicts that wait in memory, because a stopped process holds the file.
@Suite("A write that has waited for the file, under a rule for conflicts")
struct HeldWriteConflictTests {
  @Test("another client's change that comes between the write and its storing is a conflict")
  func changedInBetween() throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))])
    let cache = try SharedCache()
    let a = try cache.client("a", busyTimeout: .milliseconds(20), conflictRules: rules)
    let b = try cache.client("b", busyTimeout: .milliseconds(20), conflictRules: rules)
    let stopped = try Database(.file(path: cache.file))
    a.listen(rooms)
    let listener = b.listen(rooms)
    cache.deliver()
    let target = try #require(a.watched.first)
    try a.fill(target, [found("rooms/a", 3, ["n": 1, "title": "x"])], at: 4)
    cache.deliver()
    #expect(b.value(listener, "a") == .integer(1))
    // The author changes one field of the document that is shown, and writes it as a whole.
    try stopped.execute("BEGIN IMMEDIATE")
    b.write(.set(key("rooms/a"), ["n": 2, "title": "x"]))
    #expect(b.engine.heldWriteIDs.count == 1)
    try stopped.execute("ROLLBACK")
    // Before the writing client finds the file free, the other one stores what another device has written.
    try a.put([found("rooms/a", 5, ["n": 1, "title": "theirs"])], into: target)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(6))))
    cache.wait(60)
    #expect(b.engine.heldWriteIDs.isEmpty)
    // It is sent on the version that its author has seen, or compared first: not on the one that it overwrites.
    let sent = a.sentBatches.flatMap { $0 }
    #expect(sent.map(\.precondition) != [.updateTime(version(5))], "the change \"theirs\" is overwritten unnoticed")
  }

  @Test("writes that have waited go out in order, the first on the version that its author saw")
  func unchanged() throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 0))])
    let cache = try SharedCache()
    let client = try cache.client("a", busyTimeout: .milliseconds(20), conflictRules: rules)
    let stopped = try Database(.file(path: cache.file))
    client.listen(rooms)
    let target = try #require(client.watched.first)
    try client.fill(target, [found("rooms/a", 3, ["n": 1])], at: 4)
    cache.deliver()
    try stopped.execute("BEGIN IMMEDIATE")
    client.write(.set(key("rooms/a"), ["n": 2]))
    client.write(.set(key("rooms/a"), ["n": 3]))
    client.write(.set(key("rooms/b"), ["n": 1]))
    #expect(client.engine.heldWriteIDs.count == 3)
    try stopped.execute("ROLLBACK")
    cache.wait(60)
    #expect(client.sentBatches.first?.map(\.precondition) == [.updateTime(version(3))])
    try client.commit(at: 5)
    cache.deliver()
    #expect(client.sentBatches.first?.map(\.precondition) == [.updateTime(version(5))])
    try client.commit(at: 6)
    cache.deliver()
    #expect(client.questions.isEmpty)
    // It was not in the cache, so the backend is asked for it first.
    #expect(client.lookUps.map(\.keys) == [[key("rooms/b")]])
  }

  @Test("the outbox goes on after one attempt that succeeds, however many have failed while the file was locked")
  func goesOnAtOnce() throws {
    let processes = try ConflictProcesses(
      .mergeFields(prefersRemote: false), having: [found("rooms/a", 3, ["n": 1])])
    let client = processes.primary
    client.connectionError = StatusError(code: .unavailable, message: "away")
    client.post(.connectivityChanged)
    client.write(.set(key("rooms/a"), ["n": 2]))
    client.write(.set(key("rooms/b"), ["n": 1]))
    #expect(client.lookUps.map(\.keys) == [[key("rooms/b")]])
    client.connectionError = nil
    try processes.whileLocked(true) {
      // Neither can the first write be marked as sent, nor the outcome of the comparison be stored.
      client.fire(.writeStreamConnectionBackoff)
      #expect(throws: Never.self) {
        try client.answerLookUp(.missing(key("rooms/b"), version: version(5), readTime: version(5)))
      }
    }
    #expect(client.sentBatches.isEmpty && client.writeStream == nil && client.lookUps.isEmpty)
    client.fire(.asyncQueueRetry)
    #expect(client.sentBatches.first?.map(\.key) == [key("rooms/a")])
  }
}
