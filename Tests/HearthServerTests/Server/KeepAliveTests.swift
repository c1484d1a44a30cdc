import HearthModel
import HearthRPC
import HearthServer
import NIOCore
import RawHTTP2
import Testing

@Suite("Keep-alive on the server's side")
struct KeepAliveTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test("a dead peer is found within 40 s by default")
  func defaults() {
    let limits = ConnectionLimits()
    #expect(limits.keepAliveTime + limits.keepAliveTimeout < .seconds(40))
  }

  @Test("a peer that does not answer the server's ping is disconnected")
  func deadPeer() async throws {
    try await ServerFixture.withServer(connectionLimits: Self.limits(timeout: .seconds(1))) { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server, answersPings: false) { client in
        try await client.send([Frame.headers(1, method: "Listen")])
        try await client.wait(for: "the end") { $0.isClosed }
        #expect(!client.received.pings.isEmpty)
        #expect(client.received.goAway == nil)
      }
    }
  }

  @Test("a peer that answers stays, however long it has nothing to say")
  func livingPeer() async throws {
    try await ServerFixture.withServer(connectionLimits: Self.limits(timeout: .seconds(300))) { fixture in
      try await fixture.set("rooms/eros", ["n": 1.value])
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        try await client.wait(for: "five pings") { $0.pings.count >= 5 || $0.isClosed }
        try await client.send(try Frame.getCall(1))
        try await client.wait(for: "an answer") { $0.statuses[1] != nil || $0.isClosed }
        #expect(client.received.statuses[1] == "0")
      }
    }
  }

  private static func limits(timeout: Duration) -> ConnectionLimits {
    var limits = ConnectionLimits()
    limits.keepAliveTime = .milliseconds(100)
    limits.keepAliveTimeout = timeout
    return limits
  }
}
