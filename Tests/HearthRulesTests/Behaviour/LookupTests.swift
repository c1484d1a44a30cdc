import HearthRules
import RulesSupport
import Testing

@Suite("Documents that rules look up")
struct LookupTests {
  private static func rules(_ condition: String, _ limits: RuleLimits = RuleLimits()) throws -> RuleSet {
    try RuleSet(
      RuleSources.file(
        "function d(id) { return /databases/$(database)/documents/d/$(id); } match /c/{id} { allow get: if \(condition); }"
      ),
      limits: limits)
  }

  private static func decide(_ rules: RuleSet, _ documents: [String: DocumentLookup]) -> RuleDecision {
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: .null, time: RuleSources.time, document: nil)
    return rules.evaluate(request) { documents[$0.path.last ?? ""] ?? .notRead }
  }

  private static func wanted(_ ids: String..., afterwards: Bool = false) -> [LookedUpDocument] {
    ids.map { LookedUpDocument(path: RuleSources.root + ["d", $0], isAfterwards: afterwards) }
  }

  @Test("an evaluation names the documents that it needs, and goes on when it has them")
  func pieces() throws {
    let rules = try Self.rules("exists(d('a')) && get(d(get(d('a')).data.next)).data.open == true")
    #expect(Self.decide(rules, [:]).answer == .needsDocuments(Self.wanted("a")))
    let first = ["a": DocumentLookup.found(RuleMap(["next": .string("b")]))]
    #expect(Self.decide(rules, first).answer == .needsDocuments(Self.wanted("b")))
    let open = first.merging(["b": .found(RuleMap(["open": .bool(true)]))]) { $1 }
    #expect(Self.decide(rules, open).answer == .allowed)
    #expect(Self.decide(rules, open).documents == Self.wanted("a", "b"))
    #expect(Self.decide(rules, first.merging(["b": .missing]) { $1 }).answer == .denied)
  }

  @Test("all documents that can be named at once are named at once")
  func severalAtOnce() throws {
    let rules = try Self.rules("exists(d('a')) || exists(d('b')) && exists(d('c'))")
    #expect(Self.decide(rules, [:]).answer == .needsDocuments(Self.wanted("a", "b", "c")))
  }

  @Test(
    "a document that does not matter for the answer is not needed",
    arguments: [
      ("exists(d('a')) || true", RuleDecision.Answer.allowed), ("exists(d('a')) && false", .denied),
      ("true || exists(d('a'))", .allowed), ("exists(d('a')); allow get: if true", .allowed),
    ])
  func unneeded(_ condition: String, _ answer: RuleDecision.Answer) throws {
    let decision = Self.decide(try Self.rules(condition), [:])
    if answer == .denied {
      // The answer is known, but the document was asked for on the way.
      #expect(decision.answer == .needsDocuments(Self.wanted("a")))
      #expect(Self.decide(try Self.rules(condition), ["a": .missing]).answer == .denied)
    } else {
      #expect(decision.answer == answer)
    }
  }

  @Test(
    "a decision says whether a condition looked at the time of the request",
    arguments: [
      ("request.time < timestamp.value(0)", true), ("request['time'] != null", true), ("at(request).year() > 1", true),
      ("[request][0].time != null", true), ("request.auth == null || request.time != null", false),
      ("request.auth != null && request.time != null", false), ("request.path[0] == 'databases'", false),
      ("request.method == 'get'", false), ("request.auth != null || request.time != null", true),
    ])
  func time(_ condition: String, _ usesTime: Bool) throws {
    let rules = try RuleSet(
      RuleSources.file("function at(r) { return r.time; } match /c/{id} { allow get: if \(condition); }"))
    #expect(Self.decide(rules, [:]).usesTime == usesTime)
  }

  @Test("get of a missing document fails, and exists is false")
  func missing() throws {
    for (condition, isAllowed) in [
      ("get(d('a')) == null", false), ("exists(d('a')) == false", true), ("get(d('a')).data.x == 1 || true", true),
    ] {
      #expect(Self.decide(try Self.rules(condition), ["a": .missing]).isAllowed == isAllowed, "\(condition)")
    }
  }

  @Test("the document of the request is null where it is missing, and so is one that the request deletes")
  func ofRequest() throws {
    let own = "/databases/$(database)/documents/c/x"
    for (condition, isAllowed) in [
      ("get(\(own)) == null", true), ("getAfter(\(own)) == null", true), ("get(\(own)) == resource", true),
      ("!exists(\(own))", true), ("get(\(own)) is map", false), ("get(\(own)).data == null", false),
      ("getAfter(d('gone')) == null", true), ("existsAfter(d('gone'))", false), ("get(d('gone')).data.n == 1", false),
      ("getAfter(d('a')) == null", false),
    ] {
      let documents: [String: DocumentLookup] = ["x": .missing, "a": .missing, "gone": .removed]
      #expect(Self.decide(try Self.rules(condition), documents).isAllowed == isAllowed, "\(condition)")
    }
    // The document that a query is about is not known.
    let rules = try RuleSet(
      RuleSources.file("match /c/{id} { allow list: if get(/databases/(default)/documents/c/x) == null; }"))
    let query = RuleQuery(parent: RuleSources.root, collection: "c")
    #expect(!rules.evaluate(query, auth: .null, time: RuleSources.time) { _ in .missing }.isAllowed)
  }

  @Test("ten different documents are looked up, and the same one counts once; the limit is a failure that || can save")
  func limit() throws {
    func condition(_ count: Int) -> String {
      (0..<count).map { "exists(d('\($0)')) == false" }.joined(separator: " && ")
    }
    let documents = Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0)", DocumentLookup.missing) })
    #expect(Self.decide(try Self.rules(condition(10)), documents).isAllowed)
    let refused = Self.decide(try Self.rules(condition(11)), documents)
    #expect(refused.refusals.first?.failure == .tooManyDocuments(limit: 10))
    #expect(Self.decide(try Self.rules("\(condition(11)) || true"), documents).isAllowed)
    let same = (0..<15).map { _ in "exists(d('0')) == false" }.joined(separator: " && ")
    #expect(Self.decide(try Self.rules(same), documents).isAllowed)
    var limits = RuleLimits()
    limits.documents = 20
    #expect(Self.decide(try Self.rules(condition(20), limits), documents).isAllowed)
  }

  @Test("getAfter and existsAfter ask for the state after the request")
  func afterwards() throws {
    let rules = try Self.rules("getAfter(d('a')).data.n == 2 && existsAfter(d('a'))")
    #expect(Self.decide(rules, [:]).answer == .needsDocuments(Self.wanted("a", afterwards: true)))
    #expect(Self.decide(rules, ["a": .found(RuleMap(["n": .int(2)]))]).isAllowed)
  }
}
