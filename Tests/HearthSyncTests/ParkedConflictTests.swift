import HearthModel
import Testing

@testable import HearthSync

/// Questions of conflicts while the lease goes round among users.
@Suite("Questions that outlive a turn")
struct ParkedConflictTests {
  private let cache: SharedCache
  private let a: SharedClient
  private let c: SharedClient
  private let remote = Document.found(key("rooms/a"), version: version(5), fields: EncodedFields(["n": .integer(9)]))

  init() throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), .ask(resolver: 0))])
    cache = try SharedCache()
    a = try cache.client("a", conflictRules: rules)
    c = try cache.client("c", conflictRules: rules)
    c.post(.changeUser("carol"))
    cache.deliver()
  }

  /// The first client asks about its write, and then the other user has its turn.
  private func ask() throws -> ConflictID {
    a.write(set("rooms/a"))
    try a.answerLookUp(remote)
    let question = try #require(a.questions.first)
    c.write(set("halls/c"))
    cache.wait(7)
    #expect(c.engine.isPrimary)
    try c.commit(at: 10)
    return question
  }

  @Test("a question stays open while another user has the lease, and its answer brings the turn back")
  func answered() throws {
    let question = try ask()
    cache.wait(60)
    #expect(c.engine.isPrimary, "the other outbox waits for the application, not for the lease")
    #expect(a.engine.outboxConflict != nil && a.cancelledQuestions.isEmpty)
    a.post(.conflictAnswered(question, .success(.keepMine)))
    cache.wait(3)
    #expect(a.engine.isPrimary)
    try a.answerLookUp(remote)
    #expect(a.sentBatches.count == 1 && a.questions.count == 1)
    try a.commit(at: 20)
    #expect(a.writes.values.allSatisfy { $0 == .some(nil) } && a.writes.count == 1)
  }

  @Test("a question that is still open when the turn comes back is not asked again")
  func stillOpen() throws {
    let question = try ask()
    cache.wait(150)
    #expect(a.engine.isPrimary)
    try a.answerLookUp(remote)
    #expect(a.questions == [question] && a.cancelledQuestions.isEmpty)
    a.post(.conflictAnswered(question, .success(.keepMine)))
    #expect(a.sentBatches.count == 1)
  }

  @Test("an answer does not count for a document that has changed since: the application is asked again")
  func changedSince() throws {
    let question = try ask()
    a.post(.conflictAnswered(question, .success(.keepMine)))
    cache.wait(10)
    try a.answerLookUp(.found(key("rooms/a"), version: version(30), fields: EncodedFields(["n": .integer(3)])))
    #expect(a.sentBatches.isEmpty && a.questions.count == 2)
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
        try client.answerLookUp(.found(key, version: version(5), fields: EncodedFields(["n": .integer(9)])))
      }
    }
    #expect(try cache.count("SELECT lease_number FROM cache_sharing") < 20)
    #expect(a.questions.count == 1 && c.questions.count == 1)
  }
}
