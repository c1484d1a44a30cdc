import HearthModel
import HearthStore
import Testing

@testable import HearthCache
@testable import HearthSync

/// The steps of a conflict whose rule asks the application, one event after the other.
@Suite("Steps of a conflict")
struct ConflictsTests {
  private var conflicts: Conflicts

  init() {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 1))])
    conflicts = Conflicts(
      configuration: SyncConfiguration(conflictRules: rules, jitter: { 0 }),
      databaseID: DatabaseID(projectID: "p"))
  }

  /// - Parameter other: The path of a document without a rule that is written in the same batch.
  private func conflict(
    _ batchID: BatchID = 1, of owner: String? = nil, mayBeCommitted: Bool = false, with other: String? = nil
  ) -> OpenConflict {
    var mutations = [Mutation.set(key("rooms/a"), ["x": .integer(2)])]
    if let other { mutations.append(.set(key(other), [:])) }
    var batch = MutationBatch(batchID: batchID, localWriteTime: .epoch, mutations: mutations)
    batch.guards = [key("rooms/a"): .updateTime(version(5))]
    let base = BaseDocument(found("rooms/a", 5, ["x": .integer(1)]))
    return OpenConflict(
      batch, owner: owner, bases: LocalStore.BatchBases(bases: [key("rooms/a"): base]), mayBeCommitted: mayBeCommitted,
      stage: .pausing)
  }

  /// As another client has written the document since.
  private var remote: Document { found("rooms/a", 9, ["x": .integer(3)]) }

  private func names(_ actions: [Conflicts.Action]) -> [String] {
    actions.compactMap { action in
      switch action {
      case .emit(.lookUp(let id, let keys)): "look up \(id.rawValue): \(keys.map(\.canonicalString))"
      case .emit(.askResolver(let id, _)): "ask \(id.rawValue)"
      case .emit(.cancelQuestion(let id)): "cancel \(id.rawValue)"
      case .emit(.startTimer(.conflictRetry, _)): "pause"
      case .emit(.log): nil
      case .emit(let action): "\(action)"
      case .outboxChanges: "change"
      case .store(let end): "store \(end.batch.batchID): \(end.error.map { "\($0.code)" } ?? "OK")"
      case .settle(let batchID): "settle \(batchID)"
      case .complete(let end): "complete \(end.batch.batchID)"
      case .show(_, let isReversal): isReversal ? "show without the write" : "show"
      case .rest: "rest"
      case .sendOn: "send on"
      case .forgetFutileTurns: "ask for a turn"
      }
    }
  }

  private mutating func compare(_ conflict: OpenConflict) -> [String] {
    names(conflicts.compare(conflict, now: .zero))
  }

  private mutating func lookedUp(_ id: Int, _ result: LookUpOutcome) -> [String] {
    defer { conflicts.assertInvariants() }
    return names(conflicts.lookedUp(LookUpID(rawValue: id), result, now: .zero))
  }

  private mutating func answered(_ id: Int, _ result: Result<ConflictAnswer, StatusError>) -> [String] {
    names(conflicts.answered(ConflictID(rawValue: id), result))
  }

  /// Leads to the question 2.
  private mutating func ask() {
    #expect(compare(conflict()) == ["change", "look up 1: [\"rooms/a\"]"])
    #expect(!conflicts.waitForApplication)
    #expect(lookedUp(1, .success([remote])) == ["change", "ask 2"])
    #expect(conflicts.waitForApplication)
  }

  @Test("the documents are read, the application is asked, and its answer is stored")
  mutating func answer() {
    ask()
    #expect(lookedUp(1, .success([remote])) == [])
    #expect(answered(3, .success(.keepLocal)) == [])
    #expect(answered(2, .success(.keepLocal)) == ["store 1: OK"])
    #expect(conflicts.open == nil && conflicts.state == nil)
    #expect(answered(2, .success(.keepLocal)) == [])
  }

  @Test("a resolution that is too large to be sent ends the write, and says so")
  mutating func tooLarge() {
    ask()
    let half = Value.string(String(repeating: "x", count: MutationBatch.maximumBytes / 2))
    let mutations = ["rooms/a", "rooms/b"].map { Mutation.set(key($0), ["x": half]) }
    let actions = conflicts.answered(ConflictID(rawValue: 2), .success(.write(mutations)))
    #expect(names(actions) == ["store 1: \(StatusCode.invalidArgument)"])
    guard case .store(let end)? = actions.last, case .rejected(let error) = end.end else {
      Issue.record("\(actions)")
      return
    }
    #expect(error.message.contains("a batch may have \(MutationBatch.maximumBytes)"))
    #expect(conflicts.open == nil)
  }

  @Test("a document that has not changed needs no answer")
  mutating func unchanged() {
    _ = compare(conflict())
    #expect(lookedUp(1, .success([found("rooms/a", 5, ["x": .integer(1)])])) == ["store 1: OK"])
  }

  @Test("an answer that fails leaves the conflict open until another attempt is wanted")
  mutating func failedAnswer() {
    ask()
    let error = StatusError(code: .internal, message: "no idea")
    #expect(answered(2, .failure(error)) == ["cancel 2", "change"])
    #expect(conflicts.waitForApplication && conflicts.state?.error?.code == .internal)
    #expect(names(conflicts.timerFired()) == [])
    #expect(names(conflicts.tryAgain()) == ["change"])
    #expect(conflicts.open == nil)
  }

  @Test("a document that this release cannot read ends the write without a pause")
  mutating func unreadable() {
    _ = compare(conflict())
    let error = StatusError(code: .internal, message: "no type")
    #expect(lookedUp(1, .unreadable(error)) == ["store 1: \(error.code)"])
  }

  @Test(
    "documents that cannot be read are read again after a pause; twice without permission in succession the write ends")
  mutating func failedReading() {
    let gone = StatusError(code: .unavailable, message: "gone")
    let denied = StatusError(code: .permissionDenied, message: "not yours")
    _ = compare(conflict())
    #expect(lookedUp(1, .failure(gone)) == ["pause"])
    #expect(names(conflicts.timerFired()) == ["change", "send on"])
    #expect(names(conflicts.timerFired()) == [])
    // The error in between says nothing, so that two denials around it are not two in succession.
    for (number, error) in [(2, denied), (3, gone), (4, denied)] {
      _ = compare(conflict())
      #expect(lookedUp(number, .failure(error)) == ["pause"])
      #expect(names(conflicts.timerFired()) == ["change", "send on"])
    }
    _ = compare(conflict())
    #expect(lookedUp(5, .failure(denied)) == ["store 1: \(denied.code)"])
  }

  @Test("a denial of one write does not count for another one, nor one before documents were read")
  mutating func unrelatedDenials() {
    let denied = StatusError(code: .permissionDenied, message: "not yours")
    _ = compare(conflict())
    #expect(lookedUp(1, .failure(denied)) == ["pause"])
    _ = compare(conflict(2))
    #expect(lookedUp(2, .failure(denied)) == ["pause"])
    _ = compare(conflict(2))
    #expect(lookedUp(3, .success([found("rooms/a", 5, ["x": .integer(1)])])) == ["store 2: OK"])
    _ = compare(conflict(2))
    #expect(lookedUp(4, .failure(denied)) == ["pause"])
  }

  @Test(
    "all documents of a batch are read again after a denial; only after another one those without a rule are left out")
  mutating func partlyDenied() {
    let denied = StatusError(code: .permissionDenied, message: "not yours")
    let both = conflict(mayBeCommitted: true, with: "halls/b")
    #expect(compare(both) == ["change", "look up 1: [\"halls/b\", \"rooms/a\"]"])
    #expect(lookedUp(1, .failure(denied)) == ["pause"])
    #expect(names(conflicts.timerFired()) == ["change", "send on"])
    #expect(compare(both) == ["change", "look up 2: [\"halls/b\", \"rooms/a\"]"])
    #expect(lookedUp(2, .failure(denied)) == ["change", "look up 3: [\"rooms/a\"]"])
    #expect(lookedUp(3, .success([remote])) == ["change", "ask 4"])
  }

  @Test("a refusal that no document explains is repeated some times, and ends the write then")
  mutating func unexplained() throws {
    let refusal = StatusError(code: .failedPrecondition, message: "other version")
    let known = found("rooms/a", 5, ["x": .integer(1)])
    for round in 1...8 {
      let batch = conflict().batch
      #expect(conflicts.takeRefusal(of: batch, refusal) && conflicts.isRefused(1))
      _ = compare(conflict())
      #expect(
        lookedUp(round, .success([known])) == ["store 1: \(round < 8 ? "OK" : "\(refusal.code)")"])
      conflicts.stored(1)
      #expect(!conflicts.isRefused(1))
    }
  }

  @Test("the end is stored once, and the outbox rests if it cannot be")
  mutating func storing() throws {
    let cache = try PartCache()
    let batches = try cache.write(1...2)
    let refusal = StatusError(code: .failedPrecondition, message: "other version")
    let end = SettledConflict(batch: batches[0], owner: nil, end: .rejected(refusal))
    cache.fail(with: StoreError(kind: .io, message: "made to fail"))
    #expect(names(conflicts.store(end, at: .epoch, in: cache.store)) == ["rest"])
    cache.fail(with: nil)
    #expect(
      names(conflicts.store(end, at: .epoch, in: cache.store))
        == ["settle 1", "complete 1", "change", "show without the write", "send on"])
    #expect(names(conflicts.store(end, at: .epoch, in: cache.store)) == ["send on"])
  }

  @Test("only some errors of a batch with preconditions are refusals because of its base")
  mutating func refusals() {
    var batch = conflict().batch
    let denied = StatusError(code: .permissionDenied, message: "not yours")
    let refusal = StatusError(code: .alreadyExists, message: "there")
    let isTaken = [conflicts.takeRefusal(of: batch, denied), conflicts.takeRefusal(of: batch, refusal)]
    batch.guards = nil
    #expect(isTaken == [false, true] && !conflicts.takeRefusal(of: batch, refusal))
  }

  @Test("while another client sends the outbox the question stays, and an answer asks for a turn with the lease")
  mutating func parked() {
    ask()
    #expect(names(conflicts.park()) == ["change"])
    #expect(conflicts.open == nil && conflicts.state != nil)
    #expect(answered(2, .success(.keepRemote)) == ["ask for a turn"])
    // The same conflict is found in the next turn.
    _ = compare(conflict())
    #expect(lookedUp(3, .success([remote])) == ["change", "store 1: \(StatusCode.aborted)"])
  }

  @Test("a parked question is dropped when the documents are others by then")
  mutating func outdatedQuestion() {
    ask()
    _ = conflicts.park()
    _ = compare(conflict())
    let newer = found("rooms/a", 12, ["x": .integer(4)])
    #expect(lookedUp(3, .success([newer])) == ["cancel 2", "change", "change", "ask 4"])
  }

  @Test("a batch that leaves the outbox, another user and the end of the client take the question back")
  mutating func endings() {
    ask()
    #expect(names(conflicts.batchLeaves(2)) == [])
    #expect(names(conflicts.serve(nil)) == [])
    #expect(names(conflicts.batchLeaves(1)) == ["cancel 2", "change"])
    _ = compare(conflict(of: "a"))
    #expect(names(conflicts.serve("b")) == ["change"])
    _ = compare(conflict())
    _ = lookedUp(4, .success([remote]))
    #expect(names(conflicts.stop()).prefix(2) == ["cancel 5", "change"])
  }
}
