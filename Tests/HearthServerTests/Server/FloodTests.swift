import HearthModel
import HearthRPC
import HearthServer
import HearthWire
import NIOCore
import RawHTTP2
import Testing

@Suite("A connection that floods the server is ended", .timeLimit(.minutes(5)))
struct FloodTests {
  typealias Frame = RawHTTP2Client.Frame

  private static let enhanceYourCalm: UInt32 = 11

  @Test("pings without any call: after 100")
  func idlePings() async throws {
    try await expectEnd("too_many_pings") { client in
      // Those that a keep-alive could be are answered.
      try await client.send(Array(repeating: Frame.ping, count: 100))
      try await client.wait(for: "100 answers") { $0.pingAnswers == 100 }
      #expect(client.received.goAway == nil)
      client.sendWithoutWaiting(Array(repeating: Frame.ping, count: 100))
    }
  }

  @Test("pings alongside a call that outrun any measurement of bandwidth: 20,000 at once and 2,000 a second")
  func busyPings() async throws {
    try await expectEnd("too_many_pings") { client in
      try await client.send([Frame.headers(1, method: "Listen")])
      for _ in 0..<100 { client.sendWithoutWaiting(Array(repeating: Frame.ping, count: 1000)) }
    }
  }

  @Test("pings whose answers are not read")
  func unreadAnswers() async throws {
    var limits = ConnectionLimits()
    limits.busyPings = .init(burst: 10_000_000, perSecond: 1)
    try await ServerFixture.withServer(connectionLimits: limits) { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server, reads: false) { client in
        try await client.send([Frame.headers(1, method: "Listen")])
        let pings = Array(repeating: Frame.ping, count: 10_000)
        // The client reads nothing; a send that fails shows that the server has closed the connection.
        await #expect(throws: (any Error).self) {
          for _ in 0..<10_000 { try await client.send(pings) }
        }
      }
    }
  }

  @Test("resets that outrun answers: more than 20,000 at once and 500 a second")
  func resets() async throws {
    var limits = ConnectionLimits()
    limits.resets = .init(burst: limits.resets.burst / 10, perSecond: limits.resets.perSecond / 10)
    try await expectEnd("too_many_resets", limits: limits) { client in
      for call in UInt32(0)..<5000 {
        client.sendWithoutWaiting([Frame.headers(2 * call + 1), Frame.reset(2 * call + 1, code: 8)])
      }
    }
  }

  @Test("resets of one stream that is over, again and again")
  func repeatedResets() async throws {
    try await expectEnd("too_many_resets") { client in
      try await client.send([Frame.headers(1), Frame.reset(1, code: 8)])
      for _ in 0..<50 { client.sendWithoutWaiting(Array(repeating: Frame.reset(1, code: 8), count: 1000)) }
    }
  }

  @Test("streams above the limit without end")
  func refusedStreams() async throws {
    var limits = ConnectionLimits()
    limits.maximumConcurrentStreams = 1
    limits.resets = .init(burst: 500, perSecond: 1)
    try await expectEnd("too_many_resets", limits: limits) { client in
      client.sendWithoutWaiting((0..<1000).map { Frame.headers(2 * $0 + 1) })
    }
  }

  @Test("CONTINUATION frames without end")
  func continuations() async throws {
    try await expectEnd { client in
      var headers = Frame.headers(1)
      headers.flags = 0
      let continuation = Frame(kind: 9, streamID: 1)
      client.sendWithoutWaiting([headers] + Array(repeating: continuation, count: 1000))
    }
  }

  @Test(
    "frames that bring nothing",
    arguments: [
      Frame(kind: 0, streamID: 1), Frame(kind: 2, streamID: 1, payload: ByteBuffer(repeating: 0, count: 5)),
      Frame(kind: 0xbe, streamID: 1, payload: ByteBuffer(repeating: 0, count: 100)),
    ])
  func emptyFrames(frame: Frame) async throws {
    try await expectEnd("too_many_empty_frames") { client in
      client.sendWithoutWaiting([Frame.headers(1)] + Array(repeating: frame, count: 5000))
    }
  }

  @Test(
    "windows that are opened by a byte at a time, of a stream and of the connection", arguments: [0, 1] as [UInt32])
  func smallUpdates(stream: UInt32) async throws {
    try await expectEnd("too_many_empty_frames", hasSmallWindows: true) { client in
      client.sendWithoutWaiting(
        [Frame.headers(1, method: "Listen")] + Array(repeating: Frame.windowUpdate(stream, 1), count: 5000))
    }
  }

  @Test("a SETTINGS frame with 2,700 entries, which the codec would apply to each stream one by one")
  func longSettings() async throws {
    try await expectEnd("too_many_settings") { client in
      var payload = ByteBuffer()
      for index in 0..<2700 { payload.writeMultipleIntegers(UInt16(4), UInt32(65_535 + index)) }
      client.sendWithoutWaiting([Frame.headers(1, method: "Listen"), Frame(kind: 4, payload: payload)])
    }
  }

  @Test("SETTINGS without end")
  func settings() async throws {
    try await expectEnd { client in
      client.sendWithoutWaiting(Array(repeating: Frame(kind: 4), count: 1000))
    }
  }

  @Test("garbage instead of HTTP/2")
  func garbage() async throws {
    try await ServerFixture.withServer { fixture in
      try await RawHTTP2Client.withConnection(to: fixture.server) { client in
        try await client.send(ByteBuffer(repeating: 0xff, count: 100_000))
        try await client.wait(for: "the end") { $0.isClosed }
      }
    }
  }

  /// Runs `flood` on one connection, which is ended, while calls on another one go on as before.
  private func expectEnd(
    _ reason: String = "", limits: ConnectionLimits = ConnectionLimits(), hasSmallWindows: Bool = false,
    _ flood: (RawHTTP2Client) async throws -> Void
  ) async throws {
    try await ServerFixture.withServer(connectionLimits: limits) { fixture in
      try await fixture.set("rooms/eros", ["n": 1.value])
      try await RawHTTP2Client.withConnection(
        to: fixture.server, streamWindow: hasSmallWindows ? 65_535 : UInt32(Int32.max),
        connectionWindow: hasSmallWindows ? 65_535 : UInt32(Int32.max)
      ) { client in
        try await flood(client)
        try await client.wait(for: "the end") { $0.isClosed }
        #expect(client.received.goAway?.code == Self.enhanceYourCalm)
        #expect(client.received.goAway?.text == reason)
      }
      #expect(try await fixture.get("rooms/eros").fields["n"]?.integerValue == 1)
    }
  }
}
