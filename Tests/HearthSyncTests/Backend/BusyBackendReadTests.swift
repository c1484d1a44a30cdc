import HearthModel
import Testing

@testable import HearthSync

@Suite("Reads of targets that the backend does not answer, beside one that it keeps busy")
struct BusyBackendReadTests {
  private let rooms = collection("rooms")

  /// Lets a minute pass in which the target 2 has news all the time, or until a read is answered.
  ///
  /// - Returns: The time that has passed.
  private func wait(for read: ListenerID, _ client: TestClient, from version: Int64) throws -> Duration {
    let start = client.now
    var number = version
    while client.snapshots[read] == nil, client.now < start + .seconds(60) {
      try client.put(found("users/a", number), into: 2)
      try client.snapshot(number)
      let timers = [TimerKind.onlineStateTimeout, .answerTimeout].compactMap { kind in
        client.timers[kind].map { (kind: kind, end: $0) }
      }
      guard let next = timers.min(by: { $0.end < $1.end }) else { break }
      if next.end > client.now + .seconds(3) { client.now += .seconds(3) } else { try client.fire(next.kind) }
      number += 1
    }
    return client.now - start
  }

  @Test("a read of a target that is acknowledged only ends, while the client stays online")
  func acknowledgedOnly() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(collection("users"))
    try client.fill(2, [], at: 10)
    let get = client.listen(rooms, .get)
    try client.acknowledge(4)
    #expect(try wait(for: get, client, from: 11) <= .seconds(20))
    #expect(client.snapshots[get]?.last?.isFromCache == true && client.engine.onlineState == .online)
    #expect(client.snapshots[listener]?.last?.isFromCache == false)
    client.post(.unlisten(get))
    #expect(client.timers[.answerTimeout] == nil)
  }

  @Test("a read ends although the lookup of its document in limbo is never answered")
  func limbo() throws {
    let client = try TestClient(durable: true)
    client.listen(collection("users"))
    try client.fill(2, [], at: 10)
    let listener = client.listen(rooms)
    try client.fill(4, [found("rooms/a", 5)], at: 11)
    client.post(.unlisten(listener))
    let get = client.listen(rooms, .get)
    try client.acknowledgeRemoval(4)
    // The document has left the result without a word.
    try client.acknowledge(4)
    try client.take("rooms/a", outOf: 4)
    try client.current(4, token: "t")
    try client.snapshot(12)
    #expect(client.snapshots[get] == nil && client.watched.count == 3)
    #expect(try wait(for: get, client, from: 21) <= .seconds(20))
    #expect(client.snapshots[get] != nil)
  }

  @Test("a read whose target has news is waited for, however long it takes")
  func longAnswer() throws {
    let client = try TestClient(durable: true)
    client.listen(collection("users"))
    try client.fill(2, [], at: 10)
    let get = client.listen(rooms, .get)
    try client.acknowledge(4)
    for number in 1...20 as ClosedRange<Int64> {
      client.now += .seconds(6)
      try client.put(found("rooms/\(number)", number), into: 4)
      while let end = client.timers[.answerTimeout], end <= client.now { try client.fire(.answerTimeout) }
    }
    #expect(client.snapshots[get] == nil)
    try client.current(4, token: "t")
    try client.snapshot(30)
    #expect(client.snapshots[get]?.last?.ids.count == 20)
    #expect(client.timers[.answerTimeout] == nil)
  }
}
