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
      ("  match /c/{id} { allow get: if 'a; }", 33, "match /c/{id}", "the string does not end on its line"),
      (
        "  match /c/{id} { allow get: if 9223372036854775808 > 1; }", 33, "match /c/{id}",
        "does not fit into an integer of 64 bits"
      ),
      ("  match /é/{id} { allow get; }", 10, "match /databases/{database}/documents", "'é'"),
      ("  match /c/{id} { allow get: if 1 is foo; }", 38, "match /c/{id}", "one of the types bool"),
      ("  match /c/{id} { allow get: if '\\q' == 'q'; }", 33, "match /c/{id}", "no escape '\\q'"),
      ("  match /c/{id} { allow get: if 'a'.matches('('); }", 45, "match /c/{id}", "missing )"),
      ("  match /c/{id} { allow get: if math == 1; }", 33, "match /c/{id}", "'math' is not a variable"),
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
      ("'a'.size(1) == 1", "function 'size' is called with 1 argument instead of none"),
      ("int() == 1", "function 'int' is called without arguments instead of 1"),
      ("'a'.replace('(', '') == ''", "missing )"),
      (
        "request.user == 1",
        "request has no member 'user', only auth, inTransaction, method, path, query, resource and time"
      ),
      ("request.auth.email == 1", "request.auth has no member 'email', only token and uid"),
      ("request.resource.a == 1", "request.resource has no member 'a', only __name__, data and id"),
      ("resource.a.b == 1", "resource has no member 'a'"), ("request.query.where == 1", "request.query has no member"),
    ])
  func warnings(_ expression: String, _ message: String) throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(expression); }"))
    #expect(rules.warnings.count == 1)
    #expect(rules.warnings.first?.severity == .warning)
    #expect(rules.warnings.first?.message.contains(message) == true, "\(rules.warnings)")
    #expect(!RuleSources.decide(rules, get: "c/x").isAllowed)
  }

  @Test(
    "a member is not warned of where others have given its variable a meaning, or may have any members",
    arguments: [
      " match /c/{request=**} { allow get: if request.foo == 1; }",
      " function f(resource) { return resource.foo == 1; } match /c/{id} { allow get: if f(1); }",
      " function f() { let request = {'foo': 1}; return request.foo == 1; } match /c/{id} { allow get: if f(); }",
      " match /c/{id} { allow get: if request.auth.token.foo == 1 && resource.data.foo == 1 && request.resource.data.foo == 1; }",
    ])
  func members(_ body: String) throws {
    #expect(try RuleSet(RuleSources.file(body)).warnings == [])
  }

  @Test(
    "a permission for paths that no document has is warned of, and no other one",
    arguments: [
      ("match /a/{b} { allow read; }", "those of documents begin with /databases/{database}/documents"),
      ("match /{a}/{b}/c { allow read; }", "those of documents begin with /databases/{database}/documents"),
      ("match /databases/{d}/documents { allow read; }", "those of documents begin"),
      ("match /a/{b=**} { allow read; }", "those of documents begin"),
      (
        "match /databases/{d}/documents { match /c { allow read; match /{id} { allow read; } } }",
        "that of a collection"
      ),
      ("match /databases/{d}/documents/c/{id}/d { allow read; }", "that of a collection"),
      (
        "match /databases/{d}/documents/{p=**}/c/{id} { allow read; match /d/{e} { allow read; } }",
        "segments behind a recursive wildcard; write both as one path"
      ),
      ("match /{a=**} { allow read; }", nil), ("match /databases/{d=**} { allow read; }", nil),
      ("match /{a}/{b}/{c}/{d}/{e} { allow read; }", nil),
      (
        "match /databases/{d}/documents { match /c { match /{id} { allow read; } } match /{a=**}/c/{id} { allow read; } }",
        nil
      ),
    ])
  func paths(_ body: String, _ message: String?) throws {
    let warnings = try RuleSet("rules_version = '2'; service cloud.firestore { \(body) }").warnings
    #expect(warnings.count == (message == nil ? 0 : 1))
    #expect(warnings.first?.message.contains(message ?? "") ?? true, "\(warnings)")
    let ignored = try RuleSet("rules_version = '2'; service firebase.storage { \(body) }").warnings
    #expect(!ignored.contains { $0.message.contains("no document") })
  }

  @Test(
    "a word or a sign of another language is answered with the right one",
    arguments: [
      ("id = 'a'", "'=' stands where ';' is expected; write =="), ("id === 'a'", "no operator ===; write =="),
      ("id !== 'a'", "no operator !==; write !="), ("true and true", "'and' stands where ';' is expected; write &&"),
      ("true or true", "; write ||"), ("true & true", "unexpected character '&'; write &&"),
      ("true; # a", "unexpected character '#'; comments begin with //"),
    ])
  func foreignWords(_ condition: String, _ message: String) throws {
    let issue = try #require(Self.firstIssue(RuleSources.file(" match /c/{id} { allow get: if \(condition); }")))
    #expect(issue.message.contains(message), "\(issue)")
  }

  @Test("a file without an end names the line of the open brace, and an empty one is called so")
  func ends() throws {
    let open = "rules_version = '2';\nservice cloud.firestore {\n  match /a/{b} {\n    allow read;\n  }\n"
    #expect(Self.firstIssue(open)?.message.hasSuffix("is expected; the '{' of line 2 is not closed") == true)
    for text in ["", " \n", "// nothing\n"] {
      #expect(Self.firstIssue(text)?.message.hasPrefix("the file is empty: rules begin with") == true)
    }
  }

  @Test("a method and a member are named where they stand, and not where their value begins")
  func methodPlaces() throws {
    for (condition, column) in [
      ("resource.data.a /* a */ .includes(1)", 57), ("request.auth.id == 1", 45), ("id.lower(1) == id", 35),
    ] {
      let issue = try #require(Self.firstIssue(RuleSources.file(" match /c/{id} { allow get: if \(condition); }")))
      #expect(issue.column == column, "\(issue)")
    }
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
