internal import Logging
package import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOHTTPCompression
internal import NIOPosix

/// Listens on a TCP port and adds the handlers of each connection when its first bytes show the protocol:
///
/// - HTTP/2: a ``ConnectionGuard``, swift-nio-http2's codec, a ``CallConnection``.
/// - HTTP/1: swift-nio's codec, its handlers of pipelined requests and of errors, the one that compresses, an ``HTTP1Connection``.
package struct CallListener {
  /// Adds handlers in front of the others, such as TLS.
  package typealias Preparation = @Sendable (any Channel) throws -> Void

  let server: CallServer
  let connections: OpenConnections
  /// The connections that may be open in addition to the served ones while their clients read that they are refused; others are closed at once.
  let refusals: Int
  let prepare: Preparation?
  private let handshakes: HandshakeLog
  private let refusalPace = LogPace()
  private let connectionLog: ConnectionLog

  package init(server: CallServer, connections: OpenConnections, refusals: Int, prepare: Preparation?) {
    self.server = server
    self.connections = connections
    self.refusals = refusals
    self.prepare = prepare
    handshakes = HandshakeLog(server.logger)
    connectionLog = ConnectionLog(server.logger)
  }

  /// - Parameter host: A numeric address.
  /// - Returns: The channel that accepts connections.
  package func listen(host: String, port: Int) async throws -> any Channel {
    try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: Self.backlog)
      // Without descriptors, accepting fails as long as clients wait, and would be tried again at once.
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            AcceptBackoffHandler(shouldForwardIOErrorCaught: false, backoffProvider: pause(after:)))
        }
      }
      .childChannelOption(.writeBufferWaterMark, value: Self.unsentBytes)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try configure(channel) }
      }
      .bind(host: host, port: port).get()
  }

  /// The time for which no connection is accepted after an attempt has failed.
  private static let acceptPause = TimeAmount.seconds(1)

  @Sendable private func pause(after error: IOError) -> TimeAmount? {
    server.logger.warning(
      "connections cannot be accepted", metadata: ["error": .escaped("\(error)"), "pause": "1 s"])
    return Self.acceptPause
  }

  private func configure(_ channel: any Channel) throws {
    let handlers = channel.pipeline.syncOperations
    let client = ClientNetwork(channel.remoteAddress)
    let load = server.load
    guard load.connectionOpened(by: client) else {
      if var metadata = refusalPace.metadata(
        of: client, reason: "as many are open as --max-connections allows in all, or for one address")
      {
        metadata["open"] = "\(connections.count)"
        server.logger.notice("connection refused: there are too many", metadata: metadata)
      }
      guard load.refusalBegan(atMost: refusals) else { return channel.close(promise: nil) }
      channel.closeFuture.whenComplete { _ in load.refusalEnded() }
      try connections.add(channel)
      return try handlers.addHandler(RefusedConnection(isEncrypted: prepare != nil))
    }
    channel.closeFuture.whenComplete { _ in load.connectionClosed(by: client) }
    try connections.add(channel)
    try prepare?(channel)
    guard let web = server.web else { return try configureHTTP2(channel) }
    try handlers.addHandler(
      ProtocolDetector(
        patience: TimeAmount(server.limits.webIdleTime), silent: { load.metrics?.exceeded(.webIdle) },
        failed: { [handshakes] in handshakes.failed($0, by: client) }
      ) { found, channel in
        switch found {
        case .http1: try configureHTTP1(channel, web)
        case .http2: try configureHTTP2(channel)
        }
      })
  }

  private func configureHTTP1(_ channel: any Channel, _ web: any WebService) throws {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = Self.headerListBytes
    limits.maxHeaderListSize = 2 * Self.headerListBytes
    limits.maxHeaderFieldCount = 100
    try channel.pipeline.syncOperations.addHandlers([
      HTTPResponseEncoder(),
      ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)),
      HTTPServerPipelineHandler(),
      // Before the handler that compresses, which expects a request for each response.
      ContinueResponder(), HTTPServerProtocolErrorHandler(),
      HTTPResponseCompressor { head, _ in
        // Little is won for short answers. Events must not wait for each other.
        let length = head.headers.first(name: "content-length").flatMap { Int($0) }
        let isEvents = head.headers.first(name: "content-type") == "text/event-stream"
        return isEvents || length ?? .max < Self.compressedBytes ? .doNotCompress : .compressIfPossible
      },
      HTTP1Connection(server: server, web: web, channel: channel),
    ])
  }

  /// Answers that are shorter go out as they are.
  private static let compressedBytes = 1024

  private func configureHTTP2(_ channel: any Channel) throws {
    let connectionGuard = ConnectionGuard(
      limits: server.limits.connection, metrics: server.load.metrics, log: connectionLog)
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = [
      // The guard announces and enforces the real limit; exceeding the codec's would end the connection.
      HTTP2Setting(parameter: .maxConcurrentStreams, value: Int(Int32.max)),
      HTTP2Setting(parameter: .maxHeaderListSize, value: Self.headerListBytes),
      HTTP2Setting(parameter: .initialWindowSize, value: CallConnection.streamWindow),
    ]
    try channel.pipeline.syncOperations.addHandlers([
      connectionGuard,
      NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: .init()),
      CallConnection(server: server, connectionGuard: connectionGuard, channel: channel),
    ])
  }

  /// The size of a request's headers, as HTTP/2 counts it.
  private static let headerListBytes = 16 << 10

  /// The backlog of connections that are not accepted yet: after a restart all clients reconnect at once.
  private static let backlog: Int32 = 1024

  /// Each time that a connection's unsent bytes cross these marks, its streams that wait are visited. The higher one bounds what a client
  /// holds that lets everything be sent, and reads nothing.
  private static let unsentBytes = ChannelOptions.Types.WriteBufferWaterMark(low: 64 * 1024, high: 256 * 1024)
}

/// Tells a client that there are too many connections, and closes its connection.
private final class RefusedConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The time that a client has to read the GOAWAY frame, or to begin its handshake.
  private static let farewell = TimeAmount.seconds(1)

  /// True if the client expects TLS. A frame would tell it that there is none; what it is told is not worth a handshake.
  private let isEncrypted: Bool

  init(isEncrypted: Bool) {
    self.isEncrypted = isEncrypted
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.farewell) { channel.close(promise: nil) }
    guard !isEncrypted else { return }
    let text = "too_many_connections"
    var frames = ByteBuffer()
    FrameHeader(.settings, length: 0).write(to: &frames)
    FrameHeader(.goAway, length: 2 * MemoryLayout<UInt32>.size + text.utf8.count).write(to: &frames)
    frames.writeMultipleIntegers(UInt32(0), ErrorCode.enhanceYourCalm)
    frames.writeString(text)
    context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Read and dropped: closing a socket with unread bytes would reset it, and the client might lose the GOAWAY.
    if isEncrypted { context.close(promise: nil) }
  }
}
