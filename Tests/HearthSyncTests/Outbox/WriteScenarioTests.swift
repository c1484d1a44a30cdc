import HearthModel
import Testing

@testable import HearthSync

@Suite("Writing")
struct WriteScenarioTests {
  private let rooms = collection("rooms")

  private func set(_ path: String, _ n: Int64) -> Mutation {
    .set(key(path), ["n": .integer(n)])
  }

  @Test("a write is shown at once as pending, its completion comes first, and its confirmation changes metadata only")
  func latencyCompensation() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    _ = client.takeTold()
    let write = client.write(set("rooms/a", 2)).rawValue
    #expect(client.takeTold() == ["listener \(listener): server pending [a] ~a"])
    try client.put(found("rooms/a", 20, ["n": 2]), into: 2)
    try client.snapshot(20)
    #expect(client.takeTold() == [])
    try client.commit(at: 20)
    #expect(client.takeTold() == ["write \(write): OK", "listener \(listener): server [a] =a"])
  }

  @Test("an acknowledged write stays pending until the watch stream delivers it; older versions are hidden")
  func acknowledgedBeforeDelivered() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    let write = client.write(set("rooms/a", 2)).rawValue
    _ = client.takeTold()
    try client.commit(at: 30)
    #expect(client.takeTold() == ["write \(write): OK"])
    try client.put(found("rooms/a", 20, ["n": 7]), into: 2)
    try client.snapshot(20)
    #expect(client.takeTold() == [])
    try client.put(found("rooms/a", 30, ["n": 2]), into: 2)
    try client.snapshot(30)
    #expect(client.takeTold() == ["listener \(listener): server [a] =a"])
  }

  @Test(
    "a document that has left the result again before the watch stream caught up with its write does not stay")
  func goneBeforeDelivered() throws {
    let client = try TestClient()
    let listener = client.listen(rooms.filtered("n", .greaterThan, 0)).rawValue
    try client.fill(2, [found("rooms/b", 1, ["n": 1])], at: 10)
    // The document as the backend commits it still matches; then another client changes it.
    client.write(
      .patch(
        key("rooms/a"), ["n": 1], mask: FieldMask([field("n")]), precondition: .none,
        transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    try client.commit(at: 20, transformResults: [[.timestamp(Timestamp(seconds: 20, nanoseconds: 0))]])
    _ = client.takeTold()
    // The snapshot covers the write, but does not bring the document: it does not match any more.
    try client.snapshot(30)
    #expect(client.engine.activeLimboDocuments == [key("rooms/a"): 1])
    try client.acknowledge(1)
    try client.put(found("rooms/a", 25, ["n": 0]), into: 1)
    try client.current(1, token: "x")
    try client.snapshot(30)
    #expect(client.takeTold().last == "listener \(listener): server [b] -a")
  }

  @Test("writes made offline go out in order, ten at a time, once the network is back")
  func offlineQueue() throws {
    let client = try TestClient()
    client.setNetwork(isEnabled: false)
    let writes = (1...12).map { client.write(set("rooms/\($0)", Int64($0))).rawValue }
    #expect(client.openedStreams == 0 && client.engine.outstandingWriteCount == 0)
    client.setNetwork(isEnabled: true)
    #expect(client.engine.outstandingWriteCount == 10)
    #expect(client.sentBatches == (1...10).map { [set("rooms/\($0)", Int64($0))] })
    #expect(Set(client.sentLabels).count == 10)
    #expect(client.sentLabels.allSatisfy { BatchLabel(parsing: $0) != nil })
    for time in 1...12 { try client.commit(at: Int64(time)) }
    #expect(client.takeTold() == writes.map { "write \($0): OK" })
    #expect(client.engine.outstandingWriteCount == 0)
  }

  @Test("a backend that has not announced that it knows labels gets to see none, the one after it does")
  func unknownLabels() throws {
    let client = try TestClient()
    client.knowsBatchLabels = false
    client.write(set("rooms/a", 1))
    #expect(client.sentBatches.count == 1 && client.sentLabels == [])
    try client.refuseWrite(.unavailable)
    client.knowsBatchLabels = true
    try client.fire(.writeStreamConnectionBackoff)
    #expect(client.sentBatches.count == 1 && client.sentLabels.count == 1)
    try client.refuseWrite(.unavailable)
    client.knowsBatchLabels = false
    try client.fire(.writeStreamConnectionBackoff)
    #expect(client.sentBatches.count == 1 && client.sentLabels.count == 1)
  }

  @Test("a rejected write is rolled back, and later ones still go out")
  func rejected() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    let bad = client.write(set("rooms/a", 2)).rawValue
    let good = client.write(set("rooms/b", 3)).rawValue
    _ = client.takeTold()
    try client.refuseWrite(.permissionDenied)
    // The first of two completions, then the snapshot it causes; the stream is open again without a pause.
    #expect(
      client.takeTold() == ["write \(bad): PERMISSION_DENIED", "listener \(listener): server pending [a b] ~a"])
    #expect(client.sentBatches == [[set("rooms/b", 3)]])
    try client.commit(at: 20)
    #expect(client.takeTold() == ["write \(good): OK"])
  }

  @Test(
    "transient errors send the same batch again, after a pause that the first time is none",
    arguments: [StatusCode.cancelled, .unknown, .deadlineExceeded, .aborted, .internal, .unavailable, .unauthenticated])
  func retried(_ code: StatusCode) throws {
    let client = try TestClient()
    let write = client.write(set("rooms/a", 1)).rawValue
    let label = client.sentLabels
    try client.refuseWrite(code)
    #expect(client.timers[.writeStreamConnectionBackoff] == client.now)
    try client.fire(.writeStreamConnectionBackoff)
    #expect(client.sentBatches == [[set("rooms/a", 1)]])
    // The same name, so that a backend that had committed it does not do so again.
    #expect(client.sentLabels == label + label)
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write \(write): OK"])
    #expect((client.answers.contains(.invalidateCredentials)) == (code == .unauthenticated))
  }

  @Test("an overloaded backend gets the longest pause")
  func resourceExhausted() throws {
    let client = try TestClient()
    client.write(set("rooms/a", 1))
    try client.refuseWrite(.resourceExhausted)
    #expect(client.timers[.writeStreamConnectionBackoff] == client.now + .seconds(60))
  }

  @Test("an answered write is not sent again, an unanswered one is, over disabling the network")
  func notSentAgain() throws {
    let client = try TestClient()
    client.write(set("rooms/a", 1))
    client.write(set("rooms/b", 2))
    try client.commit(at: 10)
    client.setNetwork(isEnabled: false)
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches == [[set("rooms/b", 2)]])
  }

  @Test("a restart on the same cache sends the queue by itself, and resumes listening with its token")
  func restart() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    client.write(set("rooms/a", 2))
    client.write(set("rooms/b", 3))
    let labels = client.sentLabels
    try client.restart()
    #expect(client.sentBatches == [[set("rooms/a", 2)], [set("rooms/b", 3)]])
    #expect(client.sentLabels == labels)
    let listener = client.listen(rooms).rawValue
    #expect(client.takeTold() == ["listener \(listener): cache pending [a b] +a +b"])
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    #expect(client.watched[2]?.expectedCount == 1)
    try client.commit(at: 20)
    try client.commit(at: 21)
    // Nobody waits for these any more.
    #expect(client.takeTold().allSatisfy { !$0.hasPrefix("write") })
  }

  @Test("waiting for pending writes covers those of the moment, rejected ones too, also of an earlier run")
  func waitForPendingWrites() throws {
    let client = try TestClient(durable: true)
    let none = client.request(.waitForPendingWrites).rawValue
    #expect(client.takeTold() == ["request \(none): OK"])
    client.write(set("rooms/a", 1))
    client.write(set("rooms/b", 2))
    try client.restart()
    let wait = client.request(.waitForPendingWrites).rawValue
    client.write(set("rooms/c", 3))
    try client.commit(at: 10)
    #expect(client.takeTold() == [])
    try client.refuseWrite(.notFound)
    #expect(client.takeTold() == ["request \(wait): OK"])
  }

  @Test("several writes in one commit are shown and completed one by one, in order")
  func groupedWrites() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [], at: 10)
    _ = client.takeTold()
    let writes = [(71, set("rooms/a", 1)), (72, set("rooms/a", 2)), (73, set("rooms/b", 3))].map {
      LocalWrite(
        id: WriteID(rawValue: $0.0), mutations: [$0.1], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
        identity: nil)
    }
    client.post(.writes(writes))
    #expect(
      client.takeTold() == [
        "listener \(listener): server pending [a] +a", "listener \(listener): server pending [a] ~a",
        "listener \(listener): server pending [a b] +b",
      ])
    #expect(client.sentBatches.count == 3)
    for time in 11...13 { try client.commit(at: Int64(time)) }
    #expect(client.takeTold() == ["write 71: OK", "write 72: OK", "write 73: OK"])
  }

  @Test("a write without mutations completes at once and sends nothing")
  func emptyWrite() throws {
    let client = try TestClient()
    client.post(
      .writes([
        LocalWrite(
          id: WriteID(rawValue: 9), mutations: [], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: nil)
      ]))
    #expect(client.takeTold() == ["write 9: OK"])
    #expect(client.openedStreams == 0)
  }

  @Test("users: the queue and the visible writes are swapped, waits are cancelled, streams start again")
  func users() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    let write = client.write(set("rooms/a", 2)).rawValue
    let wait = client.request(.waitForPendingWrites).rawValue
    _ = client.takeTold()
    client.changeUser("alice")
    #expect(client.takeTold() == ["request \(wait): CANCELLED", "listener \(listener): server [a] ~a"])
    #expect(client.openedStreams == 3)
    #expect(client.sentBatches == [])
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    client.changeUser(nil)
    #expect(client.sentBatches == [[set("rooms/a", 2)]])
    _ = client.takeTold()
    try client.commit(at: 20)
    #expect(client.takeTold() == ["write \(write): OK"])
  }

  @Test("new credentials of the same user reopen the streams and swap nothing")
  func sameUser() throws {
    let client = try TestClient()
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    let wait = client.request(.waitForPendingWrites)
    _ = client.takeTold()
    client.write(set("rooms/b", 1))
    _ = client.takeTold()
    client.changeUser(nil)
    #expect(!client.takeTold().contains("request \(wait.rawValue): CANCELLED"))
    #expect(client.openedStreams == 4)
    #expect(client.sentBatches.count == 1)
  }
}
