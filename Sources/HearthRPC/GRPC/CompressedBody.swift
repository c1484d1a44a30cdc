internal import HearthModel
internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1
internal import NIOHTTPCompression

/// A body of HTTP/1 in the form of gzip or deflate, which is decoded piece by piece.
///
/// swift-nio-extras decodes in a handler of a channel only. So the decoder is the one handler of a channel without a socket, which lives for one
/// call of ``decode(atMost:counting:)`` on its thread.
struct CompressedBody {
  /// The bytes that are decoded at a time. Deflate makes at most 1,032 bytes of one (RFC 1951), so 258 KiB are not counted yet when there is no room.
  private static let pieceBytes = 256

  private let bytes: ByteBuffer

  init(_ bytes: ByteBuffer) { self.bytes = bytes }

  /// - Parameters:
  ///   - limit: The bytes that the decoded body may have.
  ///   - count: Called with all bytes that are held, before more are decoded. It throws if there is no room for them.
  /// - Throws: INVALID_ARGUMENT for a body that is damaged, or too large; what `count` throws.
  func decode(atMost limit: Int, counting count: (Int) throws(CallStatus) -> Void) throws(CallStatus) -> ByteBuffer {
    let channel = EmbeddedChannel(handler: NIOHTTPRequestDecompressor(limit: .size(limit)))
    defer { _ = try? channel.finish() }
    var (rest, decoded) = (bytes, ByteBuffer())
    try Self.pass(.head(Self.head), through: channel, to: &decoded, limit)
    while let piece = rest.readSlice(length: min(Self.pieceBytes, rest.readableBytes)), piece.readableBytes > 0 {
      try Self.pass(.body(piece), through: channel, to: &decoded, limit)
      try count(bytes.readableBytes + decoded.readableBytes)
    }
    try Self.pass(.end(nil), through: channel, to: &decoded, limit)
    return decoded
  }

  /// The decoder finds out the form by itself.
  private static let head = HTTPRequestHead(
    version: .http1_1, method: .POST, uri: "/", headers: ["content-encoding": "gzip"])

  private static func pass(
    _ part: HTTPServerRequestPart, through channel: EmbeddedChannel, to decoded: inout ByteBuffer, _ limit: Int
  ) throws(CallStatus) {
    do {
      try channel.writeInbound(part)
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        if case .body(let bytes) = part { decoded.writeImmutableBuffer(bytes) }
      }
    } catch NIOHTTPDecompression.DecompressionError.limit {
      throw .tooLarge(limit)
    } catch {
      throw CallStatus(.invalidArgument, "The body cannot be decompressed: \(error).")
    }
  }
}

extension ServerCall {
  /// Decodes the body of the call. What it grows to counts as the request in progress while it grows.
  ///
  /// - Throws: As ``CompressedBody/decode(atMost:counting:)``; RESOURCE_EXHAUSTED if there is no room among the requests in progress.
  func decompressed(_ body: ByteBuffer) throws(CallStatus) -> ByteBuffer {
    let decoded = try CompressedBody(body).decode(atMost: load.limits.requestBytes) { bytes throws(CallStatus) in
      try bodyGrows(to: bytes)
    }
    try requestBegins(decoded, isBody: true)
    load.metrics?.requestReceived(bytes: decoded.readableBytes)
    return decoded
  }
}
