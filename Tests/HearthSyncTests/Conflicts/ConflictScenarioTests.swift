import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Waiting writes whose documents others have changed, where there are rules for conflicts.
@Suite("Conflicts")
struct ConflictScenarioTests {
  private func client(_ policy: ConflictPolicy = .mergeFields(prefersRemote: false)) throws -> TestClient {
    try TestClient(
      durable: true, conflictRules: ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), policy)]))
  }

  private func room(_ fields: MapValue, at time: Int64) throws -> Document {
    .found(key("rooms/a"), version: version(time), fields: EncodedFields(fields))
  }

  /// Brings the document into the cache, and takes the network away.
  private func know(_ client: TestClient, _ document: Document, at time: Int64) throws {
    let listener = client.listen(Query(path: ResourcePath(["rooms"])))
    let target = try #require(client.watched.keys.first)
    try client.fill(target, [document], at: time)
    client.post(.unlisten(listener))
    client.setNetwork(isEnabled: false)
    _ = client.takeTold()
  }

  private func patch(_ name: String, _ value: Int64) throws -> Mutation {
    .patch(key("rooms/a"), MapValue([name: .integer(value)]), mask: FieldMask([try FieldPath([name])]))
  }

  private func answer(_ client: TestClient, _ documents: Document...) {
    client.post(.lookedUp(client.lookUps.removeFirst().id, .success(documents)))
  }

  @Test("a write is sent with the version that it is based on, and the next one with the result of the first")
  func preconditions() throws {
    let client = try client()
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(try patch("x", 3))
    client.write(.set(key("halls/b"), [:]))
    client.setNetwork(isEnabled: true)
    // The second one has to wait for the version that the first one makes, and the third one keeps its place.
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(5))])
    try client.commit(at: 10)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(10)), Precondition.none])
    try client.commit(at: 11)
    try client.commit(at: 12)
    #expect(client.takeTold() == ["write 2: OK", "write 3: OK", "write 4: OK"])
    #expect(client.lookUps.isEmpty)
  }

  @Test("without a rule a write is sent as it is, and not held up by another one")
  func withoutARule() throws {
    let client = try TestClient(durable: true)
    client.write(try patch("x", 2))
    client.write(try patch("x", 3))
    #expect(client.sentBatches.map(\.first?.precondition) == [.exists(true), .exists(true)])
  }

  @Test("a conflict is found by the backend, resolved, and the writes behind it follow in order")
  func resolved() throws {
    let client = try client()
    try know(client, room(["x": .integer(1), "y": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(.set(key("halls/b"), [:]))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    #expect(client.lookUps.map(\.keys) == [[key("rooms/a")]] && client.sentBatches.isEmpty)
    #expect(client.engine.outboxConflict == OutboxConflict(batchID: 1, documents: [key("rooms/a")], error: nil))
    answer(client, try room(["x": .integer(1), "y": .integer(7)], at: 8))
    #expect(client.engine.outboxConflict == nil)
    #expect(client.sentBatches.count == 2)
    #expect(client.sentBatches.first?.first?.precondition == .updateTime(version(8)))
    // The cache has what the backend has, with the write on top.
    let local = try client.engine.localStore.readDocument(key("rooms/a"))
    #expect(try local.fields.decoded() == ["x": .integer(2), "y": .integer(7)])
    try client.commit(at: 10)
    try client.commit(at: 11)
    #expect(client.takeTold() == ["write 2: OK", "write 3: OK"])
  }

  private func numberField(
    _ name: String, base: Int64, local: Int64, remote: Int64, kept: ConflictReport.Side?
  ) throws -> ConflictReport.Field {
    ConflictReport.Field(
      path: try FieldPath([name]), base: .integer(base), local: .integer(local), remote: .integer(remote), kept: kept)
  }

  @Test("a resolution says what it has dropped, at once and when the write has ended")
  func reported() throws {
    let client = try client()
    try know(client, room(["x": .integer(1), "y": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(3), "y": .integer(7)], at: 8))
    let first = ConflictReport(
      key: key("rooms/a"), ending: .merged,
      fields: [try numberField("x", base: 1, local: 2, remote: 3, kept: .local)])
    #expect(client.resolvedConflicts == [first])
    // Another user has changed it a second time.
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(4), "y": .integer(7)], at: 9))
    let second = ConflictReport(
      key: key("rooms/a"), ending: .merged,
      fields: [try numberField("x", base: 3, local: 2, remote: 4, kept: .local)])
    #expect(client.resolvedConflicts == [first, second])
    try client.commit(at: 10)
    let kept = try client.engine.localStore.outbox.resolvedConflicts(of: nil)
    #expect(kept.map(\.report) == [first, second] && kept.map(\.id.number) == [0, 1])
    #expect(kept.map(\.batchID) == [1, 1])
    client.request(.discardResolvedConflicts([try #require(kept.first).id]))
    #expect(try client.engine.localStore.outbox.resolvedConflicts(of: nil).map(\.report) == [second])
    client.request(.discardResolvedConflicts(nil))
    #expect(try client.engine.localStore.outbox.resolvedConflicts(of: nil).isEmpty)
  }

  @Test("an answer of the application is reported by what it has kept")
  func reportedAnswers() throws {
    let answers: [(ConflictAnswer, ConflictReport.Ending, ConflictReport.Side?)] = [
      (.keepLocal, .local, .local), (.keepRemote, .remote, .remote),
      (.write([.set(key("rooms/a"), ["x": .integer(23)])]), .merged, nil),
    ]
    for (given, ending, kept) in answers {
      let client = try client(.ask(resolver: 0))
      try know(client, room(["x": .integer(1)], at: 5), at: 5)
      client.write(try patch("x", 2))
      client.setNetwork(isEnabled: true)
      try client.refuseWrite(.failedPrecondition)
      answer(client, try room(["x": .integer(3)], at: 8))
      #expect(client.resolvedConflicts.isEmpty)
      client.post(.conflictAnswered(client.questions.removeFirst().id, .success(given)))
      let fields = [try numberField("x", base: 1, local: 2, remote: 3, kept: kept)]
      #expect(client.resolvedConflicts == [ConflictReport(key: key("rooms/a"), ending: ending, fields: fields)])
    }
  }

  @Test("a write that the backend has, or whose document others have not changed, is no conflict that is told")
  func nothingToTell() throws {
    let client = try client()
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2)], at: 8))
    #expect(client.takeTold() == ["write 2: OK"])
    client.setNetwork(isEnabled: false)
    client.write(try patch("x", 3))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(2)], at: 9))
    try client.commit(at: 10)
    #expect(client.resolvedConflicts.isEmpty)
    #expect(try client.engine.localStore.outbox.resolvedConflicts(of: nil).isEmpty)
  }

  @Test("a refusal that comes from something else is a refusal")
  func otherRefusal() throws {
    let client = try client()
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    var attempts = 0
    while !client.sentBatches.isEmpty {
      attempts += 1
      try client.refuseWrite(.failedPrecondition)
      // The document may have been another one in between.
      answer(client, try room(["x": .integer(1)], at: 5))
    }
    #expect(attempts == 8)
    #expect(client.takeTold() == ["write 2: FAILED_PRECONDITION"])
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).count == 1)
  }

  @Test("a document that the cache does not know is compared before it is written")
  func unknownBase() throws {
    let client = try client()
    client.write(.set(key("rooms/a"), ["x": .integer(2)]))
    #expect(client.sentBatches.isEmpty && client.lookUps.count == 1)
    answer(client, .missing(key("rooms/a"), version: version(7)))
    #expect(client.sentBatches.map(\.first?.precondition) == [.exists(false)])
  }

  @Test("a deletion or an update of a document that the cache does not know is based on the backend's document")
  func adoptedBase() throws {
    let client = try client()
    client.write(.delete(key("rooms/a")))
    client.write(try patch("x", 2))
    answer(client, try room(["x": .integer(1)], at: 7))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(7))])
    try client.commit(at: 9)
    #expect(client.takeTold() == ["write 1: OK"])
  }

  @Test("a later write that is cancelled leaves the base of an earlier one")
  func laterWriteCancelled() throws {
    let client = try client()
    try know(client, room(["x": .integer(1), "y": .integer(0)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(try patch("z", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(1), "y": .integer(5)], at: 8))
    client.setNetwork(isEnabled: false)
    client.request(.withdraw(2, evenIfSent: true))
    client.setNetwork(isEnabled: true)
    while !client.lookUps.isEmpty { answer(client, try room(["x": .integer(1), "y": .integer(5)], at: 8)) }
    #expect(client.sentBatches.count == 1)
    try client.commit(at: 10)
    let stored = try client.engine.localStore.readDocument(key("rooms/a"))
    #expect(try stored.fields.decoded()["x"] == .integer(2))
  }

  /// Writes the document as the user sees it, with one more field.
  private func writeWhatIsSeen(_ client: TestClient) throws {
    let seen = try client.engine.localStore.readDocument(key("rooms/a")).fields.decoded()
    #expect(seen == ["x": .integer(2), "y": .integer(5)])
    client.write(.set(key("rooms/a"), ["x": .integer(2), "y": .integer(5), "z": .integer(3)]))
  }

  /// Expects that the write that comes next adds that field to what others have made of the document, and changes nothing else.
  private func expectOwnChangeOnly(_ client: TestClient, at version: Int64) throws {
    let remote = try room(["x": .integer(2), "y": .integer(6)], at: version)
    answer(client, remote)
    let document = try DocumentEdit(try #require(client.sentBatches.first), on: remote).document(at: .epoch)
    #expect(try document.fields.decoded() == ["x": .integer(2), "y": .integer(6), "z": .integer(3)])
  }

  @Test("a write that is made while a conflict is open is compared with what its author saw")
  func rewrittenDuringConflict() throws {
    let client = try client()
    try know(client, room(["x": .integer(1), "y": .integer(0)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(try patch("z", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(1), "y": .integer(5)], at: 8))
    try client.refuseWrite(.failedPrecondition)
    client.request(.withdraw(2, evenIfSent: true))
    try writeWhatIsSeen(client)
    answer(client, try room(["x": .integer(1), "y": .integer(6)], at: 12))
    try client.commit(at: 14)
    try expectOwnChangeOnly(client, at: 14)
  }

  @Test("a write behind another one is compared with what its author saw, also if others have changed that")
  func changedBetweenWrites() throws {
    let client = try client()
    client.listen(Query(path: ResourcePath(["rooms"])))
    try client.fill(2, [room(["x": .integer(1), "y": .integer(0)], at: 5)], at: 5)
    client.write(try patch("x", 2))
    try client.put(room(["x": .integer(1), "y": .integer(5)], at: 8), into: 2)
    try client.snapshot(8)
    try writeWhatIsSeen(client)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(1), "y": .integer(6)], at: 9))
    try client.commit(at: 11)
    try expectOwnChangeOnly(client, at: 11)
  }

  @Test("a write that is made after the resolution of an earlier one is based on the outcome of that")
  func writtenAfterResolution() throws {
    let client = try client()
    try know(client, room(["x": .integer(1), "y": .integer(0)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(1), "y": .integer(5)], at: 8))
    client.write(.set(key("rooms/a"), ["x": .integer(2), "y": .integer(5), "z": .integer(3)]))
    try client.commit(at: 10)
    #expect(client.lookUps.isEmpty)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(10))])
  }

  @Test("a write under a new rule behind one without is compared with what that one has made")
  func ruleAddedWhileWritesWait() throws {
    let client = try TestClient(durable: true)
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.conflictRules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 0))])
    try client.restart()
    client.setNetwork(isEnabled: false)
    client.write(.set(key("rooms/a"), ["x": .integer(3)]))
    client.setNetwork(isEnabled: true)
    // The first one was written without a rule.
    #expect(client.sentBatches.map(\.first?.precondition) == [.exists(true)])
    try client.commit(at: 10)
    // The document's state after it is not known, so the second one is compared.
    answer(client, try room(["x": .integer(2), "y": .integer(9)], at: 10))
    #expect(try client.questions.first?.conflict.remote.fields.decoded() == ["x": .integer(2), "y": .integer(9)])
    client.post(.conflictAnswered(client.questions.removeFirst().id, .success(.keepLocal)))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(10))])
  }

  @Test("a rule that was away for a while does not compare with what was there before")
  func ruleRemovedAndAdded() throws {
    let client = try client()
    let rules = client.conflictRules
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.conflictRules = ConflictRules()
    try client.restart()
    client.write(try patch("x", 3))
    try client.commit(at: 10)
    try client.commit(at: 11)
    client.conflictRules = rules
    try client.restart()
    client.setNetwork(isEnabled: false)
    client.write(try patch("x", 4))
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(11))] && client.lookUps.isEmpty)
  }

  @Test("writes before the one in conflict go on when they were taken off their way")
  func earlierWritesGoOn() throws {
    let client = try client(.ask(resolver: 0))
    client.setNetwork(isEnabled: false)
    client.write(.set(key("halls/b"), [:]))
    client.write(.set(key("rooms/a"), ["x": .integer(2)]))
    client.setNetwork(isEnabled: true)
    answer(client, try room(["x": .integer(9)], at: 8))
    let question = try #require(client.questions.first)
    client.setNetwork(isEnabled: false)
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.map(\.first?.key) == [key("halls/b")])
    try client.commit(at: 10)
    #expect(client.takeTold().contains("write 1: OK"))
    #expect(client.questions.map(\.id) == [question.id])
    client.post(.conflictAnswered(question.id, .success(.keepLocal)))
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(8))])
  }

  @Test("a question is withdrawn when its write is cancelled, and when another user signs in")
  func questionsAreWithdrawn() throws {
    let client = try client(.ask(resolver: 0))
    client.write(.set(key("rooms/a"), ["x": .integer(2)]))
    answer(client, try room(["x": .integer(9)], at: 8))
    #expect(client.questions.count == 1)
    client.changeUser("anna")
    #expect(client.questions.isEmpty)
    client.changeUser(nil)
    answer(client, try room(["x": .integer(9)], at: 8))
    #expect(client.questions.count == 1)
    client.request(.withdraw(1, evenIfSent: true))
    #expect(client.questions.isEmpty)
  }

  @Test("documents that cannot be read at present are read again; such that may not be read twice end the write")
  func failingLookUps() throws {
    let client = try client()
    client.write(.set(key("rooms/a"), ["x": .integer(2)]))
    client.post(.lookedUp(client.lookUps.removeFirst().id, .failure(StatusError(code: .unavailable, message: "no"))))
    try client.fire(.conflictRetry)
    #expect(client.lookUps.count == 1)
    // Nothing about the documents.
    client.post(.lookedUp(client.lookUps.removeFirst().id, .failure(StatusError(code: .notFound, message: "no"))))
    #expect(client.takeTold() == [] && client.engine.outboxConflict != nil)
    client.post(.connectivityChanged)
    #expect(client.lookUps.count == 1)
    let denied = LookUpOutcome.failure(StatusError(code: .permissionDenied, message: "no"))
    client.post(.lookedUp(client.lookUps.removeFirst().id, denied))
    #expect(client.takeTold() == [] && client.engine.outboxConflict != nil)
    try client.fire(.conflictRetry)
    client.post(.lookedUp(client.lookUps.removeFirst().id, denied))
    #expect(client.takeTold() == ["write 1: PERMISSION_DENIED"])
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).count == 1)
    #expect(client.engine.outboxConflict == nil)
  }

  @Test("the application is asked with base, local and remote, and its answer is written")
  func asked() throws {
    let client = try client(.ask(resolver: 3))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    let (id, conflict) = try #require(client.questions.first)
    #expect(conflict.resolver == 3 && conflict.batchID == 1)
    #expect(try conflict.base?.fields.decoded() == ["x": .integer(1)])
    #expect(try conflict.local.fields.decoded() == ["x": .integer(2)])
    #expect(try conflict.remote.fields.decoded() == ["x": .integer(9)])
    client.post(.conflictAnswered(id, .success(.write([.set(key("rooms/a"), ["x": .integer(29)])]))))
    #expect(client.sentBatches.first?.first?.precondition == .updateTime(version(8)))
    // An answer counts once.
    client.post(.conflictAnswered(id, .success(.keepRemote)))
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write 2: OK"])
  }

  @Test("their version can be taken: the write ends with aborted, and the next one is compared with it")
  func takesTheirs() throws {
    let client = try client(.ask(resolver: 0))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(try patch("y", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    client.post(.conflictAnswered(client.questions.removeFirst().id, .success(.keepRemote)))
    #expect(client.takeTold() == ["write 2: ABORTED"])
    // Its base is a document with x = 2, which never existed.
    answer(client, try room(["x": .integer(9)], at: 8))
    #expect(try client.questions.first?.conflict.base?.fields.decoded() == ["x": .integer(2)])
    client.post(.conflictAnswered(client.questions.removeFirst().id, .success(.keepLocal)))
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write 3: OK"])
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).isEmpty)
  }

  @Test(
    "an answer that fails or writes another document leaves everything as it is, and the question is asked again",
    arguments: [
      Result<ConflictAnswer, StatusError>.failure(StatusError(code: .unknown, message: "no idea")),
      .success(.write([.set(key("rooms/b"), [:])])), .success(.write([])),
    ])
  func badAnswers(_ bad: Result<ConflictAnswer, StatusError>) throws {
    let client = try client(.ask(resolver: 0))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    client.post(.conflictAnswered(client.questions.removeFirst().id, bad))
    let error = try #require(client.engine.outboxConflict?.error)
    #expect(error.message.contains("rooms/a"))
    #expect(try client.engine.localStore.pendingBatches().map(\.mutations) == [[try patch("x", 2)]])
    #expect(client.takeTold() == [] && client.sentBatches.isEmpty)
    client.request(.retryNow)
    answer(client, try room(["x": .integer(9)], at: 8))
    client.post(.conflictAnswered(client.questions.removeFirst().id, .success(.keepLocal)))
    try client.commit(at: 10)
    #expect(client.takeTold().contains("write 2: OK"))
  }

  @Test("a write in conflict can be cancelled, and the outbox goes on")
  func cancelled() throws {
    let client = try client(.ask(resolver: 0))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.write(.set(key("halls/b"), [:]))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    let question = try #require(client.questions.first)
    client.request(.withdraw(1, evenIfSent: true))
    #expect(client.engine.outboxConflict == nil && client.sentBatches.count == 1)
    client.post(.conflictAnswered(question.id, .success(.keepLocal)))
    #expect(client.sentBatches.count == 1)
  }

  @Test("after a restart the conflict is found and the question asked again")
  func restarted() throws {
    let client = try client(.ask(resolver: 0))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    let old = client.questions.removeFirst()
    try client.restart()
    #expect(client.sentBatches.map(\.first?.precondition) == [.updateTime(version(5))])
    client.post(.conflictAnswered(old.id, .success(.keepRemote)))
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    #expect(try client.questions.first?.conflict.base?.fields.decoded() == ["x": .integer(1)])
  }

  @Test("a resolution that cannot be stored is looked for again")
  func storageFailure() throws {
    let client = try client()
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    client.failing = ["Resolve conflict"]
    answer(client, try room(["x": .integer(1), "y": .integer(1)], at: 8))
    #expect(client.sentBatches.isEmpty)
    client.failing = []
    if client.lookUps.isEmpty { try client.fire(.asyncQueueRetry) }
    answer(client, try room(["x": .integer(1), "y": .integer(1)], at: 8))
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write 2: OK"])
  }

  @Test("a change of the user leaves the conflict to the user whose it is")
  func userChange() throws {
    let client = try client(.ask(resolver: 0))
    try know(client, room(["x": .integer(1)], at: 5), at: 5)
    client.write(try patch("x", 2))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["x": .integer(9)], at: 8))
    let question = try #require(client.questions.first)
    client.changeUser("anna")
    client.write(.set(key("halls/b"), [:]))
    #expect(client.sentBatches.count == 1 && client.questions.isEmpty)
    client.post(.conflictAnswered(question.id, .success(.keepRemote)))
    #expect(try client.engine.localStore.pendingBatches(of: .user(nil)).map(\.mutations) == [[try patch("x", 2)]])
  }

  @Test("increments behind a resolved write start from what it has made")
  func increments() throws {
    let client = try client()
    try know(client, room(["n": .integer(1)], at: 5), at: 5)
    client.write(.set(key("rooms/a"), ["n": .integer(10)]))
    let increment = FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(1)))
    client.write(.patch(key("rooms/a"), [:], mask: .empty, transforms: [increment]))
    client.setNetwork(isEnabled: true)
    try client.refuseWrite(.failedPrecondition)
    answer(client, try room(["n": .integer(1), "z": .integer(1)], at: 8))
    let local = try client.engine.localStore.readDocument(key("rooms/a"))
    #expect(try local.fields.decoded() == ["n": .integer(11), "z": .integer(1)])
    try client.commit(at: 10)
    // The document has z now, so that the second one is compared as well.
    answer(client, try room(["n": .integer(10), "z": .integer(1)], at: 10))
    try client.commit(at: 11, transformResults: [[.integer(11)]])
    #expect(try client.engine.localStore.readDocument(key("rooms/a")).fields.decoded()["n"] == .integer(11))
  }
}
