internal import NIOCore

/// Waits for the first bytes of a connection and adds the handlers of its protocol.
///
/// A client of HTTP/2 begins with `PRI * HTTP/2.0` (RFC 9113, section 3.4); no request of HTTP/1 begins with `PRI`.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  enum Found {
    case http1, http2
  }

  /// Adds handlers behind all that are there.
  typealias Configuration = (Found, any Channel) throws -> Void

  private static let preface = Array("PRI".utf8)

  private let patience: TimeAmount
  private let silent: () -> Void
  private let failed: (any Error) -> Void
  private let configure: Configuration
  private var received = ByteBuffer()
  private var isDecided = false
  private var timer: Scheduled<Void>?

  /// - Parameters:
  ///   - patience: The time after which a connection that brings nothing is closed.
  ///   - silent: Called when that happens.
  ///   - failed: Called for errors until the connection brings something, such as those of a handshake.
  ///   - configure: Called once, for a connection that brings something.
  init(
    patience: TimeAmount, silent: @escaping () -> Void, failed: @escaping (any Error) -> Void = { _ in },
    configure: @escaping Configuration
  ) {
    self.patience = patience
    self.silent = silent
    self.failed = failed
    self.configure = configure
  }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { [silent] in
      silent()
      context.close(promise: nil)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isDecided else { return context.fireChannelRead(data) }
    received.writeImmutableBuffer(unwrapInboundIn(data))
    let begin = received.readableBytesView.prefix(Self.preface.count)
    if !begin.elementsEqual(Self.preface.prefix(begin.count)) {
      decide(.http1, context)
    } else if begin.count == Self.preface.count {
      decide(.http2, context)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Nothing was asked for yet.
    if event is ConnectionIsEnding, !isDecided { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if !isDecided { failed(error) }
    context.fireErrorCaught(error)
  }

  private func decide(_ found: Found, _ context: ChannelHandlerContext) {
    isDecided = true
    timer?.cancel()
    do {
      try configure(found, context.channel)
    } catch {
      return context.close(promise: nil)
    }
    let bytes = received
    received = ByteBuffer()
    context.fireChannelRead(wrapInboundOut(bytes))
    context.fireChannelReadComplete()
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
