internal import GRPCNIOTransportHTTP2
internal import Logging
internal import NIOCore
internal import NIOHTTP2
internal import NIOPosix

/// Listens on a TCP port for gRPC's transport and puts a ``ConnectionGuard`` in front of each connection's codec.
struct GuardedListener: HTTP2ServerTransport.ListenerFactory {
  let eventLoopGroup: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup
  /// A numeric address.
  let host: String
  let port: Int
  let limits: ConnectionLimits
  let logger: Logger
  let connections = OpenConnections()

  /// The transport to be used with this listener.
  func makeTransport(maximumRequestBytes: Int) -> HTTP2ServerTransport.Custom<GuardedListener> {
    var config = HTTP2ServerTransport.Custom<GuardedListener>.Config.defaults
    config.rpc.maxRequestPayloadSize = maximumRequestBytes
    config.connection.flushCoalescing = nil
    config.http2.targetWindowSize = 256 * 1024
    // The guard announces and enforces the real limit; exceeding the codec's would end the connection.
    config.http2.maxConcurrentStreams = Int(Int32.max)
    config.channelDebuggingCallbacks.onAcceptHTTP2Stream = Self.announceStream
    return HTTP2ServerTransport.Custom(listenerFactory: self, config: config)
  }

  func makeListeningChannel(
    listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
    connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
  ) async throws -> NIOAsyncChannel<HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel, Never> {
    try await ServerBootstrap(group: eventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: Self.backlog)
      .childChannelOption(.writeBufferWaterMark, value: Self.unsentBytes)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(LostConnectionsHandler())
        }.flatMap {
          listenerConfigurator.configure(channel: channel)
        }
      }
      .bind(host: host, port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try connections.add(channel)
          try channel.pipeline.syncOperations.addHandler(ConnectionGuard(limits: limits, logger: logger))
        }.flatMap {
          connectionConfigurator.configure(channel: channel, tls: .none)
        }
      }
  }

  /// The backlog of connections that are not accepted yet: after a restart all clients reconnect at once.
  private static let backlog: Int32 = 1024

  /// Each time that a connection's unsent bytes cross these marks, the codec visits all of its streams; with NIO's own
  /// marks of 32 and 64 KiB, a large answer beside thousands of listeners did nothing else.
  private static let unsentBytes = ChannelOptions.Types.WriteBufferWaterMark(low: 256 * 1024, high: 1024 * 1024)

  /// Tells the connection's guard about a stream. Called on the connection's event loop while the codec opens it.
  @Sendable
  private static func announceStream(_ stream: any Channel) -> EventLoopFuture<Void> {
    do {
      try stream.pipeline.syncOperations.addHandler(RequestHeadersGuard(), position: .first)
      guard let connection = stream.parent,
        let streamID = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
      else { return stream.eventLoop.makeSucceededVoidFuture() }
      return try connection.pipeline.syncOperations.handler(type: ConnectionGuard.self)
        .streamOpened(stream, streamID: UInt32(Int32(streamID)))
    } catch {
      return stream.eventLoop.makeFailedFuture(error)
    }
  }
}

/// Keeps an error of one accepted socket from ending the server.
///
/// On Darwin, a socket whose client has already gone may not be configurable. NIO closes it and goes on listening, but the sequence of
/// accepted connections ends with every error that it sees, and with it the tasks of all other connections are cancelled.
private final class LostConnectionsHandler: ChannelInboundHandler {
  typealias InboundIn = any Channel

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if !(error is NIOFcntlFailedError) { context.fireErrorCaught(error) }
  }
}
