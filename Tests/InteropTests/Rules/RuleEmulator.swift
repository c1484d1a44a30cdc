import Foundation
import HearthRules
import InteropSupport
import RulesSupport
import TestSupport
import Testing

/// Asks Google's emulator for verdicts on rules, in a project of its own.
struct RuleEmulator {
  let project: String

  private struct Request {
    var method: String
    var path: String
    var body: String?
    var authorization: String
  }

  private var documents: String { "/v1/projects/\(project)/databases/(default)/documents" }

  /// A token without a signature, which the emulator takes.
  private static let token: String = {
    func encoded(_ text: String) -> String {
      Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return "\(encoded(#"{"alg":"none","typ":"JWT"}"#)).\(encoded(RuleSources.claims))."
  }()

  /// Stores the document that the corpora look up.
  func prepare() async throws {
    let body = RuleSources.documentJSON.replacing("PROJECT", with: project)
    let statuses = try await send([
      Request(method: "PATCH", path: "\(documents)/d/one", body: body, authorization: "owner")
    ])
    try #require(statuses == ["200"])
  }

  // MARK: - Verdicts

  /// The verdicts on expressions, as letters of `RuleCase.Verdict`; X where the emulator failed itself.
  ///
  /// A file that is refused is asked again in halves, since one error hides others and may be reported for another line.
  func verdicts(on expressions: ArraySlice<String>) async throws -> [String] {
    let lines = expressions.enumerated().flatMap { index, expression in
      [
        " match /c\(index)/{id} { allow get: if \(expression); }",
        " match /n\(index)/{id} { allow get: if !(\(expression)); }",
      ]
    }
    let places = 0..<expressions.count
    let answer = try await send(places.map { get("c\($0)/x") }, with: RuleSources.file(lines.joined(separator: "\n")))
    guard case .statuses(let statuses) = answer else {
      if expressions.count == 1 { return [answer.isRefusal ? "C" : "X"] }
      let middle = (expressions.startIndex + expressions.endIndex) / 2
      return try await verdicts(on: expressions[..<middle]) + verdicts(on: expressions[middle...])
    }
    // What is true needs no second question.
    let open = places.filter { !Self.isAllowed(statuses[$0]) }
    var negations = Array(repeating: "", count: places.count)
    for (place, status) in zip(open, try await send(open.map { get("n\($0)/x") })) { negations[place] = status }
    return Self.letters(places.flatMap { [statuses[$0], negations[$0]] })
  }

  /// The verdict on a file for the paths of the corpora.
  func verdict(onFile source: String) async throws -> String {
    switch try await send(RuleSources.paths.map(get), with: source) {
    case .statuses(let statuses): return statuses.map { Self.isAllowed($0) ? "T" : "D" }.joined()
    case .refused: return "C"
    case .failed: return "X"
    }
  }

  /// The verdicts on conditions of `allow list`.
  func verdicts(on queries: ArraySlice<RuleQueryCorpus.Query>) async throws -> [String] {
    var lines = ["function f(a) { return a == 1; }"]
    var requests: [Request] = []
    for (index, query) in queries.enumerated() {
      for (name, condition) in [("q\(index)", query.condition), ("n\(index)", "!(\(query.condition))")] {
        lines.append(" match /\(name)/{id} { allow list: if \(condition); }")
        let body = #"{"structuredQuery": \#(try Self.json(query, collection: name))}"#
        requests.append(
          Request(method: "POST", path: "\(documents):runQuery", body: body, authorization: Self.token))
      }
    }
    let answer = try await send(requests, with: RuleSources.file(lines.joined(separator: "\n")))
    guard case .statuses(let statuses) = answer else { return Array(repeating: "C", count: queries.count) }
    return Self.letters(statuses)
  }

  /// Letters for pairs of a condition and its negation.
  private static func letters(_ statuses: [String]) -> [String] {
    stride(from: 0, to: statuses.count, by: 2).map { index in
      // The emulator fails now and then, for instance at a replacement with a group that there is not.
      if statuses[index] == "500" || statuses[index + 1] == "500" { return "X" }
      return isAllowed(statuses[index]) ? "T" : isAllowed(statuses[index + 1]) ? "F" : "E"
    }
  }

  /// A document that is missing may be read as well.
  private static func isAllowed(_ status: String) -> Bool { status == "200" || status == "404" }

  // MARK: - Requests

  private func get(_ path: String) -> Request {
    Request(method: "GET", path: "\(documents)/\(path)", authorization: Self.token)
  }

  private enum Answer {
    case statuses([String])
    /// The rules are refused.
    case refused
    case failed

    var isRefusal: Bool { if case .refused = self { true } else { false } }
  }

  /// Sends requests under rules.
  private func send(_ requests: [Request], with rules: String) async throws -> Answer {
    let body = try JSONSerialization.data(withJSONObject: [
      "rules": ["files": [["name": "firestore.rules", "content": rules]]]
    ])
    let put = Request(
      method: "PUT", path: "/emulator/v1/projects/\(project):securityRules",
      body: String(decoding: body, as: UTF8.self), authorization: "owner")
    let statuses = try await send([put] + requests)
    switch statuses.first {
    case "200": return .statuses(Array(statuses.dropFirst()))
    case "400": return .refused
    default: return .failed
    }
  }

  /// Sends all requests with one curl, which keeps the connection.
  private func send(_ requests: [Request]) async throws -> [String] {
    guard !requests.isEmpty else { return [] }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-rules-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var script = ""
    for (index, request) in requests.enumerated() {
      if index > 0 { script += "next\n" }
      script += """
        url = "http://127.0.0.1:\(Emulator.port)\(request.path)"
        request = "\(request.method)"
        header = "authorization: Bearer \(request.authorization)"
        header = "content-type: application/json"
        header = "expect:"
        output = "/dev/null"
        write-out = "%{http_code}\\n"
        silent
        globoff
        max-time = 60

        """
      guard let body = request.body else { continue }
      let file = folder.appendingPathComponent("\(index).body")
      try Data(body.utf8).write(to: file)
      script += "data-binary = \"@\(file.path)\"\n"
    }
    let file = folder.appendingPathComponent("script")
    try Data(script.utf8).write(to: file)
    let output = try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), ["curl", "-K", file.path])
    let statuses = output.text.split(separator: "\n").map(String.init)
    try #require(statuses.count == requests.count, "\(output.text.suffix(500))")
    return statuses
  }

  // MARK: - JSON of queries

  private static func json(_ query: RuleQueryCorpus.Query, collection: String) throws -> String {
    var object: [String: Any] = ["from": [["collectionId": collection]]]
    if let filter = query.filter { object["where"] = json(filter) }
    if let limit = query.limit { object["limit"] = limit }
    if query.offset > 0 { object["offset"] = query.offset }
    if !query.orders.isEmpty {
      object["orderBy"] = query.orders.map {
        ["field": ["fieldPath": $0.field], "direction": $0.isDescending ? "DESCENDING" : "ASCENDING"] as [String: Any]
      }
    }
    return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
  }

  private static func json(_ filter: RuleFilter) -> [String: Any] {
    switch filter {
    case .and(let filters): ["compositeFilter": ["op": "AND", "filters": filters.map(json)] as [String: Any]]
    case .or(let filters): ["compositeFilter": ["op": "OR", "filters": filters.map(json)] as [String: Any]]
    case .field(let path, .equal, .null):
      ["unaryFilter": ["op": "IS_NULL", "field": ["fieldPath": path.joined(separator: ".")]] as [String: Any]]
    case .field(let path, .notEqual, .null):
      ["unaryFilter": ["op": "IS_NOT_NULL", "field": ["fieldPath": path.joined(separator: ".")]] as [String: Any]]
    case .field(let path, let relation, let value):
      [
        "fieldFilter": [
          "op": name(of: relation), "field": ["fieldPath": path.joined(separator: ".")], "value": json(value),
        ] as [String: Any]
      ]
    }
  }

  private static func name(of relation: RuleFilter.Relation) -> String {
    switch relation {
    case .equal: "EQUAL"
    case .notEqual: "NOT_EQUAL"
    case .less: "LESS_THAN"
    case .lessOrEqual: "LESS_THAN_OR_EQUAL"
    case .greater: "GREATER_THAN"
    case .greaterOrEqual: "GREATER_THAN_OR_EQUAL"
    case .in: "IN"
    case .notIn: "NOT_IN"
    case .arrayContains: "ARRAY_CONTAINS"
    case .arrayContainsAny: "ARRAY_CONTAINS_ANY"
    }
  }

  /// The values that filters of the corpora have.
  private static func json(_ value: RuleValue) -> [String: Any] {
    switch value {
    case .bool(let flag): ["booleanValue": flag]
    case .int(let number): ["integerValue": "\(number)"]
    case .float(let number): ["doubleValue": number]
    case .string(let text): ["stringValue": text]
    case .timestamp: ["timestampValue": "2020-01-01T00:00:00Z"]
    case .list(let list): ["arrayValue": ["values": list.items.map(json)]]
    default: ["nullValue": NSNull()]
    }
  }
}
