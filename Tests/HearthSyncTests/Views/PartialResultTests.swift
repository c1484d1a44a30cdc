import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A snapshot in which not everything has come for a target leaves a part of its result in the cache.
@Suite("A result that has come in part")
struct PartialResultTests {
  private let firstTwo = rooms.ordered(by: "n").with(limit: 2)

  private func room(_ number: Int64, _ version: Int64 = 10) -> Document {
    found("rooms/\(number)", version, ["n": .integer(number)])
  }

  /// The completeness of a one-time read from the cache.
  private func read(_ query: Query, _ client: TestClient) throws -> ResultCompleteness {
    let id = client.request(.readQuery(query))
    guard case .answer(id, .snapshot(let snapshot))? = client.answers.last else { throw TestFailure("no answer") }
    return snapshot.completeness
  }

  private func openNewStream(_ client: TestClient) throws {
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
  }

  @Test("is no complete one, and is continued from the token that came with it")
  func first() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.acknowledge(2)
    try client.put(room(1), into: 2)
    try client.snapshot(10, token: "part")
    #expect(client.snapshots[listener]?.last?.completeness == .notSynchronized)
    #expect(try read(rooms, client) == .notSynchronized)
    try client.restart()
    let again = client.listen(rooms)
    #expect(client.snapshots[again]?.last?.completeness == .notSynchronized)
    #expect(client.watched[2]?.resumeToken == Array("part".utf8) && client.watched[2]?.readTime == nil)
    try client.fill(2, [room(2)], at: 20)
    #expect(client.snapshots[again]?.last?.completeness == .complete(asOf: version(20)))
    #expect(client.snapshots[again]?.last?.ids == ["1", "2"])
  }

  @Test("is not shown as an empty result of the backend")
  func empty() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms, ListenOptions(includeQueryMetadataChanges: false))
    try client.acknowledge(2)
    try client.snapshot(10, token: "part")
    try client.restart()
    let again = client.listen(rooms, ListenOptions(includeQueryMetadataChanges: false))
    #expect(client.snapshots[again] == nil)
  }

  @Test("ends what was known of a full limit, because what moves up has not come yet")
  func limit() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [room(1), room(2)], at: 10)
    try openNewStream(client)
    try client.acknowledge(2)
    try client.take("rooms/2", outOf: 2, as: missing("rooms/2", 15))
    try client.snapshot(20, token: "part")
    #expect(client.snapshots[listener]?.last?.ids == ["1"])
    #expect(client.snapshots[listener]?.last?.completeness == .notSynchronized)
    #expect(try read(firstTwo, client) == .notSynchronized)
    try client.restart()
    client.listen(firstTwo)
    #expect(try read(firstTwo, client) == .notSynchronized)
    #expect(client.watched[2]?.resumeToken == Array("part".utf8))
    try client.fill(2, [room(3)], at: 30)
    #expect(try read(firstTwo, client) == .complete(asOf: version(30)))
  }

  @Test("leaves no former token behind a reset: what was not sent again would not come", arguments: [false, true])
  func reset(restarts: Bool) throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [room(1), room(2)], at: 10)
    try openNewStream(client)
    try client.acknowledge(2)
    try client.reset(2)
    try client.put(room(1), into: 2)
    try client.snapshot(20)
    #expect(client.snapshots[listener]?.last?.completeness == .notSynchronized)
    #expect(try read(rooms, client) == .notSynchronized)
    if restarts {
      try client.restart()
      client.listen(rooms)
    } else {
      try openNewStream(client)
    }
    #expect(client.watched[2]?.resumeToken == [])
    try client.fill(2, [room(1), room(2)], at: 30)
    #expect(try read(rooms, client) == .complete(asOf: version(30)))
  }
}
