import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Writes under rules for conflicts as they go out to the backend, and the conditions under which they do.
@Suite("Sent writes under rules for conflicts")
struct SentConflictTests {
  private func client(
    _ policy: ConflictPolicy = .mergeFields(prefersRemote: false), knowing document: Document? = nil
  ) throws -> TestClient {
    let rule = ConflictRule(.collection(ResourcePath(["rooms"])), policy)
    let client = try TestClient(durable: true, conflictRules: ConflictRules([rule]))
    client.listen(rooms)
    if let document { try client.fill(2, [document], at: 5) }
    _ = client.takeTold()
    return client
  }

  private func room(_ fields: MapValue, at time: Int64) throws -> Document {
    .found(key("rooms/a"), version: version(time), fields: EncodedFields(fields))
  }

  private func patch(_ name: String, _ value: Value, transforms: [FieldTransform] = []) throws -> Mutation {
    .patch(key("rooms/a"), MapValue([name: value]), mask: FieldMask([field(name)]), transforms: transforms)
  }

  private func answer(_ client: TestClient, _ documents: Document...) throws {
    try #require(!client.lookUps.isEmpty)
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success(documents)))
  }

  @Test("a field that the server is to set is nothing that the write behind it sets", arguments: [true, false])
  func serverTimestamp(isInPatch: Bool) throws {
    let client = try client(.keepBoth, knowing: room(["x": .integer(1), "y": .integer(1)], at: 5))
    let now = FieldTransform(path: field("at"), operation: .serverTimestamp)
    client.write(try patch("x", .integer(2), transforms: [now]))
    client.write(try patch("y", .integer(2), transforms: isInPatch ? [now] : []))
    try client.refuseWrite(.failedPrecondition)
    let theirs = try room(["x": .integer(9), "y": .integer(1)], at: 8)
    try answer(client, theirs)
    try client.commit(at: 10)
    try answer(client, theirs)
    for mutation in try #require(client.sentBatches.first) {
      guard case .set(let fields) = mutation.operation else { continue }
      let value = try fields.decoded()["at"]
      if case .pendingServerTimestamp? = value { Issue.record("\(mutation)") }
      #expect(mutation.transforms.isEmpty == !isInPatch)
    }
  }

  @Test("a batch that was never sent is not taken for one that is at the backend")
  func neverSent() throws {
    let client = try client(knowing: room(["x": .integer(1)], at: 5))
    let increment = Mutation.patch(
      key("rooms/b"), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
    client.write(try patch("y", .integer(1)))
    client.write(.delete(key("rooms/a")), increment)
    try client.commit(at: 6)
    #expect(client.lookUps.map(\.keys) == [[key("rooms/a"), key("rooms/b")]] || client.lookUps.count == 1)
    try client.restart()
    try answer(
      client, .missing(key("rooms/a"), version: version(8)),
      .found(key("rooms/b"), version: version(3), fields: EncodedFields(["n": .integer(5)])))
    #expect(client.sentBatches.first?.last?.transforms == increment.transforms)
  }

  @Test("a deletion of a document that was not there deletes nothing that others have created since")
  func deletionOfMissing() throws {
    let client = try client()
    try client.fill(2, [], at: 5)
    client.setNetwork(isEnabled: false)
    client.write(.set(key("rooms/a"), ["x": .integer(1)]))
    client.write(.delete(key("rooms/a")))
    client.write(.delete(key("rooms/a")))
    client.setNetwork(isEnabled: true)
    if !client.lookUps.isEmpty { try answer(client, .missing(key("rooms/a"), version: version(5))) }
    try client.commit(at: 6)
    try client.commit(at: 7)
    #expect(client.sentBatches.map(\.first?.precondition) == [.exists(false)])
    try client.refuseWrite(.alreadyExists)
    _ = client.takeTold()
    try answer(client, room(["x": .integer(9)], at: 9))
    #expect(client.sentBatches.isEmpty)
    #expect(client.takeTold().contains { $0.contains("ABORTED") })
  }
}
