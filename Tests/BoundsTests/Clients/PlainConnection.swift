import NIOCore
import NIOPosix

/// A connection that sends what it is told and reads nothing: a client of HTTP/1.1 that hangs.
struct PlainConnection: Sendable {
  private let channel: any Channel

  init(port: Int) async throws {
    channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_rcvbuf), value: 16 << 10)
      .connect(host: "127.0.0.1", port: port).get()
  }

  func send(_ text: String) {
    channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
  }

  /// A request of REST with a JSON body.
  func post(_ path: String, _ body: String) {
    send(
      "POST /v1/\(Call.database)/documents\(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  func get(_ path: String) {
    send("GET /v1/\(Call.database)/documents\(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }

  func close() {
    channel.close(promise: nil)
  }
}
