import Foundation
import TestSupport
import Testing

@Suite("hearth rules test and explain", .timeLimit(.minutes(5)))
final class RulesCommandTests {
  private let folder = NSTemporaryDirectory() + "hearth-rules-" + UUID().uuidString

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    _ = try file("firestore.rules", Self.rules)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private static let rules = """
    rules_version = '2';
    service cloud.firestore {
      match /databases/{database}/documents {
        function role() { return get(/databases/$(database)/documents/users/$(request.auth.uid)).data.role; }
        match /notes/{id} {
          allow get: if resource.data.owner == request.auth.uid || role() == 'admin';
          allow list: if resource.data.owner == request.auth.uid && request.query.limit <= 10;
          allow create: if request.resource.data.owner == request.auth.uid
            && request.resource.data.created == request.time
            && getAfter(/databases/$(database)/documents/counters/$(request.auth.uid)).data.n <= 3;
          allow update: if request.resource.data.n == resource.data.n + 1;
          allow delete: if request.auth.token.level >= 2 && request.time < timestamp.date(2030, 1, 1);
        }
      }
    }
    """

  private static let cases = #"""
    {
      "documents": {
        "users/ada": {"role": "admin"},
        "notes/1": {"owner": "bob", "n": 1}
      },
      "cases": [
        {"name": "owners read", "expect": "allow",
         "request": {"method": "get", "path": "notes/1", "auth": {"uid": "bob"}}},
        {"name": "admins read", "expect": "allow",
         "request": {"method": "get", "path": "notes/1", "auth": {"uid": "ada"}}},
        {"name": "admins are looked up", "expect": "deny", "documents": {"users/ada": null},
         "request": {"method": "get", "path": "notes/1", "auth": {"uid": "ada"}}},
        {"name": "nobody reads", "expect": "deny", "request": {"method": "get", "path": "notes/1", "auth": null}},
        {"name": "owners list", "expect": "allow",
         "request": {"method": "list", "path": "notes", "auth": {"uid": "bob"}, "limit": 5, "orderBy": ["n:desc"],
                     "where": ["owner == bob", {"or": ["n > 1", "n == 0"]}]}},
        {"name": "others do not list", "expect": "deny",
         "request": {"method": "list", "path": "notes", "auth": {"uid": "bob"}, "limit": 5, "where": ["n > 1"]}},
        {"name": "a list needs a limit", "expect": "deny",
         "request": {"method": "list", "path": "notes", "auth": {"uid": "bob"}, "where": ["owner == bob"]}},
        {"name": "owners create", "expect": "allow", "documentsAfter": {"counters/bob": {"n": 3}},
         "request": {"method": "create", "path": "notes/2", "auth": {"uid": "bob"},
                     "data": {"owner": "bob", "created": {"$serverTimestamp": true}}}},
        {"name": "a counter is needed", "expect": "deny", "documents": {"counters/bob": {"n": 3}},
         "documentsAfter": {"counters/bob": null},
         "request": {"method": "create", "path": "notes/2", "auth": {"uid": "bob"},
                     "data": {"owner": "bob", "created": {"$serverTimestamp": true}}}},
        {"name": "anybody counts", "expect": "allow",
         "request": {"method": "update", "path": "notes/1", "data": {"n": 2}}},
        {"name": "high levels delete", "expect": "allow",
         "request": {"method": "delete", "path": "notes/1", "time": "2029-12-31T23:59:59Z",
                     "auth": {"uid": "ada", "token": {"level": 2}}}},
        {"name": "they do not later", "expect": "deny",
         "request": {"method": "delete", "path": "notes/1", "time": "2030-01-01T00:00:00Z",
                     "auth": {"uid": "ada", "token": {"level": 2}}}}
      ]
    }
    """#

  @discardableResult
  private func file(_ name: String, _ text: String) throws -> String {
    let path = "\(folder)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func rules(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(
      Programs.product("hearth"), ["rules", arguments[0], "\(folder)/firestore.rules"] + arguments.dropFirst())
  }

  // MARK: - Cases

  @Test("cases that are decided as expected are a table and the status 0")
  func expected() async throws {
    let output = try await rules("test", try file("cases.json", Self.cases))
    #expect(output.status == 0, "\(output.text)")
    #expect(output.text.contains("12 cases, all as expected"), "\(output.text)")
    let row = output.text.split(separator: "\n").first { $0.hasPrefix("a list needs a limit") }
    #expect(row?.split(separator: " ").suffix(3) == ["deny", "deny", "ok"], "\(output.text)")
  }

  @Test("a case that is decided otherwise names the rule and what failed in it, and has the status 1")
  func failures() async throws {
    let cases = Self.cases.replacing(#""owners read", "expect": "allow""#, with: #""owners read", "expect": "deny""#)
      .replacing(#""nobody reads", "expect": "deny""#, with: #""nobody reads", "expect": "allow""#)
      .replacing(#""path": "notes/1", "data": {"n": 2}"#, with: #""path": "users/ada", "data": {"n": 2}"#)
    let path = try file("failing.json", cases)
    let output = try await rules("test", path)
    #expect(output.status == 1 && output.text.contains("12 cases, 3 failed"), "\(output.text)")
    #expect(
      output.text.contains(
        "failing.json: \"owners read\": get notes/1 is allowed:\n  \(folder)/firestore.rules:6:7: allow get: if resource"
      ),
      "\(output.text)")
    #expect(
      output.text.contains(
        "in match /notes/{id}: failed: null has no property 'uid', at 6:44 request.auth.uid"),
      "\(output.text)")
    #expect(output.text.contains("update users/ada is denied:\n  no allow for this method and path"), "\(output.text)")

    let json = try await rules("test", path, "--format", "json")
    #expect(json.status == 1)
    let lines = try json.text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(lines.count == 12 && lines.filter { $0["isExpected"] as? Bool == false }.count == 3)
    #expect(lines[0]["decided"] as? String == "allow" && lines[0]["expected"] as? String == "deny")
    #expect((lines[0]["rules"] as? [[String: Any]])?.first?["line"] as? Int == 6)
  }

  @Test("a document that was forgotten, and a query without a limit, are named as the likely reason")
  func hints() async throws {
    let cases = #"""
      {"cases": [
        {"name": "no note", "expect": "allow", "request": {"method": "get", "path": "notes/9", "auth": {"uid": "ada"}}},
        {"name": "no limit", "expect": "allow",
         "request": {"method": "list", "path": "notes", "auth": {"uid": "bob"}, "where": ["owner == bob"]}}
      ]}
      """#
    let output = try await rules("test", try file("hints.json", cases))
    #expect(
      output.text.contains("resource.data (there is no document notes/9 before the request)"), "\(output.text)")
    #expect(output.text.contains("request.query.limit <= 10 (the query has no limit)"), "\(output.text)")
  }

  @Test("check warns of types that do not fit and of paths without /databases, and with --strict fails")
  func types() async throws {
    let text = Self.rules.replacing("/databases/$(database)/documents/users/", with: "/users/")
      .replacing("role() == 'admin'", with: "role().size() == 'admin'")
    _ = try file("firestore.rules", text)
    let output = try await rules("check")
    #expect(output.status == 0 && output.text.contains(":4:34: warning: no document has this path;"), "\(output.text)")
    #expect(
      output.text.contains(":6:64: warning: int and string are never equal: == is always false"), "\(output.text)")
    #expect(try await rules("check", "--strict").status == 1)
  }

  @Test("a case that is denied shows which parts of the conditions were false, and what was compared")
  func falseParts() async throws {
    let cases = #"""
      {
        "documents": {"users/ada": {"role": "guest"}, "notes/1": {"owner": "bob", "n": 1}},
        "cases": [
          {"name": "reads", "expect": "allow",
           "request": {"method": "get", "path": "notes/1", "auth": {"uid": "ada"}}},
          {"name": "lists", "expect": "allow",
           "request": {"method": "list", "path": "notes", "auth": {"uid": "bob"}, "limit": 20, "where": ["owner == bob"]}}
        ]
      }
      """#
    let path = try file("false.json", cases)
    let output = try await rules("test", path)
    for line in [
      "      6:21 resource.data.owner == request.auth.uid is false: resource.data.owner = 'bob', request.auth.uid = 'ada'\n",
      "      6:64 role() == 'admin' is false: role() = 'guest'\n",
      "      7:65 request.query.limit <= 10 is false: request.query.limit = 20\n",
    ] {
      #expect(output.text.contains(line), "\(line) in \(output.text)")
    }
    #expect(!output.text.contains("|| role() == 'admin' is false"), "\(output.text)")
    let json = try await rules("test", path, "--format", "json")
    #expect(
      json.text.contains(#""falseAt":["7:65 request.query.limit <= 10 is false: request.query.limit = 20"]"#),
      "\(json.text)")
  }

  @Test("a mistake in a file of cases names its line")
  func lines() async throws {
    for (text, place) in [
      (
        "{\n \"cases\": [\n  {\"name\": \"a\"\n   \"request\": 1}]}",
        "bad.json:4: this is not JSON: \",\" or \"}\" is expected"
      ),
      (
        "{\"documents\": {\n \"users\": {}},\n \"cases\": []}",
        "bad.json:2: \"documents\": \"users\": \"users\" is not the path"
      ),
      (
        "{\"cases\": [\n {\"name\": \"a\", \"request\": {\"method\": \"get\", \"path\": \"a/b\"}, \"expect\": \"deny\"},\n"
          + " {\"name\": \"b\",\n  \"request\": {\n   \"method\": \"get\",\n   \"pth\": \"a/b\"}}]}",
        "bad.json:6: case 2 \"b\": request: \"pth\" is none of"
      ),
      (
        "{\"cases\": [\n\n {\"name\": \"a\", \"request\": {\"method\": \"get\", \"path\": \"a/b\"}}]}",
        "bad.json:3: case \"a\": \"expect\" is missing"
      ),
    ] {
      let output = try await rules("test", try file("bad.json", text))
      #expect(output.status == 1 && output.text.contains(place), "\(output.text)")
    }
  }

  @Test("rules and cases that are swapped are recognised")
  func swapped() async throws {
    let cases = try file("cases.json", Self.cases)
    let hearth = Programs.product("hearth")
    let output = try await Programs.runInBackground(hearth, ["rules", "test", cases, "\(folder)/firestore.rules"])
    #expect(
      output.status == 64
        && output.text.contains("they are swapped. Write hearth rules test \(folder)/firestore.rules \(cases)"),
      "\(output.text)")
    let both = try await Programs.runInBackground(hearth, ["rules", "test", cases, cases])
    #expect(both.status == 64 && both.text.contains("has JSON, and no security rules"), "\(both.text)")
    let rules = try await rules("test", "\(folder)/firestore.rules")
    #expect(rules.status == 1 && rules.text.contains("firestore.rules:1: this is not JSON"), "\(rules.text)")
  }

  @Test("several files are tested together, and each row names its file")
  func severalFiles() async throws {
    let (one, two) = (try file("one.json", Self.cases), try file("two.json", Self.cases))
    let output = try await rules("test", one, two)
    #expect(output.status == 0 && output.text.contains("24 cases"), "\(output.text)")
    #expect(output.text.contains("FILE") && output.text.contains("two.json"), "\(output.text)")
  }

  @Test(
    "a mistake in a file of cases is named with the file, the case and the field",
    arguments: [
      ("nonsense", "this is not JSON"), ("[]", "an object with \"documents\", \"cases\""), ("{}", "\"cases\""),
      (#"{"cases": [], "case": 1}"#, "\"case\" is none of \"documents\", \"cases\". Did you mean \"cases\"?"),
      (#"{"cases": [{"request": {"method": "get", "path": "a/b"}, "expect": "deny"}]}"#, "case 1: \"name\""),
      (#"{"cases": [{"name": "n", "expect": "deny"}]}"#, "case 1 \"n\": \"request\""),
      (#"{"cases": [{"name": "n", "request": []}]}"#, "case 1 \"n\": request: an object"),
      (#"{"cases": [{"name": "n", "request": {"path": "a/b"}}]}"#, "\"method\": it is missing: one of get, list"),
      (#"{"cases": [{"name": "n", "request": {"method": "read", "path": "a/b"}}]}"#, "\"read\" is none of get, list"),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a"}}]}"#,
        "\"path\": \"a\" is not the path of a"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "list", "path": "a/b"}}]}"#,
        "\"path\": \"a/b\" is not the path"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "time": "now"}}]}"#,
        "2026-03-01T12:30:00Z"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "auth": "ada"}}]}"#, "\"uid\", \"token\""
      ),
      (#"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "auth": {}}}]}"#, "\"auth\": \"uid\""),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "auth": {"uid": "a", "token": 1}}}]}"#,
        "\"token\": an object"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "data": {}}}]}"#,
        "only create and update"
      ),
      (#"{"cases": [{"name": "n", "request": {"method": "create", "path": "a/b"}}]}"#, "\"data\": it is missing"),
      (
        #"{"cases": [{"name": "n", "request": {"method": "create", "path": "a/b", "data": {"f": {"$increment": 1}}}}]}"#,
        "field f: only $serverTimestamp"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "create", "path": "a/b", "data": {"f": {"$timestamp": "x"}}}}]}"#,
        "f.$timestamp: \"x\" is not a time"
      ),
      (
        #"{"documents": {"a/b": {}}, "cases": [{"name": "n", "request": {"method": "create", "path": "a/b", "data": {}}}]}"#,
        "a write of it is an update"
      ),
      (#"{"cases": [{"name": "n", "request": {"method": "update", "path": "a/b", "data": {}}}]}"#, "is a create"),
      (#"{"documents": {"a": {}}, "cases": []}"#, "\"documents\": \"a\": \"a\" is not the path of a document"),
      (#"{"documents": {"a/b": 1}, "cases": []}"#, "an object with the fields"),
      (#"{"documents": {"a/b": {}, "a/b": {}}, "cases": []}"#, "\"a/b\": it stands there twice"),
      (#"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b", "limit": 1}}]}"#, "only list has it"),
      (#"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "limit": 0}}]}"#, "from 1 to"),
      (#"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "offset": -1}}]}"#, "from 0 to"),
      (#"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "limit": 99999999999}}]}"#, "\"limit\""),
      (#"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "where": "n > 1"}}]}"#, "an array"),
      (
        #"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "where": ["n => 1"]}}]}"#,
        "Write 'n >= 1'"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "where": [{"or": []}]}}]}"#,
        "{\"or\": […]}"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "orderBy": ["n:up"]}}]}"#,
        "\"orderBy\": \"n:up\""
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "list", "path": "a", "collectionGroup": 1}}]}"#,
        "true or false"
      ),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b"}, "expect": "yes"}]}"#,
        "neither \"allow\""
      ),
      (#"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b"}}]}"#, "\"expect\" is missing"),
      (
        #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b"}, "expect": "deny"}, {"name": "n", "request": {"method": "get", "path": "a/b"}}]}"#,
        "case 2: \"name\": another case is called \"n\""
      ),
    ])
  func mistakes(text: String, message: String) async throws {
    let output = try await rules("test", try file("bad.json", text))
    #expect(output.status == 1)
    #expect(output.text.hasPrefix("hearth rules test: \(folder)/bad.json:1: "), "\(output.text)")
    #expect(!output.text.hasSuffix("..\n"), "\(output.text)")
    #expect(output.text.contains(message), "\(output.text)")
    #expect(output.text.filter { $0 == "\n" }.count == 1, "\(output.text)")
  }

  @Test("files that cannot be used, and a wrong command line, are named")
  func unusable() async throws {
    let cases = try file("cases.json", Self.cases)
    let missing = try await rules("test", "\(folder)/none.json")
    #expect(missing.status == 1 && missing.text.contains("none.json"), "\(missing.text)")
    let large = try await rules("test", try file("large.json", String(repeating: " ", count: 5 << 20)))
    #expect(large.status == 1 && large.text.contains("has more than"), "\(large.text)")
    let deep = try await rules("test", try file("deep.json", String(repeating: "[", count: 100_000)))
    #expect(deep.status == 1 && deep.text.contains("nested"), "\(deep.text)")
    let binary = "\(folder)/binary.json"
    try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: binary))
    #expect(try await rules("test", binary).status == 1)
    #expect(try await rules("test").status == 64)
    #expect(try await rules("test", cases, "--format", "xml").status == 64)
    let mistyped = try await rules("test", cases, "--coverge")
    #expect(mistyped.status == 64 && mistyped.text.contains("--coverage"), "\(mistyped.text)")
    try file("firestore.rules", "service cloud.firestore {\n  match /a/{b} {\n    allow read: if true &&;\n  }\n}")
    let broken = try await rules("test", cases)
    #expect(broken.status == 1 && broken.text.contains("firestore.rules:3:"), "\(broken.text)")
  }

  // MARK: - Coverage

  @Test("coverage counts what each expression was, and names those that were never evaluated")
  func coverage() async throws {
    let cases = try file("cases.json", Self.cases)
    let report = "\(folder)/coverage.json"
    let output = try await rules("test", cases, "--coverage", "--coverage-file", report)
    #expect(output.status == 0, "\(output.text)")
    func cells(_ text: String) -> [Substring]? {
      output.text.split(separator: "\n").first { $0.hasSuffix(text) }?.split(separator: " ")
    }
    // Two of the four requests were decided by the owner or have failed before.
    #expect(cells("  role() == 'admin'")?.prefix(4) == ["6:64", "1", "2", "1"], "\(output.text)")
    #expect(output.text.contains("expressions evaluated"), "\(output.text)")
    let data = try Data(contentsOf: URL(fileURLWithPath: report))
    let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect((json["report"] as? [Any])?.count == 6)

    try file("some.json", #"{"cases": [{"name": "n", "request": {"method": "get", "path": "a/b"}, "expect": "deny"}]}"#)
    let none = try await rules("test", "\(folder)/some.json", "--coverage")
    #expect(none.text.contains("never") && none.text.contains("\n0 of "), "\(none.text)")
    let unwritable = try await rules("test", cases, "--coverage-file", "\(folder)/none/report.json")
    #expect(unwritable.status == 1 && unwritable.text.contains("cannot be written"), "\(unwritable.text)")
  }

  // MARK: - Explanations

  @Test("a request is explained with the value of each expression, also of those in functions")
  func explanation() async throws {
    let output = try await rules(
      "explain", "--method", "get", "--path", "notes/1", "--uid", "ada", "--document", #"notes/1={"owner": "bob"}"#,
      "--document", #"users/ada={"role": "admin"}"#)
    #expect(output.status == 0 && output.text.hasPrefix("get notes/1: allowed\n"), "\(output.text)")
    for line in [
      "firestore.rules:6:7: allow get: if resource.data.owner == request.auth.uid || role() == 'admin'",
      "  in match /notes/{id}: true", "      6:21 resource.data.owner == request.auth.uid = false",
      "        6:21 resource.data.owner = 'bob'", "      6:64 role() == 'admin' = true",
      "        6:64 role() = 'admin'",
      "            4:30 get(/databases/$(database)/documents/users/$(request.auth.uid)).data = {'role': 'admin'}",
    ] {
      #expect(output.text.contains(line), "\(line) in \(output.text)")
    }
    let missing = try await rules("explain", "--method", "get", "--path", "notes/1", "--uid", "ada")
    #expect(missing.status == 0 && missing.text.hasPrefix("get notes/1: denied"), "\(missing.text)")
    #expect(missing.text.contains("failed: there is no document '/databases/(default)/documents/users/ada'"))
    let unmatched = try await rules("explain", "--method", "get", "--path", "other/1")
    #expect(unmatched.text.contains("No allow is for this method and path."), "\(unmatched.text)")
  }

  @Test("a case of a file is explained by its name, and writes and queries by options")
  func explainedCases() async throws {
    let cases = try file("cases.json", Self.cases)
    let one = try await rules("explain", "--cases", cases, "--case", "owners list")
    #expect(one.status == 0 && one.text.hasPrefix("list notes: allowed"), "\(one.text)")
    // Once for each disjunct of the filters.
    #expect(one.text.split(separator: "allow list").count == 3, "\(one.text)")
    let mistyped = try await rules("explain", "--cases", cases, "--case", "owners lists")
    #expect(mistyped.status == 1 && mistyped.text.contains("Did you mean \"owners list\"?"), "\(mistyped.text)")
    let update = try await rules(
      "explain", "--method", "update", "--path", "notes/1", "--document", #"notes/1={"n": 1}"#, "--data", #"{"n": 3}"#,
      "--format", "json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(update.text.utf8)) as? [String: Any])
    #expect(json["decided"] as? String == "deny")
    let expressions = (json["rules"] as? [[String: Any]])?.first?["expressions"] as? [[String: Any]]
    #expect(
      expressions?.contains { $0["text"] as? String == "resource.data.n + 1" && $0["value"] as? String == "2" } == true)
    let query = try await rules(
      "explain", "--method", "list", "--path", "notes", "--uid", "bob", "--where", "owner == bob", "--limit", "20",
      "--order-by", "n")
    #expect(query.text.contains("7:65 request.query.limit <= 10 = false"), "\(query.text)")
    let delete = try await rules(
      "explain", "--method", "delete", "--path", "notes/1", "--uid", "ada", "--claims", #"{"level": 1}"#, "--time",
      "2026-01-01T00:00:00Z")
    #expect(delete.text.contains("request.time < timestamp.date(2030, 1, 1) = not evaluated"), "\(delete.text)")
  }

  @Test(
    "a wrong command line has the status 64 and says what is missing",
    arguments: [
      (["--method", "get"], "--method and --path"), (["--cases", "a.json"], "--case"),
      (["--cases", "a.json", "--case", "b", "--uid", "c"], "not taken"),
      (["--method", "get", "--path", "a/b", "--claims", "{}"], "--claims needs --uid"),
      (["--method", "read", "--path", "a/b"], "--method: \"read\" is none of get"),
      (["--method", "get", "--path", "a"], "--path: "),
      (
        ["--method", "update", "--path", "a/b", "--data", "{}"],
        "--method: the document does not exist before the request"
      ),
      (["--method", "get", "--path", "a/b", "--document", "a/b"], "--document"),
      (["--method", "get", "--path", "a/b", "--document", "a/b={"], "not JSON"),
      (["--method", "create", "--path", "a/b", "--data", "1"], "an object"),
      (["--method", "list", "--path", "a", "--where", "n <> 1"], "--where: "),
      (["--method", "list", "--path", "a", "--where", "n <> 1"], "Write 'n != 1'"),
    ])
  func wrongWords(words: [String], message: String) async throws {
    let output = try await Programs.runInBackground(
      Programs.product("hearth"), ["rules", "explain", "\(folder)/firestore.rules"] + words)
    #expect(output.status == 64 && output.text.contains(message), "\(output.status) \(output.text)")
  }

  @Test("nothing of a document, a name or the rules reaches the terminal as a command, and long output ends")
  func safety() async throws {
    let condition = (0..<90).map { "/* \u{1B}[31m */ resource.data.a != '\($0)'" }.joined(separator: "\n && \n")
    try file(
      "firestore.rules",
      "service cloud.firestore { match /databases/{d}/documents { match /c/{id} { allow read: if \(condition); } } }")
    // Each of the values is decided for itself.
    let values = (0..<10).map { "\"\\u001b[2J\\u202e\($0)\"" }.joined(separator: ", ")
    let output = try await rules(
      "explain", "--method", "list", "--path", "c", "--where", "a in [\(values)]")
    #expect(output.status == 0 && output.text.contains("There is more"), "\(output.text.prefix(500))")
    #expect(output.text.contains("[2J"), "\(output.text.prefix(500))")
    #expect(!output.text.unicodeScalars.contains("\u{1B}") && !output.text.unicodeScalars.contains("\u{202E}"))
    #expect(output.text.split(separator: "\n").count < 2100)
    let cases = try file(
      "cases.json",
      #"{"documents": {"c/x": {}}, "cases": [{"name": "\u001b[2J", "request": {"method": "get", "path": "c/x"}, "expect": "allow"}]}"#
    )
    let tested = try await rules("test", cases, "--coverage")
    #expect(tested.status == 1 && !tested.text.unicodeScalars.contains("\u{1B}"), "\(tested.text.prefix(500))")
  }
}
