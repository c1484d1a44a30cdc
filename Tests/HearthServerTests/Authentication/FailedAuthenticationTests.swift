import HearthModel
import HearthWire
import MetricsTestKit
import RawHTTP2
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// Knows the token `known`, and accepts tokens that begin with `good` after it has verified them.
private final class CountingCallers: CallAuthenticator {
  private let verified = Mutex(0)

  /// The number of tokens that were verified.
  var count: Int { verified.withLock { $0 } }

  private func token(_ metadata: CallMetadata) -> String { metadata["authorization"].first ?? "" }

  func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller {
    switch token(metadata) {
    case "": .identity(CallIdentity(Caller.nobody))
    case "Bearer known": .identity(CallIdentity(Caller.owner))
    case "Bearer goodOnce": .toBeConfirmed
    case "Bearer expired": throw CallStatus(.unauthenticated, "it has expired")
    default: .unknown
    }
  }

  func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity {
    verified.withLock { $0 += 1 }
    switch token(metadata) {
    case "Bearer unavailable": throw CallStatus(.unavailable, "no keys")
    case let header where header.hasPrefix("Bearer good"): return CallIdentity(Caller.owner)
    default: throw CallStatus(.unauthenticated, "bad token")
    }
  }
}

@Suite("Addresses whose calls fail to authenticate", .timeLimit(.minutes(2)))
struct FailedAuthenticationTests {
  private typealias Frame = RawHTTP2Client.Frame

  private static let limit = 5

  private let callers = CountingCallers()
  private let metrics = TestMetrics()

  private func withServer(_ body: (EmbeddedServer) async throws -> Void) async throws {
    try await ServerFixture.withServerAlone(
      {
        $0.callers = .locked(callers)
        $0.limits.failedAuthenticationsPerMinute = Self.limit
        $0.metrics = metrics
      }, body)
  }

  /// Gets documents with each of these tokens, one call after the other, over HTTP/2.
  ///
  /// - Returns: The codes of the answers.
  private func statuses(
    _ tokens: [String], on server: EmbeddedServer, from source: String? = nil
  ) async throws -> [String] {
    try await RawHTTP2Client.withConnection(toPort: server.port, from: source) { client in
      for (number, token) in tokens.enumerated() {
        let stream = UInt32(2 * number + 1)
        let headers = token.isEmpty ? [:] : ["authorization": "Bearer \(token)"]
        try await client.send([Frame.request(stream, headers), try Frame.getMessage(stream)])
        try await client.wait(for: "the answer") { $0.statuses[stream] != nil }
      }
      return tokens.indices.map { client.received.statuses[UInt32(2 * $0 + 1)] ?? "" }
    }
  }

  private static let (notFound, permissionDenied, exhausted, unavailable, unauthenticated) = ("5", "7", "8", "14", "16")

  @Test("beyond the limit nothing more of an address is verified, and what is known goes on")
  func limit() async throws {
    try await withServer { server in
      let bad = (0..<Self.limit).map { "bad\($0)" }
      let refused = try await statuses(bad + ["bad", "good", "known", "goodOnce", "", "bad"], on: server)
      let answers = [
        Self.exhausted, Self.exhausted, Self.notFound, Self.notFound, Self.permissionDenied, Self.exhausted,
      ]
      #expect(refused == bad.map { _ in Self.unauthenticated } + answers)
      #expect(callers.count == Self.limit + 1, "what was known is confirmed")
      let exceeded = metrics.counterTotal(
        label: "hearth.server.limit.exceeded", dimensions: [("limit", "failed_authentications_per_minute")])
      #expect(exceeded == 3)
      // Another connection of the address.
      #expect(try await statuses(["good", "known"], on: server) == [Self.exhausted, Self.notFound])
    }
  }

  @Test("tokens that are known to have expired count, and keys that cannot be had do not")
  func kinds() async throws {
    try await withServer { server in
      let count = 2 * Self.limit
      let undecided = try await statuses(Array(repeating: "unavailable", count: count), on: server)
      #expect(undecided == Array(repeating: Self.unavailable, count: count))
      #expect(try await statuses(["good"], on: server) == [Self.notFound])
      let refused = try await statuses(Array(repeating: "expired", count: count), on: server)
      #expect(refused == Array(repeating: Self.unauthenticated, count: count))
      #expect(try await statuses(["good2"], on: server) == [Self.exhausted])
    }
  }

  @Test("streams and REST are refused as well, and share the count of their address")
  func otherProtocols() async throws {
    try await withServer { server in
      try await RawHTTP1Client.withConnection(to: server) { client in
        func status(_ token: String) async throws -> Int {
          try await client.request("GET", "\(RESTPath.documents)/c/a", headers: ["authorization": "Bearer \(token)"])
            .status
        }
        for _ in 0..<Self.limit {
          let failed = try await status("bad")
          #expect(failed == 401)
        }
        #expect(try await status("bad") == 429)
        #expect(try await status("good") == 429)
        #expect(try await status("known") == 404)
      }
      try await RawHTTP2Client.withConnection(to: server) { client in
        try await client.send([
          Frame.request(1, [":path": "/google.firestore.v1.Firestore/Listen", "authorization": "Bearer good"])
        ])
        try await client.wait(for: "the end") { $0.statuses[1] != nil }
        #expect(client.received.statuses[1] == Self.exhausted)
      }
    }
  }

  // Elsewhere 127.0.0.1 is the only address of this machine that can be relied on.
  #if os(Linux)
    @Test("calls of other addresses go on")
    func otherAddresses() async throws {
      try await withServer { server in
        let bad = Array(repeating: "bad", count: Self.limit + 1)
        let refused = try await statuses(bad, on: server, from: "127.0.0.2")
        #expect(refused.last == Self.exhausted)
        #expect(try await statuses(["good"], on: server, from: "127.0.0.3") == [Self.notFound])
        #expect(try await statuses(["good"], on: server, from: "127.0.0.2") == [Self.exhausted])
      }
    }
  #endif

  @Test("without a limit of its own, a server has one exactly where addresses are those of clients")
  func usualLimit() {
    func limit(_ change: (inout EmbeddedServer.Configuration) -> Void) -> Int {
      var configuration = EmbeddedServer.Configuration(storage: .memory)
      change(&configuration)
      return configuration.failedAuthenticationsPerMinute
    }
    #expect(limit { $0.host = "0.0.0.0" } == ServerLimits.usualFailedAuthentications)
    #expect(limit { $0.host = "::" } == ServerLimits.usualFailedAuthentications)
    #expect(limit { $0.host = "127.0.0.1" } == 0)
    #expect(limit { $0.host = "localhost" } == 0)
    #expect(limit { ($0.host, $0.permissions) = ("0.0.0.0", [.withoutTLS]) } == 0)
    #expect(limit { ($0.host, $0.limits.failedAuthenticationsPerMinute) = ("0.0.0.0", 0) } == 0)
    #expect(limit { $0.limits.failedAuthenticationsPerMinute = 7 } == 7)
  }
}
