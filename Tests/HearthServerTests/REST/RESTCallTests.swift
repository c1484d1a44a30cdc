import Foundation
import HearthModel
import NIOCore
import NIOHPACK
import RawHTTP2
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Calls over REST", .everyStorage)
struct RESTCallTests {
  static func withClient<R: Sendable>(
    limits: ServerLimits = ServerLimits(), _ body: (RawHTTP1Client, ServerFixture) async throws -> R
  ) async throws -> R {
    try await ServerFixture.withServer(limits: limits) { fixture in
      try await RawHTTP1Client.withConnection(to: fixture.server) { try await body($0, fixture) }
    }
  }

  private func object(_ answer: RawHTTP1Client.Answer) throws -> [String: Any] {
    try #require(answer.json as? [String: Any], "\(answer.body)")
  }

  private func array(_ answer: RawHTTP1Client.Answer) throws -> [[String: Any]] {
    try #require(answer.json as? [[String: Any]], "\(answer.body)")
  }

  private func errorMessage(_ value: [String: Any]) -> String? {
    (value["error"] as? [String: Any])?["message"] as? String
  }

  @Test("a document is created, read, changed, listed and deleted on one connection")
  func documents() async throws {
    try await Self.withClient { client, _ in
      let created = try await client.request(
        "POST", RESTPath.documents + "/c?documentId=a",
        #"{"fields": {"n": {"integerValue": 1}, "t": {"stringValue": "x"}}}"#)
      #expect(created.status == 200)
      #expect(try object(created)["name"] as? String == RESTPath.documentsName + "/c/a")

      let again = try await client.request("POST", RESTPath.documents + "/c?documentId=a", "{}")
      #expect(again.status == 409)
      #expect((try object(again)["error"] as? [String: Any])?["status"] as? String == "ALREADY_EXISTS")

      let masked = try await client.request("GET", RESTPath.documents + "/c/a?mask.fieldPaths=n&prettyPrint=false")
      #expect(masked.body.contains(#""fields":{"n":{"integerValue":"1"}},"#))

      let patched = try await client.request(
        "PATCH", RESTPath.documents + "/c/a?updateMask.fieldPaths=n&currentDocument.exists=true",
        #"{"fields": {"n": {"doubleValue": 2.5}}}"#)
      let fields = try #require(try object(patched)["fields"] as? [String: [String: Any]])
      #expect(fields["n"]?["doubleValue"] as? Double == 2.5)
      #expect(fields["t"]?["stringValue"] as? String == "x")

      let listed = try await client.request("GET", RESTPath.documents + "/c?pageSize=1&orderBy=n")
      #expect((try object(listed)["documents"] as? [Any])?.count == 1)

      #expect(try await client.request("DELETE", RESTPath.documents + "/c/a").body == "{}\n")
      let missing = try await client.request("GET", RESTPath.documents + "/c/a")
      #expect(missing.status == 404)
      #expect(errorMessage(try object(missing)) == "Document \"\(RESTPath.documentsName)/c/a\" not found.")
      #expect(missing.headers["content-type"] == "application/json; charset=UTF-8")
      #expect(missing.headers["connection"] == nil)
    }
  }

  @Test("a stream's answers are the elements of one array, and its error is one, too")
  func streams() async throws {
    try await Self.withClient { client, fixture in
      for index in 0..<300 { try await fixture.set("c/\(index + 100)", ["n": .integer(Int64(index))]) }
      let query = #"{"structuredQuery": {"from": [{"collectionId": "c"}], "orderBy": [{"field": {"fieldPath": "n"}}]}}"#
      let found = try array(try await client.request("POST", RESTPath.documents + ":runQuery", query))
      #expect(found.count == 300)
      #expect(found.last?["done"] as? Bool == true)
      let names = found.compactMap { ($0["document"] as? [String: Any])?["name"] as? String }
      #expect(names == (100..<400).map { RESTPath.documentsName + "/c/\($0)" })

      let none = try await client.request("POST", RESTPath.documents + ":batchGet", #"{"documents": []}"#)
      #expect(none.body == "[]")

      let refused = try await client.request(
        "POST", RESTPath.documents + ":runQuery",
        #"{"structuredQuery": {"from": [{"collectionId": "c"}], "limit": -1}}"#)
      #expect(refused.status == 400)
      #expect(errorMessage(try #require(try array(refused).first)) != nil)

      let events = try await client.request("POST", RESTPath.documents + ":runQuery?alt=sse", query)
      #expect(events.headers["content-type"] == "text/event-stream")
      #expect(events.body.components(separatedBy: "\r\n\r\n").filter { $0.hasPrefix("data: {") }.count == 300)
    }
  }

  @Test(
    "nothing stands before the bracket that begins a stream's array or behind the one that ends it",
    arguments: ["", "?prettyPrint=false"])
  func brackets(_ parameters: String) async throws {
    try await Self.withClient { client, fixture in
      try await fixture.set("c/a", ["n": .integer(1)])
      for limit in [1, 0, -1] {
        let answer = try await client.request(
          "POST", RESTPath.documents + ":runQuery" + parameters,
          #"{"structuredQuery": {"from": [{"collectionId": "c"}], "limit": \#(limit)}}"#)
        #expect(answer.body.hasPrefix("[") && answer.body.hasSuffix("]"), "limit \(limit): \(answer.body)")
      }
    }
  }

  @Test("a transaction goes through the query's parameters and through bodies")
  func transactions() async throws {
    try await Self.withClient { client, fixture in
      try await fixture.set("c/a", ["n": .integer(1)])
      let begun = try object(try await client.request("POST", RESTPath.documents + ":beginTransaction", "{}"))
      let transaction = try #require(begun["transaction"] as? String)
      let escaped = transaction.replacingOccurrences(of: "+", with: "%2B")
      let read = try await client.request("GET", RESTPath.documents + "/c/a?transaction=\(escaped)")
      #expect(read.status == 200, "\(read.body)")
      let committed = try await client.request(
        "POST", RESTPath.documents + ":commit",
        #"{"transaction": "\#(transaction)", "writes": [{"delete": "\#(RESTPath.documentsName)/c/a"}]}"#)
      #expect(committed.status == 200, "\(committed.body)")
      #expect((try object(committed)["writeResults"] as? [Any])?.count == 1)
      let both = try await client.request(
        "GET", RESTPath.documents + "/c/a?transaction=AAAA&readTime=2020-01-01T00:00:00Z")
      #expect(both.status == 400)
      #expect(errorMessage(try object(both))?.contains("oneof field 'consistency_selector' is already set") == true)
    }
  }

  @Test(
    "requests that cannot be carried out are refused with a status and a reason",
    arguments: [
      ("GET", "/nothing", nil, 404, "Nothing is served at GET /nothing."),
      ("PUT", RESTPath.documents + "/c/a", "{}", 405, "The path takes DELETE, GET, PATCH, and not PUT."),
      ("GET", RESTPath.documents + "/c/a?x=1", nil, 400, "Field 'x' could not be found in request message."),
      ("GET", RESTPath.documents + "/c?pageSize=abc", nil, 400, "Invalid value at 'page_size' (TYPE_INT32), \"abc\""),
      ("GET", RESTPath.documents + "/c/a?mask=1", nil, 400, "It is a message, and cannot be set by a parameter."),
      ("GET", RESTPath.documents + "/c/a?alt=xml", nil, 400, "\"xml\" is not a form of answers"),
      ("GET", RESTPath.documents + "/c?pageSize=1&pageSize=2", nil, 400, "The parameter is given more than once."),
      ("GET", RESTPath.documents + "/c/a%FF", nil, 400, "not valid UTF-8"),
      ("POST", RESTPath.documents + ":commit?database=x", "{}", 400, "Unknown name \"database\""),
      ("POST", RESTPath.documents + ":commit", "nonsense", 400, "Invalid JSON payload received."),
      ("POST", "/shutdown", "", 403, "--allow-shutdown"),
      ("DELETE", "/emulator/v1/projects/p", nil, 400, "must have the form"),
    ])
  func refusals(verb: String, target: String, body: String?, status: Int, message: String) async throws {
    try await Self.withClient { client, _ in
      let answer = try await client.request(verb, target, body)
      #expect(answer.status == status)
      #expect(errorMessage(try object(answer))?.contains(message) == true, "\(answer.body)")
      #expect(try await client.request("GET", "/").body == "Ok\n", "the connection is still good")
    }
  }

  @Test("tokens are checked as over gRPC, in the header and in the parameter")
  func tokens() async throws {
    try await Self.withClient { (client, _) async throws -> Void in
      let target = RESTPath.documents + "/c"
      #expect(try await client.request("GET", target, headers: ["Authorization": "Bearer owner"]).status == 200)
      #expect(try await client.request("GET", target, headers: ["Authorization": "Bearer nonsense"]).status == 400)
      #expect(try await client.request("GET", target + "?access_token=nonsense&key=k").status == 400)
      #expect(try await client.request("GET", target + "?access_token=owner").status == 200)
    }
  }

  @Test("a page from elsewhere and a strange name are refused, and pages of this machine get their headers")
  func origins() async throws {
    try await Self.withClient { client, fixture in
      let target = RESTPath.documents + "/c?documentId=x"
      let refused = try await client.request("POST", target, "{}", headers: ["Origin": "https://evil.example"])
      #expect(refused.status == 403)
      #expect(refused.headers["access-control-allow-origin"] == nil)
      #expect(try await client.request("POST", target, "{}", headers: ["Host": "evil.example"]).status == 403)
      #expect(try await client.request("GET", RESTPath.documents + "/c/x").status == 404, "nothing was carried out")

      let origin = "http://localhost:5173"
      let allowed = try await client.request("POST", target, "{}", headers: ["Origin": origin])
      #expect(allowed.status == 200)
      #expect(allowed.headers["access-control-allow-origin"] == origin)
      let preflight = try await client.request(
        "OPTIONS", target,
        headers: [
          "Origin": origin, "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "content-type",
        ])
      #expect(preflight.status == 204)
      #expect(preflight.headers["access-control-allow-methods"]?.contains("PATCH") == true)
      #expect(preflight.headers["access-control-allow-headers"] == "content-type")
    }
  }

  @Test("a database on disk is cleared only if that was allowed", arguments: [false, true])
  func clearingDisk(isAllowed: Bool) async throws {
    try await withTemporaryFolder { folder in
      let server = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger) {
        if isAllowed { $0.permissions = [.clearing] }
      }
      let result: Result<Void, any Error>
      do {
        try await ServerFixture.withClient(of: server) { fixture in
          try await fixture.set("c/a", ["n": .integer(1)])
          let answer = try await RawHTTP1Client.withConnection(to: server) {
            try await $0.request("DELETE", "/emulator/v1/projects/test/databases/(default)/documents")
          }
          #expect(answer.status == (isAllowed ? 200 : 403))
          #expect(isAllowed || answer.body.contains("--allow-clear"))
          #expect(try await fixture.ids(Query(path: path("c"))).count == (isAllowed ? 0 : 1))
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await server.shutdown()
      try result.get()
    }
  }

  @Test("all documents of a database are deleted by the emulator's request, and only those")
  func clearing() async throws {
    try await Self.withClient { client, fixture in
      try await fixture.commit((0..<700).map { .set(key("c/\($0)"), ["n": .integer(1)]) })
      try await fixture.set("c/1/d/2", [:])
      try await fixture.set("e/3", [:])
      let other = "/v1/projects/other/databases/(default)/documents/c"
      #expect(try await client.request("POST", other + "?documentId=a", "{}").status == 200)
      let emulator = "/emulator/v1/projects/test/databases/(default)/documents"
      #expect(try await client.request("DELETE", emulator + "/e").body == "{}\n")
      #expect(try await fixture.ids(Query(path: path("e"))).isEmpty)
      #expect(try await fixture.ids(Query(path: path("c"))).count == 700)
      #expect(try await client.request("DELETE", emulator).body == "{}\n")
      #expect(try await client.request("POST", RESTPath.documents + ":listCollectionIds", "{}").body == "{}\n")
      #expect(try await client.request("GET", other + "/a").status == 200)
    }
  }

  @Test("a request that clears a database that does not exist is answered, and logged with the name that was meant")
  func clearingNothing() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger)
    try await ServerFixture.withClient(of: server) { try await $0.set("c/a", [:]) }
    func clear(_ project: String, _ database: String) async throws -> [String] {
      let before = log.lines.count
      let answer = try await RawHTTP1Client.withConnection(to: server) {
        try await $0.request("DELETE", "/emulator/v1/projects/\(project)/databases/\(database)/documents")
      }
      #expect(answer.status == 200 && answer.body == "{}\n")
      return log.lines.dropFirst(before).filter { $0.contains("cleared nothing") }
    }
    let mistyped = try await clear("test", "default")
    #expect(
      mistyped.count == 1 && mistyped[0].hasPrefix("warning ") && mistyped[0].contains("did you mean (default)?"),
      "\(mistyped)")
    let unknown = try await clear("tset", "(default)")
    #expect(unknown.count == 1 && unknown[0].hasPrefix("info ") && unknown[0].contains("tset"), "\(unknown)")
    #expect(try await clear("test", "(default)").isEmpty)
    await server.shutdown()
  }

  @Test("a message in a body and in an answer may be as on the wire")
  func binary() async throws {
    try await Self.withClient { client, _ in
      let headers = ["Content-Type": "application/x-protobuf"]
      let index = try #require(ProtoSchema.server.index(of: "google.firestore.v1.Document"))
      let json = #"{"fields": {"t": {"integerValue": "1"}}}"#
      // Lengths and tags are below 128, so the bytes are text.
      let document = try JSONDecoding(schema: .server).message(index, from: Array(json.utf8)[...])
      let created = try await client.request(
        "POST", RESTPath.documents + "/c?documentId=a", String(decoding: document, as: UTF8.self), headers: headers)
      #expect(created.status == 200, "\(created.body)")
      let answer = try await client.request("GET", RESTPath.documents + "/c/a?alt=proto")
      #expect(answer.headers["content-type"] == "application/x-protobuf")
      #expect(answer.body.contains(RESTPath.documentsName + "/c/a"))
    }
  }

  @Test("HTTP/2 requests without gRPC get the same answers")
  func http2() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/a", ["t": .string(String(repeating: "x", count: 200_000))])
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: 50_000) { client in
        func get(_ stream: UInt32, _ path: String) -> RawHTTP2Client.Frame {
          .request(
            stream, [":method": "GET", ":path": path, "content-type": "application/json"], endsStream: true)
        }
        try await client.send([get(1, RESTPath.documents + "/c/a"), get(3, RESTPath.documents + "/c/b"), get(5, "/")])
        try await client.wait(for: "the small answers") { $0.statuses[5] != nil || ($0.messageBytes[3] ?? 0) > 0 }
        try await client.wait(for: "the window's worth") { $0.messageBytes[1] == 50_000 }
        try await client.send([.windowUpdate(1, 1_000_000)])
        try await client.wait(for: "the rest") { $0.messageBytes[1] ?? 0 > 200_000 }
        #expect(client.received.headers[1]?.first(name: ":status") == "200")
        // A large body may be on its way before its end is known.
        if let length = client.received.headers[1]?.first(name: "content-length") {
          #expect(length == client.received.messageBytes[1].map(String.init))
        }
        #expect(client.received.headers[3]?.first(name: ":status") == "404")
      }
    }
  }

  @Test("a client that goes away ends its query")
  func cancellation() async throws {
    try await ServerFixture.withServer { fixture in
      let text = String(repeating: "x", count: 100_000)
      // More than the sockets hold.
      for index in 0..<150 { try await fixture.set("texts/\(index)", ["text": .string(text)]) }
      try await RawHTTP1Client.withConnection(to: fixture.server, reads: false) { client in
        let query = #"{"structuredQuery": {"from": [{"collectionId": "texts"}]}}"#
        try await client.send(RawHTTP1Client.text("POST", RESTPath.documents + ":runQuery", query))
        try await waitUntil { fixture.server.load.queuedBytes > 0 }
        #expect(fixture.server.load.queuedBytes < 2_000_000)
        #expect(fixture.server.load.callCount == 1)
      }
      try await waitUntil { fixture.server.load.callCount == 0 && fixture.server.load.queuedBytes == 0 }
    }
  }

  @Test("a client that goes away while its write waits for a transaction ends the write")
  func cancelledWrite() async throws {
    try await Self.withClient { client, fixture in
      try await fixture.set("c/a", ["n": .integer(1)])
      let begun = try object(try await client.request("POST", RESTPath.documents + ":beginTransaction", "{}"))
      let transaction = try #require(begun["transaction"] as? String)
      let body = #"{"documents": ["\#(RESTPath.documentsName)/c/a"], "transaction": "\#(transaction)"}"#
      #expect(try await client.request("POST", RESTPath.documents + ":batchGet", body).status == 200)
      try await RawHTTP1Client.withConnection(to: fixture.server) { other in
        try await other.send(RawHTTP1Client.text("DELETE", RESTPath.documents + "/c/a"))
        try await waitUntil { fixture.server.load.callCount == 1 }
      }
      try await waitUntil { fixture.server.load.callCount == 0 }
      #expect(try await client.request("GET", RESTPath.documents + "/c/a").status == 200, "nothing was deleted")
    }
  }
}
