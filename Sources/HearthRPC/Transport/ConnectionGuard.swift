internal import NIOCore

/// The streams behind a ``ConnectionGuard``. Used on the connection's event loop.
protocol GuardedStreams: AnyObject {
  /// The client has reset a stream: what is done for it has to stop.
  func cancelCall(_ streamID: UInt32)
  /// Closes a stream that the client has reset, by a RST_STREAM frame of the codec, which the guard keeps from the client.
  func close(_ streamID: UInt32)
}

/// Handles the frames between the socket and the HTTP/2 codec of one connection that the codec below gRPC cannot be
/// configured to handle (docs/decisions/0010-connection-guard.md).
///
/// - The codec's settings apply from the start, not only after the client has acknowledged them.
/// - Pings are answered here, and counted against a budget that calls refill.
/// - A stream that the client resets is closed from our side. The codec never sees the reset, because it would count it.
/// - Streams above the announced limit are refused one by one. The codec's own limit would end the connection.
/// - DATA for ended streams is dropped and its window restored. The codec would end the connection.
/// - A peer that is silent gets a PING, and the connection is closed if nothing comes back.
final class ConnectionGuard: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private enum Stream {
    case open
    /// The client reset it; it goes as soon as the codec has closed it.
    case reset
    /// It was one too many; it goes with its RST_STREAM.
    case refused
  }

  private let limits: ConnectionLimits
  private let metrics: (any CallMetrics)?
  /// The number of open streams, for metrics.
  private let streamUsage: Usage?
  private let log: ConnectionLog
  private var budget: ConnectionBudget
  private var inbound = InboundFrames()
  private var outbound: OutboundFrames
  private var streamStates: [UInt32: Stream] = [:]
  /// Streams that are neither refused nor reset.
  private var openStreamCount = 0 {
    didSet { streamUsage?.set(openStreamCount) }
  }
  /// Streams that were reset while the client took nothing. Closing them makes the codec write, and it ends a connection
  /// that holds 10,000 unsent control frames. ``ConnectionLimits/resets`` bounds them.
  private var waitingToClose: [UInt32] = []

  private var context: ChannelHandlerContext?
  /// Set as long as the handler of the streams is in the pipeline.
  var streams: (any GuardedStreams)?
  /// True after GOAWAY: later bytes are ignored.
  private var isEnded = false
  private var isReading = false
  /// The limit that was exceeded while bytes are passed on. The connection is ended after them: a codec that is opening a
  /// stream does not expect it.
  private var excessOfPassed: ConnectionBudget.Excess?
  private var needsFlush = false

  private var lastRead = NIODeadline.now()
  private var writtenBytes = 0
  private var keepAlive: Scheduled<Void>?
  private var isAwaitingAnswer = false
  private let keepAliveData = UInt64.random(in: .min ... .max)

  /// The time that a peer has to read the GOAWAY frame before its connection is closed.
  private static let farewell = TimeAmount.seconds(1)

  init(limits: ConnectionLimits, metrics: (any CallMetrics)? = nil, log: ConnectionLog) {
    self.limits = limits
    self.metrics = metrics
    streamUsage = metrics?.streamsPerConnection.register()
    self.log = log
    budget = ConnectionBudget(limits: limits, now: .now())
    outbound = OutboundFrames(maximumConcurrentStreams: limits.maximumConcurrentStreams)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { scheduleKeepAlive(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    keepAlive?.cancel()
    self.context = nil
  }

  func channelActive(context: ChannelHandlerContext) {
    scheduleKeepAlive(context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    keepAlive?.cancel()
    waitingToClose = []
    context.fireChannelInactive()
  }
}

// MARK: - From the client

extension ConnectionGuard {
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnded else { return }
    lastRead = .now()
    if isAwaitingAnswer { takeSignOfLife(context) }
    inbound.append(unwrapInboundIn(data))
    // The codec may ask for more while it handles what it was given; that is then taken up by the loop below.
    guard !isReading else { return }
    isReading = true
    defer { isReading = false }
    // After a close, which what was passed on may have caused, no more streams are opened.
    while !isEnded, context.channel.isActive, let event = inbound.next(isOpen: { isOpen($0) }) {
      if let excess = handle(event, context) { end(context, for: excess) }
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    // The codec's flush has most often taken our frames along by now.
    if needsFlush {
      needsFlush = false
      context.flush()
    }
  }

  private func isOpen(_ streamID: UInt32) -> Bool {
    if case .open = streamStates[streamID] { true } else { false }
  }

  private func handle(
    _ event: InboundFrames.Event, _ context: ChannelHandlerContext
  ) -> ConnectionBudget.Excess? {
    switch event {
    case .pass(let bytes, let callFrames, let smallUpdates):
      for _ in 0..<smallUpdates {
        if let excess = budget.smallUpdate(at: .now()) { return excess }
      }
      for _ in 0..<callFrames { budget.callFramePassed() }
      context.fireChannelRead(wrapInboundOut(bytes))
      return excessOfPassed
    case .tooManySettings:
      return .settings
    case .settingsPassed:
      acknowledgeSettings(context)
      return nil
    case .ping(let data):
      // Answers are flushed with the other output after a read, unless too many are waiting.
      if !context.channel.isWritable { context.flush() }
      if let excess = budget.ping(at: .now(), canSend: context.channel.isWritable) { return excess }
      send(.ping, isAcknowledgement: true, payload: data, context)
      return nil
    case .pingAnswer(let data):
      if data != keepAliveData { return passPingAnswer(data, context) }
      return nil
    case .reset(let streamID):
      return reset(streamID)
    case .emptyFrame:
      return budget.emptyFrame(at: .now())
    case .strayData(let count):
      if count > 0 { send(.windowUpdate, payload: UInt32(clamping: count), context) }
      return budget.strayFrame(at: .now())
    }
  }

  /// Until its settings are acknowledged, the codec takes more than 100 streams for an error of the connection, though a
  /// client that has not seen the settings may open any number (RFC 9113, section 5.1.2). So it gets an acknowledgement at
  /// once; that of the client is kept back.
  private func acknowledgeSettings(_ context: ChannelHandlerContext) {
    var frame = ByteBuffer()
    FrameHeader(.settings, length: 0, isAcknowledgement: true).write(to: &frame)
    context.fireChannelRead(wrapInboundOut(frame))
  }

  /// The codec counts answers, 200 in 30 s, which limits those that it has not asked for.
  private func passPingAnswer(_ data: UInt64, _ context: ChannelHandlerContext) -> ConnectionBudget.Excess? {
    var frame = ByteBuffer()
    FrameHeader(.ping, length: MemoryLayout<UInt64>.size, isAcknowledgement: true).write(to: &frame)
    frame.writeInteger(data)
    context.fireChannelRead(wrapInboundOut(frame))
    return nil
  }

  private func reset(_ streamID: UInt32) -> ConnectionBudget.Excess? {
    let excess = budget.streamReset(at: .now())
    if case .open = streamStates[streamID] {
      streamStates[streamID] = .reset
      openStreamCount -= 1
      budget.streamEnded(wasReset: true, at: .now())
      streams?.cancelCall(streamID)
      if context?.channel.isWritable == true { streams?.close(streamID) } else { waitingToClose.append(streamID) }
    }
    return excess
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      let streamIDs = waitingToClose
      waitingToClose = []
      for streamID in streamIDs { streams?.close(streamID) }
    }
    context.fireChannelWritabilityChanged()
  }
}

// MARK: - Streams

extension ConnectionGuard {
  /// Takes note of a stream that the codec has opened.
  ///
  /// - Returns: false if it is one too many: it must be reset, and nothing of it be carried out, which REFUSED_STREAM promises.
  func streamOpened(_ streamID: UInt32) -> Bool {
    guard openStreamCount < limits.maximumConcurrentStreams else {
      streamStates[streamID] = .refused
      metrics?.exceeded(.streamsPerConnection)
      excessOfPassed = excessOfPassed ?? budget.streamReset(at: .now())
      return false
    }
    streamStates[streamID] = .open
    openStreamCount += 1
    budget.streamOpened()
    return true
  }

  /// Takes note of the end of a stream in the codec.
  func streamClosed(_ streamID: UInt32) {
    guard case .open = streamStates.removeValue(forKey: streamID) else { return }
    openStreamCount -= 1
    budget.streamEnded(wasReset: false, at: .now())
  }
}

// MARK: - To the client

extension ConnectionGuard {
  /// Takes note of DATA that goes to the client, and that none of the client's windows has cut short.
  func responseSent() {
    budget.responseSent()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .byteBuffer(var bytes) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
    let callFrames = outbound.process(&bytes) { streamID in
      switch streamStates[streamID] {
      case .refused:
        streamStates[streamID] = nil
        return .sendAs(code: ErrorCode.refusedStream)
      case .reset: return .drop
      case .open, nil: return .send
      }
    }
    for _ in 0..<callFrames { budget.callFramePassed() }
    writtenBytes += bytes.readableBytes
    context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
  }

  /// The part of these bytes that the system has taken.
  private func sentBytes(_ context: ChannelHandlerContext) -> Int {
    let buffered = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
    return writtenBytes - (buffered ?? 0)
  }

  private func send(
    _ kind: FrameHeader.Kind, isAcknowledgement: Bool = false, payload: some FixedWidthInteger,
    _ context: ChannelHandlerContext
  ) {
    let length = payload.bitWidth / UInt8.bitWidth
    var frame = context.channel.allocator.buffer(capacity: FrameHeader.byteCount + length)
    FrameHeader(kind, length: length, isAcknowledgement: isAcknowledgement).write(to: &frame)
    frame.writeInteger(payload)
    writtenBytes += frame.readableBytes
    context.write(wrapOutboundOut(.byteBuffer(frame)), promise: nil)
    needsFlush = true
  }

  /// Ends the connection with GOAWAY, and closes it a moment later.
  private func end(_ context: ChannelHandlerContext, for excess: ConnectionBudget.Excess) {
    guard !isEnded else { return }
    isEnded = true
    metrics?.exceeded(excess.limit)
    keepAlive?.cancel()
    log.exceeded(excess.rawValue, by: context.remoteAddress)
    let text = ByteBuffer(string: excess.rawValue)
    let length = 2 * MemoryLayout<UInt32>.size + text.readableBytes
    var frame = context.channel.allocator.buffer(capacity: FrameHeader.byteCount + length)
    FrameHeader(.goAway, length: length).write(to: &frame)
    frame.writeInteger(inbound.lastStreamID)
    frame.writeInteger(ErrorCode.enhanceYourCalm)
    frame.writeImmutableBuffer(text)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(frame)), promise: nil)
    // Later bytes are read and dropped: closing a socket with unread bytes would reset it, and the client might lose the GOAWAY.
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.farewell) { channel.close(promise: nil) }
  }
}

// MARK: - Keep-alive

extension ConnectionGuard {
  private func scheduleKeepAlive(_ context: ChannelHandlerContext) {
    guard keepAlive == nil else { return }
    scheduleCheck(at: lastRead + TimeAmount(limits.keepAliveTime), context)
  }

  /// One timer for each connection, which is not touched by reads: when it fires, it looks at the time of the last.
  private func scheduleCheck(at deadline: NIODeadline, _ context: ChannelHandlerContext) {
    keepAlive = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.checkForSilence() }
  }

  private func checkForSilence() {
    guard let context, !isEnded else { return }
    let due = lastRead + TimeAmount(limits.keepAliveTime)
    guard due <= .now() else { return scheduleCheck(at: due, context) }
    send(.ping, payload: keepAliveData, context)
    needsFlush = false
    context.flush()
    awaitAnswer(sentBytes: sentBytes(context), pingEnd: writtenBytes, context)
  }

  private func takeSignOfLife(_ context: ChannelHandlerContext) {
    isAwaitingAnswer = false
    keepAlive?.cancel()
    scheduleCheck(at: lastRead + TimeAmount(limits.keepAliveTime), context)
  }

  private func awaitAnswer(sentBytes: Int, pingEnd: Int, _ context: ChannelHandlerContext) {
    isAwaitingAnswer = true
    keepAlive = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.keepAliveTimeout)) {
      // On a loop that was busy, the answer may have come and not have been read yet.
      self.keepAlive = context.eventLoop.assumeIsolated().scheduleTask(in: Self.loopPatience) {
        self.answerIsMissing(sentBytes: sentBytes, pingEnd: pingEnd)
      }
    }
  }

  /// - Parameters:
  ///   - sentBytes: The number of bytes that the system had taken when the wait began.
  ///   - pingEnd: The number of bytes that it has taken once it has the ping.
  private func answerIsMissing(sentBytes sentBefore: Int, pingEnd: Int) {
    guard let context, !isEnded, isAwaitingAnswer else { return }
    let sent = sentBytes(context)
    if sentBefore < pingEnd, sent > sentBefore {
      // The ping waits behind an answer that the peer takes slowly, and has not been asked for longer than this.
      return awaitAnswer(sentBytes: sent, pingEnd: pingEnd, context)
    }
    metrics?.exceeded(.keepAlive)
    log.silent(context.remoteAddress)
    context.close(promise: nil)
  }

  private static let loopPatience = TimeAmount.seconds(1)
}
