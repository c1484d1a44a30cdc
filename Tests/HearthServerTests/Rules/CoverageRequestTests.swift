import Foundation
import HearthModel
import HearthRules
import Testing

@testable import HearthServer

/// The emulator's request that reports what was evaluated of rules.
@Suite("Reports of the coverage of rules", .timeLimit(.minutes(1)))
struct CoverageRequestTests {
  private static let rulesPath = "/emulator/v1/projects/test:securityRules"
  private static let path = "/emulator/v1/projects/test:ruleCoverage"
  private static let documents = RESTPath.documents

  private static let rules = """
    rules_version = '2';
    service cloud.firestore {
      match /databases/{database}/documents {
        // é😀
        match /notes/{id} {
          allow get: if id == 'a' || resource.data.n > 1;
          allow create: if request.resource.data.n < 5 && exists(/databases/$(database)/documents/notes/a);
          allow list: if request.query.limit <= 10;
        }
      }
    }
    """

  private static func put(_ rules: String, _ client: RawHTTP1Client) async throws {
    let json = try JSONSerialization.data(
      withJSONObject: ["rules": ["files": [["name": "my.rules", "content": rules]]]])
    let answer = try await client.request("PUT", rulesPath, String(decoding: json, as: UTF8.self))
    #expect(answer.status == 200, "\(answer.body)")
  }

  /// A node of the report that is about a text, wherever it stands, with the counts of its values by their names.
  private struct Node {
    var position: [String: Int]
    var counts: [String: Int]
  }

  private static func report(_ client: RawHTTP1Client, _ path: String = path) async throws -> [String: Node] {
    let answer = try await client.request("GET", path)
    #expect(answer.status == 200 && answer.headers["content-type"]?.hasPrefix("application/json") == true)
    let json = try #require(answer.json as? [String: Any])
    let files = try #require((json["rules"] as? [String: Any])?["files"] as? [[String: Any]])
    let scalars = Array(try #require(files.first?["content"] as? String).unicodeScalars)
    var nodes: [String: Node] = [:]
    var pending = (json["report"] as? [[String: Any]]) ?? []
    while let node = pending.popLast() {
      let position = try #require(node["sourcePosition"] as? [String: Int])
      let (start, end) = (try #require(position["currentOffset"]), try #require(position["endOffset"]))
      var counts: [String: Int] = [:]
      for value in node["values"] as? [[String: Any]] ?? [] {
        let typed = try #require(value["value"] as? [String: Any])
        let name = typed.first.map { "\($0.key) \(($0.value as? Bool).map { "\($0)" } ?? "")" } ?? "none"
        counts[name, default: 0] += value["count"] as? Int ?? 0
      }
      nodes[String(String.UnicodeScalarView(scalars[start...end]))] = Node(position: position, counts: counts)
      pending += node["children"] as? [[String: Any]] ?? []
    }
    return nodes
  }

  @Test("count the values of all calls of a database since its rules were loaded")
  func counts() async throws {
    try await RESTCallTests.withClient { client, _ in
      try await Self.put(Self.rules, client)
      let condition = "id == 'a' || resource.data.n > 1"
      #expect(try await Self.report(client)[condition]?.counts == [:])
      let owner = ["Authorization": "Bearer owner"]
      for (id, number) in [("a", 1), ("b", 1), ("c", 2)] {
        let fields = #"{"fields":{"n":{"integerValue":"\#(number)"}}}"#
        #expect(
          try await client.request("PATCH", Self.documents + "/notes/\(id)", fields, headers: owner).status == 200)
      }
      for (id, status) in [("a", 200), ("a", 200), ("b", 403), ("c", 200), ("d", 403)] {
        #expect(try await client.request("GET", Self.documents + "/notes/\(id)").status == status)
      }
      #expect(
        try await client.request("PATCH", Self.documents + "/notes/e", #"{"fields":{"n":{"integerValue":"3"}}}"#).status
          == 200)
      // The rules decide as well whether the answer of a write has the document.
      let report = try await Self.report(client)
      #expect(report[condition]?.counts == ["boolValue true": 4, "boolValue false": 1, "undefined ": 1])
      #expect(
        report[condition]?.position.filter { $0.key == "line" || $0.key == "column" } == ["line": 6, "column": 21])
      #expect(report["resource.data.n"]?.counts == ["intValue ": 3, "undefined ": 1, "none": 2])
      // The evaluation that finds out which documents are needed is not counted.
      let lookUp = "exists(/databases/$(database)/documents/notes/a)"
      #expect(report[lookUp]?.counts == ["boolValue true": 1], "\(report[lookUp] as Any)")
      #expect(report["request.query.limit"]?.counts == [:])
      // Those of other databases, and of other projects, are others.
      let database = "/emulator/v1/projects/test/databases/(default):ruleCoverage"
      #expect(try await Self.report(client, database)[condition]?.counts == report[condition]?.counts)
      #expect(
        try await Self.report(client, "/emulator/v1/projects/test/databases/x:ruleCoverage")[condition]?.counts == [:])
      try await Self.put(Self.rules, client)
      #expect(try await Self.report(client)[condition]?.counts == [:])
    }
  }

  @Test("are a page as well, in which nothing of the rules is markup")
  func page() async throws {
    try await RESTCallTests.withClient { client, _ in
      try await Self.put(Self.rules.replacing("// é😀", with: "// <script>&\""), client)
      #expect(try await client.request("GET", Self.documents + "/notes/b").status == 403)
      let answer = try await client.request("GET", Self.path + ".html")
      #expect(answer.status == 200 && answer.headers["content-type"]?.hasPrefix("text/html") == true)
      #expect(answer.body.contains("// &lt;script&gt;&amp;&quot;") && !answer.body.contains("<script"))
      #expect(
        answer.body.contains("<span class=\"evaluated\" title=\"false 1\">id == 'a'</span>"), "\(answer.body)")
      #expect(answer.body.contains("title=\"never evaluated\""))
      #expect(answer.body.count(of: "<span") == answer.body.count(of: "</span>"))
    }
  }

  @Test("are made in a small stack, whatever the rules are")
  func longChain() async throws {
    let chain = String(repeating: ".a", count: 3000) + String(repeating: ".lower()", count: 2000)
    let rules = try RuleSet(Self.rules.replacing("resource.data.n > 1", with: "request\(chain) == 'a'"))
    let lengths = await withCheckedContinuation { continuation in
      let thread = Thread {
        let report = RuleCoverageReport(rules, fileName: "x", rules.emptyCoverage)
        continuation.resume(returning: [report.json.indented.utf8.count, report.html.utf8.count])
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(lengths.allSatisfy { $0 > 10_000 })
  }

  @Test("say that a project has no rules, and that a path is none")
  func withoutRules() async throws {
    try await RESTCallTests.withClient { client, _ in
      let none = try await client.request("GET", Self.path)
      #expect(none.status == 200 && none.body.contains("\"files\": []"), "\(none.body)")
      #expect(try await client.request("GET", Self.path + ".html").body.contains("No security rules"))
      for path in ["projects/", "x/test", "projects/a/databases/", "projects/a/b/c", "projects/a/databases/b/c"] {
        let answer = try await client.request("GET", "/emulator/v1/\(path):ruleCoverage")
        #expect(answer.status == 400 && answer.body.contains("neither projects/"), "\(path): \(answer.body)")
      }
      for verb in ["POST", "PUT", "DELETE"] {
        #expect(try await client.request(verb, Self.path, verb == "DELETE" ? nil : "{}").status >= 400)
      }
    }
  }

  @Test("are not given by a server that tells callers apart, whose refusals do not say why")
  func locked() async throws {
    let rules = AccessRules(try RuleSet(Self.rules))
    rules.replace(try RuleSet(Self.rules), of: "test", fileName: "x")
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.callers = .locked(NamedCallers(), rules)
    }
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await RawHTTP1Client.withConnection(to: server) { client in
          let refused = try await client.request("GET", Self.documents + "/notes/b")
          let error = ((refused.json as? [String: Any])?["error"]) as? [String: Any]
          #expect(refused.status == 403)
          #expect(error?["message"] as? String == "Missing or insufficient permissions.", "\(refused.body)")
          for path in [Self.path, Self.path + ".html"] {
            let answer = try await client.request("GET", path, headers: ["Authorization": "Bearer owner"])
            #expect(answer.status == 403 && answer.body.contains("development"), "\(answer.body)")
          }
        })
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    try result.get()
    // Nothing was counted either.
    let report = try #require(try rules.coverage(in: DatabaseID(projectID: "test")))
    #expect(!report.json.compact.contains("\"values\""))
  }

  @Test("are not counted for the file of rules of a server, which says so")
  func fileOfRules() async throws {
    let fixture = try RulesFixture()
    let rules = try fixture.access(RulesFixture.owned, isDevelopment: true)
    await fixture.expectDenied { _ = try await fixture.read(fixture.session(.nobody, rules), "notes/a") }
    let error = #expect(throws: StatusError.self) { try rules.coverage(in: fixture.storage.database.id) }
    #expect(error?.code == .failedPrecondition && error?.message.contains("PUT") == true)
    #expect(try AccessRules(isDevelopment: true).coverage(in: DatabaseID(projectID: "test")) == nil)
  }

  @Test("are of the databases that were used last, so that many projects do not fill the memory")
  func manyDatabases() throws {
    let rules = try RuleSet(Self.rules)
    var counters = CoverageCounters()
    let databases = (0..<100).map { DatabaseID(projectID: "p\($0)") }
    let first = counters.counter(of: databases[0], rules)
    for database in databases {
      _ = counters.counter(of: database, rules)
      #expect(counters.counter(of: databases[0], rules) === first)
    }
    #expect(databases.count { counters.known($0) != nil } == CoverageCounters.largestCount)
    #expect(counters.known(databases[99]) != nil && counters.known(databases[1]) == nil)
    counters.remove { $0 == databases[0] }
    #expect(counters.counter(of: databases[0], rules) !== first)
  }
}

extension String {
  fileprivate func count(of part: String) -> Int { split(separator: part, omittingEmptySubsequences: false).count - 1 }
}
