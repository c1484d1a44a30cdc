import HearthRules
import RulesSupport
import Testing

@Suite("Limits of rules files")
struct LimitTests {
  private static func compiles(_ body: String) -> Bool { (try? RuleSet(RuleSources.file(body))) != nil }
  private static func compiles(condition: String) -> Bool { compiles(" match /c/{id} { allow get: if \(condition); }") }
  private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

  @Test(
    "expressions are nested 99 levels at most, of whatever kind",
    arguments: [
      ("(", "true", ")", 98), ("! ", "true", "", 98), ("true && ", "true", "", 98), ("[", "1", "] == 1", 97),
      ("int(", "1", ")", 98), ("true ? true : ", "true", "", 98), ("true ? ", "true", " : true", 98),
      ("{'a':", "1", "}", 98), ("/a/$(", "'x'", ")", 98), ("1 + ", "1", "", 98),
    ])
  func expressionDepth(_ before: String, _ inner: String, _ after: String, _ count: Int) {
    let closing = after.hasSuffix("== 1") ? "]" : after
    let end = after.hasSuffix("== 1") ? " == 1" : ""
    func expression(_ count: Int) -> String {
      Self.repeated(before, count) + inner + Self.repeated(closing, count) + end
    }
    #expect(Self.compiles(condition: expression(count)))
    #expect(!Self.compiles(condition: expression(count + 1)))
  }

  @Test("chains of members, indexes and methods have no such limit")
  func chains() {
    #expect(Self.compiles(condition: "request" + Self.repeated(".a", 1000)))
    #expect(Self.compiles(condition: "id" + Self.repeated("[0]", 1000)))
    #expect(Self.compiles(condition: "id" + Self.repeated(".lower()", 1000)))
  }

  @Test("matches are nested ten levels within the outermost one")
  func matchDepth() {
    func nested(_ count: Int) -> String {
      (0..<count).map { "match /a\($0) { " }.joined() + "allow get;" + Self.repeated(" }", count)
    }
    #expect(Self.compiles(nested(10)))
    #expect(!Self.compiles(nested(11)))
  }

  @Test("a path has 20 variables and 100 segments at most")
  func pathLengths() {
    func path(variables: Int) -> String { "match " + (0..<variables).map { "/{x\($0)}" }.joined() + " { allow get; }" }
    #expect(Self.compiles(path(variables: 19)))
    #expect(!Self.compiles(path(variables: 20)))
    #expect(Self.compiles("match \(Self.repeated("/x", 97)) { allow get; }"))
    #expect(!Self.compiles("match \(Self.repeated("/x", 98)) { allow get; }"))
  }

  @Test("calls are nested 20 levels, and cycles of functions are refused with their names")
  func calls() throws {
    func chain(_ count: Int) -> String {
      (0..<count).map { "function f\($0)() { return f\($0 + 1)(); } " }.joined()
        + "function f\(count)() { return true; } match /c/{id} { allow get: if f0(); }"
    }
    #expect(Self.compiles(chain(20)))
    #expect(!Self.compiles(chain(21)))
    let cycle =
      "function a() { return b(); } function b() { return c(); } function c() { return b(); } match /c/{id} { allow get; }"
    let error = #expect(throws: RuleCompilationError.self) { try RuleSet(RuleSources.file(cycle)) }
    #expect(error?.description.contains("b -> c -> b") == true)
  }

  @Test("a function has 7 parameters and 10 variables at most")
  func functions() {
    func function(parameters: Int, variables: Int) -> String {
      let names = (0..<parameters).map { "p\($0)" }.joined(separator: ", ")
      let bindings = (0..<variables).map { "let v\($0) = 1; " }.joined()
      return "function f(\(names)) { \(bindings)return true; } match /c/{id} { allow get; }"
    }
    #expect(Self.compiles(function(parameters: 7, variables: 10)))
    #expect(!Self.compiles(function(parameters: 8, variables: 0)))
    #expect(!Self.compiles(function(parameters: 0, variables: 11)))
  }

  @Test("a file has 256 KiB at most, and its program 250,000 bytes")
  func sizes() throws {
    let comment = "/*" + Self.repeated(" ", 256 << 10) + "*/"
    #expect(!Self.compiles("match /c/{id} { allow get; } " + comment))
    let error = #expect(throws: RuleCompilationError.self) {
      try RuleSet(RuleSources.file("match /c/{id} { allow get: if [\(Self.repeated("1,", 60_000))] == 1; }"))
    }
    #expect(error?.description.contains("compiled rules") == true)
  }

  @Test(
    "an evaluation counts expressions as production does",
    arguments: [
      ("1", 1), ("-1", 2), ("id", 1), ("request.auth", 2), ("1 + 1", 3), ("int(1)", 2), ("'a'.size()", 2),
      ("true && true", 4), ("false && true", 2), ("true || true", 2), ("false || true", 4), ("true ? 1 : 2", 4),
      ("id[0]", 3), ("id[0:1]", 4), ("id[0:]", 4), ("/a/b", 3), ("/a/$(id)", 3), ("/a/{b}", 2), ("{'a':1}", 3),
      ("(1)", 1),
      ("1 is int", 3), ("1 in [1]", 4), ("f()", 2), ("g(1)", 3), ("h()", 4),
    ])
  func expressionCounts(_ expression: String, _ count: Int) throws {
    let functions = "function f() { return 1; } function g(a) { return a; } function h() { let a = 1; return a; }"
    func decision(_ copies: Int) throws -> RuleDecision {
      let items = ["true"] + Array(repeating: expression, count: copies)
      let body = functions + " match /c/{id} { allow get: if [\(items.joined(separator: ","))][0]; }"
      return RuleSources.decide(try RuleSet(RuleSources.file(body)), get: "c/x")
    }
    #expect(try decision(1).expressionCount == 4 + count)
    let most = (1000 - 4) / count
    #expect(try decision(most).isAllowed)
    let refused = try decision(most + 1)
    #expect(refused.answer == .denied)
    #expect(refused.refusals.last?.failure == .tooManyExpressions(limit: 1000))
  }

  @Test(
    "the work of an evaluation includes the steps of regular expressions, whatever they are used for",
    arguments: [
      "'TEXT'.matches('PATTERN')", "'TEXT'.replace('PATTERN', '') == ''", "'TEXT'.split('PATTERN').size() == 1",
      "'TEXT'.matches('PATTERN' + '')",
    ])
  func patternSteps(_ condition: String) throws {
    func work(_ pattern: String) throws -> Int {
      let text = Self.repeated("ab", 200)
      let condition = condition.replacing("TEXT", with: text).replacing("PATTERN", with: pattern)
      return RuleSources.decide(
        try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(condition); }")), get: "c/x"
      ).workDone
    }
    let plain = try work("c")
    // The states of its automaton grow with each letter. Its text alone is some hundred units longer.
    let dear = try work("(a|b)*a(a|b){40}c")
    #expect(dear > plain + 2_000, "\(plain), \(dear)")
  }

  @Test("the limit of expressions is one for all permissions of a request, and none holds behind it")
  func sharedExpressionLimit() throws {
    let long = "[\(Self.repeated("1,", 600))] == 1"
    let body = " match /c/{id} { allow get: if \(long); allow get: if \(long); allow get: if true; }"
    #expect(!RuleSources.decide(try RuleSet(RuleSources.file(body)), get: "c/x").isAllowed)
  }
}
