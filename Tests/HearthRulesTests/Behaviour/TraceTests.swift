import HearthRules
import RulesSupport
import Testing

@Suite("Traces and coverage")
struct TraceTests {
  private static let source = RuleSources.file(
    "function isOwner(name) { return request.auth.uid == name; } match /c/{id} { allow get: if isOwner('bob') || 1 / 0 == 1 || id.size() == 1; }"
  )

  private static func trace(_ rules: RuleSet) throws -> RuleTrace {
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: RuleSources.auth, time: RuleSources.time, document: nil)
    return try #require(rules.evaluate(request, isTraced: true, lookUp: RuleSources.lookUp).trace)
  }

  @Test("a trace has the value of each expression that was evaluated, parts before the whole")
  func values() throws {
    let rules = try RuleSet(Self.source)
    let lines = try Self.trace(rules).entries.map { entry in
      let value =
        switch entry.value {
        case .success(.bool(let flag)): "\(flag)"
        case .success(.int(let number)): "\(number)"
        case .success(.string(let text)): text
        case .success: "…"
        case .failure(let failure): "failed: \(failure)"
        }
      return "\(rules.source.text(of: entry.range)) = \(value)"
    }
    #expect(
      lines == [
        "'bob' = bob", "request = …", "request.auth = …", "request.auth.uid = alice", "name = bob",
        "request.auth.uid == name = false", "isOwner('bob') = false", "1 = 1", "0 = 0",
        "1 / 0 = failed: an integer is divided by zero", "1 = 1", "1 / 0 == 1 = failed: an integer is divided by zero",
        "isOwner('bob') || 1 / 0 == 1 = failed: an integer is divided by zero", "id = x", "id.size() = 1", "1 = 1",
        "id.size() == 1 = true", "isOwner('bob') || 1 / 0 == 1 || id.size() == 1 = true",
      ])
  }

  @Test("coverage counts values by their place over many evaluations")
  func coverage() throws {
    let rules = try RuleSet(Self.source)
    var coverage = RuleCoverage()
    for _ in 0..<3 { coverage.add(try Self.trace(rules)) }
    // `1` stands in several places.
    let counts = Dictionary(
      coverage.counts.map { (rules.source.text(of: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    #expect(counts["isOwner('bob')"]?.isFalse == 3)
    #expect(counts["id.size() == 1"]?.isTrue == 3)
    #expect(counts["1 / 0"]?.hasFailed == 3)
    #expect(counts["id"]?.hasOtherValue == 3)
  }

  @Test("a refusal names the match, the line and the reason")
  func refusals() throws {
    let rules = try RuleSet(
      RuleSources.file(" match /c/{id} {\n  allow get: if false;\n  allow get: if id.foo;\n  allow get: if id;\n }"))
    let refusals = RuleSources.decide(rules, get: "c/x").refusals
    #expect(refusals.map(\.line) == [5, 6, 7])
    #expect(refusals.map(\.rule) == Array(repeating: "match /c/{id}", count: 3))
    #expect(
      refusals.map(\.failure) == [
        nil, .wrongType("string", expected: "map or path"), .wrongType("string", expected: "bool"),
      ])
  }

  @Test("the same request has the same decision and trace each time")
  func determinism() throws {
    let rules = try RuleSet(Self.source)
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: RuleSources.auth, time: RuleSources.time, document: nil)
    let traces = (0..<10).map { _ in
      "\(rules.evaluate(request, isTraced: true, lookUp: RuleSources.lookUp))"
    }
    #expect(Set(traces).count == 1)
  }
}
