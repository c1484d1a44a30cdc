import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Writes under a rule for conflicts, made after the cache has lost documents. Pending writes still have the lost documents as their bases.
@Suite("Writes over a lost document")
struct LostDocumentConflictTests {
  private static let former: MapValue = ["x": .integer(1), "y": .integer(1)]

  private func room(_ fields: MapValue, at time: Int64) throws -> Document {
    .found(key("rooms/a"), version: version(time), fields: EncodedFields(fields))
  }

  /// A client whose write of the document waits, and whose file was damaged since, so that only the outbox is left.
  private func client(afterWriting mutation: Mutation) throws -> TestClient {
    let rule = ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))
    let client = try TestClient(durable: true, conflictRules: ConflictRules([rule]))
    let listener = client.listen(rooms)
    try client.fill(try #require(client.watched.keys.first), [room(Self.former, at: 5)], at: 5)
    client.post(.unlisten(listener))
    client.setNetwork(isEnabled: false)
    client.write(mutation)
    try client.restartSalvaged()
    return client
  }

  @Test("overwrite nothing that was not to be seen when they were made")
  func incompleteView() throws {
    let client = try client(
      afterWriting: .patch(key("rooms/a"), ["x": .integer(2)], mask: FieldMask([field("x")])))
    #expect(try !client.engine.localStore.readDocument(key("rooms/a")).isFound)
    client.write(.set(key("rooms/a"), ["z": .integer(1)]))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(5))])
    try client.commit(at: 10)
    let remote = try room(["x": .integer(2), "y": .integer(1)], at: 10)
    client.post(.lookedUp(try #require(client.lookUps.first).id, .success([remote])))
    let sent = try #require(client.sentBatches.first)
    let document = try DocumentEdit(sent, on: remote).document(at: .epoch)
    #expect(try document.fields.decoded() == ["x": .integer(2), "y": .integer(1), "z": .integer(1)])
  }

  @Test("overwrite nothing that was not to be seen when they were made, also while a conflict is open")
  func incompleteViewDuringConflict() throws {
    let client = try client(
      afterWriting: .patch(key("rooms/a"), ["x": .integer(2)], mask: FieldMask([field("x")])))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(5))])
    try client.refuseWrite(.failedPrecondition)
    client.write(.set(key("rooms/a"), ["z": .integer(1)]))
    let theirs = try room(["x": .integer(1), "y": .integer(9)], at: 8)
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success([theirs])))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(8))])
    try client.commit(at: 10)
    let remote = try room(["x": .integer(2), "y": .integer(9)], at: 10)
    client.post(.lookedUp(try #require(client.lookUps.first).id, .success([remote])))
    let sent = try #require(client.sentBatches.first)
    let document = try DocumentEdit(sent, on: remote).document(at: .epoch)
    #expect(try document.fields.decoded() == ["x": .integer(2), "y": .integer(9), "z": .integer(1)])
  }

  @Test("are sent with what the waiting write has made, if that shows the whole document")
  func wholeView() throws {
    let client = try client(afterWriting: .set(key("rooms/a"), ["x": .integer(2)]))
    client.write(.set(key("rooms/a"), ["z": .integer(1)]))
    try client.commit(at: 10)
    #expect(client.lookUps.isEmpty)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(10))])
  }

  /// If a conflict has changed the first write, the rows of bases hold the bases of the later writes.
  @Test(
    "are compared with what an earlier write has become by a conflict, also if their base was lost",
    arguments: [(isRefused: true, isWrittenTo: false), (isRefused: false, isWrittenTo: true)])
  func lostBases(isRefused: Bool, isWrittenTo: Bool) throws {
    let rule = ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 0))
    let client = try TestClient(durable: true, conflictRules: ConflictRules([rule]))
    let theirs = try room(["y": .integer(9)], at: 8)
    let both = Mutation.set(key("rooms/a"), ["x": .integer(1), "y": .integer(9)])
    client.setNetwork(isEnabled: false)
    client.write(.set(key("rooms/a"), ["x": .integer(1)]))
    client.write(.set(key("rooms/a"), ["x": .integer(1), "z": .integer(1)]))
    client.setNetwork(isEnabled: true)
    resolve(client, theirs, both)
    client.setNetwork(isEnabled: false)
    try client.execute("DELETE FROM cache_base_documents")
    try client.restart()
    client.setNetwork(isEnabled: false)
    if isWrittenTo {
      client.write(.patch(key("rooms/a"), ["w": .integer(1)], mask: FieldMask([field("w")])))
    }
    client.setNetwork(isEnabled: true)
    // The first write is compared again, after the loss of the row that was kept for the second.
    if isRefused { try client.refuseWrite(.failedPrecondition) }
    resolve(client, theirs, both)
    try client.commit(at: 10)
    let remote = try room(["x": .integer(1), "y": .integer(9)], at: 10)
    client.post(.lookedUp(try #require(client.lookUps.first).id, .success([remote])))
    let conflict = try #require(client.questions.first?.conflict)
    #expect(try conflict.local.fields.decoded() == ["x": .integer(1), "z": .integer(1)])
    #expect(conflict.remote == remote && client.sentBatches.isEmpty)
  }

  /// Answers what the client asks the backend and the application.
  private func resolve(_ client: TestClient, _ remote: Document, _ answer: Mutation) {
    while let lookUp = client.lookUps.first {
      client.lookUps.removeFirst()
      client.post(.lookedUp(lookUp.id, .success([remote])))
      while let question = client.questions.first {
        client.questions.removeFirst()
        client.post(.conflictAnswered(question.id, .success(.write([answer]))))
      }
    }
  }
}
