import HearthRules
import RulesSupport
import Testing

@Suite("Errors of rules files")
struct RuleIssueTests {
  private static func firstIssue(_ source: String) -> RuleIssue? {
    do throws(RuleCompilationError) {
      return try RuleSet(source).warnings.first
    } catch {
      return error.issues.first
    }
  }

  @Test(
    "an error names its place, its line and the rule around it",
    arguments: [
      ("  match /c/{id} { allow get: if 1 +; }", 36, "match /c/{id}", "';' stands where an expression is expected"),
      ("  match /c/{id} { allow get: if 'a; }", 33, "match /c/{id}", "the string does not end in its line"),
      ("  match /c/{id} { allow get: if 9223372036854775808 > 1; }", 33, "match /c/{id}", "no integer of 64 bits"),
      ("  match /é/{id} { allow get; }", 10, "match /databases/{database}/documents", "'é'"),
      ("  match /c/{id} { allow get: if 1 is foo; }", 38, "match /c/{id}", "one of the types bool"),
      ("  match /c/{id} { allow get: if '\\q' == 'q'; }", 33, "match /c/{id}", "no escape '\\q'"),
      ("  match /c/{id} { allow get: if 'a'.matches('('); }", 45, "match /c/{id}", "missing )"),
      ("  match /c/{id} { allow get: if math == 1; }", 33, "match /c/{id}", "'math' is no variable"),
      ("  match /c/{id}/{id} { allow get; }", 18, "match /c/{id}/{id}", "variable 'id' is declared twice"),
      ("  function f(a) { let a = 1; return a; }", 23, "function f", "variable 'a' is declared twice"),
      ("  match /{a=**}/{b=**} { allow get; }", 3, "match /{a=**}/{b=**}", "more than one recursive wildcard"),
    ])
  func place(_ line: String, _ column: Int, _ rule: String, _ message: String) throws {
    let issue = try #require(Self.firstIssue(RuleSources.file(line)))
    #expect(issue.severity == .error)
    #expect(issue.line == 4)
    #expect(issue.column == column, "\(issue)")
    #expect(issue.text == line)
    #expect(issue.rule == rule)
    #expect(issue.message.contains(message), "\(issue)")
  }

  @Test(
    "a warning does not prevent rules from being used",
    arguments: [
      ("foo == 1", "there is no variable 'foo'"), ("nofun(1)", "there is no function 'nofun'"),
      ("'a'.nofun()", "there is no function 'nofun'"),
      ("'a'.size(1) == 1", "function 'size' does not take 1 arguments"),
      ("int() == 1", "function 'int' does not take 0 arguments"), ("'a'.replace('(', '') == ''", "missing )"),
    ])
  func warnings(_ expression: String, _ message: String) throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(expression); }"))
    #expect(rules.warnings.count == 1)
    #expect(rules.warnings.first?.severity == .warning)
    #expect(rules.warnings.first?.message.contains(message) == true, "\(rules.warnings)")
    #expect(!RuleSources.decide(rules, get: "c/x").isAllowed)
  }

  @Test("columns count scalars, and lines are shortened")
  func columns() throws {
    let line = " match /c/{id} { allow get: if 'ä€😀' == ; } // \(String(repeating: "x", count: 1000))"
    let issue = try #require(Self.firstIssue(RuleSources.file(line)))
    #expect(issue.column == 41)
    #expect(issue.text.utf8.count <= 210)
  }

  @Test("a file with many issues reports a hundred")
  func manyIssues() throws {
    let conditions = (0..<500).map { " match /c\($0)/{id} { allow get: if foo\($0); }" }
    let rules = try RuleSet(RuleSources.file(conditions.joined(separator: "\n")))
    #expect(rules.warnings.count == RuleLimits().issues)
  }
}
