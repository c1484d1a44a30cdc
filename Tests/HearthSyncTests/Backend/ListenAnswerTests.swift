import HearthModel
import Testing

@testable import HearthSync

/// A target keeps its id over several listens, so answers to an earlier one can come while a later one waits. (The official web
/// SDK has tests for these situations that its corpus does not hold.)
@Suite("Answers to listens that are over")
struct ListenAnswerTests {
  private let rooms = collection("rooms")

  /// Listens, and listens again before the backend has answered anything.
  private func relistened() throws -> (TestClient, Int) {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    client.post(.unlisten(first))
    let second = client.listen(rooms).rawValue
    #expect(client.addRequests.map(\.targetID) == [2, 2])
    return (client, second)
  }

  @Test("what the backend sends for the earlier listen is not taken for the later one's result")
  func earlierResult() throws {
    let (client, listener) = try relistened()
    try client.acknowledge(2)
    try client.put(found("rooms/old", 5), into: 2)
    try client.current(2, token: "old")
    try client.snapshot(5)
    #expect(client.takeTold() == [])
    try client.acknowledgeRemoval(2)
    try client.snapshot(6)
    #expect(client.takeTold() == [])
    try client.fill(2, [found("rooms/new", 7)], at: 8)
    #expect(client.takeTold() == ["listener \(listener): server [new] +new"])
  }

  @Test("the removal of the earlier listen does not end the later one")
  func lateRemoval() throws {
    let (client, listener) = try relistened()
    try client.acknowledge(2)
    try client.acknowledgeRemoval(2)
    try client.acknowledge(2)
    try client.put(found("rooms/a", 5), into: 2)
    try client.current(2, token: "t")
    try client.snapshot(5)
    #expect(client.takeTold() == ["listener \(listener): server [a] +a"])
    #expect(client.watched[2] != nil)
  }

  @Test("that the earlier listen was complete says nothing about the later one")
  func currentBefore() throws {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.post(.unlisten(first))
    let second = client.listen(rooms).rawValue
    #expect(client.takeTold().last == "listener \(second): cache [a] +a")
    try client.acknowledgeRemoval(2)
    try client.acknowledge(2)
    // A snapshot that other targets are due to: this one is not complete yet.
    try client.snapshot(20)
    #expect(client.takeTold() == [])
    try client.current(2, token: "t")
    try client.snapshot(21)
    #expect(client.takeTold() == ["listener \(second): server [a] "])
  }

  @Test("a refusal of the earlier listen ends the later one, which can be made again")
  func lateRefusal() throws {
    let (client, listener) = try relistened()
    try client.reject(2, .permissionDenied)
    #expect(client.takeTold() == ["listener \(listener): error PERMISSION_DENIED"])
    let third = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(client.takeTold() == ["listener \(third): server [a] +a"])
  }

  @Test(
    "a refusal that meets the end of a listen, whose removal may be answered or not, does no harm to the next one",
    arguments: [false, true])
  func refusalAfterTheEnd(isRemovalAnswered: Bool) throws {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    try client.acknowledge(2)
    client.post(.unlisten(first))
    try client.reject(2, .permissionDenied)
    if isRemovalAnswered { try client.acknowledgeRemoval(2) }
    let second = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(client.takeTold() == ["listener \(second): server [a] +a"])
  }

  @Test("an answer that comes when nobody listens any more is ignored")
  func answerAfterTheEnd() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    client.post(.unlisten(listener))
    try client.acknowledge(2)
    try client.put(found("rooms/a", 1), into: 2)
    try client.current(2, token: "t")
    try client.snapshot(10)
    try client.acknowledgeRemoval(2)
    try client.snapshot(11)
    #expect(client.takeTold() == [])
    client.request(.readDocument(key("rooms/a")))
    guard case .answer(_, .document(let document))? = client.answers.last else {
      Issue.record("the cache did not answer")
      return
    }
    #expect(document.isUnknown)
  }

  @Test("a reset before the listen is answered concerns an earlier one")
  func resetBeforeTheAnswer() throws {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.post(.unlisten(first))
    let second = client.listen(rooms).rawValue
    _ = client.takeTold()
    try client.reset(2)
    try client.acknowledgeRemoval(2)
    try client.acknowledge(2)
    try client.current(2, token: "t")
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(second): server [a] "])
  }

  @Test("a document that does not come again after a reset is gone, also under a pending write")
  func resetDocument() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(Query(path: key("rooms/a").path))
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.write(.patch(key("rooms/a"), ["n": 1], mask: FieldMask([field("n")]), precondition: .exists(true)))
    try client.reset(2)
    try client.current(2, token: "t")
    try client.snapshot(20)
    #expect(client.snapshots[listener]?.last?.ids == [] && client.snapshots[listener]?.last?.isFromCache == false)
    #expect(client.engine.activeLimboDocuments.isEmpty)
  }

  @Test("a stream that breaks before the listen is answered takes its answers along")
  func brokenBeforeTheAnswer() throws {
    let (client, listener) = try relistened()
    let old = try #require(client.watchStream)
    try client.breakWatchStream()
    if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    _ = client.takeTold()
    // One answer is enough on the new stream; those of the old one are late.
    client.post(
      .watchStreamMessage(old, .targetChange(WatchTargetChange(state: .added, targetIDs: [2]))))
    try client.put(found("rooms/early", 1), into: 2)
    try client.fill(2, [found("rooms/a", 5)], at: 10)
    #expect(client.takeTold() == ["listener \(listener): server [a] +a"])
  }

  @Test("an answer too many after the stream was opened again does not count for the next listen")
  func staleAnswerAfterReopening() throws {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    try client.breakWatchStream()
    if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    try client.acknowledge(2)
    client.post(.unlisten(first))
    let second = client.listen(rooms).rawValue
    _ = client.takeTold()
    try client.put(found("rooms/b", 11), into: 2)
    try client.snapshot(12)
    #expect(client.takeTold() == [])
    try client.acknowledgeRemoval(2)
    try client.fill(2, [found("rooms/c", 13)], at: 14)
    #expect(client.takeTold() == ["listener \(second): server [a c] +c"])
  }
}
