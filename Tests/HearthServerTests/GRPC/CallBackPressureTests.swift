import HearthModel
import HearthStore
import HearthWire
import NIOCore
import NIOHPACK
import RawHTTP2
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Clients that are slower than the server")
struct CallBackPressureTests {
  typealias Frame = RawHTTP2Client.Frame

  private static let documentBytes = 100_000
  private static let documentCount = 40

  /// A server with 4 MB of documents, a client that lets a stream send `window` bytes, and a query for all of them.
  private func withQuery(
    _ limits: ServerLimits, window: UInt32, streams: Int = 1,
    _ body: (EmbeddedServer, RawHTTP2Client) async throws -> Void
  ) async throws {
    try await ServerFixture.withServer(limits: limits) { fixture in
      let text = String(repeating: "x", count: Self.documentBytes)
      for index in 0..<Self.documentCount { try await fixture.set("texts/\(index)", ["text": .string(text)]) }
      try await RawHTTP2Client.withConnection(to: fixture.server, streamWindow: window) { client in
        let request = fixture.queryRequest(Query(path: path("texts")))
        for stream in 0..<streams {
          let id = UInt32(2 * stream + 1)
          try await client.send([Frame.headers(id, method: "RunQuery"), try .message(request, id)])
        }
        try await body(fixture.server, client)
      }
    }
  }

  @Test("a stream whose client does not read holds the stated bytes and a message, and goes on when it reads")
  func slowReader() async throws {
    var limits = ServerLimits()
    limits.queuedBytesPerStream = 200_000
    try await withQuery(limits, window: 50_000) { server, client in
      try await client.wait(for: "the window's content") { $0.messageBytes[1] == 50_000 }
      try await waitUntil { server.load.queuedBytes > limits.queuedBytesPerStream / 2 }
      let most = limits.queuedBytesPerStream + Self.documentBytes + 1000
      // The other documents are not even read: another call is answered in that state, and nothing is added.
      for stream in stride(from: UInt32(3), to: 23, by: 2) {
        try await client.send(try Frame.getCall(stream))
        try await client.wait(for: "an answer") { $0.statuses[stream] != nil }
        #expect(server.load.queuedBytes <= most)
      }
      #expect(client.received.messageBytes[1] == 50_000)
      try await client.send([Frame.windowUpdate(1, 100_000_000)])
      try await client.wait(for: "the end") { $0.statuses[1] == "0" }
      #expect((client.received.messageBytes[1] ?? 0) > Self.documentBytes * Self.documentCount)
      #expect(server.load.queuedBytes == 0)
    }
  }

  @Test("streams that come one after the other hold at most the share that each found, and a message")
  func manySlowReaders() async throws {
    var limits = ServerLimits()
    limits.queuedBytesPerStream = 1 << 20
    limits.queuedBytes = 1 << 20
    let streams = 20
    try await withQuery(limits, window: 0, streams: streams) { server, client in
      try await waitUntil { server.load.queuedBytes > limits.queuedBytes }
      try await client.send([Frame.ping])
      try await client.wait(for: "an answer") { $0.pingAnswers == 1 }
      let shares = (1...streams).reduce(0) { $0 + limits.queuedBytes / $1 }
      #expect(server.load.queuedBytes <= shares + streams * (Self.documentBytes + 1000))
      let updates = (0..<streams).map { Frame.windowUpdate(UInt32(2 * $0 + 1), 100_000_000) }
      try await client.send(updates)
      try await client.wait(for: "the ends") { $0.statuses.count == streams }
      #expect(client.received.statuses.values.allSatisfy { $0 == "0" })
      #expect(server.load.queuedBytes == 0)
    }
  }

  @Test("a client that takes nothing for too long loses the stream, with the reason; other calls go on")
  func dropped() async throws {
    var limits = ServerLimits()
    limits.unreadTime = .milliseconds(200)
    try await withQuery(limits, window: 50_000) { server, client in
      try await client.wait(for: "the end") { $0.statuses[1] != nil }
      #expect(client.received.statuses[1] == "8")
      let text = client.received.headers[1]?.first(name: "grpc-message") ?? ""
      #expect(text.contains("0.2 seconds"), "\(text)")
      #expect(client.received.messageBytes[1] == 50_000)
      try await waitUntil { server.load.queuedBytes == 0 && server.load.callCount == 0 }
      try await client.send(try Frame.getCall(3))
      try await client.wait(for: "an answer") { $0.statuses[3] != nil }
    }
  }

  @Test("a connection that is closed gives back what its streams held, and ends their tasks")
  func closed() async throws {
    try await withQuery(ServerLimits(), window: 0, streams: 3) { server, client in
      try await waitUntil { server.load.queuedBytes > 0 }
      client.close()
      try await waitUntil { server.load.queuedBytes == 0 && server.load.callCount == 0 }
    }
  }

  @Test("messages that many streams begin and do not end stay within the stated bytes; the largest are refused")
  func unfinishedRequests() async throws {
    var limits = ServerLimits()
    limits.receivedBytes = 1 << 20
    try await ServerFixture.withServer(limits: limits) { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        // Small ones first, which stay; 10 bytes of 1000 each.
        for stream in 0..<10 {
          var part = ByteBuffer(bytes: [0, 0, 0, 3, 232])
          part.writeRepeatingByte(0, count: 10)
          let id = UInt32(2 * stream + 1)
          try await client.send([Frame.headers(id), Frame(kind: 0, streamID: id, payload: part)])
        }
        for stream in 10..<40 {
          let id = UInt32(2 * stream + 1)
          var head = ByteBuffer(bytes: [0, 0, 0x80, 0, 0])
          head.writeRepeatingByte(0, count: 10_000)
          let more = Frame(kind: 0, streamID: id, payload: ByteBuffer(repeating: 0, count: 10_000))
          try await client.send([Frame.headers(id), Frame(kind: 0, streamID: id, payload: head)])
          for _ in 0..<10 { try await client.send([more]) }
          #expect(fixture.server.load.received.bytes <= limits.receivedBytes + 300_000)
        }
        try await client.wait(for: "refusals") { $0.statuses.count > 10 }
        #expect(client.received.statuses.values.allSatisfy { $0 == "8" })
        #expect(client.received.statuses.keys.allSatisfy { $0 > 20 })
        #expect(fixture.server.load.received.bytes <= limits.receivedBytes)
      }
      try await waitUntil { fixture.server.load.received.bytes == 0 && fixture.server.load.callCount == 0 }
    }
  }

  @Test("the window of a stream is kept while its requests wait, and given back when they are handled")
  func window() async throws {
    let (open, opening) = AsyncStream<Never>.makeStream()
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger) {
      $0.interceptor = ClosedGate(open: open)
    }
    let result: Result<Void, any Error>
    do {
      try await RawHTTP2Client.withConnection(to: server) { client in
        var request = Google_Firestore_V1_ListenRequest()
        request.database = ServerFixture.database.resourceName
        request.labels["filler"] = String(repeating: "x", count: 8000)
        request.removeTarget = 1
        let message = try Frame.message(request, 1, endsStream: false)
        try await client.send([Frame.headers(1, method: "Listen")] + Array(repeating: message, count: 30))
        try await client.send([Frame.ping])
        try await client.wait(for: "an answer") { $0.pingAnswers == 1 }
        #expect(client.received.streamWindowGain == 0)
        opening.finish()
        try await client.wait(for: "the window") { $0.streamWindowGain > 30 * 8000 }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    try result.get()
  }
}

/// Lets no call begin before it is opened.
private struct ClosedGate: CallInterceptor {
  let open: AsyncStream<Never>

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    for await _ in open {}
    return nil
  }
}
