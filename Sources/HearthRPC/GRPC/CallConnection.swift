internal import HearthModel
internal import Logging
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// The calls of one connection, over HTTP/2 frames. Confined to the event loop.
///
/// In the pipeline it comes after swift-nio-http2's codec, without a channel for each stream, and after a ``ConnectionGuard``, which
/// removes pings, resets and DATA of ended streams.
final class CallConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// The bytes that a client may send in a stream, and in a connection, before they are handled.
  static let streamWindow = 256 << 10
  static let connectionWindow = 1 << 20
  private static let initialWindow = 65_535

  let server: CallServer
  let connectionGuard: ConnectionGuard
  let outbox: CallOutbox
  let share: ConnectionShare
  private let executor: EventLoopTaskExecutor
  var context: ChannelHandlerContext?
  var streams: [HTTP2StreamID: OpenStream] = [:]

  /// Bytes that the client has sent, and for which its window of the connection was not returned yet.
  var unreturnedBytes = 0
  /// The bytes that the client lets the connection send.
  var window = initialWindow
  /// The window of a stream that is opened now.
  private var streamSendWindow = initialWindow
  /// Streams that wait for the connection's window or for the socket.
  var waitingStreams = WaitingStreams()
  /// Counts how often a stream was looked at because there was something to send, or room for it.
  var visitedStreams = 0
  var stallCheck: Scheduled<Void>?

  private var lastStreamID = HTTP2StreamID.rootStream
  private var isEnding = false
  private var isClosing = false
  private var isReading = false
  var needsFlush = false

  init(server: CallServer, connectionGuard: ConnectionGuard, channel: any Channel) {
    let eventLoop = channel.eventLoop
    self.server = server
    share = server.load.share(of: ClientNetwork(channel.remoteAddress))
    self.connectionGuard = connectionGuard
    outbox = CallOutbox(eventLoop: eventLoop)
    executor = EventLoopTaskExecutor(eventLoop)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    outbox.connect(to: self)
    server.load.unread.add(share)
    connectionGuard.streams = self
    if context.channel.isActive { widen(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    // The codec has written its preface by now.
    widen(context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    forgetAll()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    forgetAll()
    stallCheck?.cancel()
    outbox.connect(to: nil)
    server.load.unread.remove(share)
    connectionGuard.streams = nil
    self.context = nil
  }

  private func forgetAll() {
    for id in Array(streams.keys) { forget(id) }
  }

  private func widen(_ context: ChannelHandlerContext) {
    write(.windowUpdate(windowSizeIncrement: Self.connectionWindow - Self.initialWindow), .rootStream)
    flushIfNeeded()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? StreamClosedEvent {
      forget(event.streamID)
      connectionGuard.streamClosed(UInt32(Int32(event.streamID)))
    } else if event is ConnectionIsEnding {
      beginEnding()
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The codec has reset the stream, or sent GOAWAY, by now. A stream's error may be that of a frame for one that is over.
    guard !(error is NIOHTTP2Errors.StreamError) else { return }
    server.logger.debug("connection failed", metadata: ["error": .escaped("\(error)")])
    flushIfNeeded()
    context.close(promise: nil)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      sendWaiting()
      flushIfNeeded()
    }
    context.fireChannelWritabilityChanged()
  }
}

// MARK: - Frames

extension CallConnection {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    isReading = true
    switch frame.payload {
    case .headers(let headers):
      if let stream = streams[frame.streamID] {
        // Trailers of the client, which gRPC has no use for.
        if headers.endStream { receiveEnd(of: stream) }
      } else {
        open(frame.streamID, headers)
      }
    case .data(let data): receive(data, frame.streamID)
    case .windowUpdate(let increment):
      if frame.streamID == .rootStream {
        window += increment
        sendWaiting()
      } else if let stream = streams[frame.streamID] {
        stream.window += increment
        send(stream)
      }
    case .settings(.settings(let settings)): take(settings)
    case .rstStream: forget(frame.streamID)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isReading = false
    flushIfNeeded()
    context.fireChannelReadComplete()
  }

  private func take(_ settings: HTTP2Settings) {
    // Only the last value of a frame counts (RFC 9113, section 6.5.3).
    guard let setting = settings.last(where: { $0.parameter == .initialWindowSize }) else { return }
    let change = setting.value - streamSendWindow
    guard change != 0 else { return }
    streamSendWindow = setting.value
    for stream in streams.values { stream.window += change }
    guard change > 0 else { return }
    for stream in Array(streams.values) where !stream.waiting.isEmpty { send(stream) }
  }

  func write(_ payload: HTTP2Frame.FramePayload, _ stream: HTTP2StreamID) {
    guard let context else { return }
    needsFlush = true
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  /// Passes on what was written, now or at the end of what is being read.
  func flushIfNeeded() {
    guard needsFlush, !isReading else { return }
    needsFlush = false
    context?.flush()
  }
}

// MARK: - Opening and closing

extension CallConnection {
  private func open(_ id: HTTP2StreamID, _ headers: HTTP2Frame.FramePayload.Headers) {
    guard connectionGuard.streamOpened(UInt32(Int32(id))), !isEnding else {
      return write(.rstStream(.refusedStream), id)
    }
    lastStreamID = id
    let head = CallHead(headers.headers)
    switch head.refusal {
    case .notGRPC:
      if openWeb(id, headers.headers, hasRequestEnd: headers.endStream) { return }
      return refuse(id, headers.endStream) { $0.add(name: ":status", value: "415") }
    case .http(let status): return refuse(id, headers.endStream) { $0.add(name: ":status", value: "\(status)") }
    case .status(let status): return refuse(id, headers.endStream, status)
    case nil: break
    }
    switch server.route(head.path) {
    case .call(let method): open(id, method, head, hasRequestEnd: headers.endStream)
    case .refused(let status): refuse(id, headers.endStream, status)
    }
  }

  private func open(_ id: HTTP2StreamID, _ method: CallMethod, _ head: CallHead, hasRequestEnd: Bool) {
    if let refusal = server.load.callBegan(in: share) { return refuse(id, hasRequestEnd, refusal) }
    let stream = open(id, method, head.metadata, nil)
    if let timeout = head.timeout { limit(stream, to: timeout) }
    if method.kind == .requestStream { begin(stream) }
    if hasRequestEnd { receiveEnd(of: stream) }
  }

  func open(
    _ id: HTTP2StreamID, _ method: CallMethod, _ metadata: CallMetadata, _ transcoder: (any CallTranscoder)?
  ) -> OpenStream {
    let call = ServerCall(
      number: Int(id), method: method, metadata: metadata, transcoder: transcoder, load: server.load, outlet: outbox,
      share: share)
    let stream = OpenStream(
      id: id, call: call, window: streamSendWindow, maximumRequestBytes: server.limits.requestBytes)
    streams[id] = stream
    share.add(call)
    return stream
  }

  private func limit(_ stream: OpenStream, to timeout: TimeAmount) {
    guard let context else { return }
    stream.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
      stream.call.stop(CallStatus(.deadlineExceeded, "The call's time limit (grpc-timeout) has passed."))
      self.takeOutbox()
    }
  }

  /// Answers a request that is not a call with headers that end the stream.
  private func refuse(_ id: HTTP2StreamID, _ hasRequestEnd: Bool, _ add: (inout HPACKHeaders) -> Void) {
    var headers = HPACKHeaders()
    add(&headers)
    write(.headers(.init(headers: headers, endStream: true)), id)
    if !hasRequestEnd { write(.rstStream(.noError), id) }
  }

  private func refuse(_ id: HTTP2StreamID, _ hasRequestEnd: Bool, _ status: CallStatus) {
    refuse(id, hasRequestEnd) { headers in
      headers = Self.head
      status.write(to: &headers)
    }
  }

  func begin(_ stream: OpenStream) {
    stream.hasBegun = true
    server.run(stream.call, stream.request, on: executor)
    stream.request = nil
  }

  /// Removes a stream that is over. A call that goes on is cancelled.
  func forget(_ id: HTTP2StreamID) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.deadline?.cancel()
    waitingStreams.remove(stream)
    stream.call.abandon()
    share.remove(stream.call)
    stream.requests.removeAll()
    _ = server.load.received.note(0, of: stream.call)
    if !stream.hasBegun { server.load.callEnded(in: share) }
  }

  /// Ends a call whose stream is open.
  func fail(_ stream: OpenStream, _ status: CallStatus) {
    stream.requests.removeAll()
    stream.request = nil
    _ = server.load.received.note(0, of: stream.call)
    stream.call.stop(status)
    takeOutput(of: stream)
  }

  /// Lets the calls in progress end and opens no more; the connection is closed after the last.
  func beginEnding() {
    guard !isEnding else { return }
    isEnding = true
    write(.goAway(lastStreamID: lastStreamID, errorCode: .noError, opaqueData: nil), .rootStream)
    closeIfDone()
    flushIfNeeded()
  }

  func closeIfDone() {
    guard isEnding, !isClosing, streams.isEmpty, let context else { return }
    isClosing = true
    needsFlush = false
    // Closed when the system has what was written: a close drops the rest.
    let frame = HTTP2Frame(
      streamID: .rootStream, payload: .goAway(lastStreamID: lastStreamID, errorCode: .noError, opaqueData: nil))
    context.writeAndFlush(wrapOutboundOut(frame)).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }
}

extension CallConnection: CallCarrier {}

extension CallConnection: GuardedStreams {
  func cancelCall(_ streamID: UInt32) {
    streams[HTTP2StreamID(Int(streamID))]?.call.stop(.cancelled, droppingBytes: true)
  }

  func close(_ streamID: UInt32) {
    let id = HTTP2StreamID(Int(streamID))
    forget(id)
    write(.rstStream(.cancel), id)
    closeIfDone()
    flushIfNeeded()
  }
}
