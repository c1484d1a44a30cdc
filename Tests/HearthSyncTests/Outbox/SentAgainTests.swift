import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A batch that may have been sent is sent again with exactly what it was sent with, whatever comes between.
@Suite("A batch that may have been sent")
struct SentAgainTests {
  /// The edit of the document, which has `n` and the array `list`.
  enum Edit: String, CaseIterable, CustomTestStringConvertible {
    case increment, set, arrayUnion

    var testDescription: String { rawValue }

    func mutation(_ path: String) -> Mutation {
      switch self {
      case .increment:
        .patch(
          key(path), [:], mask: .empty,
          transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
      case .set: .set(key(path), ["n": .integer(2)])
      case .arrayUnion:
        .patch(
          key(path), [:], mask: .empty,
          transforms: [FieldTransform(path: field("list"), operation: .arrayUnion([.integer(2)]))])
      }
    }
  }

  /// The event between the two attempts.
  enum Between: String, CaseIterable, CustomTestStringConvertible {
    case rulesGone, otherRules, salvage, salvageWithoutRules, basesLost

    var testDescription: String { rawValue }

    func happen(to client: TestClient) throws {
      switch self {
      case .rulesGone: client.conflictRules = ConflictRules()
      case .otherRules:
        client.conflictRules = ConflictRules([ConflictRule(.collection(ResourcePath(["halls"])), .keepBoth)])
      case .salvage: return try client.restartSalvaged()
      case .salvageWithoutRules:
        client.conflictRules = ConflictRules()
        return try client.restartSalvaged()
      case .basesLost: try client.execute("DELETE FROM cache_base_documents")
      }
      try client.restart()
    }
  }

  private static let roomRules = ConflictRules([
    ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))
  ])

  private func room(at time: Int64) -> Document {
    found("rooms/a", time, ["n": .integer(1), "list": .array([.integer(1)])])
  }

  private func client(knowing document: Document?) throws -> TestClient {
    let client = try TestClient(durable: true, conflictRules: Self.roomRules)
    if let document {
      let listener = client.listen(rooms)
      let target = try #require(client.watched.keys.first)
      try client.fill(target, [document], at: document.version.microseconds)
      client.post(.unlisten(listener))
    }
    client.setNetwork(isEnabled: false)
    return client
  }

  private func answer(_ client: TestClient, _ documents: Document...) {
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success(documents)))
  }

  @Test(
    "is sent again with what it was sent with", arguments: Edit.allCases, Between.allCases)
  func sentAgain(_ edit: Edit, _ between: Between) throws {
    let client = try client(knowing: room(at: 5))
    client.write(edit.mutation("rooms/a"))
    client.setNetwork(isEnabled: true)
    let sent = client.sentBatches
    let labels = client.sentLabels
    #expect(sent.map(\.first?.precondition) == [.updateTime(version(5))])
    // The process ends before the answer comes.
    try between.happen(to: client)
    #expect(client.sentBatches == sent && client.sentLabels == labels && client.lookUps.isEmpty)
    // A second time.
    try Between.rulesGone.happen(to: client)
    #expect(client.sentBatches == sent && client.sentLabels == labels && client.lookUps.isEmpty)
    try client.commit(at: 10)
    #expect(try client.engine.localStore.pendingBatches().isEmpty)
  }

  @Test(
    "is sent again with what was decided when its turn came, behind others of its document", arguments: Edit.allCases,
    Between.allCases)
  func sentAgainBehindOthers(_ edit: Edit, _ between: Between) throws {
    let client = try client(knowing: room(at: 5))
    client.write(edit.mutation("rooms/a"))
    client.write(edit.mutation("rooms/a"))
    client.setNetwork(isEnabled: true)
    try client.commit(at: 7, transformResults: [edit == .increment ? [.integer(2)] : edit == .set ? [] : [.null]])
    let sent = client.sentBatches
    #expect(sent.map(\.first?.precondition) == [.updateTime(version(7))])
    try between.happen(to: client)
    #expect(client.sentBatches == sent && client.lookUps.isEmpty)
  }

  @Test("is sent again by a client without rules that takes over from one with them", arguments: Edit.allCases)
  func takenOver(_ edit: Edit) throws {
    let cache = try SharedCache()
    let a = try cache.client("a", conflictRules: Self.roomRules)
    let b = try cache.client("b")
    let listener = a.listen(rooms)
    cache.deliver()
    try a.fill(try #require(a.watched.first), [room(at: 5)], at: 5)
    a.post(.unlisten(listener))
    a.write(edit.mutation("rooms/a"))
    cache.deliver()
    let sent = a.sentBatches
    #expect(sent.map(\.first?.precondition) == [.updateTime(version(5))])
    a.kill()
    cache.wait(10)
    #expect(b.engine.isPrimary && b.sentBatches == sent)
    try b.commit(at: 10)
    #expect(try b.store.pendingBatches().isEmpty)
  }

  @Test("and is refused is a conflict, although the document that it is based on is lost")
  func refusedWithoutBase() throws {
    let client = try client(knowing: room(at: 5))
    client.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: FieldMask([field("n")])))
    client.setNetwork(isEnabled: true)
    client.conflictRules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 1))])
    try Between.basesLost.happen(to: client)
    let sent = client.sentBatches
    #expect(sent.map(\.first?.precondition) == [.updateTime(version(5))])
    try client.refuseWrite(.failedPrecondition)
    answer(client, room(at: 8))
    #expect(client.questions.map(\.conflict.base) == [nil])
    #expect(client.sentBatches.isEmpty, "the change of another device was overwritten without a question")
  }

  @Test("and was written without a rule is sent again without a condition, whatever rules there are")
  func ruleAdded() throws {
    let client = try TestClient(durable: true)
    client.write(Edit.increment.mutation("rooms/a"))
    let sent = client.sentBatches
    client.conflictRules = Self.roomRules
    try client.restartSalvaged()
    #expect(client.sentBatches == sent && client.lookUps.isEmpty)
  }

  @Test("and was sent while no rule contained its document is sent again without a condition")
  func sentWithoutRule() throws {
    let client = try client(knowing: nil)
    client.write(.set(key("rooms/a"), number(2)))
    client.conflictRules = ConflictRules()
    try client.restart()
    let sent = client.sentBatches
    #expect(sent.map(\.first?.precondition) == [Precondition.none])
    client.conflictRules = Self.roomRules
    try client.restart()
    #expect(client.sentBatches == sent && client.lookUps.isEmpty)
  }

  @Test(
    "but was not, because its process had no rule and no network, gets its conditions from the process that sends it")
  func notSentWithoutRule() throws {
    let client = try client(knowing: room(at: 5))
    client.write(Edit.increment.mutation("rooms/a"))
    client.write(Edit.set.mutation("rooms/a"))
    client.conflictRules = ConflictRules()
    client.isReachable = false
    try client.restart()
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.isEmpty)
    client.conflictRules = Self.roomRules
    client.isReachable = true
    try client.restart()
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(5))])
    try client.commit(at: 10)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(10))])
  }

  @Test("is not sent before its conditions are stored")
  func storedFirst() throws {
    let client = try client(knowing: room(at: 5))
    client.write(Edit.set.mutation("rooms/a"))
    client.write(Edit.set.mutation("rooms/a"))
    client.failing = ["Keep guards"]
    client.setNetwork(isEnabled: true)
    try client.commit(at: 7)
    #expect(client.sentBatches.isEmpty)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(7))])
  }

  @Test("under a rule that is gone, and is refused, is sent as the last write, which wins")
  func refusedWithoutRule() throws {
    let client = try client(knowing: room(at: 5))
    client.write(Edit.set.mutation("rooms/a"))
    client.setNetwork(isEnabled: true)
    try Between.rulesGone.happen(to: client)
    try client.refuseWrite(.failedPrecondition)
    // It is compared, because the backend may have carried it out.
    answer(client, found("rooms/a", 9, number(7)))
    #expect(client.sentBatches == [[Edit.set.mutation("rooms/a")]])
    try client.commit(at: 10)
    #expect(try client.engine.localStore.pendingBatches().isEmpty)
  }

  @Test("under a rule that is gone, and is refused because a backend without labels has it, has arrived")
  func arrivedWithoutRule() throws {
    let client = try client(knowing: room(at: 5))
    client.knowsBatchLabels = false
    client.write(Edit.set.mutation("rooms/a"))
    client.setNetwork(isEnabled: true)
    try Between.salvageWithoutRules.happen(to: client)
    try client.refuseWrite(.failedPrecondition)
    answer(client, found("rooms/a", 9, number(2)))
    #expect(client.sentBatches.isEmpty)
    #expect(try client.engine.localStore.pendingBatches().isEmpty)
  }

  @Test("and has lost its conditions is recognised when it is compared")
  func comparedFirst() throws {
    let client = try client(knowing: room(at: 5))
    client.write(Edit.set.mutation("rooms/a"))
    client.write(.set(key("rooms/a"), number(3)))
    try client.execute("CREATE TABLE before AS SELECT batch_id, batch FROM cache_mutation_batches")
    client.setNetwork(isEnabled: true)
    try client.commit(at: 7)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(7))])
    // Its row is an older one, and its base is not the backend's document.
    try client.execute(
      "UPDATE cache_mutation_batches AS b SET batch = (SELECT batch FROM before AS o WHERE o.batch_id = b.batch_id)")
    try client.execute("UPDATE cache_base_documents SET is_outdated = 1")
    try client.restart()
    #expect(client.sentBatches.isEmpty && client.lookUps.count == 1)
    answer(client, found("rooms/a", 9, number(3)))
    #expect(client.sentBatches.isEmpty)
    #expect(try client.engine.localStore.pendingBatches().isEmpty)
  }

  // MARK: - The mark

  private func mark(_ client: TestClient) throws -> BatchID {
    try client.engine.localStore.outbox.state(of: nil).sentThrough
  }

  @Test("stays one that may have been sent after a stream on which only those before it were sent")
  func markStays() throws {
    let client = try client(knowing: nil)
    client.write(set("halls/b"))
    // The backend has to be asked for this one's document, and the rest waits behind it.
    client.write(set("rooms/a"))
    for name in ["c", "d", "e"] { client.write(set("halls/\(name)")) }
    try client.execute(
      "INSERT OR REPLACE INTO cache_sent_marks (user_id, through) SELECT user_id, 5 FROM cache_users")
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.count == 1)
    client.setNetwork(isEnabled: false)
    #expect(try mark(client) == 5)
    try client.restart()
    client.setNetwork(isEnabled: false)
    let request = client.request(.withdraw(5, evenIfSent: false))
    #expect(client.takeTold().contains("request \(request.rawValue): FAILED_PRECONDITION"))
  }

  @Test("stays one that may have been sent while it cannot be read, and those before it are sent")
  func markStaysOverUnreadable() throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    for name in ["a", "b", "c"] { client.write(set("halls/\(name)")) }
    try client.execute(
      "INSERT OR REPLACE INTO cache_sent_marks (user_id, through) SELECT user_id, 3 FROM cache_users")
    try client.execute("CREATE TABLE before AS SELECT batch FROM cache_mutation_batches WHERE batch_id = 3")
    try client.execute("UPDATE cache_mutation_batches SET batch = x'FF' WHERE batch_id = 3")
    #expect(try client.engine.localStore.setAsideUnreadableBatches().batches.count == 1)
    try client.restart()
    try client.commit(at: 10)
    try client.commit(at: 11)
    client.setNetwork(isEnabled: false)
    #expect(try mark(client) == 3)
    try client.execute("UPDATE cache_unreadable_batches SET batch = (SELECT batch FROM before)")
    try client.restart()
    #expect(try client.engine.localStore.pendingBatches().map(\.batchID) == [3])
  }

  @Test("is none if it was written after all others, and the mark goes back behind it")
  func markGoesBack() throws {
    let client = try TestClient(durable: true)
    client.write(set("halls/a"))
    #expect(try mark(client) > 1)
    try client.restart()
    client.setNetwork(isEnabled: false)
    client.write(set("halls/b"))
    #expect(try mark(client) == 1)
  }

  @Test("stays one when rows are repaired under a client that is connected")
  func markAfterRepair() throws {
    let client = try client(knowing: room(at: 5))
    client.setNetwork(isEnabled: true)
    client.write(set("halls/a"))
    let reserved = try mark(client)
    #expect(reserved > 2)
    try client.execute("UPDATE cache_targets SET target = x'FF'")
    _ = try client.engine.localStore.targetData(for: rooms.target)
    #expect(try mark(client) == reserved)
    client.write(set("halls/b"))
    #expect(client.sentBatches.count == 2)
    // One that cannot be read was at most one reservation ahead.
    try client.execute("UPDATE cache_sent_marks SET through = -1")
    #expect(try mark(client) > 2)
  }
}
