internal import NIOCore

/// Splits the bytes of a client into HTTP/2 frames, and removes the frames that the codec must not see.
///
/// All other bytes are passed on unchanged, even malformed ones: the codec answers those with the errors that the protocol demands. Only
/// the start of a frame whose kind or short payload is incomplete is kept.
struct InboundFrames {
  enum Event: Equatable {
    /// Bytes for the codec, whole or partial frames.
    ///
    /// - callFrames: The number of frames of calls (HEADERS, DATA with content) that begin in them.
    /// - smallUpdates: The number of WINDOW_UPDATE frames that are small (``ConnectionLimits/smallUpdateBytes``).
    case pass(ByteBuffer, callFrames: Int, smallUpdates: Int)
    /// A SETTINGS frame has more entries than one may have. Nothing of it was passed on.
    case tooManySettings
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
  private static let updateByteCount = 4
  private static let settingByteCount = 6

  private var unread = ByteBuffer()
  /// The index in ``unread`` up to which bytes can be passed on.
  private var passedIndex = 0
  private var callFrames = 0
  private var smallUpdates = 0
  private var remainingToPass = prefaceByteCount
  private var remainingToDrop = 0
  /// Between HEADERS and the end of its CONTINUATION frames nothing else may come; then all is the codec's.
  private var isInsideHeaders = false
  private var settings = SettingsExchange.isAwaited

  /// The progress of the exchange of the first SETTINGS frames.
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
  /// - Parameter isOpen: Returns true if the codec knows the stream. It is called after all bytes before are passed on.
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
      if header.kind == .settings, header.length > ConnectionLimits.settingsPerFrame * Self.settingByteCount {
        if let passed = takePassed() { return passed }
        remainingToDrop = FrameHeader.byteCount + header.length
        return .tooManySettings
      }
      // Its content is looked at.
      if isUpdate(header), !isWhole(header) { return takePassed() }
      let isContent = header.kind == .data && !isEmptyData(header)
      if isInsideHeaders || !mayBeTakenOut(header) || isContent && isOpen(header.streamID) {
        pass(header)
        continue
      }
      // The bytes before it are passed on first.
      if let passed = takePassed() { return passed }
      if isContent, isOpen(header.streamID) {
        pass(header)
        continue
      }
      guard isWhole(header) else { return nil }
      if let event = takeOut(header) { return event }
    }
  }

  /// Returns true for frames that may have to be removed or counted.
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

  /// Returns true if enough of the frame was received to remove it. Frames that are dropped may be received in parts.
  private func isWhole(_ header: FrameHeader) -> Bool {
    switch header.kind {
    case .ping, .resetStream, .windowUpdate: passedIndex + FrameHeader.byteCount + header.length <= unread.writerIndex
    default: true
    }
  }

  private func isEmptyData(_ header: FrameHeader) -> Bool {
    header.length == 0 && !header.endsStream
  }

  private func isUpdate(_ header: FrameHeader) -> Bool {
    header.kind == .windowUpdate && header.length == Self.updateByteCount
  }

  private mutating func pass(_ header: FrameHeader) {
    switch header.kind {
    case .windowUpdate where isUpdate(header):
      let increment: UInt32 = unread.getInteger(at: passedIndex + FrameHeader.byteCount) ?? 0
      if Int(increment & 0x7fff_ffff) < ConnectionLimits.smallUpdateBytes { smallUpdates += 1 }
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
    defer { (callFrames, smallUpdates) = (0, 0) }
    return .pass(bytes, callFrames: callFrames, smallUpdates: smallUpdates)
  }
}
