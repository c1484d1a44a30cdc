internal import HearthModel
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// The requests of one connection of HTTP/1, one after the other. Confined to the event loop.
///
/// In the pipeline it comes after swift-nio's decoder, its handler of pipelined requests, which holds the next request back, and the
/// handler that compresses answers. A compressed body stays as it is until its call has begun (``CompressedBody``).
///
/// | state | ends with |
/// |---|---|
/// | waiting for a request | a head, or ``ServerLimits/webIdleTime`` without one |
/// | receiving a body | its end, its size, or ``ServerLimits/webBodyTime`` with less than ``bodyProgress`` bytes |
/// | in a call | its end, or ``ServerLimits/unreadTime`` in which the client reads nothing |
final class HTTP1Connection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// A request and its call.
  private struct Exchange {
    let call: ServerCall
    let transcoder: any CallTranscoder
    let version: HTTPVersion
    var keepsAlive: Bool
    var body = ByteBuffer()
    var hasRequestEnd = false
    /// The call's task was started.
    var hasBegun = false
    var isHeadSent = false
    /// Bytes that the socket has not taken.
    var waiting: [ByteBuffer] = []
    var isComplete = false
  }

  /// The bytes that a client has to send of a body in ``ServerLimits/webBodyTime``.
  private static let bodyProgress = 64 << 10

  private let server: CallServer
  private let web: any WebService
  private let outbox: CallOutbox
  private let share: ConnectionShare
  private var context: ChannelHandlerContext?
  private var exchange: Exchange?
  /// A request that is read to its end and dropped: it was answered before.
  private var isSkipping = false
  private var isEnding = false
  private var timer: Scheduled<Void>?
  private var bytesSinceTimer = 0

  init(server: CallServer, web: any WebService, channel: any Channel) {
    self.server = server
    self.web = web
    share = server.load.share(of: ClientNetwork(channel.remoteAddress))
    outbox = CallOutbox(eventLoop: channel.eventLoop)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    outbox.connect(to: self)
    server.load.unread.add(share)
    setTimer(server.limits.webIdleTime)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    abandon()
    timer?.cancel()
    outbox.connect(to: nil)
    server.load.unread.remove(share)
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    abandon()
    timer?.cancel()
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ConnectionIsEnding {
      isEnding = true
      if exchange == nil { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    server.logger.debug("connection failed", metadata: ["error": .escaped("\(error)")])
    // The answer to bytes that are not a request was sent before.
    context.close(promise: nil)
  }

  private func abandon() {
    guard let exchange else { return }
    self.exchange = nil
    end(exchange)
  }

  private func end(_ exchange: Exchange) {
    exchange.call.abandon()
    share.remove(exchange.call)
    _ = server.load.received.note(0, of: exchange.call)
    if !exchange.hasBegun { server.load.callEnded(in: share) }
  }

  // MARK: - Time

  private func setTimer(_ duration: Duration?) {
    timer?.cancel()
    bytesSinceTimer = 0
    timer = duration.flatMap { duration in
      context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(duration)) { self.timePassed() }
    }
  }

  private func timePassed() {
    guard let context else { return }
    if let exchange, !exchange.hasRequestEnd, !isSkipping {
      self.exchange?.keepsAlive = false
      isSkipping = true
      exchange.call.stop(
        CallStatus(
          .deadlineExceeded,
          "Less than \(Self.bodyProgress >> 10) KiB of the request's body have come within \(server.limits.webBodyTime) "
            + "(hearth serve --web-body-seconds).",
          exceeding: .webBody))
    } else {
      server.load.metrics?.exceeded(exchange?.waiting.isEmpty == false ? .unread : .webIdle)
      context.close(promise: nil)
    }
  }
}

// MARK: - Requests

extension HTTP1Connection {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): open(head)
    case .body(let bytes): receive(bytes)
    case .end: receiveEnd()
    }
  }

  private func open(_ head: HTTPRequestHead) {
    isSkipping = false
    setTimer(server.limits.webBodyTime)
    var request = WebRequest(verb: head.method.rawValue, target: head.uri, host: head.headers.first(name: "host"))
    var isCompressed = false
    for (name, value) in head.headers {
      let name = name.lowercased()
      if name == "content-encoding", ["gzip", "deflate"].contains(value.lowercased()) {
        isCompressed = true
        continue
      }
      request.headers.append((name, value))
    }
    var decision = web.exchange(for: request)
    let refusal = server.load.callBegan(in: share)
    let isCounted = refusal == nil
    if let refusal { decision = .answer(web.refusal(refusal, httpStatus: nil)) }
    switch decision {
    case .call(let method, let metadata, let transcoder):
      exchange = exchange(head, method, metadata, transcoder, isCompressed: isCompressed)
    case .answer(let response):
      exchange = exchange(head, .answered, CallMetadata(), PreparedAnswer(response: response))
      // Its end is not counted again.
      exchange?.hasBegun = !isCounted
      isSkipping = true
      // It goes out through the outbox, as all answers do. Sent at once, the answers of pipelined requests would nest in each other.
      exchange?.call.finish(.ok)
    }
  }

  private func exchange(
    _ head: HTTPRequestHead, _ method: CallMethod, _ metadata: CallMetadata, _ transcoder: any CallTranscoder,
    isCompressed: Bool = false
  ) -> Exchange {
    let call = ServerCall(
      number: 0, method: method, metadata: metadata, transcoder: transcoder, isBodyCompressed: isCompressed,
      load: server.load, outlet: outbox, share: share)
    share.add(call)
    return Exchange(call: call, transcoder: transcoder, version: head.version, keepsAlive: head.isKeepAlive)
  }

  private func receive(_ bytes: ByteBuffer) {
    bytesSinceTimer += bytes.readableBytes
    if bytesSinceTimer >= Self.bodyProgress { setTimer(server.limits.webBodyTime) }
    guard !isSkipping, let call = exchange?.call else { return }
    exchange?.body.writeImmutableBuffer(bytes)
    let count = exchange?.body.readableBytes ?? 0
    guard count <= server.limits.requestBytes else {
      isSkipping = true
      exchange?.keepsAlive = false
      return call.stop(.tooLarge(server.limits.requestBytes))
    }
    for call in server.load.received.note(count, of: call) {
      call.stop(.tooManyReceived(server.limits.receivedBytes))
    }
  }

  private func receiveEnd() {
    setTimer(exchange == nil ? server.limits.webIdleTime : nil)
    defer { isSkipping = false }
    guard let ended = exchange else { return }
    exchange?.hasRequestEnd = true
    _ = server.load.received.note(0, of: ended.call)
    guard !isSkipping, ended.call.cause == nil else { return }
    exchange?.hasBegun = true
    exchange?.body = ByteBuffer()
    server.run(ended.call, ended.body)
  }
}

// MARK: - Responses

extension HTTP1Connection: CallCarrier {
  func takeOutbox() {
    let calls = outbox.takeAll()
    guard let exchange, calls.contains(where: { $0 === exchange.call }) else { return }
    let output = exchange.call.takeOutput()
    if output.dropsBytes { dropWaiting() }
    let response = WebOutput(output, exchange.transcoder, isHeadSent: exchange.isHeadSent)
    guard !response.isBroken else {
      context?.close(promise: nil)
      return
    }
    if let head = response.head { write(head, length: response.isWhole ? response.bytes.readableBytes : nil) }
    if response.bytes.readableBytes > 0 { self.exchange?.waiting.append(response.bytes) }
    if response.isLast { self.exchange?.isComplete = true }
    send()
  }

  private func dropWaiting() {
    guard let exchange else { return }
    let count = exchange.waiting.reduce(0) { $0 + $1.readableBytes }
    self.exchange?.waiting = []
    if count > 0 { exchange.call.accepted(count) }
  }

  private func write(_ response: WebResponse, length: Int?) {
    guard let exchange, let context else { return }
    self.exchange?.isHeadSent = true
    // A client of HTTP/1.0 learns from the connection's end where a body of unknown length ends.
    if isEnding || length == nil && exchange.version != .http1_1 { self.exchange?.keepsAlive = false }
    var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
    if let length, response.status != 204 { headers.replaceOrAdd(name: "content-length", value: String(length)) }
    if !(self.exchange?.keepsAlive ?? false) { headers.add(name: "connection", value: "close") }
    let head = HTTPResponseHead(
      version: exchange.version, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
  }

  private func send() {
    guard let context else { return }
    var sent = 0
    while var exchange, let bytes = exchange.waiting.first, context.channel.isWritable {
      exchange.waiting.removeFirst()
      self.exchange = exchange
      sent += bytes.readableBytes
      context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
    guard let exchange else { return }
    if sent > 0 { exchange.call.accepted(sent) }
    // The last bytes are flushed with the end, so that a handler that compresses them knows the length.
    if exchange.waiting.isEmpty, exchange.isComplete { return finish(exchange) }
    context.flush()
    // The flush may have made room, so that the rest has gone by now.
    guard let exchange = self.exchange else { return }
    if exchange.waiting.isEmpty {
      if exchange.hasRequestEnd { setTimer(nil) }
    } else if sent > 0 || timer == nil {
      // Nothing is read until then.
      setTimer(server.limits.unreadTime)
    }
  }

  private func finish(_ exchange: Exchange) {
    guard let context else { return }
    self.exchange = nil
    end(exchange)
    setTimer(exchange.hasRequestEnd ? server.limits.webIdleTime : server.limits.webBodyTime)
    let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    guard !exchange.keepsAlive || isEnding else { return }
    written.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { send() }
    context.fireChannelWritabilityChanged()
  }
}
