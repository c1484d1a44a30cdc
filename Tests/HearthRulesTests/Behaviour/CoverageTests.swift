import HearthRules
import RulesSupport
import Testing

@Suite("Coverage of rules")
struct CoverageTests {
  private static func add(
    _ rules: RuleSet, get path: String, _ auth: RuleValue = RuleSources.auth, document: RuleMap? = nil,
    to coverage: inout RuleCoverage
  ) {
    let names = RuleSources.root + path.split(separator: "/").map(String.init)
    let request = RuleRequest(.get, path: names, auth: auth, time: RuleSources.time, document: document)
    let decision = rules.evaluate(request, isTraced: true, lookUp: RuleSources.lookUp)
    if let trace = decision.trace { coverage.add(trace) }
  }

  private static func lines(_ rules: RuleSet, _ coverage: RuleCoverage) -> [String] {
    coverage.report.map { expression in
      let tally = expression.tally
      let counts = [tally.isTrue, tally.isFalse, tally.valueCount, tally.failureCount, expression.skipped]
      return String(repeating: "  ", count: expression.level) + "\(rules.source.text(of: expression.range)) "
        + counts.map { "\($0)" }.joined(separator: "/")
    }
  }

  @Test("counts true, false, other values, failures and what was not reached, for parts and functions as well")
  func counts() throws {
    let rules = try RuleSet(
      RuleSources.file(
        "function f(x) { let y = x.n; return y > 1; } match /c/{id} { allow get: if id == 'x' || f(resource.data); }"))
    var coverage = rules.emptyCoverage
    #expect(Self.lines(rules, coverage).allSatisfy { $0.hasSuffix("0/0/0/0/0") })
    Self.add(rules, get: "c/x", to: &coverage)
    Self.add(rules, get: "c/y", to: &coverage)
    for number in [1, 2, 2] {
      Self.add(rules, get: "c/y", document: RuleMap(["n": .int(Int64(number))]), to: &coverage)
    }
    #expect(
      Self.lines(rules, coverage) == [
        "let y = x.n; return y > 1 2/1/0/1/0", "  x.n 0/0/3/1/0", "    x 0/0/3/1/0", "  y > 1 2/1/0/1/0",
        "    y 0/0/3/1/0", "id == 'x' || f(resource.data) 3/1/0/1/0", "  id == 'x' 1/4/0/0/0", "    id 0/0/5/0/0",
        "  f(resource.data) 2/1/0/1/1", "    resource.data 0/0/3/1/1", "      resource 0/0/4/0/1",
      ])
  }

  @Test("keeps different values with their counts, those of two types as two")
  func values() throws {
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if resource.data.a == 0; }"))
    var coverage = rules.emptyCoverage
    let values: [RuleValue] = [
      .int(1), .float(1), .int(1), .string("1"), .null, .null, .float(.nan), .float(.nan), .float(-0.0), .float(0),
    ]
    for value in values { Self.add(rules, get: "c/x", document: RuleMap(["a": value]), to: &coverage) }
    let tally = try #require(coverage.report.first { rules.source.text(of: $0.range) == "resource.data.a" }).tally
    #expect(
      tally.values.map { "\($0.value.text(limit: 9)) \($0.count)" } == [
        "1 2", "1.0 1", "'1' 1", "null 2", "NaN 2", "-0.0 1", "0.0 1",
      ])
  }

  @Test("keeps few and small values, and counts all others")
  func bounds() throws {
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if resource.data.a == 0; }"))
    var coverage = rules.emptyCoverage
    for number in 0..<100 {
      Self.add(rules, get: "c/x", document: RuleMap(["a": .int(Int64(number))]), to: &coverage)
      let long = String(repeating: "x", count: 100_000)
      Self.add(rules, get: "c/x", document: RuleMap(["a": .string(long)]), to: &coverage)
      Self.add(rules, get: "c/x", document: RuleMap(["a\(number)": .null]), to: &coverage)
    }
    let report = coverage.report
    let tally = try #require(report.first { rules.source.text(of: $0.range) == "resource.data.a" }).tally
    #expect(tally.total == 300 && tally.failureCount == 100 && tally.valueCount == 200)
    #expect(tally.values.count == 15 && tally.otherValues == 185)
    #expect(report.allSatisfy { $0.tally.values.count <= 15 && $0.tally.failures.count <= 15 })
  }

  @Test("forgets what is beyond all bounds together, in a file with many expressions")
  func manyExpressions() throws {
    let conditions = (0..<300).map { "resource.data.f\($0) == ''" }
    let matches = stride(from: 0, to: 300, by: 30).map { first in
      "match /c\(first)/{id} { allow get: if \(conditions[first..<first + 30].joined(separator: " || ")); }"
    }
    let rules = try RuleSet(RuleSources.file(matches.joined(separator: "\n")))
    var coverage = rules.emptyCoverage
    for round in 0..<20 {
      let text = String(repeating: "\(round % 10)", count: 900 + round)
      let document = RuleMap((0..<300).map { (key: "f\($0)", value: RuleValue.string(text)) })
      for first in stride(from: 0, to: 300, by: 30) {
        Self.add(rules, get: "c\(first)/x", document: document, to: &coverage)
      }
    }
    let kept = coverage.report.reduce(0) { sum, expression in
      sum + expression.tally.values.reduce(0) { $0 + $1.value.text(limit: 10_000).utf8.count }
    }
    #expect(kept < 200 << 10 && kept > 50 << 10, "\(kept)")
  }

  @Test("leaves out literals, other services and names such as math")
  func names() throws {
    let rules = try RuleSet(
      "rules_version = '2'; service firebase.storage { match /a/{b} { allow read: if b == 'x'; } } service cloud.firestore { function g() { return 1 == 1; } match /c/{id} { allow get: if math.abs(-1) == 1; allow list; } }"
    )
    #expect(
      Self.lines(rules, rules.emptyCoverage) == [
        "1 == 1 0/0/0/0/0", "math.abs(-1) == 1 0/0/0/0/0", "  math.abs(-1) 0/0/0/0/0", "    -1 0/0/0/0/0",
      ])
  }

  @Test("has a bounded number of levels, however long a chain is")
  func levels() throws {
    let chain = String(repeating: ".a", count: 3000) + String(repeating: ".lower()", count: 2000)
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if request\(chain) == 'a'; }"))
    var coverage = rules.emptyCoverage
    Self.add(rules, get: "c/x", to: &coverage)
    let report = coverage.report
    #expect(report.count == 5002 && report.map(\.level).max() == RuleCoverage.deepestLevel)
  }
}
