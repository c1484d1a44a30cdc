import Foundation
import HearthModel
import NIOCore
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Connections of HTTP/1")
struct HTTP1ConnectionTests {
  private typealias Client = RawHTTP1Client
  private static let documents = RESTPath.documents

  @Test("10,000 requests that are sent at once are answered in order")
  func pipelining() async throws {
    try await RESTCallTests.withClient { client, fixture in
      for index in 0..<10 { try await fixture.set("c/\(index)", ["n": .integer(Int64(index))]) }
      var requests = ""
      for index in 0..<10_000 {
        requests += Client.text("GET", index.isMultiple(of: 100) ? Self.documents + "/c/\(index / 100 % 10)" : "/")
      }
      try await client.send(requests)
      // Counted by name: taking 10,000 answers apart one by one would take long.
      try await waitUntil {
        let text = client.text
        return text.components(separatedBy: "HTTP/1.1 200 OK").count == 10_001 && text.hasSuffix("Ok\n")
          || client.isClosed
      }
      #expect(!client.isClosed)
      let order = client.text.components(separatedBy: "/documents/c/").dropFirst().compactMap {
        $0.first?.wholeNumberValue
      }
      #expect(order == (0..<100).map { $0 % 10 })
    }
  }

  @Test("a body may come in chunks, and in pieces of one byte")
  func chunked() async throws {
    try await RESTCallTests.withClient { client, _ in
      let body = #"{"fields": {"n": {"integerValue": "1"}}}"#
      var request = Client.text(
        "POST", Self.documents + "/c?documentId=a", headers: ["Transfer-Encoding": "chunked"])
      for character in body { request += "1\r\n\(character)\r\n" }
      request += "0\r\n\r\n"
      for character in request.unicodeScalars { try await client.send(String(character)) }
      #expect(try await client.answer().status == 200)
    }
  }

  @Test("a client that asks before it sends its body is told to go on")
  func expectContinue() async throws {
    try await RESTCallTests.withClient { client, _ in
      try await client.send(
        Client.text(
          "POST", Self.documents + "/c?documentId=a", headers: ["Expect": "100-continue", "Content-Length": "2"]))
      #expect(try await client.answer().status == 100)
      try await client.send("{}")
      #expect(try await client.answer().status == 200)
    }
  }

  @Test("HEAD has the status of GET and no body; HTTP/1.0 and Connection: close end the connection")
  func variants() async throws {
    try await RESTCallTests.withClient { client, _ in
      #expect(try await client.request("HEAD", "/").status == 200)
      #expect(try await client.request("HEAD", Self.documents + "/c").status == 200)
      let missing = try await client.request("HEAD", Self.documents + "/c/a")
      #expect(missing.status == 404)
      try await client.send("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
      #expect(try await client.answer().body == "Ok\n")
      try await waitUntil { client.isClosed }
    }
    try await RESTCallTests.withClient { client, _ in
      let answer = try await client.request("GET", "/", headers: ["Connection": "close"])
      #expect(answer.headers["connection"] == "close")
      try await waitUntil { client.isClosed }
    }
  }

  @Test("long answers are compressed for clients that take that")
  func compression() async throws {
    try await RESTCallTests.withClient { client, fixture in
      try await fixture.set("c/a", ["t": .string(String(repeating: "x", count: 100_000))])
      try await client.send(Client.text("GET", Self.documents + "/c/a", headers: ["Accept-Encoding": "gzip"]))
      try await waitUntil { client.text.contains("\r\n\r\n") }
      #expect(client.text.lowercased().contains("content-encoding: gzip"))
      #expect(client.text.utf8.count < 20_000)
    }
  }

  @Test(
    "what is no HTTP ends with 400 and the connection",
    arguments: [
      "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n", "POST\r\n\r\n",
      "GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
  func noHTTP(text: String) async throws {
    try await RESTCallTests.withClient { client, fixture in
      try await client.send(text)
      try await waitUntil { client.isClosed }
      #expect(client.text.isEmpty || client.text.hasPrefix("HTTP/1.1 400"), "\(client.text)")
      try await waitUntil { fixture.server.load.callCount == 0 }
    }
  }

  @Test("a request that names two hosts is refused")
  func twoHosts() async throws {
    try await RESTCallTests.withClient { client, _ in
      try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
      try await waitUntil { client.text.contains("RFC 9112") }
      #expect(client.text.hasPrefix("HTTP/1.1 400"), "\(client.text)")
    }
  }

  @Test("huge headers end the connection before they are kept")
  func hugeHeaders() async throws {
    try await RESTCallTests.withClient { client, _ in
      try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + String(repeating: "a", count: 40_000))
      try await waitUntil { client.isClosed }
    }
    try await RESTCallTests.withClient { client, _ in
      let many = (0..<200).map { "X-\($0): a" }.joined(separator: "\r\n")
      try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\(many)\r\n\r\n")
      try await waitUntil { client.isClosed }
    }
  }

  @Test("a body that is too large, compressed or not, is refused")
  func largeBodies() async throws {
    var limits = ServerLimits()
    limits.requestBytes = 100_000
    try await RESTCallTests.withClient(limits: limits) { client, fixture in
      let answer = try await client.request("POST", Self.documents + ":commit", String(repeating: " ", count: 100_001))
      #expect(answer.status == 400)
      #expect(answer.body.contains("Request payload size exceeds the limit: 100000 bytes."))
      try await waitUntil { client.isClosed }
      try await waitUntil { fixture.server.load.callCount == 0 && fixture.server.load.received.bytes == 0 }
    }
  }

  @Test("JSON nested 10,000 levels deep is refused")
  func deepJSON() async throws {
    try await RESTCallTests.withClient { client, _ in
      for (open, close) in [("[", "]"), (#"{"mapValue":{"fields":{"a":"#, "}}}")] {
        let body =
          #"{"fields": {"a": "# + String(repeating: open, count: 10_000) + String(repeating: close, count: 10_000)
          + "}}"
        let answer = try await client.request("POST", Self.documents + "/c?documentId=a", body)
        #expect(answer.status == 400)
        #expect(answer.body.contains("nested more than"))
      }
    }
  }

  @Test("a client that is slow with its head or its body is not waited for")
  func slowClients() async throws {
    var limits = ServerLimits()
    limits.webIdleTime = .milliseconds(200)
    limits.webBodyTime = .milliseconds(200)
    for begin in ["", "P", "PR", "POST / HT", "POST / HTTP/1.1\r\nHost: localhost\r\n"] {
      try await RESTCallTests.withClient(limits: limits) { client, _ in
        if !begin.isEmpty { try await client.sendUnlessClosed(begin) }
        try await waitUntil { client.isClosed }
      }
    }
    // On a busy machine the head itself may take longer.
    limits.webIdleTime = ServerLimits().webIdleTime
    try await RESTCallTests.withClient(limits: limits) { client, fixture in
      try await client.send(
        Client.text("POST", Self.documents + ":commit", headers: ["Content-Length": "100"]) + "{")
      #expect(try await client.answer().status == 504)
      try await waitUntil { client.isClosed }
      try await waitUntil { fixture.server.load.callCount == 0 && fixture.server.load.received.bytes == 0 }
    }
  }

  @Test("a client that takes nothing is cut off, and holds little until then")
  func clientThatDoesNotRead() async throws {
    var limits = ServerLimits()
    limits.unreadTime = .milliseconds(300)
    try await ServerFixture.withServer(limits: limits) { fixture in
      let text = String(repeating: "x", count: 100_000)
      for index in 0..<150 { try await fixture.set("texts/\(index)", ["text": .string(text)]) }
      try await Client.withConnection(to: fixture.server, reads: false) { client in
        let query = #"{"structuredQuery": {"from": [{"collectionId": "texts"}]}}"#
        try await client.send(Client.text("POST", Self.documents + ":runQuery", query))
        try await waitUntil { fixture.server.load.queuedBytes > 0 }
        try await waitUntil { fixture.server.load.callCount == 0 && fixture.server.load.queuedBytes == 0 }
      }
    }
  }

  @Test("a server that ends lets a call finish and closes connections that have none")
  func ending() async throws {
    try await RESTCallTests.withClient { client, fixture in
      #expect(try await client.request("GET", "/").status == 200)
      await fixture.server.shutdown()
      try await waitUntil { client.isClosed }
    }
  }

  @Test("POST /shutdown ends a server that was told so")
  func shutdown() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.permissions = [.shutdown]
    }
    try await Client.withConnection(to: server) { client in
      #expect(try await client.request("POST", "/shutdown", "").status == 200)
      try await server.waitUntilStopped()
    }
  }
}
