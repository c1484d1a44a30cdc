import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Batches under a rule for conflicts that were sent, whose answers were lost, and that the backend refuses when they come again.
@Suite("Lost answers under rules for conflicts")
struct LostAnswerConflictTests {
  /// A client that knows the document and has no network.
  private func client(knowing fields: MapValue, knowsBatchLabels: Bool = true) throws -> TestClient {
    let rule = ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))
    let client = try TestClient(durable: true, conflictRules: ConflictRules([rule]))
    client.knowsBatchLabels = knowsBatchLabels
    let listener = client.listen(rooms)
    try client.fill(try #require(client.watched.keys.first), [room(fields, at: 5)], at: 5)
    client.post(.unlisten(listener))
    client.setNetwork(isEnabled: false)
    _ = client.takeTold()
    return client
  }

  private func room(_ fields: MapValue, at time: Int64) throws -> Document {
    .found(key("rooms/a"), version: version(time), fields: EncodedFields(fields))
  }

  private func edit() throws -> Mutation {
    .patch(
      key("rooms/a"), ["x": .integer(2)], mask: FieldMask([field("x")]),
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
  }

  private func answer(_ client: TestClient, _ documents: Document...) {
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success(documents)))
  }

  @Test("with a stream that the client has closed: a write is found at a backend without labels")
  func answerLostWithClosedStream() throws {
    let client = try client(knowing: ["x": .integer(1), "n": .integer(1)], knowsBatchLabels: false)
    client.answersLate = true
    client.write(try edit())
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.count == 1)
    client.post(.connectivityChanged)
    try client.endParting()
    #expect(client.sentBatches.count == 1)
    // The first attempt has been carried out.
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2), "n": .integer(2)], at: 8))
    #expect(client.sentBatches.isEmpty && client.takeTold() == ["write 2: OK"])
  }

  @Test("a batch is recognised as a whole at a backend without labels, so that an increment in it does not count twice")
  func withoutLabels() throws {
    let client = try client(knowing: ["x": .integer(1), "n": .integer(1)], knowsBatchLabels: false)
    client.write(try edit(), .set(key("halls/b"), [:]))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.unavailable)
    client.request(.retryNow)
    try client.refuseWrite(.failedPrecondition)
    #expect(client.lookUps.map(\.keys) == [[key("halls/b"), key("rooms/a")]])
    answer(
      client, .found(key("halls/b"), version: version(8), fields: EncodedFields(MapValue())),
      try room(["x": .integer(2), "n": .integer(2)], at: 8))
    #expect(client.sentBatches.isEmpty)
    #expect(client.takeTold().contains("write 2: OK"))
    let stored = try client.engine.localStore.readDocument(key("rooms/a"))
    #expect(try stored.fields.decoded() == ["x": .integer(2), "n": .integer(2)])
  }

  /// A backend that has committed a batch answers as before when it knows its label. So one that refuses it has not, whatever its documents
  /// look like: another client has made the same change, or deleted the same document.
  @Test("a batch that a backend with labels refuses is not taken for one that has made the same change")
  func refusedUnderLabel() throws {
    let client = try client(knowing: ["x": .integer(1), "n": .integer(1)])
    client.write(try edit())
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.unavailable)
    client.request(.retryNow)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2), "n": .integer(2)], at: 8))
    #expect(client.sentBatches.first?.first?.transforms == (try edit().transforms))
  }

  @Test(
    "a deletion is not taken for that of another client, so that an increment in its batch counts",
    arguments: [false, true])
  func deletedByAnother(afterRestart: Bool) throws {
    let client = try client(knowing: ["x": .integer(1)])
    let increment = Mutation.patch(
      key("halls/n"), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
    client.write(.delete(key("rooms/a")), increment)
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.unavailable)
    if afterRestart { try client.restart() } else { client.request(.retryNow) }
    try client.refuseWrite(.failedPrecondition)
    answer(
      client, .missing(key("rooms/a"), version: version(8)),
      .found(key("halls/n"), version: version(3), fields: EncodedFields(["n": .integer(5)])))
    #expect(client.sentBatches.map { $0.last?.transforms } == [increment.transforms])
  }

  @Test("an attempt after a refusal may be at the backend without labels when its answer is lost, too")
  func lostAfterRefusal() throws {
    let client = try client(knowing: ["x": .integer(1), "n": .integer(1)])
    client.write(try edit())
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    client.knowsBatchLabels = false
    answer(client, try room(["x": .integer(1), "n": .integer(4)], at: 8))
    try client.refuseWrite(.unavailable)
    client.request(.retryNow)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2), "n": .integer(5)], at: 9))
    #expect(client.sentBatches.isEmpty)
  }

  @Test("a batch that was refused at its first attempt is not taken for another one that has made the same change")
  func sameEdit() throws {
    let client = try client(knowing: ["x": .integer(1), "n": .integer(1)], knowsBatchLabels: false)
    client.write(try edit())
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2), "n": .integer(2)], at: 8))
    #expect(client.sentBatches.first?.first?.transforms == (try edit().transforms))
  }
}
