internal import Foundation
internal import HearthRPC
internal import HearthServer
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// Answers `GET /metrics` over HTTP/1.1 on an address of its own.
final class MetricsEndpoint: Sendable {
  /// The text of a scrape. Called on an event loop for each.
  typealias Text = @Sendable () -> String

  struct Limits: Sendable {
    /// Connections that are open at the same time; one more is closed.
    var connections = 32
    /// The bytes of a request's header, and of its body, which is dropped.
    var headerBytes = 16 << 10
    var bodyBytes = 64 << 10
    /// A connection is closed that brings no whole request in this time, or does not take an answer.
    var patience = TimeAmount.seconds(60)
  }

  let port: Int
  private let listening: any Channel
  private let open: OpenChannels

  private init(listening: any Channel, open: OpenChannels, port: Int) {
    self.listening = listening
    self.open = open
    self.port = port
  }

  /// - Parameters:
  ///   - host: An IP address of this machine, or `localhost`.
  ///   - port: The port to listen on; 0 lets the system choose.
  ///   - openToEveryone: Serve on an address that other machines reach.
  ///   - hosts: Names of this machine. As long as only this machine reaches the address, a request has to name it by one of them, by
  ///     `host` or as `localhost`: a web page whose own name was made to lead here (DNS rebinding) could read the metrics otherwise.
  ///   - limits: The limits of one client.
  ///   - text: Makes the answer to a request for the metrics.
  /// - Throws: `ServerError` when the address cannot be bound, or when other machines reach it and `openToEveryone` is false.
  static func start(
    host: String, port: Int, openToEveryone: Bool, hosts: [String] = [], limits: Limits = Limits(),
    text: @escaping Text
  ) async throws(ServerError) -> MetricsEndpoint {
    let address = host == "localhost" ? "127.0.0.1" : host
    guard let reach = AddressReach(numericHost: address) else {
      throw ServerError(
        .configuration, "Cannot serve metrics on \(host): the host must be localhost or an IP address of this machine.")
    }
    guard reach == .thisMachine || openToEveryone else {
      throw ServerError(
        .configuration,
        "\(host) can be reached from other machines, and everyone may read the metrics there. Use a loopback address such as "
          + "127.0.0.1, or say --open-metrics-to-everyone if that is what you want.")
    }
    let access = reach == .thisMachine ? WebAccess(listeningOn: host, hosts: hosts) : nil
    let open = OpenChannels()
    do {
      let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try configure(channel, open, limits, access, text) }
        }
        .bind(host: address, port: port).get()
      return MetricsEndpoint(listening: listening, open: open, port: listening.localAddress?.port ?? port)
    } catch {
      throw startFailure(error, host: host, port: port)
    }
  }

  /// Translates the system's reason for not listening into a message about the address and the options.
  private static func startFailure(_ error: any Error, host: String, port: Int) -> ServerError {
    let start = "Cannot serve metrics on \(host) port \(port): "
    switch (error as? IOError)?.errnoCode {
    case EADDRINUSE:
      return ServerError(
        .address, start + "the port is already in use. Stop the program that uses it or choose another --metrics-port.")
    case EACCES:
      return ServerError(
        .address, start + "the port is not allowed for this user. Choose a --metrics-port above 1023.")
    case EADDRNOTAVAIL:
      return ServerError(
        .address, start + "the address is none of this machine. Choose another --metrics-host, such as 127.0.0.1.")
    default:
      return ServerError(.address, start + "\(error).")
    }
  }

  private static func configure(
    _ channel: any Channel, _ open: OpenChannels, _ limits: Limits, _ access: WebAccess?, _ text: @escaping Text
  ) throws {
    guard open.add(channel, atMost: limits.connections) else { return channel.close(promise: nil) }
    var decoder = NIOHTTPDecoderLimitConfiguration()
    decoder.maxHeaderFieldSize = limits.headerBytes
    decoder.maxHeaderListSize = limits.headerBytes
    decoder.maxHeaderFieldCount = 100
    try channel.pipeline.syncOperations.addHandlers([
      HTTPResponseEncoder(),
      ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoder)),
      HTTPServerPipelineHandler(), HTTPServerProtocolErrorHandler(),
      MetricsRequestHandler(limits: limits, access: access, text: text),
    ])
  }

  /// Closes the address and all connections.
  func stop() async {
    try? await listening.close().get()
    for channel in open.all { try? await channel.close().get() }
  }
}

/// The connections that are open.
private final class OpenChannels: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  var all: [any Channel] { channels.withLock { Array($0.values) } }

  /// - Returns: false if there are as many as may be.
  func add(_ channel: any Channel, atMost limit: Int) -> Bool {
    let id = ObjectIdentifier(channel)
    let isAdded = channels.withLock { channels in
      guard channels.count < limit else { return false }
      channels[id] = channel
      return true
    }
    if isAdded { channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } } }
    return isAdded
  }
}

/// The requests of one connection. Confined to its event loop.
private final class MetricsRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let limits: MetricsEndpoint.Limits
  /// Nil if everyone may read the metrics.
  private let access: WebAccess?
  private let text: MetricsEndpoint.Text
  private var head: HTTPRequestHead?
  private var bodyBytes = 0
  private var timer: Scheduled<Void>?

  init(limits: MetricsEndpoint.Limits, access: WebAccess?, text: @escaping MetricsEndpoint.Text) {
    self.limits = limits
    self.access = access
    self.text = text
  }

  func handlerAdded(context: ChannelHandlerContext) {
    setTimer(context)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
  }

  private func setTimer(_ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.patience) { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): (self.head, bodyBytes) = (head, 0)
    case .body(let bytes):
      bodyBytes += bytes.readableBytes
      if bodyBytes > limits.bodyBytes { context.close(promise: nil) }
    case .end:
      // A client that sends requests and reads no answers would let these grow.
      guard let head, context.channel.isWritable else { return context.close(promise: nil) }
      self.head = nil
      setTimer(context)
      answer(head, context)
    }
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    var headers = HTTPHeaders()
    var (status, body) = (HTTPResponseStatus.ok, "")
    if let access, !access.accepts(host: head.headers.first(name: "host")) {
      (status, body) = (.forbidden, "The Host of the request is not a name of this machine; see --allow-host.\n")
    } else if head.uri.prefix(while: { $0 != "?" }) != "/metrics" {
      (status, body) = (.notFound, "Metrics are at /metrics.\n")
    } else if head.method != .GET, head.method != .HEAD {
      (status, body) = (.methodNotAllowed, "Use GET.\n")
      headers.add(name: "allow", value: "GET, HEAD")
    } else {
      body = text()
    }
    let isText = status == .ok
    headers.add(name: "content-type", value: isText ? PrometheusText.contentType : "text/plain; charset=utf-8")
    headers.add(name: "content-length", value: String(body.utf8.count))
    if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: status, headers: headers))), promise: nil)
    if head.method != .HEAD {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
    }
    let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    if !head.isKeepAlive { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
