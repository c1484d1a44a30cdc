internal import NIOCore

/// Cuts what a client sends at the borders of HTTP/2 frames, and takes those out that the codec behind is not to see.
///
/// Everything else is passed on as it came, also what is malformed: the codec answers that with the errors that the
/// protocol demands. Nothing is kept but the start of a frame whose kind or short payload is not complete yet.
struct InboundFrames {
  enum Event: Equatable {
    /// Bytes for the codec, whole or partial frames.
    ///
    /// - callFrames: how many frames of calls (HEADERS, DATA with content) begin in them.
    case pass(ByteBuffer, callFrames: Int)
    case ping(UInt64)
    case pingAnswer(UInt64)
    /// RST_STREAM for a stream that was opened at some time.
    case reset(UInt32)
    /// A frame that brings nothing was taken out.
    case emptyFrame
    /// The client's first SETTINGS frame has been passed on.
    case settingsPassed
    /// DATA for a stream that is over is taken out; it counts this many bytes of the connection's window.
    case strayData(Int)
  }

  /// "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" (RFC 9113, section 3.4). Its content is the codec's business.
  private static let prefaceByteCount = 24
  /// Larger frames are errors (RFC 9113, section 4.2): the server announces no other size.
  private static let maximumPayloadByteCount = 1 << 14
  private static let pingByteCount = 8
  private static let resetByteCount = 4
  private static let priorityByteCount = 5

  private var unread = ByteBuffer()
  /// The place in ``unread`` up to which bytes are to be passed on.
  private var passedIndex = 0
  private var callFrames = 0
  private var remainingToPass = prefaceByteCount
  private var remainingToDrop = 0
  /// Between HEADERS and the end of its CONTINUATION frames nothing else may come; then all is the codec's.
  private var isInsideHeaders = false
  private var settings = SettingsExchange.isAwaited

  /// How far the exchange of the first SETTINGS frames has come.
  private enum SettingsExchange {
    case isAwaited
    /// The frame is among the bytes that are being passed on.
    case isPassing
    /// The client has not acknowledged ours yet.
    case isPassed
    case isAcknowledged
  }
  /// The highest stream that the client has opened.
  private(set) var lastStreamID: UInt32 = 0

  mutating func append(_ bytes: ByteBuffer) {
    if unread.readableBytes == 0 {
      unread = bytes
      passedIndex = unread.readerIndex
    } else {
      // `passedIndex` is the reader index here: next() has passed on what it could.
      unread.discardReadBytes()
      passedIndex = unread.readerIndex
      var bytes = bytes
      unread.writeBuffer(&bytes)
    }
  }

  /// The next thing to do, nil when more bytes are needed.
  ///
  /// - Parameter isOpen: whether the codec knows the stream. Asked after all bytes before have been passed on.
  mutating func next(isOpen: (UInt32) -> Bool) -> Event? {
    while true {
      if remainingToDrop > 0 {
        let count = min(remainingToDrop, unread.writerIndex - passedIndex)
        guard count > 0 else { return nil }
        remainingToDrop -= count
        skip(count)
        continue
      }
      if remainingToPass > 0 {
        let count = min(remainingToPass, unread.writerIndex - passedIndex)
        guard count > 0 else { return takePassed() }
        remainingToPass -= count
        passedIndex += count
        continue
      }
      if settings == .isPassing {
        if let passed = takePassed() { return passed }
        settings = .isPassed
        return .settingsPassed
      }
      guard let header = FrameHeader(at: passedIndex, of: unread) else { return takePassed() }
      let isContent = header.kind == .data && !isEmptyData(header)
      if isInsideHeaders || !mayBeTakenOut(header) || isContent && isOpen(header.streamID) {
        pass(header)
        continue
      }
      // What comes before reaches the codec first.
      if let passed = takePassed() { return passed }
      if isContent, isOpen(header.streamID) {
        pass(header)
        continue
      }
      guard isWhole(header) else { return nil }
      if let event = takeOut(header) { return event }
    }
  }

  /// Whether the frame is one of those that need a closer look.
  private func mayBeTakenOut(_ header: FrameHeader) -> Bool {
    guard header.length <= Self.maximumPayloadByteCount else { return false }
    return switch header.kind {
    case .settings: header.isAcknowledgement && header.length == 0 && settings == .isPassed
    case .ping: header.length == Self.pingByteCount && header.streamID == 0
    case .resetStream: header.length == Self.resetByteCount && wasOpened(header.streamID)
    case .data: wasOpened(header.streamID)
    case .priority: header.length == Self.priorityByteCount && header.streamID != 0
    case let kind: kind.rawValue > FrameHeader.Kind.continuation.rawValue
    }
  }

  private func wasOpened(_ streamID: UInt32) -> Bool {
    streamID <= lastStreamID && !streamID.isMultiple(of: 2)
  }

  /// Whether enough of the frame is there to take it out. Those that are dropped may be longer than what is.
  private func isWhole(_ header: FrameHeader) -> Bool {
    switch header.kind {
    case .ping, .resetStream: passedIndex + FrameHeader.byteCount + header.length <= unread.writerIndex
    default: true
    }
  }

  private func isEmptyData(_ header: FrameHeader) -> Bool {
    header.length == 0 && !header.endsStream
  }

  private mutating func pass(_ header: FrameHeader) {
    switch header.kind {
    case .headers:
      isInsideHeaders = !header.endsHeaders
      if header.streamID > lastStreamID, !header.streamID.isMultiple(of: 2) { lastStreamID = header.streamID }
      callFrames += 1
    case .continuation:
      isInsideHeaders = !header.endsHeaders
    case .data where header.length > 0:
      callFrames += 1
    case .settings where settings == .isAwaited:
      settings = .isPassing
    default:
      break
    }
    remainingToPass = FrameHeader.byteCount + header.length
  }

  private mutating func takeOut(_ header: FrameHeader) -> Event? {
    let payload = passedIndex + FrameHeader.byteCount
    switch header.kind {
    case .ping:
      let data: UInt64 = unread.getInteger(at: payload) ?? 0
      skip(FrameHeader.byteCount + header.length)
      return header.isAcknowledgement ? .pingAnswer(data) : .ping(data)
    case .resetStream:
      skip(FrameHeader.byteCount + header.length)
      return .reset(header.streamID)
    case .settings:
      settings = .isAcknowledged
      skip(FrameHeader.byteCount)
      return nil
    case .data where !isEmptyData(header):
      remainingToDrop = FrameHeader.byteCount + header.length
      return .strayData(header.length)
    default:
      remainingToDrop = FrameHeader.byteCount + header.length
      return .emptyFrame
    }
  }

  private mutating func skip(_ count: Int) {
    unread.moveReaderIndex(forwardBy: count)
    passedIndex = unread.readerIndex
  }

  private mutating func takePassed() -> Event? {
    let count = passedIndex - unread.readerIndex
    guard count > 0, let bytes = unread.readSlice(length: count) else { return nil }
    defer { callFrames = 0 }
    return .pass(bytes, callFrames: callFrames)
  }
}
