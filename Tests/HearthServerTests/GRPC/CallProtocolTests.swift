import Foundation
import HearthModel
import HearthRPC
import HearthWire
import NIOCore
import NIOHPACK
import RawHTTP2
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// gRPC's rules for HTTP/2, frame by frame.
@Suite("Calls on the wire")
struct CallProtocolTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test(
    "what is no call of gRPC gets a status of HTTP",
    arguments: [(["content-type": "application/json"], "404"), ([":method": "GET"], "405")])
  func httpStatus(change: [String: String], status: String) async throws {
    try await withClient { client in
      try await client.send([Frame.request(1, change)])
      try await client.wait(for: "the answer") { $0.headers[1] != nil }
      #expect(client.received.headers[1]?.first(name: ":status") == status)
      #expect(client.received.headers[1]?.first(name: "grpc-status") == nil)
    }
  }

  @Test("an unknown method is UNIMPLEMENTED, in headers that end the stream")
  func unknownMethod() async throws {
    try await withClient { client in
      try await client.send([Frame.headers(1, method: "Nothing")])
      try await client.wait(for: "the answer") { $0.statuses[1] != nil && $0.resets[1] != nil }
      #expect(client.received.statuses[1] == "12")
      let headers = try #require(client.received.headers[1])
      #expect(headers.first(name: ":status") == "200")
      #expect(headers.first(name: "grpc-message") == "google.firestore.v1.Firestore.Nothing is not served.")
      #expect(client.received.resets[1] == 0, "the client has not ended its side, and is told that nobody listens")
    }
  }

  @Test("an unknown encoding is UNIMPLEMENTED and says which are accepted")
  func encoding() async throws {
    try await withClient { client in
      try await client.send([Frame.request(1, ["grpc-encoding": "gzip"])])
      try await client.wait(for: "the answer") { $0.statuses[1] != nil }
      #expect(client.received.statuses[1] == "12")
      #expect(client.received.headers[1]?.first(name: "grpc-accept-encoding") == "identity")
    }
  }

  @Test("a message of one byte a frame is whole in the end")
  func splitMessage() async throws {
    try await withClient { client in
      var message = try Frame.getMessage(1).payload
      var frames = [Frame.headers(1)]
      while let byte = message.readSlice(length: 1) {
        frames.append(Frame(kind: 0, flags: message.readableBytes == 0 ? 1 : 0, streamID: 1, payload: byte))
      }
      try await client.send(frames)
      try await client.wait(for: "the answer") { $0.statuses[1] == "0" }
      #expect((client.received.messageBytes[1] ?? 0) > 5)
    }
  }

  @Test("two messages in one frame are two requests of a stream, and an error of a call with one")
  func twoMessages() async throws {
    try await withClient { client in
      var request = Google_Firestore_V1_WriteRequest()
      request.database = ServerFixture.database.resourceName
      var both = try Frame.message(request, 1).payload
      // The second has no writes, which ends the stream.
      both.writeImmutableBuffer(try Frame.message(Google_Firestore_V1_WriteRequest(), 1).payload)
      try await client.send([Frame.headers(1, method: "Write"), Frame(kind: 0, streamID: 1, payload: both)])
      try await client.wait(for: "the end") { $0.statuses[1] == "0" }

      var twice = try Frame.getMessage(3).payload
      twice.writeImmutableBuffer(try Frame.getMessage(3).payload)
      try await client.send([Frame.headers(3), Frame(kind: 0, flags: 1, streamID: 3, payload: twice)])
      try await client.wait(for: "the refusal") { $0.statuses[3] == "12" }
    }
  }

  @Test("a call with one request and none, and one that ends within a message, fail")
  func missingRequest() async throws {
    try await withClient { client in
      try await client.send([Frame.headers(1, endsStream: true)])
      try await client.wait(for: "the refusal") { $0.statuses[1] == "12" }
      let part = Frame(kind: 0, flags: 1, streamID: 3, payload: ByteBuffer(bytes: [0, 0, 0, 0, 9, 1]))
      try await client.send([Frame.headers(3), part])
      try await client.wait(for: "the refusal") { $0.statuses[3] == "13" }
      #expect(client.received.resets.isEmpty, "the client had ended its side")
    }
  }

  @Test("a message that is too large is refused when its length is known, naming size and limit")
  func tooLarge() async throws {
    var limits = ServerLimits()
    limits.requestBytes = 1000
    try await withClient(limits) { client in
      let head = Frame(kind: 0, streamID: 1, payload: ByteBuffer(bytes: [0, 0, 0, 3, 233, 1]))
      try await client.send([Frame.headers(1), head])
      try await client.wait(for: "the refusal") { $0.statuses[1] == "3" && $0.resets[1] == 0 }
      let text = client.received.headers[1]?.first(name: "grpc-message") ?? ""
      #expect(text.contains("1001") && text.contains("1000"))
    }
  }

  @Test("a time limit ends a call with DEADLINE_EXCEEDED, also one whose request is not whole")
  func deadline() async throws {
    try await withClient { client in
      try await client.send([
        Frame.headers(1, method: "Listen", timeout: "10m"), Frame.headers(3, timeout: "10m"),
      ])
      try await client.wait(for: "the ends") { $0.statuses == [1: "4", 3: "4"] && $0.resets == [1: 0, 3: 0] }
    }
  }

  @Test("a half-closed listener ends with OK")
  func halfClose() async throws {
    try await withClient { client in
      try await client.send([
        Frame.headers(1, method: "Listen"), Frame(kind: 0, flags: 1, streamID: 1),
      ])
      try await client.wait(for: "the end") { $0.statuses[1] == "0" }
    }
  }

  @Test("a reset ends the task of its call")
  func reset() async throws {
    let (began, beginning) = AsyncStream<Void>.makeStream()
    let (cancelled, cancelling) = AsyncStream<Void>.makeStream()
    let waiting = WaitingInterceptor(began: beginning, cancelled: cancelling)
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.interceptor = waiting
    }
    try await RawHTTP2Client.withConnection(to: server) { client in
      try await client.send(try Frame.getCall(1))
      for await _ in began { break }
      try await client.send([Frame.reset(1, code: 8)])
      for await _ in cancelled { break }
      #expect(client.received.statuses[1] == nil)
    }
    await server.shutdown()
  }

  @Test("one call too many is refused, and there is room again when another one has ended")
  func calls() async throws {
    var limits = ServerLimits()
    limits.calls = 1
    try await withClient(limits) { client in
      try await client.send([Frame.headers(1, method: "Listen"), Frame.headers(3)])
      try await client.wait(for: "the refusal") { $0.statuses[3] == "8" }
      try await client.send([Frame(kind: 0, flags: 1, streamID: 1)])
      try await client.wait(for: "the end of the first") { $0.statuses[1] == "0" }
      // The call counts until its task has ended, a moment after its answer.
      var stream: UInt32 = 5
      while client.received.statuses[stream - 2] != "0" {
        let id = stream
        try await client.send(try Frame.getCall(id))
        try await client.wait(for: "an answer") { $0.statuses[id] != nil }
        stream += 2
      }
    }
  }

  @Test("one connection too many gets GOAWAY; there is room again when another one is closed")
  func connections() async throws {
    var limits = ServerLimits()
    limits.connections = 1
    try await ServerFixture.withServer(limits: limits) { fixture in
      while fixture.server.connectionCount < 1 { try await fixture.set("rooms/eros") }
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        try await client.wait(for: "the end") { $0.isClosed }
        #expect(client.received.goAway?.text == "too_many_connections")
        #expect(client.received.goAway?.code == 11)
      }
      #expect(fixture.server.refusedConnections == 1)
      try await fixture.set("rooms/eros")
    }
  }

  /// A client with TLS would take a frame as a sign that there is none.
  @Test("one connection too many of a port with TLS is closed without a frame")
  func encryptedConnections() async throws {
    try await ServerFixture.withServerAlone {
      $0.limits.connections = 1
      $0.prepare = { _ in }
    } _: { server in
      try await RawHTTP2Client.withConnection(to: server) { first in
        try await first.wait(for: "SETTINGS") { !$0.settings.isEmpty }
        try await RawHTTP2Client.withConnection(to: server) { second in
          try await second.wait(for: "the end") { $0.isClosed }
          #expect(second.received.settings.isEmpty && second.received.goAway == nil)
        }
        #expect(!first.received.isClosed)
      }
    }
  }

  @Test("connections that are refused are told to the log, once in a while")
  func loggedRefusals() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger) { $0.limits.connections = 0 }
    for _ in 0..<3 {
      try await RawHTTP2Client.withConnection(to: server) { client in
        // One is told why at a time, others are closed at once.
        try await client.wait(for: "the refusal") { $0.goAway != nil || $0.isClosed }
      }
    }
    await server.shutdown()
    let lines = log.lines.filter { $0.contains("connection refused") }
    #expect(lines.count == 1)
    #expect(lines.allSatisfy { $0.hasPrefix("notice ") && $0.contains("--max-connections") })
  }

  /// A server with one document.
  private func withClient(
    _ limits: ServerLimits = ServerLimits(), _ body: (RawHTTP2Client) async throws -> Void
  ) async throws {
    try await ServerFixture.withServerAlone {
      $0.limits = limits
    } _: { server in
      try await ServerFixture.withClient(of: server) { try await $0.set("rooms/eros", ["n": 1.value]) }
      try await RawHTTP2Client.withConnection(to: server) { try await body($0) }
    }
  }
}

/// Keeps calls until they are cancelled.
private struct WaitingInterceptor: CallInterceptor {
  let began: AsyncStream<Void>.Continuation
  let cancelled: AsyncStream<Void>.Continuation

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    let (never, ending) = AsyncStream<Never>.makeStream()
    began.yield()
    for await _ in never {}
    ending.finish()
    cancelled.yield()
    return nil
  }
}
