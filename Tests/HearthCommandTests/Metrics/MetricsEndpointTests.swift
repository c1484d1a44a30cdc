import ArgumentParser
import Foundation
import HearthServer
import Logging
import Metrics
import NIOCore
import NIOPosix
import Testing

@testable import HearthCommand

@Suite("The endpoint for metrics", .timeLimit(.minutes(1)))
struct MetricsEndpointTests {
  /// Sends bytes to an endpoint and returns all that comes until it closes the connection.
  private static func exchange(_ port: Int, _ request: String) async throws -> String {
    let (texts, continuation) = AsyncStream.makeStream(of: String.self)
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Collector(continuation))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    // An endpoint may close before it has read all.
    try? await channel.writeAndFlush(ByteBuffer(string: request)).get()
    var answer = ""
    for await text in texts { answer += text }
    return answer
  }

  private static func request(_ verb: String, _ target: String) -> String {
    "\(verb) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
  }

  private func withEndpoint(
    _ limits: MetricsEndpoint.Limits = MetricsEndpoint.Limits(), text: String = "m 1\n",
    _ body: (Int) async throws -> Void
  ) async throws {
    let endpoint = try await MetricsEndpoint.start(host: "127.0.0.1", port: 0, openToEveryone: false, limits: limits) {
      text
    }
    do { try await body(endpoint.port) } catch {
      await endpoint.stop()
      throw error
    }
    await endpoint.stop()
  }

  @Test("GET and HEAD of /metrics are answered, other paths with 404 and other methods with 405")
  func answers() async throws {
    try await withEndpoint { port in
      let answer = try await Self.exchange(port, Self.request("GET", "/metrics"))
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"))
      #expect(answer.hasSuffix("\r\n\r\nm 1\n"))
      #expect(try await Self.exchange(port, Self.request("GET", "/metrics?x=1")).hasSuffix("m 1\n"))
      let head = try await Self.exchange(port, Self.request("HEAD", "/metrics"))
      #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(head.contains("content-length: 4\r\n"))
      #expect(head.hasSuffix("\r\n\r\n"))
      #expect(try await Self.exchange(port, Self.request("GET", "/")).hasPrefix("HTTP/1.1 404 "))
      #expect(try await Self.exchange(port, Self.request("GET", "/metrics/x")).hasPrefix("HTTP/1.1 404 "))
      let post = try await Self.exchange(port, Self.request("POST", "/metrics"))
      #expect(post.hasPrefix("HTTP/1.1 405 "))
      #expect(post.contains("allow: GET, HEAD\r\n"))
    }
  }

  @Test("a request has to name this machine, unless the address is open to everyone")
  func hosts() async throws {
    func request(_ host: String?) -> String {
      "GET /metrics HTTP/1.1\r\n" + (host.map { "Host: \($0)\r\n" } ?? "") + "Connection: close\r\n\r\n"
    }
    try await withEndpoint { port in
      for host in ["localhost", "LOCALHOST:\(port)", "127.0.0.1:\(port)", "[::1]:\(port)", "app.localhost"] {
        #expect(try await Self.exchange(port, request(host)).hasPrefix("HTTP/1.1 200 "), "\(host)")
      }
      for host in [nil, "", "pages.example.com", "pages.example.com:\(port)", "localhost.example.com", "10.0.0.1"] {
        let answer = try await Self.exchange(port, request(host))
        #expect(answer.hasPrefix("HTTP/1.1 403 ") && !answer.contains("m 1"), "\(host ?? "no host")")
      }
    }
    let proxied = try await MetricsEndpoint.start(
      host: "127.0.0.1", port: 0, openToEveryone: false, hosts: ["metrics.example.com"]
    ) { "m 1\n" }
    #expect(try await Self.exchange(proxied.port, request("metrics.example.com")).hasPrefix("HTTP/1.1 200 "))
    await proxied.stop()
    let open = try await MetricsEndpoint.start(host: "0.0.0.0", port: 0, openToEveryone: true) { "m 1\n" }
    for host in ["monitored.example.com", nil] {
      #expect(try await Self.exchange(open.port, request(host)).hasPrefix("HTTP/1.1 200 "))
    }
    await open.stop()
  }

  @Test("requests on one connection are answered in order")
  func pipelined() async throws {
    try await withEndpoint { port in
      let first = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let answer = try await Self.exchange(port, first + Self.request("GET", "/metrics"))
      #expect(answer.hasPrefix("HTTP/1.1 404 "))
      #expect(answer.contains("HTTP/1.1 200 OK"))
    }
  }

  @Test("a head or a body that is too large, garbage and silence end the connection")
  func limits() async throws {
    var limits = MetricsEndpoint.Limits()
    limits.headerBytes = 1000
    limits.bodyBytes = 1000
    let long = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 5000))\r\n\r\n"
    let body = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n"
    try await withEndpoint(limits) { port in
      for request in [long, body + String(repeating: "x", count: 2000)] {
        let answer = try await Self.exchange(port, request)
        #expect(!answer.contains("200 OK"), "\(request.prefix(40))")
      }
      let answer = try await Self.exchange(port, "garbage\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 400 "))
    }
    limits.patience = .milliseconds(300)
    try await withEndpoint(limits) { port in
      for request in ["GET /metrics HTTP/1.1\r\n", ""] {
        let answer = try await Self.exchange(port, request)
        #expect(answer == "")
      }
    }
  }

  @Test("connections beyond the limit are closed")
  func connections() async throws {
    var limits = MetricsEndpoint.Limits()
    limits.connections = 0
    try await withEndpoint(limits) { port in
      let answer = try await Self.exchange(port, Self.request("GET", "/metrics"))
      #expect(answer == "")
    }
  }

  @Test("an address of other machines needs a word of its own")
  func closedByDefault() async throws {
    for host in ["0.0.0.0", "::", "no address"] {
      await #expect(throws: ServerError.self) {
        _ = try await MetricsEndpoint.start(host: host, port: 0, openToEveryone: false) { "" }
      }
    }
  }

  @Test("a server's calls are in what is served")
  func server() async throws {
    let metrics = PrometheusMetrics(help: ServerMetric.helpTexts)
    let server = try await EmbeddedServer.start(
      storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
      $0.metrics = metrics
    }
    let options = try MetricsOptions.parse(["--metrics-port", "0"])
    let endpoint = try #require(try await options.endpoint(of: server, metrics))
    let commit = #"{"writes": [{"update": {"name": "projects/p/databases/(default)/documents/c/a"}}]}"#
    let head = "POST /v1/projects/p/databases/(default)/documents:commit HTTP/1.1\r\nHost: localhost\r\n"
    let request = head + "Connection: close\r\nContent-Length: \(commit.utf8.count)\r\n\r\n\(commit)"
    for _ in 0..<3 { #expect(try await Self.exchange(server.port, request).hasPrefix("HTTP/1.1 200 ")) }
    let text = try await Self.exchange(endpoint.port, Self.request("GET", "/metrics"))
    #expect(text.contains("hearth_server_calls_total{code=\"OK\",method=\"Commit\"} 3\n"))
    #expect(text.contains("hearth_server_call_duration_seconds_count{method=\"Commit\"} 3\n"))
    #expect(text.contains("hearth_server_commits_total 3\n"))
    #expect(text.contains("hearth_server_limit_used{limit=\"databases\"} 1\n"))
    #expect(text.contains("hearth_server_limit_allowed{limit=\"databases\"} 1000\n"))
    #expect(text.contains("hearth_server_limit_exceeded_total{limit=\"calls\"} 0\n"))
    await endpoint.stop()
    await server.shutdown()
  }
}

/// Passes on what comes, and the end.
private final class Collector: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let continuation: AsyncStream<String>.Continuation

  init(_ continuation: AsyncStream<String>.Continuation) {
    self.continuation = continuation
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    continuation.yield(String(buffer: unwrapInboundIn(data)))
  }

  func channelInactive(context: ChannelHandlerContext) {
    continuation.finish()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
