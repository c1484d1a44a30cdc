import Foundation
import HearthModel
import HearthRPC
import HearthServer
import HearthWire
import NIOCore
import RawHTTP2
import Testing

/// The tenth part of what a connection has to bear within a minute; `HEARTH_FULL_LOAD=1` runs all of it.
private let scale = ProcessInfo.processInfo.environment["HEARTH_FULL_LOAD"] == nil ? 1 : 10

@Suite("A connection that does nothing wrong is served")
struct HonestConnectionTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test("10,000 calls, each reset by the client after its answer")
  func resetsAfterAnswers() async throws {
    try await withClient { client in
      var nextStream: UInt32 = 1
      for _ in 0..<(100 * scale) {
        let streams = (0..<100).map { nextStream + 2 * $0 }
        nextStream += 200
        try await client.send(streams.flatMap { try Frame.getCall($0) })
        try await client.wait(for: "100 answers") { received in streams.allSatisfy { received.statuses[$0] != nil } }
        try await client.send(streams.map { Frame.reset($0, code: 0) })
      }
      #expect(client.received.statuses.values.allSatisfy { $0 == "0" })
      try await expectAlive(client, stream: nextStream)
    }
  }

  @Test("10,000 pings alongside calls")
  func pingsBesideCalls() async throws {
    try await withClient { client in
      for call in UInt32(0)..<UInt32(1000 * scale) {
        try await client.send(try Frame.getCall(2 * call + 1) + Array(repeating: Frame.ping, count: 10))
      }
      let calls = 1000 * scale
      try await client.wait(for: "the answers") { $0.statuses.count == calls && $0.pingAnswers == 10 * calls }
      #expect(client.received.goAway == nil)
    }
  }

  @Test("windows that are given back with each message, as grpc-core does: of the stream twice, of the connection once")
  func smallWindowUpdates() async throws {
    try await withClient(hasSmallWindows: true) { client in
      for call in UInt32(0)..<UInt32(1000 * scale) {
        let stream = 2 * call + 1
        try await client.send(
          try [
            Frame.headers(stream), Frame.windowUpdate(stream, 5), Frame.getMessage(stream), Frame.windowUpdate(0, 150),
          ])
        try await client.wait(for: "the answer") { $0.statuses[stream] != nil || $0.isClosed }
        try await client.send([Frame.windowUpdate(stream, 145), Frame.windowUpdate(0, 5)])
      }
      #expect(client.received.statuses.count == 1000 * scale)
      try await expectAlive(client, stream: UInt32(2000 * scale + 1))
    }
  }

  @Test("10,000 pings alongside a listener that has nothing to tell")
  func pingsBesideAListener() async throws {
    try await withClient { client in
      try await client.send([Frame.headers(1, method: "Listen"), try listenRequest(on: 1)])
      for _ in 0..<100 { try await client.send(Array(repeating: Frame.ping, count: 100)) }
      try await client.wait(for: "the answers") { $0.pingAnswers == 10_000 }
      try await expectAlive(client, stream: 3)
      #expect(client.received.resets.isEmpty)
    }
  }

  @Test("2,000 calls that are cancelled before their answer, half of them before their message is whole")
  func cancelledCalls() async throws {
    try await withClient { client in
      let calls = 2000 * scale
      for call in 0..<calls {
        let stream = UInt32(2 * call + 1)
        let frames = call.isMultiple(of: 2) ? try Frame.getCall(stream) : [Frame.headers(stream)]
        try await client.send(frames + [Frame.reset(stream, code: 8)])
      }
      try await expectAlive(client, stream: UInt32(2 * calls + 1))
      #expect(client.received.resets.isEmpty, "a reset must not be answered with a reset")
    }
  }

  @Test("10,000 streams at a time; the limit is announced")
  func manyStreams() async throws {
    try await withClient { client in
      let streams = (0..<10_000).map { UInt32(2 * $0 + 1) }
      for start in stride(from: 0, to: streams.count, by: 1000) {
        try await client.send(streams[start..<(start + 1000)].map { Frame.headers($0) })
      }
      try await expectAlive(client, stream: 20_001)
      #expect(client.received.settings[3] == UInt32(ConnectionLimits().maximumConcurrentStreams))
      #expect(ConnectionLimits().maximumConcurrentStreams >= 10_000)
      // Ending all of them one by one would take a debug build of the codec a minute.
      let some = streams.enumerated().filter { $0.offset.isMultiple(of: 100) }.map(\.element)
      try await client.send(try some.map { try Frame.getMessage($0) })
      try await client.wait(for: "the answers") { $0.statuses.count == 101 || $0.isClosed }
      #expect(client.received.statuses.values.allSatisfy { $0 == "0" })
      #expect(client.received.resets.isEmpty)
    }
  }

  @Test("a stream above the limit is refused, with REFUSED_STREAM, and touches no other")
  func refusedStreams() async throws {
    var limits = ConnectionLimits()
    limits.maximumConcurrentStreams = 100
    try await withClient(limits: limits) { client in
      let streams = (0..<100).map { UInt32(2 * $0 + 1) }
      let tooMany = (100..<2100).map { UInt32(2 * $0 + 1) }
      try await client.send(streams.map { Frame.headers($0) })
      // Their messages come when they are refused already.
      try await client.send(tooMany.map { Frame.headers($0) })
      try await client.send(try tooMany.map { try Frame.getMessage($0) })
      try await client.wait(for: "2,000 refusals") { $0.resets.count == 2000 || $0.isClosed }
      #expect(Set(client.received.resets.keys) == Set(tooMany))
      #expect(client.received.resets.values.allSatisfy { $0 == 7 })
      #expect(client.received.settings[3] == 100)
      let messages = try tooMany.map { try Frame.getMessage($0).payload.readableBytes }.reduce(0, +)
      try await client.wait(for: "the window of the dropped messages") { $0.windowGain >= messages }

      try await client.send(try streams.map { try Frame.getMessage($0) })
      try await client.wait(for: "the answers to the others") { $0.statuses.count == 100 }
      #expect(client.received.statuses.values.allSatisfy { $0 == "0" })
      try await expectAlive(client, stream: 4201)
    }
  }

  @Test("a stream that the client resets makes room for another at once")
  func resetMakesRoom() async throws {
    var limits = ConnectionLimits()
    limits.maximumConcurrentStreams = 100
    try await withClient(limits: limits) { client in
      try await client.send((0..<100).map { Frame.headers(UInt32(2 * $0 + 1)) })
      try await client.send(
        (0..<50).map { Frame.reset(UInt32(2 * $0 + 1), code: 8) }
          + (try (100..<150).flatMap { try Frame.getCall(UInt32(2 * $0 + 1)) }))
      try await client.wait(for: "the answers to the new calls") { $0.statuses.count == 50 || !$0.resets.isEmpty }
      #expect(client.received.resets.isEmpty)
    }
  }

  @Test(
    "timeouts that are none, or that gRPC cannot read, end nothing",
    arguments: ["-1n", "-9999999S", "1", "x", "99999999n"])
  func timeouts(value: String) async throws {
    try await withClient { client in
      try await client.send([Frame.headers(1, timeout: value), try Frame.getMessage(1)])
      try await client.wait(for: "the answer") { $0.statuses[1] != nil || $0.isClosed }
      // 99,999,999 ns are a tenth of a second; the others are no limit.
      #expect(client.received.statuses[1] == "0" || value == "99999999n")
      try await expectAlive(client, stream: 3)
    }
  }

  @Test("a client that has not seen the server's settings may open more than 100 streams")
  func streamsBeforeSettings() async throws {
    try await withClient(acknowledgesSettings: false) { client in
      let streams = (0..<1000).map { UInt32(2 * $0 + 1) }
      try await client.send(streams.map { Frame.headers($0) })
      try await client.send(try streams.map { try Frame.getMessage($0) })
      try await client.wait(for: "the answers") { $0.statuses.count == 1000 }
      #expect(client.received.statuses.values.allSatisfy { $0 == "0" })
    }
  }

  @Test("bytes that arrive one by one mean the same")
  func singleBytes() async throws {
    // Frames that the client sends on its own would come between the bytes.
    try await withClient(acknowledgesSettings: false) { client in
      var bytes = ByteBuffer()
      RawHTTP2Client.write(
        try [Frame.ping] + Frame.getCall(1) + [Frame.headers(3), Frame.reset(3, code: 8), Frame.ping]
          + Frame.getCall(5), to: &bytes)
      while let byte = bytes.readSlice(length: 1) { try await client.send(byte) }
      try await client.wait(for: "the answers") { $0.statuses.count == 2 && $0.pingAnswers == 2 }
      #expect(client.received.resets.isEmpty)
    }
  }

  @Test("DATA for streams that are over is dropped; the connection and its window stay whole")
  func strayData() async throws {
    try await withClient { client in
      for stream in stride(from: UInt32(1), to: 201, by: 2) {
        try await client.send([Frame.headers(stream), Frame.reset(stream, code: 8)])
      }
      let stray = Frame(kind: 0, streamID: 1, payload: ByteBuffer(repeating: 0, count: 10_000))
      for _ in 0..<100 { try await client.send([stray]) }
      try await client.wait(for: "the window") { $0.windowGain >= 1_000_000 }
      try await expectAlive(client, stream: 201)
    }
  }

  @Test("empty DATA frames on a stream that goes on are harmless")
  func emptyData() async throws {
    try await withClient { client in
      let empty = Frame(kind: 0, streamID: 1)
      try await client.send([Frame.headers(1), empty, empty, empty, try Frame.getMessage(1)])
      try await client.wait(for: "the answer") { $0.statuses[1] == "0" }
    }
  }

  @Test("a server that shuts down ends its connections, whatever clients still send")
  func shutdownUnderLoad() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger)
    try await RawHTTP2Client.withConnection(to: server) { client in
      try await client.send((0..<600).map { Frame.headers(UInt32(2 * $0 + 1), method: "Listen") })
      async let stopped: Void = server.shutdown()
      var stream: UInt32 = 1201
      while !client.received.isClosed {
        client.sendWithoutWaiting(try Frame.getCall(stream))
        stream += 2
        await Task.yield()
      }
      await stopped
      #expect(client.received.isClosed)
    }
  }

  @Test("a server that shuts down does not wait for clients that leave their streams half open")
  func shutdownWithHalfOpenStreams() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: ServerFixture.quietLogger)
    try await RawHTTP2Client.withConnection(to: server) { client in
      try await client.send([Frame.headers(1, method: "Listen"), try listenRequest(on: 1)])
      try await client.send([Frame.ping])
      try await client.wait(for: "an answer") { $0.pingAnswers == 1 }
      await server.shutdown()
      try await client.wait(for: "the end") { $0.isClosed }
    }
  }

  // MARK: - Support

  private func withClient(
    limits: ConnectionLimits = ConnectionLimits(), acknowledgesSettings: Bool = true,
    hasSmallWindows: Bool = false, _ body: (RawHTTP2Client) async throws -> Void
  ) async throws {
    try await ServerFixture.withServer(connectionLimits: limits) { fixture in
      try await fixture.set("rooms/eros", ["n": 1.value])
      try await RawHTTP2Client.withConnection(
        to: fixture.server, acknowledgesSettings: acknowledgesSettings,
        streamWindow: hasSmallWindows ? 65_535 : UInt32(Int32.max),
        connectionWindow: hasSmallWindows ? 65_535 : UInt32(Int32.max), body)
    }
  }

  /// One more call is answered, and nothing has ended the connection.
  private func expectAlive(_ client: RawHTTP2Client, stream: UInt32) async throws {
    try await client.send(try Frame.getCall(stream))
    try await client.wait(for: "the answer to one more call") { $0.statuses[stream] != nil || $0.isClosed }
    #expect(client.received.statuses[stream] == "0")
    #expect(client.received.goAway == nil)
  }

  private func listenRequest(on stream: UInt32) throws -> Frame {
    var request = Google_Firestore_V1_ListenRequest()
    request.database = ServerFixture.database.resourceName
    request.addTarget.targetID = 2
    request.addTarget.documents.documents = [name("rooms/eros")]
    return try .message(request, stream, endsStream: false)
  }
}
