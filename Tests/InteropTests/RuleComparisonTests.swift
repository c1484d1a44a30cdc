import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The same rules and requests for Google's emulator and for this server, which have to allow and refuse the same ones.
@Suite(
  "Rules as the emulator applies them", Emulator(), .enabled(if: Emulator.isInstalled, Emulator.hint),
  .timeLimit(.minutes(5)))
struct RuleComparisonTests {
  private static let rules = """
    rules_version = '2';
    service cloud.firestore {
      match /databases/{database}/documents {
        function signedIn() { return request.auth != null; }
        function isMember(room) {
          return signedIn() && exists(/databases/$(database)/documents/rooms/$(room)/members/$(request.auth.uid));
        }
        match /notes/{note} {
          allow get, delete: if signedIn() && resource.data.owner == request.auth.uid;
          allow list: if signedIn() && resource.data.owner == request.auth.uid && request.query.limit <= 3;
          allow create: if signedIn() && request.resource.data.owner == request.auth.uid
            && request.resource.data.keys().hasOnly(['owner', 'n', 'public']);
          allow update: if resource.data.owner == request.auth.uid
            && !request.resource.data.diff(resource.data).affectedKeys().hasAny(['owner']);
          allow read: if resource.data.public == true;
        }
        match /rooms/{room} {
          allow read: if isMember(room);
          allow create: if signedIn()
            && existsAfter(/databases/$(database)/documents/rooms/$(room)/members/$(request.auth.uid));
          match /members/{member} {
            allow read: if isMember(room);
            allow write: if signedIn() && member == request.auth.uid;
          }
        }
        match /counters/{id} {
          allow read;
          allow write: if request.resource.data.n == resource.data.n + 1 || resource == null;
        }
        match /{path=**}/logs/{id} { allow read: if request.auth.token.admin == true; }
      }
    }
    """

  private struct Request {
    var verb: String
    /// Behind `documents`.
    var path: String
    var body: String?
    /// Nil for a call without a token.
    var user: String?

    var description: String { "\(verb) \(path) \(body ?? "") as \(user ?? "nobody")" }
  }

  /// Draws requests.
  private struct Requests {
    var random: SeededGenerator
    let documents: String

    private mutating func user() -> String? { random.element(["alice", "bob", nil]) }
    private mutating func id() -> String { random.element(["1", "2", "3"]) }

    private mutating func document() -> String {
      switch random.below(6) {
      case 0, 1: "notes/\(id())"
      case 2: "rooms/\(id())"
      case 3: "rooms/\(id())/members/\(random.element(["alice", "bob"]))"
      case 4: "counters/\(id())"
      default: random.element(["a/b/logs/1", "logs/1", "other/1"])
      }
    }

    private mutating func fields() -> String {
      var members: [String] = []
      if random.chance(80) { members.append(#""owner": {"stringValue": "\#(random.element(["alice", "bob"]))"}"#) }
      if random.chance(70) { members.append(#""n": {"integerValue": "\#(random.below(3))"}"#) }
      if random.chance(30) { members.append(#""public": {"booleanValue": \#(random.chance(60))}"#) }
      if random.chance(10) { members.append(#""more": {"nullValue": null}"#) }
      return #""fields": {\#(members.joined(separator: ", "))}"#
    }

    private mutating func write() -> String {
      let name = "\(documents)/\(document())"
      switch random.below(4) {
      case 0: return #"{"delete": "\#(name)"}"#
      case 1: return #"{"update": {"name": "\#(name)", \#(fields())}, "updateMask": {"fieldPaths": ["n"]}}"#
      default: return #"{"update": {"name": "\#(name)", \#(fields())}}"#
      }
    }

    /// The writes of a request name each document once.
    private mutating func commit() -> String {
      var writes = [write()]
      if random.chance(50) {
        let room = id()
        let user = random.element(["alice", "bob"])
        writes = [
          #"{"update": {"name": "\#(documents)/rooms/\#(room)", "fields": {}}}"#,
          #"{"update": {"name": "\#(documents)/rooms/\#(room)/members/\#(user)", "fields": {}}}"#,
        ]
        if random.chance(30) { writes.removeLast() }
      }
      return #"{"writes": [\#(writes.joined(separator: ", "))]}"#
    }

    private mutating func query() -> String {
      let collection = random.element(["notes", "rooms", "counters", "other"])
      var parts = [#""from": [{"collectionId": "\#(collection)"}]"#]
      if random.chance(20) { parts = [#""from": [{"collectionId": "logs", "allDescendants": true}]"#] }
      var filters: [String] = []
      func filter(_ field: String, _ value: String) -> String {
        #"{"fieldFilter": {"field": {"fieldPath": "\#(field)"}, "op": "EQUAL", "value": \#(value)}}"#
      }
      if random.chance(60) {
        filters.append(filter("owner", #"{"stringValue": "\#(random.element(["alice", "bob"]))"}"#))
      }
      if random.chance(30) { filters.append(filter("public", #"{"booleanValue": \#(random.chance(70))}"#)) }
      if filters.count == 1 {
        parts.append(#""where": \#(filters[0])"#)
      } else if filters.count > 1 {
        let op = random.element(["AND", "OR"])
        parts.append(
          #""where": {"compositeFilter": {"op": "\#(op)", "filters": [\#(filters.joined(separator: ", "))]}}"#)
      }
      if random.chance(60) { parts.append(#""limit": \#(1 + random.below(5))"#) }
      return "{\(parts.joined(separator: ", "))}"
    }

    mutating func next() -> Request {
      var request: Request
      switch random.below(10) {
      case 0, 1: request = Request(verb: "GET", path: "/\(document())")
      case 2: request = Request(verb: "PATCH", path: "/\(document())", body: "{\(fields())}")
      case 3: request = Request(verb: "DELETE", path: "/\(document())")
      case 4:
        request = Request(verb: "POST", path: "/notes?documentId=new\(random.below(1_000_000))", body: "{\(fields())}")
      case 5, 6: request = Request(verb: "POST", path: ":commit", body: commit())
      case 7:
        request = Request(
          verb: "POST", path: ":batchGet",
          body: #"{"documents": ["\#(documents)/\#(document())", "\#(documents)/\#(document())"]}"#)
      default: request = Request(verb: "POST", path: ":runQuery", body: #"{"structuredQuery": \#(query())}"#)
      }
      request.user = user()
      return request
    }
  }

  private static func token(of user: String) -> String {
    func part(_ json: String) -> String {
      Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    let admin = user == "bob" ? #", "admin": true"# : ""
    return "\(part(#"{"alg":"none","typ":"JWT"}"#)).\(part(#"{"sub":"\#(user)","user_id":"\#(user)"\#(admin)}"#))."
  }

  private func send(
    _ verb: String, _ address: String, body: String?, authorization: String?
  ) async throws -> (status: Int, text: String) {
    var request = URLRequest(url: try #require(URL(string: address)))
    request.httpMethod = verb
    request.httpBody = body.map { Data($0.utf8) }
    if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
    if let authorization { request.setValue(authorization, forHTTPHeaderField: "Authorization") }
    let (data, response) = try await URLSession.shared.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    return (status, String(decoding: data.prefix(2_000), as: UTF8.self))
  }

  /// The status of an answer, also of one whose stream ends with an error.
  private func outcome(_ answer: (status: Int, text: String)) -> Int {
    guard answer.status == 200, answer.text.contains("PERMISSION_DENIED") else { return answer.status }
    return 403
  }

  @Test("allows and refuses the same requests", arguments: SeededGenerator.seeds(4))
  func same(seed: UInt64) async throws {
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let project = "rules-\(seed)"
    let places = ["http://127.0.0.1:\(Emulator.port)", "http://127.0.0.1:\(server.port)"]
    let rules = try JSONSerialization.data(
      withJSONObject: ["rules": ["files": [["name": "firestore.rules", "content": Self.rules]]]])
    for place in places {
      let loaded = try await send(
        "PUT", "\(place)/emulator/v1/projects/\(project):securityRules", body: String(decoding: rules, as: UTF8.self),
        authorization: nil)
      #expect(loaded.status == 200, "\(loaded.text)")
    }
    let documents = "projects/\(project)/databases/(default)/documents"
    var requests = Requests(random: SeededGenerator(seed: seed), documents: documents)
    var counts: [Int: Int] = [:]
    for number in 0..<250 {
      let request = requests.next()
      var outcomes: [Int] = []
      var texts: [String] = []
      for place in places {
        let answer = try await send(
          request.verb, "\(place)/v1/\(documents)\(request.path)", body: request.body,
          authorization: request.user.map { "Bearer \(Self.token(of: $0))" })
        outcomes.append(outcome(answer))
        texts.append(answer.text)
      }
      counts[outcomes[0], default: 0] += 1
      guard outcomes[0] == outcomes[1] else {
        Issue.record(
          "\(number): \(request.description)\nemulator \(outcomes[0]): \(texts[0])\nserver \(outcomes[1]): \(texts[1])")
        break
      }
    }
    #expect(counts[200] ?? 0 > 20 && counts[403] ?? 0 > 20, "\(counts)")
    await server.shutdown()
  }
}
