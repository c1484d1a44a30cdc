import RulesSupport
import Testing

@testable import HearthRules

@Suite("Warnings of types that do not fit")
struct TypeWarningTests {
  private static func rules(_ condition: String) throws -> RuleSet {
    try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(condition); }"))
  }

  @Test(
    "a part that fails, or has one result, whatever a request contains, is named with its place",
    arguments: [
      ("get('a').data.a", 36, "function 'get' takes path, and not string"),
      ("exists('a')", 39, "function 'exists' takes path, and not string"),
      ("resource.data.keys().hasOnly('a')", 61, "function 'hasOnly' takes list, and not string"),
      (
        "resource.data.diff({}).affectedKeys().hasOnly('x')", 78, "function 'hasOnly' takes list or set, and not string"
      ),
      ("['a'].hasAny(['a'].toSet())", 45, "function 'hasAny' takes list, and not set"),
      ("resource.data.a.matches(1)", 56, "function 'matches' takes string, and not int"),
      ("math.abs('x') > 1", 41, "function 'math.abs' takes int or float, and not string"),
      ("duration.value('1', 'h') > request.time", 47, "function 'duration.value' takes int, and not string"),
      ("timestamp.date(2020, 1, '1') < request.time", 56, "function 'timestamp.date' takes int, and not string"),
      ("id.size().size() == 1", 42, "int has no function 'size', only string, bytes, list, set and map"),
      ("id.hasAny([id])", 35, "string has no function 'hasAny', only list and set"),
      ("id.length == 1", 35, "string has no member 'length'; its length is size()"),
      ("!'a'", 33, "! takes bool, and not string"), ("1 && true", 32, "&& takes bool, and not int"),
      ("resource.data.a == 1 || 'x'", 56, "|| takes bool, and not string"),
      ("'a' ? true : false", 32, "? takes bool, and not string"), ("-id == 1", 33, "- takes int, float or duration"),
      ("request.auth.token.email.lower() == 1", 32, "string and int are never equal: == is always false"),
      ("resource.data.a == 1 || id == null", 56, "string and null are never equal: == is always false"),
      ("id != 1", 32, "string and int are never equal: != is always true"),
      ("request.time.year() < '2020'", 32, "< does not take int and string"),
      ("id + 1 == id", 32, "+ does not take string"),
      ("id in 'abc'", 38, "in takes list, set or map, and not string"),
      ("[1]['a'] == 1", 32, "[] of a value of type list does not take string"),
      ("{1: 2} == 1", 33, "the key of a map takes string, and not int"),
      ("/a/$([1]) == 1", 37, "the segment of a path takes null, bool, int, float, string or path, and not list"),
      ("id", 32, "the condition is of type string, and not bool: it never holds"),
      ("true ? 1 : [1]", 32, "the condition is of type int or list, and not bool"),
    ])
  func findings(_ condition: String, _ column: Int, _ message: String) throws {
    let warning = try #require(try Self.rules(condition).warnings.first)
    #expect(warning.severity == .warning && warning.line == 4)
    #expect(warning.column == column && warning.message.contains(message), "\(warning)")
  }

  @Test(
    "what depends on documents, tokens, parameters and functions of the file is not warned of",
    arguments: [
      "resource.data.a == 1 && resource.data.a == 'a'", "request.auth.uid == 1", "request.time > resource.data.t",
      "1 == 1.0 && 1 < 2.5", "request.auth.token.size() > 1", "resource.data.a[0] == resource.data.m['a']",
      "resource.data.get('a', null) == null", "resource.data.get(['a', 'b'], 'x') == 1",
      "(resource.data.a ? 1 : 'a') == 'a'", "(true ? 1 : null) != null", "debug(resource.data.a) == 1",
      "id is int", "path('/a/b')[0] == 'a'", "request.time + duration.value(1, 'd') > request.time",
      "['a'].toSet().hasAny(['a']) && ['a'].hasAll(['a'])", "string(id) + 'a' == id",
      "resource.data.keys().hasAll(['a'])", "id.split('/')[0].size() == 1", "math.pow(2, 3) == 8",
      "get(/databases/$(database)/documents/c/$(id)).data.a == 1",
    ])
  func silent(_ condition: String) throws {
    #expect(try Self.rules(condition).warnings == [], "\(condition)")
  }

  @Test("a parameter, a let and a function of the file have the types that they are given, and hide others")
  func names() throws {
    let functions = """
       function any(id) { return id == 1; }
       function get(a) { return a; }
       function known() { let size = id.size(); let note = getAfter(/databases/$(database)/documents/c/$(id));
         return size == 'a' || note.dat.a == 1 || note.data.a == 1 || get('a') == 1; }
       allow read: if any(1) || known();
      """
    let warnings = try RuleSet(RuleSources.file(" match /c/{id} {\n\(functions)\n }")).warnings
    #expect(
      warnings.map(\.message) == [
        "int and string are never equal: == is always false",
        "a document has no member 'dat', only __name__, data and id",
      ], "\(warnings)")
  }

  // MARK: - Paths of documents

  @Test(
    "a path at which no document can be is warned of where it is looked up",
    arguments: [
      ("/users/$(request.auth.uid)", "those of documents begin with /databases/$(database)/documents"),
      ("/databases/$(database)/users/$(id)", "those of documents begin with"),
      ("/databases/$(database)/documents", "those of documents begin with"),
      ("/databases/$(database)/documents/users", "that of a collection; add a segment such as $(id)"),
      ("/databases/$(database)/documents/users/$(request.auth.uid)/notes", "that of a collection"),
      ("/databases/$(database)/documents/users/$(request.auth.uid)", nil),
      ("/databases/$(database)/documents/users/$(resource.data.owner)/notes", nil),
      ("/$(resource.data.reference)/notes/1", nil), ("/databases/$(database)/documents/$(request.path[4])/b", nil),
    ])
  func paths(_ path: String, _ message: String?) throws {
    for function in ["get", "exists", "getAfter", "existsAfter"] {
      let warnings = try Self.rules("\(function)(\(path)) != null").warnings.filter { !$0.message.contains("equal") }
      #expect(warnings.count == (message == nil ? 0 : 1), "\(warnings)")
      #expect(warnings.first?.message.contains(message ?? "") ?? true, "\(warnings)")
    }
    #expect(try Self.rules("\(path) != request.path").warnings == [])
  }

  // MARK: - The tables

  /// A value of each type that an expression can have.
  private static let values = [
    "null", "true", "1", "1.5", "'a'", "b'a'", "timestamp.value(0)", "duration.value(1, 'h')", "latlng.value(1, 1)",
    "['a']", "['a'].toSet()", "{'a': 'b'}", "(/a/b)", "{'a': 'b'}.diff({})",
  ]

  /// Evaluates an expression. If it is warned of, it has to fail, and if it fails because of types, it has to be warned of.
  private static func compare(_ expression: String) throws {
    let rules = try rules("[\(expression)] == []")
    let failure = RuleSources.decide(rules, get: "c/x").refusals.first?.failure
    let isOfTypes =
      switch failure {
      case .unsupported, .wrongType, .noMembers, .memberOfNull, .unknownFunction: true
      default: false
      }
    if !rules.warnings.isEmpty { #expect(failure != nil, "\(expression): \(rules.warnings)") }
    if isOfTypes { #expect(!rules.warnings.isEmpty, "\(expression) fails: \(failure.map { "\($0)" } ?? "")") }
  }

  @Test("functions and methods are warned of exactly where they fail because of the types of their values")
  func functions() throws {
    func lists(_ count: Int) -> [String] {
      (0..<count).reduce([""]) { lists, place in
        // The first two arguments are of all types.
        let values = place < 2 ? Self.values : ["1"]
        return lists.flatMap { list in values.map { list.isEmpty ? $0 : "\(list), \($0)" } }
      }
    }
    for builtin in Builtin.allCases where !builtin.looksUpDocument {
      for arguments in lists(builtin.argumentCount ?? 1) { try Self.compare("\(builtin.rawValue)(\(arguments))") }
    }
    for method in Method.allCases {
      for value in Self.values {
        for arguments in lists(method.argumentCount) { try Self.compare("(\(value)).\(method.rawValue)(\(arguments))") }
      }
    }
  }

  @Test("operators are warned of exactly where they fail because of the types of their values")
  func operators() throws {
    for first in Self.values {
      for form in ["!(x)", "-(x)", "(x).a", "(x)[0:1]", "(x) ? 1 : 2", "{(x): 1}", "/a/$(x)"] {
        try Self.compare(form.replacing("x", with: first))
      }
      for infix in ["+", "-", "*", "/", "%", "<", "<=", ">", ">="] {
        for second in Self.values { try Self.compare("(\(first)) \(infix) (\(second))") }
      }
      for second in Self.values { try Self.compare("(\(first))[\(second)]") }
      try Self.compare("true && (\(first))")
      try Self.compare("false || (\(first))")
    }
  }

  @Test("values are said to be never equal only if == of them is false")
  func equality() throws {
    for first in Self.values {
      for second in Self.values {
        for (infix, verdict) in [("==", "F"), ("!=", "T")] {
          let condition = "(\(first)) \(infix) (\(second))"
          guard try !Self.rules(condition).warnings.isEmpty else { continue }
          #expect(RuleSources.verdict(on: condition) == verdict, "\(condition)")
        }
      }
    }
  }

  @Test("no expression of the corpus that has a value is said to fail")
  func corpus() throws {
    var count = 0
    for example in RuleCorpus.expressions where example.verdict.ours == "T" || example.verdict.ours == "F" {
      guard !["&&", "||", "?"].contains(where: example.text.contains) else { continue }
      count += 1
      let warnings = try Self.rules(example.text).warnings.filter {
        !$0.message.contains("never equal") && !$0.message.contains("the condition is")
      }
      #expect(warnings.isEmpty, "\(example): \(warnings)")
    }
    #expect(count > 500)
  }
}
