import Foundation
import HearthWire
import NIOCore
import RawHTTP2

/// Connections that hang, and frames that cost the server more than the client.
extension Attack {
  /// More idle connections than the server has descriptors.
  func hang(_ count: Int) async throws {
    for _ in 0..<count {
      // One that the server closes at once is as good as one that it lets in.
      _ = try? await connect()
    }
    try await Task.sleep(for: .seconds(1))
  }

  /// Connections that send a part of a request, and then nothing.
  func hangInRequests() async throws {
    let text = String(repeating: "h", count: 100_000)
    let call = try Call.commit((0..<40).map { try .set("never/\($0)", ["s": .string(text)]) })
    for _ in 0..<20 * size {
      let client = try await connect()
      try await client.send([.headers(1, method: call.method)])
      var bytes = ByteBuffer(bytes: [0])
      bytes.writeInteger(UInt32(call.message.count))
      bytes.writeBytes(call.message.prefix(3 << 20))
      while bytes.readableBytes > 0, let piece = bytes.readSlice(length: min(16_384, bytes.readableBytes)) {
        client.sendWithoutWaiting([Frame(kind: 0, streamID: 1, payload: piece)])
      }
    }
    await waitUntilSteady()
  }

  /// Requests over HTTP/1.1 that stop within their body.
  func hangInBodies() async throws {
    let part = String(repeating: "x", count: 1 << 20)
    for _ in 0..<20 * size {
      let socket = try await socket()
      socket.send(
        "POST /v1/\(Call.database)/documents:commit HTTP/1.1\r\nHost: localhost\r\n"
          + "Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{\"a\":\"" + part)
    }
    await waitUntilSteady()
  }

  /// Listeners whose connection has no window left, commits for them, and then windows of one byte.
  func floodWindowUpdates() async throws {
    let client = try await connect()
    try await start(.query(.of("big")), on: client)
    await waitForAnswer(on: client, or: 60_000)
    let listen = try Call.listen(.of("few"))
    for stream in 0..<200 * size { try await start(listen, on: client, stream: UInt32(2 * stream + 3)) }
    let caller = try await caller()
    for number in 0..<100 { try await caller.answers(to: .commit([.set("few/a", ["n": .integer(number)])])) }
    let update = Frame.windowUpdate(0, 1)
    for _ in 0..<100 { client.sendWithoutWaiting(Array(repeating: update, count: 100)) }
    await waitUntilTaken(client)
  }

  /// SETTINGS with thousands of entries that each concern all streams.
  func floodSettings() async throws {
    let client = try await connect(window: UInt32(Int32.max))
    let listen = try Call.listen(.of("few"))
    for stream in 0..<500 * size { try await start(listen, on: client, stream: UInt32(2 * stream + 1)) }
    var entries = ByteBuffer()
    for entry in 0..<2700 { entries.writeMultipleIntegers(UInt16(4), UInt32(65_535 + entry % 2)) }
    for _ in 0..<50 { client.sendWithoutWaiting([Frame(kind: 4, payload: entries)]) }
    await waitUntilTaken(client)
  }

  func floodPings() async throws {
    let client = try await connectWithoutReading()
    try await client.send([.headers(1, method: "Listen")])
    for _ in 0..<100 * size { client.sendWithoutWaiting(Array(repeating: Frame.ping, count: 1000)) }
    await waitUntilServed(try await caller())
  }

  /// Calls that are reset as soon as they are there (CVE-2023-44487).
  func floodResets() async throws {
    let client = try await connect()
    let query = try Call.query(.of("big") { $0.orderBy = [.by("n")] })
    for stream in 0..<UInt32(1000 * size) {
      var payload = ByteBuffer(bytes: [0])
      payload.writeInteger(UInt32(query.message.count))
      payload.writeBytes(query.message)
      client.sendWithoutWaiting([
        .headers(2 * stream + 1, method: query.method),
        Frame(kind: 0, flags: 1, streamID: 2 * stream + 1, payload: payload), .reset(2 * stream + 1, code: 8),
      ])
    }
    await waitUntilTaken(client)
    await waitUntilServed(try await caller())
  }

  /// Waits until the server has taken a flood: it answers a ping behind it, or has ended the connection.
  private func waitUntilTaken(_ client: RawHTTP2Client) async {
    let start = ContinuousClock.now
    client.sendWithoutWaiting([.ping])
    do {
      try await client.wait(for: "the answer to a ping", seconds: 30) {
        $0.pingAnswers > 0 || $0.goAway != nil || $0.isClosed
      }
    } catch {
      fail("a flood was not taken within 30 s")
    }
    note(ContinuousClock.now - start)
  }

  /// Waits until the server has answered what it was asked after a flood.
  private func waitUntilServed(_ caller: CallClient) async {
    do {
      try await caller.answers(to: .query(.of(HonestClient.collection)), seconds: 30)
    } catch {
      fail("after the flood: \(error)")
    }
    await waitUntilSteady()
  }
}
