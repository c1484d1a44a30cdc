import HearthModel
import Testing

@testable import HearthCache
@testable import HearthSync

@Suite("Backends that were restored from a copy")
struct LostHistoryTests {
  private func openAgain(_ client: TestClient) throws {
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
    try client.acknowledge(2)
  }

  private func states(_ client: TestClient, of listener: ListenerID) throws -> [String: Int64] {
    let snapshot = try #require(client.snapshots[listener]?.last)
    return Dictionary(uniqueKeysWithValues: snapshot.documents.map { ("\($0.key)", $0.version.microseconds) })
  }

  @Test("a result that was reset replaces documents of the lost history, also those that a write has left")
  func reset() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 5, number(2)), found("rooms/b", 3, number(1))], at: 10)
    client.write(set("rooms/b", 2))
    try client.commit(at: 12)
    try openAgain(client)
    try client.reset(2)
    try client.put(found("rooms/a", 4, number(1)), into: 2)
    try client.put(found("rooms/b", 3, number(1)), into: 2)
    try client.current(2, token: "token-20")
    try client.snapshot(20)
    #expect(try states(client, of: listener) == ["rooms/a": 4, "rooms/b": 3])
    #expect(client.snapshots[listener]?.last?.isFromCache == false)
  }

  @Test("a new query's result does so as well")
  func newQuery() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 5, ["n": 1, "lost": true])], at: 10)
    client.post(.unlisten(listener))
    try client.fire(.listenStreamIdle)
    let filtered = client.listen(rooms.filtered("n", .equal, .integer(1)))
    let target = try #require(client.watched.keys.first)
    try client.fill(target, [found("rooms/a", 4, number(1))], at: 20)
    #expect(try states(client, of: filtered) == ["rooms/a": 4])
  }

  @Test(
    "an earlier version counts for nothing when a result is resumed, or when the cache's is later than the snapshot")
  func noProof() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 5)], at: 10)
    try openAgain(client)
    try client.put(found("rooms/a", 4), into: 2)
    try client.current(2, token: "token-20")
    try client.snapshot(20)
    #expect(try states(client, of: listener) == ["rooms/a": 5])
    // What comes for a current target is no whole result either.
    try client.put(found("rooms/a", 4), into: 2)
    try client.snapshot(21)
    #expect(try states(client, of: listener) == ["rooms/a": 5])
    // An acknowledged write is later than the snapshots that are on their way.
    var event = RemoteEvent(
      snapshotVersion: version(25), targetChanges: [2: TargetChange(isCurrent: true, modified: [key("rooms/a")])],
      documentUpdates: [key("rooms/a"): found("rooms/a", 5)])
    event.targetChanges[2]?.isWhole = true
    #expect(!event.contradicts(key("rooms/a"), at: version(30)))
    #expect(event.contradicts(key("rooms/a"), at: version(25)))
    #expect(!event.contradicts(key("rooms/a"), at: version(5)) && !event.contradicts(key("rooms/b"), at: version(25)))
  }

  @Test(
    "the look-up of a conflict replaces a document of the lost history, and later edits have the backend's as their base"
  )
  func conflict() throws {
    let rule = ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: true))
    let client = try TestClient(durable: true, conflictRules: ConflictRules([rule]))
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 5, number(2))], at: 10)
    client.post(.unlisten(listener))
    client.write(set("rooms/a", 3))
    try client.refuseWrite(.failedPrecondition)
    var remote = found("rooms/a", 4, number(1))
    remote.readTime = version(20)
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success([remote])))
    let known = try client.engine.localStore.readDocument(key("rooms/a"))
    #expect(known.version == version(4))
    #expect(try known.fields.decoded() == number(1))
    client.write(set("rooms/a", 3))
    #expect(client.sentBatches.last?.first?.precondition == .updateTime(version(4)))
  }

  @Test("a result that is resumed from before the copy, and lacks a later document of the client's, is asked for again")
  func goodToken() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 4, number(1)), found("rooms/b", 4, number(1))], at: 10)
    client.post(.unlisten(listener))
    try client.acknowledgeRemoval(2)
    client.write(set("rooms/a", 2))
    try client.commit(at: 12)
    let other = client.listen(rooms)
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    try client.acknowledge(2)
    try client.current(2, token: "token-20")
    try client.snapshot(20)
    #expect(client.watched[2]?.resumeToken.isEmpty == true)
    #expect(client.snapshots[other]?.last?.isFromCache == true)
    try client.acknowledgeRemoval(2)
    try client.fill(2, [found("rooms/a", 4, number(1)), found("rooms/b", 4, number(1))], at: 21)
    #expect(try states(client, of: other) == ["rooms/a": 4, "rooms/b": 4])
    #expect(client.snapshots[other]?.last?.isFromCache == false)
  }

  @Test(
    "a result that has the later document, or one that left it, or is older than the document, is good",
    arguments: 0..<3)
  func honest(_ kind: Int) throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 4, number(1))], at: 10)
    client.post(.unlisten(listener))
    try client.acknowledgeRemoval(2)
    client.write(set("rooms/a", 2))
    try client.commit(at: 30)
    client.listen(rooms)
    try client.acknowledge(2)
    switch kind {
    case 0: try client.put(found("rooms/a", 30, number(2)), into: 2)
    case 1: try client.put(missing("rooms/a", 31), into: 2)
    default: break
    }
    try client.current(2, token: "token-20")
    try client.snapshot(kind == 2 ? 20 : 31)
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
  }
}
