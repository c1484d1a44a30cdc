import Foundation
import HearthModel
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// Bodies of HTTP/1 that are compressed.
@Suite("Compressed bodies", .timeLimit(.minutes(1)))
struct CompressedBodyTests {
  private typealias Client = RawHTTP1Client

  private static func compressed(
    _ body: ByteBuffer, _ algorithm: NIOCompression.Algorithm = .gzip
  ) throws -> ByteBuffer {
    let channel = EmbeddedChannel(handler: NIOHTTPRequestCompressor(encoding: algorithm))
    defer { _ = try? channel.finish() }
    try channel.writeOutbound(HTTPClientRequestPart.head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")))
    channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
    try channel.writeOutbound(HTTPClientRequestPart.end(nil))
    var compressed = ByteBuffer()
    while let part = try channel.readOutbound(as: HTTPClientRequestPart.self) {
      if case .body(.byteBuffer(let bytes)) = part { compressed.writeImmutableBuffer(bytes) }
    }
    return compressed
  }

  /// A document with a text of so many bytes.
  private static func document(_ count: Int) -> ByteBuffer {
    ByteBuffer(
      string: #"{"fields": {"t": {"stringValue": ""# + String(repeating: "x", count: count) + #""}}}"#)
  }

  private static func head(
    _ length: Int, _ encoding: String = "gzip", _ headers: [String: String] = [:], id: String = "a"
  ) -> String {
    Client.text(
      "POST", RESTPath.documents + "/c?documentId=\(id)",
      headers: ["Content-Encoding": encoding, "Content-Length": "\(length)"].merging(headers) { $1 })
  }

  // MARK: - The decoder

  @Test(
    "what was compressed is decoded, whatever the sizes", arguments: [NIOCompression.Algorithm.gzip, .deflate],
    [1, 255, 256, 257, 20_000, 700_000])
  func decoding(algorithm: NIOCompression.Algorithm, count: Int) throws {
    var generator = SystemRandomNumberGenerator()
    for body in [
      ByteBuffer(repeating: 0x78, count: count),
      ByteBuffer(bytes: (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }),
    ] {
      let compressed = try Self.compressed(body, algorithm)
      #expect(try CompressedBody(compressed).decode(atMost: count) { _ throws(CallStatus) in } == body)
      let error = #expect(throws: CallStatus.self) {
        try CompressedBody(compressed).decode(atMost: count - 1) { _ throws(CallStatus) in }
      }
      #expect(error?.exceeded == .requestBytes)
    }
  }

  @Test("a body that is damaged, cut or followed by something is refused")
  func damage() throws {
    let whole = try Self.compressed(Self.document(1_000))
    var (damaged, longer) = (whole, whole)
    damaged.setInteger(UInt8(0xFF), at: damaged.readerIndex + 20)
    longer.writeString("x")
    let cut = try #require(whole.getSlice(at: whole.readerIndex, length: whole.readableBytes - 3))
    for body in [damaged, longer, cut, ByteBuffer(string: "nonsense"), ByteBuffer()] {
      let error = #expect(throws: CallStatus.self) {
        try CompressedBody(body).decode(atMost: 1 << 20) { _ throws(CallStatus) in }
      }
      #expect(error?.code == .invalidArgument && error?.message.contains("decompressed") == true, "\(error as Any)")
    }
  }

  @Test("what a body grows to is counted before more of it is decoded, and nothing more is decoded without room")
  func counting() throws {
    let compressed = try Self.compressed(ByteBuffer(repeating: 0, count: 8 << 20))
    #expect(compressed.readableBytes < 10_000)
    var counts: [Int] = [0]
    _ = try CompressedBody(compressed).decode(atMost: 8 << 20) { bytes throws(CallStatus) in counts.append(bytes) }
    #expect(counts.last == (8 << 20) + compressed.readableBytes)
    for (count, next) in zip(counts, counts.dropFirst()) {
      #expect(next >= count && next - count <= 258 << 10 + compressed.readableBytes)
    }
    var largest = 0
    let error = #expect(throws: CallStatus.self) {
      try CompressedBody(compressed).decode(atMost: 8 << 20) { bytes throws(CallStatus) in
        largest = bytes
        guard bytes <= 1 << 20 else { throw .tooManyInProgress(bytes, 1 << 20) }
      }
    }
    #expect(error?.exceeded == .requestBytesInProgress && largest < (1 << 20) + 280 << 10)
  }

  // MARK: - Calls

  @Test("compressed bodies are taken, also in pieces, and one after the other on a connection")
  func requests() async throws {
    try await RESTCallTests.withClient { client, _ in
      for (id, algorithm) in [("a", NIOCompression.Algorithm.gzip), ("b", .deflate)] {
        let body = try Self.compressed(Self.document(100_000), algorithm)
        try await client.send(Self.head(body.readableBytes, "\(algorithm)", id: id))
        var rest = body
        while let piece = rest.readSlice(length: min(50, rest.readableBytes)), piece.readableBytes > 0 {
          try await client.send(bytes: piece)
        }
        #expect(try await client.answer().status == 200)
      }
      let chunk = try Self.compressed(Self.document(10))
      try await client.send(
        Client.text(
          "POST", RESTPath.documents + "/c?documentId=c",
          headers: ["Content-Encoding": "gzip", "Transfer-Encoding": "chunked"]))
      try await client.send(String(chunk.readableBytes, radix: 16) + "\r\n")
      try await client.send(bytes: chunk)
      try await client.send("\r\n0\r\n\r\n")
      #expect(try await client.answer().status == 200)
      // The connection goes on behind one that cannot be read.
      try await client.send(Self.head(8, id: "d") + "nonsense")
      #expect(try await client.answer().status == 400)
      #expect(try await client.request("GET", RESTPath.documents + "/c/b").body.utf8.count > 100_000)
    }
  }

  @Test("a body that is too large, or has no room among the requests in progress, is refused by the limit's name")
  func limits() async throws {
    var limits = ServerLimits()
    (limits.requestBytes, limits.requestBytesInProgress) = (1 << 20, 2 << 20)
    try await RESTCallTests.withClient(limits: limits) { client, fixture in
      let tooLarge = try Self.compressed(Self.document(2 << 20))
      try await client.send(Self.head(tooLarge.readableBytes))
      try await client.send(bytes: tooLarge)
      let answer = try await client.answer()
      #expect(answer.status == 400 && answer.body.contains("1048576 bytes"), "\(answer.body)")

      let load = fixture.server.load
      let other = CallOrigin()
      var held = RequestBudget.Held()
      let isTaken = load.requests.take(limits.requestBytesInProgress - 300_000, for: other, &held) { false }
      #expect(isTaken)
      let body = try Self.compressed(Self.document(900_000))
      #expect(body.readableBytes < 2_000)
      try await client.send(Self.head(body.readableBytes))
      try await client.send(bytes: body)
      let refusal = try await client.answer()
      #expect(refusal.status == 429 && refusal.body.contains("--max-request-bytes-in-progress"), "\(refusal.body)")
      load.requests.giveBack(held, of: other)
      try await client.send(Self.head(body.readableBytes))
      try await client.send(bytes: body)
      #expect(try await client.answer().status == 200)
      try await waitUntil { load.requests.bytes == 0 }
    }
  }

  @Test("nothing is decoded before all of a body is there and its caller is known")
  func order() async throws {
    try await RESTCallTests.withClient { client, fixture in
      let load = fixture.server.load
      let body = try Self.compressed(Self.document(5 << 20))
      try await client.send(Self.head(body.readableBytes))
      try await client.send(bytes: try #require(body.getSlice(at: 0, length: body.readableBytes - 1)))
      try await waitUntil { load.received.bytes == body.readableBytes - 1 }
      #expect(load.requests.bytes == 0)
      try await client.send(bytes: try #require(body.getSlice(at: body.readableBytes - 1, length: 1)))
      // It was decoded: it has a value that is too large.
      let decoded = try await client.answer().body
      #expect(decoded.contains("the value has 5242880 bytes"), "\(decoded)")
      try await client.send(Self.head(8, "gzip", ["Authorization": "Basic x"], id: "b") + "nonsense")
      let answer = try await client.answer()
      #expect(answer.status == 400 && answer.body.contains("invalid jwt"), "\(answer.body)")
    }
  }
}
