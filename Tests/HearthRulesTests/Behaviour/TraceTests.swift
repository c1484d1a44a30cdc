import HearthRules
import RulesSupport
import Testing

@Suite("Traces and explanations of decisions")
struct TraceTests {
  private static let source = RuleSources.file(
    "function isOwner(name) { return request.auth.uid == name; } match /c/{id} { allow get: if isOwner('bob') || 1 / 0 == 1 || id.size() == 1; }"
  )

  private static func decide(_ rules: RuleSet) -> RuleDecision {
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: RuleSources.auth, time: RuleSources.time, document: nil)
    return rules.evaluate(request, isTraced: true, lookUp: RuleSources.lookUp)
  }

  /// The explanation of the first rule: a line for each expression, indented by its level.
  private static func lines(_ rules: RuleSet) throws -> [String] {
    let rule = try #require(decide(rules).trace?.rules.first)
    return rules.explain(rule).map { line in
      let value =
        switch line.outcome {
        case .success(let value): value.text(limit: 20)
        case .failure(let failure): "failed: \(failure)"
        case nil: "not evaluated"
        }
      return String(repeating: "  ", count: line.level) + "\(rules.source.text(of: line.range)) = \(value)"
    }
  }

  @Test("an explanation has the whole before its parts, a call before its function, and no literals")
  func values() throws {
    #expect(
      try Self.lines(try RuleSet(Self.source)) == [
        "isOwner('bob') || 1 / 0 == 1 || id.size() == 1 = true",
        "  isOwner('bob') || 1 / 0 == 1 = failed: an integer is divided by zero", "    isOwner('bob') = false",
        "      request.auth.uid == name = false", "        request.auth.uid = 'alice'",
        "          request.auth = {'token': {'aud': 'p…", "            request = {'auth': {'token': {…",
        "        name = 'bob'", "    1 / 0 == 1 = failed: an integer is divided by zero",
        "      1 / 0 = failed: an integer is divided by zero", "  id.size() == 1 = true", "    id.size() = 1",
        "      id = 'x'",
      ])
  }

  @Test("an explanation names parts that were not evaluated, with the parentheses that belong to an expression")
  func unreached() throws {
    let rules = try RuleSet(
      RuleSources.file(
        "function f(a) { let b = (a); return b ? id(a) : (a || b); } function id(x) { return x; } match /c/{i} { allow get: if (1 == 2) && i == 'x' || f(1 > 2) || !(i == 'x'); }"
      ))
    #expect(
      try Self.lines(rules) == [
        "(1 == 2) && i == 'x' || f(1 > 2) || !(i == 'x') = false", "  (1 == 2) && i == 'x' || f(1 > 2) = false",
        "    (1 == 2) && i == 'x' = false", "      (1 == 2) = false", "      i == 'x' = not evaluated",
        "    f(1 > 2) = false", "      1 > 2 = false", "      (a) = false", "      b ? id(a) : (a || b) = false",
        "        b = false", "        id(a) = not evaluated", "        (a || b) = false", "          a = false",
        "          b = false", "  !(i == 'x') = false", "    (i == 'x') = true", "      i = 'x'",
      ])
  }

  @Test("bounds of a slice that do not stand in the file have no value of their own")
  func slices() throws {
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if [1, 2][:1] == [1]; }"))
    #expect(
      try Self.lines(rules) == [
        "[1, 2][:1] == [1] = true", "  [1, 2][:1] = [1]", "    [1, 2] = [1, 2]", "  [1] = [1]",
      ])
  }

  @Test("the cause of a failure is the innermost expression that failed")
  func cause() throws {
    let rules = try RuleSet(
      RuleSources.file(
        "function f() { return request.auth.token.none.more; }\n match /c/{id} { allow get: if f() == 1; allow get: if id == 'y'; }"
      ))
    let looked = try #require(Self.decide(rules).trace?.rules)
    #expect(
      looked.map { rules.cause(of: $0).map { rules.source.text(of: $0) } } == ["request.auth.token.none", nil])
  }

  @Test("each disjunct of a query has the rules that were evaluated for it")
  func disjuncts() throws {
    let rules = try RuleSet(
      RuleSources.file("match /q/{id} { allow list: if resource.data.a == 1; allow list: if resource.data.a == 2; }"))
    let query = RuleQuery(
      parent: RuleSources.root, collection: "q", filter: .field(["a"], .in, .list([.int(1), .int(2)])))
    let decision = rules.evaluate(
      query, auth: .null, time: RuleSources.time, isTraced: true, lookUp: RuleSources.lookUp)
    #expect(decision.isAllowed)
    let texts = decision.trace?.rules.map { rules.source.text(of: $0.range).suffix(6) + $0.outcome.text }
    #expect(texts == ["a == 1true", "a == 1false", "a == 2true"])
  }

  @Test("a refusal names the match, the line and the reason")
  func refusals() throws {
    let rules = try RuleSet(
      RuleSources.file(" match /c/{id} {\n  allow get: if false;\n  allow get: if id.foo;\n  allow get: if id;\n }"))
    let decision = RuleSources.decide(rules, get: "c/x")
    let refusals = decision.refusals
    #expect(refusals.map(\.line) == [5, 6, 7])
    #expect(refusals.map(\.rule) == Array(repeating: "match /c/{id}", count: 3))
    #expect(
      refusals.map(\.failure) == [
        nil, .noMembers("foo", type: "string"), .wrongType("string", expected: "bool"),
      ])
    #expect(decision.trace == nil)
  }

  @Test(
    "the reason of a failure names the value and the rule",
    arguments: [
      ("resource.data.a == 1", "null has no property 'data'"), ("resource.size() == 1", "null has no function 'size'"),
      ("resource[0] == 1", "null has no elements"), ("int('a') == 1", "'a' cannot be converted to int"),
      ("[1][1] == 1", "index 1 is out of bounds: there are 1 elements"),
      ("path('') == null", "invalid path: it is empty"),
      ("path('a/{') == null", "invalid path 'a/{': '{' is not a segment (a name, {name} or {name=**})"),
      (
        "timestamp.value('x') == null",
        "invalid timestamp 'x': a time of RFC 3339 is expected, such as 2020-01-01T00:00:00Z"
      ),
      (
        "duration.value(1, 'y') == null", "invalid unit of a duration 'y': the units are w, d, h, m, s, ms and ns"
      ),
      ("timestamp.date(2020, 2, 30) == null", "invalid date 2020-2-30: the years 1 to 9999 have no such day"),
      (
        "get(/a/b).data.x == 1",
        "'/a/b' is not the path of a document of this database (/databases/{database}/documents/{collection}/{id})"
      ),
    ])
  func reasons(_ expression: String, _ reason: String) throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(expression); }"))
    let failures = RuleSources.decide(rules, get: "c/x").refusals.map { $0.failure.map { "\($0)" } }
    #expect(failures == [reason])
  }

  @Test("the same request has the same decision and trace each time")
  func determinism() throws {
    let rules = try RuleSet(Self.source)
    let lines = try (0..<10).map { _ in try Self.lines(rules) }
    #expect(Set(lines).count == 1)
  }

  @Test(
    "values are shown in the form of the language, and shortened",
    arguments: [
      ("null", "null"), ("1.5", "1.5"), ("'it\\'s'", "'it\\'s'"), ("['a', {'b': []}]", "['a', {'b': []}]"),
      ("b'\\x00\\xff'", "bytes 00FF"), ("[1, 1.0, 2].toSet()", "set [1, 2]"), ("/a/$(id)", "/a/x"),
      ("duration.value(90, 's') + duration.time(0, 0, 0, 5)", "duration 90.000000005s"),
      ("duration.value(-500, 'ms')", "duration -0.5s"),
      ("timestamp.date(2020, 2, 3)", "timestamp 2020-02-03T00:00:00Z"),
      ("timestamp.value(1)", "timestamp 1970-01-01T00:00:00.001Z"), ("latlng.value(1, 2.5)", "latlng(1.0, 2.5)"),
      ("{'a': 1, 'b': 2}.diff({'b': 3, 'c': 4})", "diff {'a': added, 'b': changed, 'c': removed}"),
      ("[1000000, 2000000, 3000000, 4000000, 5000000, 6000000, 7]", "[1000000, 2000000, 3000000, 4000000, 500…"),
    ])
  func texts(expression: String, text: String) throws {
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if \(expression); }"))
    let outcome = try #require(Self.decide(rules).trace?.rules.first?.outcome)
    #expect(try outcome.get().text(limit: text.hasSuffix("…") ? 40 : 60) == text)
  }
}

extension Result<RuleValue, RuleFailure> {
  fileprivate var text: String { (try? get().text(limit: 20)) ?? "failed" }
}
