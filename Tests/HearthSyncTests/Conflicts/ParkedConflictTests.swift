import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Questions of conflicts while the lease goes round among users.
@Suite("Questions that outlive a turn")
struct ParkedConflictTests {
  private let cache: SharedCache
  private let a: SharedTestClient
  private let c: SharedTestClient

  /// The changes that others have made to a document since the first client has read it.
  enum Theirs: CaseIterable, Sendable {
    case written
    case deleted

    /// The document as a reading finds it. One that does not exist is found at the time of the reading.
    func document(at time: Int64) -> Document {
      switch self {
      case .written: found("rooms/a", 5, number(9))
      case .deleted: missing("rooms/a", time)
      }
    }
  }

  init() throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 0))])
    cache = try SharedCache()
    a = try cache.client("a", conflictRules: rules)
    c = try cache.client("c", conflictRules: rules)
    c.post(.changeUser("carol"))
    cache.deliver()
  }

  /// The first client asks about its write, and then the other user has its turn.
  private func ask(_ theirs: Theirs = .written) throws -> ConflictID {
    if theirs == .deleted {
      let listener = a.listen(rooms)
      try a.fill(2, [found("rooms/a", 3, number(1))], at: 4)
      a.post(.unlisten(listener))
    }
    a.write(set("rooms/a"))
    try find(theirs.document(at: 5), theirs)
    let question = try #require(a.questions.first)
    c.write(set("halls/c"))
    cache.wait(7)
    #expect(c.engine.isPrimary)
    try c.commit(at: 10)
    return question
  }

  /// The first client reads the backend's document: at once if it does not know the base of its write, otherwise when the write is refused.
  private func find(_ document: Document, _ theirs: Theirs) throws {
    if theirs == .deleted { try a.breakWriteStream(error(.failedPrecondition)) }
    try a.answerLookUp(document)
  }

  @Test("what another client has resolved is known to the one that made the write, by its outcome and in the list")
  func knownToOthers() throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .mergeFields(prefersRemote: false))])
    let cache = try SharedCache()
    let sender = try cache.client("a", conflictRules: rules)
    let writer = try cache.client("b", conflictRules: rules)
    #expect(sender.engine.isPrimary && !writer.engine.isPrimary)
    let identity = BatchIdentity(high: 7, low: 1)
    let id = WriteID(rawValue: 1)
    writer.post(
      .writes([
        LocalWrite(
          id: id, mutations: [set("rooms/a")], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
          identity: identity, keepsOutcome: true)
      ]))
    cache.deliver()
    try sender.answerLookUp(found("rooms/a", 5, number(9)))
    try sender.commit(at: 10)
    cache.deliver()
    let kept = try writer.store.outbox.resolvedConflicts(of: nil)
    #expect(kept.map(\.report.key) == [key("rooms/a")] && kept.map(\.id.identity) == [identity])
    #expect(kept.first?.report.fields.map(\.kept) == [.local])
    guard case .ended(.committed(_, _, let conflicts)) = try writer.store.outbox.fate(of: identity) else {
      Issue.record("the write has no outcome")
      return
    }
    #expect(conflicts == kept)
  }

  @Test(
    "a question stays open while another user has the lease, and its answer brings the turn back",
    arguments: Theirs.allCases)
  func answered(theirs: Theirs) throws {
    let question = try ask(theirs)
    cache.wait(60)
    #expect(c.engine.isPrimary, "the other outbox waits for the application, not for the lease")
    #expect(a.engine.outboxConflict != nil && a.cancelledQuestions.isEmpty)
    a.post(.conflictAnswered(question, .success(.keepLocal)))
    cache.wait(3)
    #expect(a.engine.isPrimary)
    try find(theirs.document(at: 30), theirs)
    #expect(a.sentBatches.count == 1 && a.questions.count == 1)
    try a.commit(at: 40)
    #expect(a.writes.values.allSatisfy { $0 == .some(nil) } && a.writes.count == 1)
  }

  @Test(
    "a question that is still open when the turn comes back is not asked again, whatever the number of turns",
    arguments: Theirs.allCases)
  func stillOpen(theirs: Theirs) throws {
    let question = try ask(theirs)
    for turn in 1...2 {
      cache.wait(150 * turn)
      #expect(a.engine.isPrimary)
      try find(theirs.document(at: Int64(20 * turn)), theirs)
      #expect(a.questions == [question] && a.cancelledQuestions.isEmpty)
      guard turn == 1 else { break }
      c.write(set("halls/c"))
      cache.wait(7)
      #expect(c.engine.isPrimary)
      try c.commit(at: 30)
    }
    a.post(.conflictAnswered(question, .success(.keepLocal)))
    #expect(a.sentBatches.count == 1)
  }

  @Test(
    "an answer does not count for a document that has changed since: the application is asked again",
    arguments: Theirs.allCases)
  func changedSince(theirs: Theirs) throws {
    let question = try ask(theirs)
    a.post(.conflictAnswered(question, .success(.keepLocal)))
    cache.wait(10)
    try find(found("rooms/a", 30, number(3)), theirs)
    #expect(a.sentBatches.isEmpty && a.questions.count == 2)
  }

  @Test("the cache has what was read last, also if others have made the document again in between and deleted it again")
  func latestReading() throws {
    let question = try ask(.deleted)
    c.listen(rooms)
    try c.fill(try #require(c.watched.first), [found("rooms/a", 15, number(7))], at: 15)
    a.post(.conflictAnswered(question, .success(.keepRemote)))
    cache.wait(10)
    #expect(a.engine.isPrimary)
    try find(missing("rooms/a", 30), .deleted)
    #expect(a.questions == [question] && a.writes.count == 1)
    #expect(try a.store.readDocument(key("rooms/a")).isMissing)
  }

  @Test("an open question is cancelled when its write is taken back, or the client ends")
  func cancelled() throws {
    let question = try ask()
    _ = a.request(.withdraw(1, evenIfSent: true))
    #expect(a.cancelledQuestions == [question])
    #expect(a.engine.outboxConflict == nil)
  }

  @Test("an open question is cancelled when the client ends")
  func ended() throws {
    let question = try ask()
    a.post(.shutdown)
    #expect(a.cancelledQuestions == [question])
  }

  @Test("a conflict of the former user is not kept for the new one, also if the turn with the lease is ending")
  func changedUser() throws {
    // Of a document without a rule: it is on its way while the conflict is open, and keeps the turn from ending.
    a.write(set("halls/a"))
    a.write(set("rooms/a"))
    try a.answerLookUp(found("rooms/a", 5, number(9)))
    let question = try #require(a.questions.first)
    c.write(set("halls/c"))
    cache.wait(7)
    #expect(a.engine.isPrimary && a.sentBatches.count == 1)
    a.post(.changeUser("bob"))
    #expect(a.cancelledQuestions == [question])
    #expect(a.engine.outboxConflict == nil)
    cache.wait(7)
    #expect(c.engine.isPrimary)
    #expect(a.cancelledQuestions == [question])
    #expect(a.engine.outboxConflict == nil)
  }

  @Test("a question of the former user is cancelled at once, also while the change of the user waits for the file")
  func changedUserWhileLocked() throws {
    let processes = try ConflictProcesses(.ask(resolver: 0), having: [])
    let client = processes.primary
    // It would send the outbox of the former user.
    processes.writer.post(.shutdown)
    client.write(set("rooms/a"))
    try client.answerLookUp(found("rooms/a", 5, number(9)))
    let question = try #require(client.questions.first)
    try processes.whileLocked(true) {
      client.post(.changeUser("bob"))
      #expect(!client.store.isUser("bob"))
      #expect(client.cancelledQuestions == [question])
      #expect(client.engine.outboxConflict == nil)
      // It comes too late.
      client.post(.conflictAnswered(question, .success(.keepLocal)))
    }
    processes.cache.wait(60)
    #expect(client.store.isUser("bob"))
    #expect(client.sentBatches.isEmpty && client.cancelledQuestions == [question])
    // The conflict is found again when its user has signed in again.
    client.post(.changeUser(nil))
    processes.cache.wait(10)
    try client.answerLookUp(found("rooms/a", 5, number(9)))
    #expect(client.questions.count == 2 && client.engine.outboxConflict != nil)
  }

  @Test("writes that are never resolved do not make the lease go round permanently")
  func neverResolved() throws {
    for client in [a, c] {
      client.answersTargets = true
      client.listen(collection("halls"))
    }
    a.write(set("rooms/a"))
    c.write(set("rooms/c"))
    for _ in 0..<3600 {
      cache.wait()
      for client in [a, c] where !client.lookUps.isEmpty {
        let key = client.lookUps[0].keys[0]
        try client.answerLookUp(.found(key, version: version(5), fields: EncodedFields(number(9))))
      }
    }
    #expect(try cache.count("SELECT lease_number FROM cache_sharing") < 20)
    #expect(a.questions.count == 1 && c.questions.count == 1)
  }
}
