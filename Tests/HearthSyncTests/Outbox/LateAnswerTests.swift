import HearthModel
import Testing

@testable import HearthSync

/// Answers that come on a write stream after the client has closed it, from a backend that knows no labels: what it was sent twice,
/// it commits twice.
@Suite("Answers on a stream that was closed")
struct LateAnswerTests {
  private let rooms = collection("rooms")

  private func increment() -> Mutation {
    Mutation(
      key: key("rooms/a"), operation: .patch(EncodedFields([:]), mask: .empty),
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
  }

  private func client() throws -> TestClient {
    let client = try TestClient(durable: true)
    client.knowsBatchLabels = false
    client.answersLate = true
    return client
  }

  @Test("an increment whose answer comes after the network was switched off is not sent again")
  func networkSwitchedOff() throws {
    let client = try client()
    let first = client.write(increment()).rawValue
    let second = client.write(increment()).rawValue
    client.setNetwork(isEnabled: false)
    try client.commitLate(at: 10)
    #expect(client.takeTold() == ["write \(first): OK"])
    try client.commitLate(at: 11)
    #expect(client.takeTold() == ["write \(second): OK"])
    try client.endParting()
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatchCount == 2 && client.sentBatches == [])
  }

  @Test("batches wait for a stream that owes answers, and are sent again before later ones when it ends without")
  func owing() throws {
    let client = try client()
    client.write(increment())
    client.write(increment())
    client.post(.connectivityChanged)
    #expect(client.sentBatches == [])
    client.write(.delete(key("rooms/b")))
    #expect(client.sentBatches == [] && client.engine.outstandingWriteCount == 0)
    try client.commitLate(at: 10)
    #expect(client.sentBatches == [])
    try client.endParting()
    #expect(client.sentBatches == [[increment()], [.delete(key("rooms/b"))]])
    try client.commit(at: 20)
    try client.commit(at: 21)
    #expect(client.takeTold().filter { $0.hasPrefix("write") }.count == 3)
  }

  @Test("with the last answer, later batches go out at once")
  func answered() throws {
    let client = try client()
    client.write(increment())
    client.post(.connectivityChanged)
    client.write(.delete(key("rooms/b")))
    try client.commitLate(at: 10)
    #expect(client.sentBatches == [[.delete(key("rooms/b"))]])
    // The answer to the goodbye, and the end, mean nothing more.
    client.post(.writeStreamMessage(client.parting[0].id, WriteResponse(streamToken: [2])))
    try client.endParting()
    #expect(client.sentBatches == [[.delete(key("rooms/b"))]] && client.engine.outstandingWriteCount == 1)
  }

  @Test("an answer after a change of the user is stored for the former one, whose batches wait; the new one's do not")
  func otherUser() throws {
    let client = try client()
    client.changeUser("alice")
    let write = client.write(increment()).rawValue
    client.write(increment())
    client.changeUser("bob")
    client.write(.set(key("rooms/b"), [:]))
    #expect(client.sentBatches == [[.set(key("rooms/b"), [:])]] && client.streamUser == "bob")
    let wait = client.request(.waitForPendingWrites).rawValue
    _ = client.takeTold()
    try client.commitLate(at: 10)
    let told = client.takeTold()
    #expect(told.contains("write \(write): OK") && !told.contains("request \(wait): OK"))

    // Back again while the first stream still owes the second answer; Bob's own is cut off as well.
    client.changeUser("alice")
    #expect(client.sentBatches == [])
    try client.commitLate(at: 11)
    try client.endParting()
    #expect(client.sentBatches == [] && client.sentBatchCount == 3)
    client.changeUser("bob")
    #expect(client.sentBatches == [])
    try client.endParting()
    #expect(client.sentBatches == [[.set(key("rooms/b"), [:])]])
  }

  @Test("the answer to the goodbye acknowledges no batch, also when it comes first")
  func goodbye() throws {
    let client = try client()
    client.write(increment())
    client.setNetwork(isEnabled: false)
    client.post(.writeStreamMessage(client.parting[0].id, WriteResponse(streamToken: [2])))
    #expect(client.takeTold().filter { $0.hasPrefix("write") } == [])
    try client.endParting()
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches == [[increment()]])
  }

  @Test("a late answer that cannot be stored is kept, and its batch is not sent again")
  func notStored() throws {
    let client = try client()
    let write = client.write(increment()).rawValue
    client.setNetwork(isEnabled: false)
    client.failing = ["Acknowledge batch"]
    try client.commitLate(at: 10)
    try client.endParting()
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches == [])
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.takeTold().contains("write \(write): OK"))
    #expect(client.sentBatchCount == 1)
  }

  @Test("a stream that was never ready owes nothing")
  func notReady() throws {
    let client = try client()
    client.isReachable = false
    client.isBlackHole = true
    client.write(increment())
    client.setNetwork(isEnabled: false)
    client.isReachable = true
    client.isBlackHole = false
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches == [[increment()]])
  }
}
