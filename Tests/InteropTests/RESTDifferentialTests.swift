import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Requests of REST, each at its own place in a sequence, as curl takes them.
private struct RESTRequest {
  var verb: String
  /// Below `/v1/projects/PROJECT/databases/(default)/documents`.
  var path: String
  var body: String?
}

/// Draws requests that both servers answer alike but for what docs/server.md lists.
private struct RESTRequests {
  var random: SeededGenerator
  let documents: String

  private mutating func id() -> String { random.element(["1", "2", "3", "4", "ä b", "x:y"]) }
  private mutating func collection() -> String { random.element(["a", "b"]) }
  private mutating func path() -> String {
    random.chance(15) ? "a/1/sub/\(id())" : "\(collection())/\(id())"
  }

  private static func escaped(_ path: String) -> String {
    path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
  }

  private mutating func value(depth: Int = 2) -> String {
    switch random.below(depth == 0 ? 8 : 10) {
    case 0: return #"{"integerValue": "\#(random.below(5))"}"#
    case 1: return #"{"integerValue": \#(random.below(5))}"#
    case 2: return #"{"doubleValue": \#(random.element(["0.5", "-2.0", "1e10", "\"NaN\"", "\"Infinity\""]))}"#
    case 3: return #"{"booleanValue": \#(random.chance(50))}"#
    case 4: return #"{"stringValue": "\#(random.element(["", "x", "ä€", "\\n\\\"", "<a>"]))"}"#
    case 5: return #"{"timestampValue": "\#(random.element(["2020-01-01T00:00:00Z", "2021-05-06T07:08:09.123456Z"]))"}"#
    case 6: return random.element([#"{"nullValue": null}"#, #"{"bytesValue": "AQL/"}"#])
    case 7: return #"{"geoPointValue": {"latitude": 1.5, "longitude": -2.25}}"#
    case 8: return #"{"mapValue": {"fields": {"k": \#(value(depth: depth - 1))}}}"#
    default: return #"{"mapValue": {"fields": {"list": {"arrayValue": {"values": [{"integerValue": "1"}]}}}}}"#
    }
  }

  private mutating func fields() -> String {
    let members = ["n", "m", "t"].compactMap { name in random.chance(70) ? "\"\(name)\": \(value())" : nil }
    return #"{"fields": {\#(members.joined(separator: ", "))}}"#
  }

  private mutating func write() -> String {
    let name = documents + "/" + path()
    let condition = random.chance(20) ? #", "currentDocument": {"exists": \#(random.chance(60))}"# : ""
    switch random.below(4) {
    case 0: return #"{"delete": "\#(name)"\#(condition)}"#
    case 1:
      return
        #"{"update": {"name": "\#(name)", \#(fields().dropFirst().dropLast())}, "updateMask": {"fieldPaths": ["n"]}\#(condition)}"#
    case 2:
      return
        #"{"transform": {"document": "\#(name)", "fieldTransforms": [{"fieldPath": "c", "increment": {"integerValue": "2"}}]}}"#
    default: return #"{"update": {"name": "\#(name)", \#(fields().dropFirst().dropLast())}\#(condition)}"#
    }
  }

  private mutating func query() -> String {
    var parts = [#""from": [{"collectionId": "\#(collection())"}]"#]
    if random.chance(50) {
      let op = random.element(["EQUAL", "GREATER_THAN", "LESS_THAN_OR_EQUAL"])
      parts.append(
        #""where": {"fieldFilter": {"field": {"fieldPath": "n"}, "op": "\#(op)", "value": {"integerValue": "2"}}}"#)
    }
    if random.chance(40) {
      parts.append(
        #""orderBy": [{"field": {"fieldPath": "n"}, "direction": "\#(random.element(["ASCENDING", "DESCENDING"]))"}]"#)
    } else if random.chance(30) {
      parts.append(#""orderBy": [{"field": {"fieldPath": "__name__"}}]"#)
    }
    if random.chance(40) { parts.append(#""limit": \#(1 + random.below(4))"#) }
    if random.chance(20) { parts.append(#""offset": \#(random.below(3))"#) }
    if random.chance(20) { parts.append(#""select": {"fields": [{"fieldPath": "n"}]}"#) }
    return "{\(parts.joined(separator: ", "))}"
  }

  mutating func next() -> RESTRequest {
    switch random.below(14) {
    case 0: return RESTRequest(verb: "POST", path: "/\(collection())?documentId=\(random.below(5))", body: fields())
    case 1: return RESTRequest(verb: "PATCH", path: "/\(Self.escaped(path()))", body: fields())
    case 2:
      let exists = random.chance(30) ? "&currentDocument.exists=\(random.chance(60))" : ""
      return RESTRequest(
        verb: "PATCH", path: "/\(Self.escaped(path()))?updateMask.fieldPaths=n&updateMask.fieldPaths=t\(exists)",
        body: fields())
    case 3:
      let exists = random.chance(30) ? "?currentDocument.exists=true" : ""
      return RESTRequest(verb: "DELETE", path: "/\(Self.escaped(path()))\(exists)")
    case 4: return RESTRequest(verb: "GET", path: "/\(Self.escaped(path()))?mask.fieldPaths=n")
    case 5: return RESTRequest(verb: "GET", path: "/\(Self.escaped(path()))")
    case 6:
      let size = random.chance(50) ? "?pageSize=\(1 + random.below(3))" : ""
      return RESTRequest(verb: "GET", path: "/\(collection())\(size)")
    case 7:
      let writes = (0...random.below(3)).map { _ in write() }
      return RESTRequest(verb: "POST", path: ":commit", body: #"{"writes": [\#(writes.joined(separator: ", "))]}"#)
    case 8:
      let names = (0..<random.below(4)).map { _ in "\"\(documents)/\(path())\"" }
      return RESTRequest(
        verb: "POST", path: ":batchGet", body: #"{"documents": [\#(names.joined(separator: ", "))]}"#)
    case 9, 10: return RESTRequest(verb: "POST", path: ":runQuery", body: #"{"structuredQuery": \#(query())}"#)
    case 11:
      return RESTRequest(
        verb: "POST", path: ":runAggregationQuery",
        body:
          #"{"structuredAggregationQuery": {"structuredQuery": \#(query()), "aggregations": [{"alias": "n", "count": {}}]}}"#
      )
    case 12: return RESTRequest(verb: "POST", path: ":listCollectionIds", body: "{}")
    default:
      let broken = [
        "{", #"{"writes": 1}"#, #"{"writez": []}"#, #"{"writes": [{"delete": 5}]}"#,
        #"{"writes": [{"update": {"name": "\#(documents)/a/1", "fields": {"n": {"integerValue": "x"}}}}]}"#,
      ]
      return RESTRequest(verb: "POST", path: ":commit", body: random.element(broken))
    }
  }
}

@Suite("REST of Google's emulator and of this server", .enabled(if: Emulator.isInstalled, Emulator.hint), Emulator())
struct RESTDifferentialTests {
  @Test("2,000 generated requests have the same answers", .timeLimit(.minutes(5)))
  func sameAnswers() async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(storage: .memory, logger: quiet)
    let seed = SeededGenerator.askedSeed ?? 1
    let documents = "projects/rest-\(seed)/databases/(default)/documents"
    var generator = RESTRequests(random: SeededGenerator(seed: seed), documents: documents)
    let requests = (0..<2_000).map { _ in generator.next() }
    let theirs = try await Self.answers(to: requests, at: "127.0.0.1:\(Emulator.port)/v1/\(documents)")
    let ours = try await Self.answers(to: requests, at: "127.0.0.1:\(server.port)/v1/\(documents)")
    await server.shutdown()
    var differences = 0
    for (index, request) in requests.enumerated() where theirs[index] != ours[index] {
      differences += 1
      guard differences <= 10 else { continue }
      // One line, which is what scripts/test repeats at its end.
      Issue.record(
        "seed \(seed), request \(index): theirs: \(theirs[index]), ours: \(ours[index]), \(request.verb) \(request.path) \(request.body ?? "")"
      )
    }
    #expect(differences == 0)
    #expect(
      Set(ours.map { $0.prefix(3) }).isSuperset(of: ["200", "404", "400", "409"]), "all kinds of answers are among them"
    )
  }

  /// Sends all requests with one curl, which keeps the connection, and gives the status and the content of each answer.
  private static func answers(to requests: [RESTRequest], at address: String) async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-rest-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var script = ""
    for (index, request) in requests.enumerated() {
      let body = folder.appendingPathComponent("\(index).body")
      try Data((request.body ?? "").utf8).write(to: body)
      if index > 0 { script += "next\n" }
      script += """
        url = "http://\(address)\(request.path)"
        request = "\(request.verb)"
        header = "authorization: Bearer owner"
        header = "content-type: application/json"
        header = "expect:"
        output = "\(folder.appendingPathComponent("\(index)").path)"
        write-out = "%{http_code}\\n"
        silent
        globoff
        max-time = 20

        """
      if request.body != nil { script += "data-binary = \"@\(body.path)\"\n" }
    }
    let file = folder.appendingPathComponent("script")
    try Data(script.utf8).write(to: file)
    let output = try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), ["curl", "-K", file.path])
    let statuses = output.text.split(separator: "\n")
    try #require(statuses.count == requests.count, "\(output.text.suffix(500))")
    return try requests.indices.map { index in
      let data = (try? Data(contentsOf: folder.appendingPathComponent("\(index)"))) ?? Data()
      guard statuses[index] == "200" else { return String(statuses[index]) }
      let json = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
      let isOrdered = !requests[index].path.hasPrefix(":batchGet")
      return "200 \(text(json, isOrdered: isOrdered))"
    }
  }

  /// The fields that differ by nature: times, tokens, and the message that says that a result is complete.
  private static let volatile: Set<String> = [
    "createTime", "updateTime", "readTime", "commitTime", "nextPageToken", "transaction", "done",
    // The emulator repeats it in each element but the last, and leaves it out if that is the only one.
    "skippedResults",
  ]

  /// A value's text with members sorted and without what is volatile. Errors within a BatchWrite are their codes.
  private static func text(_ json: Any, isOrdered: Bool = true) -> String {
    switch json {
    case let object as [String: Any]:
      let members = object.filter { !volatile.contains($0.key) }.sorted { $0.key < $1.key }
      return "{\(members.map { "\($0.key): \(text($0.value))" }.joined(separator: ", "))}"
    case let array as [Any]:
      let elements = array.map { text($0) }
      return "[\((isOrdered ? elements : elements.sorted()).joined(separator: ", "))]"
    // Both write the same number in several ways.
    case let number as NSNumber: return "\(number.doubleValue)"
    default: return "\(json)"
    }
  }
}
