import Foundation
import HearthServer
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

enum RESTPath {
  static let documents = "/v1/" + documentsName
  static let documentsName = "projects/test/databases/(default)/documents"
}

/// A connection that sends what bytes a test wants, and keeps what comes back.
final class RawHTTP1Client: Sendable {
  private struct State {
    var text = ""
    var isClosed = false
  }

  private final class Received: Sendable {
    let state = Mutex(State())
  }

  struct Answer: Sendable {
    var status: Int
    var headers: [String: String]
    var body: String

    /// Nil for a body that is no JSON.
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(body.utf8)) }
  }

  private let channel: any Channel
  private let received: Received

  private init(channel: any Channel, received: Received) {
    self.channel = channel
    self.received = received
  }

  /// - Parameter reads: False for a client that takes nothing; its system takes little for it.
  static func withConnection<R>(
    to server: EmbeddedServer, reads: Bool = true, _ body: (RawHTTP1Client) async throws -> R
  ) async throws -> R {
    let received = Received()
    // Everything is set before the connection stands: the server may be quick to close it.
    var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.autoRead, value: reads)
      .channelInitializer { channel in
        channel.closeFuture.whenComplete { _ in received.state.withLock { $0.isClosed = true } }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            TextReader { bytes in received.state.withLock { $0.text += String(buffer: bytes) } })
        }
      }
    if !reads { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: 64 << 10) }
    let channel = try await bootstrap.connect(host: "127.0.0.1", port: server.port).get()
    let client = RawHTTP1Client(channel: channel, received: received)
    do {
      let result = try await body(client)
      try? await channel.close().get()
      return result
    } catch {
      try? await channel.close().get()
      throw error
    }
  }

  var isClosed: Bool { received.state.withLock { $0.isClosed } }
  var text: String { received.state.withLock { $0.text } }

  func send(_ text: String) async throws { try await send(bytes: ByteBuffer(string: text)) }

  func send(bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes).get() }

  /// Sends what the server may be too impatient for: on a busy machine it closes the connection first.
  func sendUnlessClosed(_ text: String) async throws {
    do { try await send(text) } catch is ChannelError {} catch is IOError {}
  }

  func close() async throws { try await channel.close().get() }

  /// Sends a request and waits for its answer.
  func request(
    _ verb: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]
  ) async throws -> Answer {
    try await send(Self.text(verb, target, body, headers: headers))
    return try await answer(isHead: verb == "HEAD")
  }

  static func text(_ verb: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]) -> String {
    var lines = ["\(verb) \(target) HTTP/1.1"]
    if headers["Host"] == nil { lines.append("Host: localhost") }
    lines += headers.map { "\($0.key): \($0.value)" }
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  /// The next answer, which is taken out of the text.
  func answer(isHead: Bool = false) async throws -> Answer {
    var answer: Answer?
    try await waitUntil {
      answer = received.state.withLock { Self.takeAnswer(from: &$0.text, isHead: isHead, isAtEnd: $0.isClosed) }
      return answer != nil || isClosed
    }
    guard let answer else { throw Missing(text: text) }
    return answer
  }

  struct Missing: Error { var text: String }

  private static func takeAnswer(from text: inout String, isHead: Bool, isAtEnd: Bool) -> Answer? {
    let bytes = Array(text.utf8)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    }
    var rest = bytes[text.utf8.distance(from: text.startIndex, to: end.upperBound)...]
    var body: [UInt8] = []
    if isHead || status == 204 || status == 100 {
      body = []
    } else if headers["transfer-encoding"] == "chunked" {
      while true {
        guard let line = rest.firstIndex(of: 0x0A),
          let count = Int(
            String(decoding: rest[..<line], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines), radix: 16),
          rest.endIndex >= line + 1 + count + 2
        else { return nil }
        body += rest[(line + 1)..<(line + 1 + count)]
        rest = rest[(line + 1 + count + 2)...]
        if count == 0 { break }
      }
    } else if let length = headers["content-length"].flatMap({ Int($0) }) {
      guard rest.count >= length else { return nil }
      body = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
    } else {
      guard isAtEnd else { return nil }
      body = Array(rest)
      rest = []
    }
    text = String(decoding: rest, as: UTF8.self)
    return Answer(status: status, headers: headers, body: String(decoding: body, as: UTF8.self))
  }
}

private final class TextReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let deliver: (ByteBuffer) -> Void

  init(deliver: @escaping (ByteBuffer) -> Void) {
    self.deliver = deliver
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    deliver(unwrapInboundIn(data))
  }
}
