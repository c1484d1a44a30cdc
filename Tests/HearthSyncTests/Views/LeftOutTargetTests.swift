import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A new stream answers its targets one after the other. Until its own answer, a target is as it was on the former stream, whatever the
/// snapshots say of others.
@Suite("A target that a snapshot leaves out")
struct LeftOutTargetTests {
  private let halls = collection("halls")
  private let firstTwo = rooms.ordered(by: "n").with(limit: 2)

  private func room(_ number: Int64, _ version: Int64 = 10) -> Document {
    found("rooms/\(number)", version, ["n": .integer(number)])
  }

  private func completeness(_ listener: ListenerID, _ client: TestClient) -> ResultCompleteness? {
    client.snapshots[listener]?.last?.completeness
  }

  private func openNewStream(_ client: TestClient) throws {
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
  }

  @Test("does not call itself complete as of that snapshot")
  func completeness() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [room(1)], at: 10)
    client.listen(halls)
    try client.fill(4, [], at: 11)
    try openNewStream(client)
    try client.fill(4, [], at: 20)
    // The backend has another room by then.
    client.write(.set(key("rooms/3"), ["n": 3]))
    #expect(client.snapshots[listener]?.last?.ids == ["1", "3"])
    #expect(completeness(listener, client) == .complete(asOf: version(11)))
    #expect(completeness(client.listen(rooms), client) == .complete(asOf: version(11)))
    try client.fill(2, [room(2, 15)], at: 21)
    #expect(completeness(listener, client) == .complete(asOf: version(21)))
  }

  @Test("and one that a snapshot confirms as it is, does")
  func unchanged() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [room(1)], at: 10)
    client.listen(halls)
    try client.fill(4, [], at: 11)
    try client.put(found("halls/a", 20), into: 4)
    try client.snapshot(20)
    #expect(completeness(client.listen(rooms), client) == .complete(asOf: version(20)))
  }

  @Test("a full limit with a newer document is uncertain until then")
  func limit() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [room(1), room(2)], at: 10)
    client.listen(Query(path: key("rooms/1").path))
    try client.fill(4, [room(1)], at: 11)
    try openNewStream(client)
    // Another one may be among the first two now.
    try client.fill(4, [found("rooms/1", 15, ["n": 9])], at: 20)
    #expect(client.snapshots[listener]?.last?.ids == ["2", "1"])
    #expect(completeness(listener, client) == .limitUncertain(asOf: version(11)))
  }

  @Test("keeps a read waiting for what takes the place of a document that a write has taken out")
  func gap() throws {
    let client = try TestClient(durable: true)
    let all = client.listen(rooms)
    try client.fill(2, [room(1), room(2), room(4)], at: 10)
    client.post(.unlisten(all))
    client.write(.delete(key("rooms/1")))
    let read = client.listen(firstTwo, .get)
    try client.fill(4, [room(1), room(2)], at: 20)
    try client.fill(1, [room(4)], at: 30)
    #expect(client.snapshots[read] == nil)
    try openNewStream(client)
    try client.commit(at: 40)
    // The lookup of the document that has moved up is answered first.
    try client.fill(1, [room(4)], at: 50)
    #expect(client.snapshots[read] == nil)
    try client.acknowledge(4)
    try client.take("rooms/1", outOf: 4, as: missing("rooms/1", 40))
    try client.put(room(3), into: 4)
    try client.current(4, token: "t")
    try client.snapshot(51)
    #expect(client.snapshots[read]?.map(\.ids) == [["2", "3"]])
  }

  @Test("keeps a read waiting that wants the backend's answer, although the read's own target is answered")
  func freshRead() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [room(1)], at: 10)
    var fresh = ListenOptions.get
    fresh.needsFreshAnswer = true
    let read = client.listen(rooms, fresh)
    try openNewStream(client)
    try client.acknowledge(1)
    try client.take("rooms/1", outOf: 1)
    try client.current(1, token: "own")
    try client.snapshot(20)
    #expect(client.snapshots[read] == nil)
    try client.acknowledge(2)
    try client.take("rooms/1", outOf: 2, as: missing("rooms/1", 15))
    try client.current(2, token: "t")
    try client.snapshot(21)
    #expect(client.snapshots[read]?.map(\.summary) == ["server [] "])
    #expect(client.watched.keys.sorted() == [2])
  }
}
