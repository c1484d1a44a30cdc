import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The report of coverage of Google's emulator and of this server, after the same requests.
@Suite(
  "Coverage as the emulator reports it", Emulator(), .enabled(if: Emulator.isInstalled, Emulator.hint),
  .timeLimit(.minutes(5)))
struct CoverageComparisonTests {
  private static let rules = """
    rules_version = '2';
    // é😀
    service cloud.firestore {
      match /databases/{database}/documents {
        function isOwner(id) { let uid = request.auth.uid; let same = uid == id; return (same) && true; }
        function plain(x) { return x; }
        match /users/{user} {
          allow get: if isOwner(user) || (request.auth.token.admin == true);
          allow create: if request.resource.data.keys().hasOnly(['a', 'é']) && request.resource.data.a in [1, 2.5, 3];
          allow update: if [1, 2][0] == 1 ? {'a': resource.data.a}.a is int : -math.abs(3) == 3;
          allow delete;
          match /notes/{note} { function inner() { return note[0:1] == 'n'; } allow get: if inner() && !plain(user == 'x'); }
        }
        match /values/{id} {
          allow get: if plain(duration.value(1, 'm')) == timestamp.date(2020, 1, 2) || plain(latlng.value(1, 2.5)) == id
            || plain([1, 2].toSet()) == {'a': 1}.diff({'a': 2}) || plain(/a/$(id)/b) == id.toUtf8() || math.abs(-1) == 2
            || plain(math.sqrt(-1)) == 2 || plain(null) == resource.data.none;
          allow list: if plain(resource.data.n) > 3 && request.query.limit < 10;
        }
      }
    }
    """

  private struct Request {
    var verb: String
    var path: String
    var body: String?
    /// The bearer token; nil for a call without one.
    var token: String?
  }

  private static let ada: String = {
    func part(_ json: String) -> String {
      Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return "\(part(#"{"alg":"none","typ":"JWT"}"#)).\(part(#"{"sub":"ada","user_id":"ada"}"#))."
  }()

  /// The documents' names have this in place of the project.
  private static let anyProject = "PROJECT"

  /// A commit, whose answer has no document. For one that has, rules decide here on reading it as well.
  private static func write(_ user: String, _ number: Int) -> Request {
    let name = "projects/\(anyProject)/databases/(default)/documents/users/\(user)"
    let fields = #"{"a": {"integerValue": "\#(number)"}}"#
    return Request(
      verb: "POST", path: ":commit", body: #"{"writes": [{"update": {"name": "\#(name)", "fields": \#(fields)}}]}"#,
      token: ada)
  }

  private static let requests: [Request] = {
    let filter =
      #"{"fieldFilter": {"field": {"fieldPath": "n"}, "op": "GREATER_THAN", "value": {"integerValue": "3"}}}"#
    return [
      Request(verb: "PATCH", path: "/users/ada", body: #"{"fields": {"a": {"integerValue": "1"}}}"#, token: "owner"),
      Request(verb: "PATCH", path: "/values/v", body: #"{"fields": {}}"#, token: "owner"),
      Request(verb: "GET", path: "/users/ada", token: ada), Request(verb: "GET", path: "/users/ada"),
      Request(verb: "GET", path: "/users/bob", token: ada),
      write("new", 3), write("ada", 2),
      Request(verb: "DELETE", path: "/users/other"), Request(verb: "GET", path: "/values/v"),
      Request(
        verb: "POST", path: ":runQuery",
        body: #"{"structuredQuery": {"from": [{"collectionId": "values"}], "where": \#(filter), "limit": 5}}"#),
    ]
  }()

  private func send(
    _ verb: String, _ address: String, body: String? = nil, token: String? = nil
  ) async throws -> (status: Int, data: Data) {
    var request = URLRequest(url: try #require(URL(string: address)))
    request.httpMethod = verb
    request.httpBody = body.map { Data($0.utf8) }
    if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await URLSession.shared.data(for: request)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, data)
  }

  /// The nodes of a report: their places with those around them, and the types of the values that they had.
  private struct Report {
    var types: [String: Set<String>] = [:]
    var members: Set<String> = []

    init(_ data: Data) throws {
      let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      members.formUnion(json.keys.map { "top \($0)" })
      let files = try #require((json["rules"] as? [String: Any])?["files"] as? [[String: Any]])
      #expect(files.count == 1 && files[0]["content"] as? String == CoverageComparisonTests.rules)
      #expect(files[0]["name"] as? String == "my.rules")
      var pending = (try #require(json["report"] as? [[String: Any]])).map { (node: $0, around: "") }
      while let (node, around) = pending.popLast() {
        members.formUnion(node.keys.map { "node \($0)" })
        let position = try #require(node["sourcePosition"] as? [String: Int])
        members.formUnion(position.keys.map { "position \($0)" })
        #expect(try #require(position["endOffset"]) >= (position["currentOffset"] ?? .max))
        let numbers = ["line", "column", "currentOffset"].map { "\(position[$0] ?? -1)" }
        let place = around + "/" + numbers.joined(separator: ":")
        var values: Set<String> = []
        for value in node["values"] as? [[String: Any]] ?? [] {
          members.formUnion(value.keys.map { "value \($0)" })
          #expect(value["count"] as? Int ?? 0 > 0)
          let typed = try #require(value["value"] as? [String: Any])
          values.insert(typed.first.map { Self.text($0.key, $0.value) } ?? "skipped")
        }
        types[place] = values
        pending += (node["children"] as? [[String: Any]] ?? []).map { ($0, place) }
      }
    }

    /// A value as JSON, except for requests, documents and reasons of failures, which each server words itself.
    private static func text(_ type: String, _ value: Any) -> String {
      guard type != "undefined" else { return type }
      let data = try? JSONSerialization.data(withJSONObject: [value], options: .sortedKeys)
      let text = String(decoding: data ?? Data(), as: UTF8.self)
      return ["inTransaction", "__name__", "orderBy"].contains { text.contains($0) } ? type : "\(type) \(text)"
    }
  }

  @Test("has the same expressions in the same places within each other, and the same values")
  func same() async throws {
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let project = "coverage-\(UUID().uuidString.prefix(8).lowercased())"
    let rules = try JSONSerialization.data(
      withJSONObject: ["rules": ["files": [["name": "my.rules", "content": Self.rules]]]])
    var reports: [Report] = []
    var statuses: [[Int]] = []
    for place in ["http://127.0.0.1:\(Emulator.port)", "http://127.0.0.1:\(server.port)"] {
      let own = "\(place)/emulator/v1/projects/\(project)"
      let loaded = try await send("PUT", "\(own):securityRules", body: String(decoding: rules, as: UTF8.self))
      #expect(loaded.status == 200, "\(String(decoding: loaded.data, as: UTF8.self))")
      reports.append(try Report(try await send("GET", "\(own):ruleCoverage").data))
      #expect(reports.last?.types.values.allSatisfy(\.isEmpty) == true)
      let documents = "\(place)/v1/projects/\(project)/databases/(default)/documents"
      var outcomes: [Int] = []
      for request in Self.requests {
        outcomes.append(
          try await send(
            request.verb, documents + request.path, body: request.body?.replacing(Self.anyProject, with: project),
            token: request.token
          ).status)
      }
      statuses.append(outcomes)
      reports.append(try Report(try await send("GET", "\(own)/databases/(default):ruleCoverage").data))
      let page = try await send("GET", "\(own):ruleCoverage.html")
      #expect(page.status == 200 && String(decoding: page.data, as: UTF8.self).contains("<title>"))
    }
    await server.shutdown()
    try #require(reports.count == 4)
    #expect(statuses[0] == statuses[1])
    #expect(reports[0].types.keys.sorted() == reports[2].types.keys.sorted())
    #expect(reports[1].types.keys.sorted() == reports[3].types.keys.sorted())
    #expect(reports[3].members == reports[1].members)
    // The emulator evaluates twice, the first time without the documents, and then fails in other places.
    for (place, types) in reports[3].types {
      let theirs = try #require(reports[1].types[place])
      let more = types.subtracting(theirs).subtracting(["skipped"])
      #expect(more.isEmpty, "\(place): ours \(types.sorted()), theirs \(theirs.sorted())")
    }
    #expect(reports[3].types.values.reduce(0) { $0 + $1.count } > 100)
  }
}
