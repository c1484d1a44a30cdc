internal import NIOCore

/// Follows the frames that the codec sends, and changes the few that cannot be configured in the codec.
struct OutboundFrames {
  /// The treatment of a RST_STREAM frame.
  enum ResetFate {
    case send
    /// The peer reset the stream itself, and must not be answered with another reset (RFC 9113, section 5.4.2).
    case drop
    case sendAs(code: UInt32)
  }

  private static let maximumConcurrentStreamsSetting: UInt16 = 3
  private static let settingByteCount = 6

  private let maximumConcurrentStreams: UInt32
  private var remainingPayload = 0
  private var hasSentSettings = false
  /// True once the codec has not written whole frame headers, which it always should. Then its bytes go out as they are.
  private var isLost = false

  init(maximumConcurrentStreams: Int) {
    self.maximumConcurrentStreams = UInt32(clamping: maximumConcurrentStreams)
  }

  /// Changes one write of the codec in place.
  ///
  /// - Returns: The number of frames of calls (HEADERS, DATA with content) that begin in it.
  mutating func process(_ bytes: inout ByteBuffer, fateOfReset: (UInt32) -> ResetFate) -> Int {
    var callFrames = 0
    var index = bytes.readerIndex
    while !isLost, index < bytes.writerIndex {
      if remainingPayload > 0 {
        let count = min(remainingPayload, bytes.writerIndex - index)
        remainingPayload -= count
        index += count
        continue
      }
      guard let header = FrameHeader(at: index, of: bytes) else {
        isLost = true
        break
      }
      let payload = index + FrameHeader.byteCount
      remainingPayload = header.length
      index = payload
      switch header.kind {
      case .headers: callFrames += 1
      case .data where header.length > 0: callFrames += 1
      case .settings where !hasSentSettings && !header.isAcknowledgement:
        hasSentSettings = true
        announceLimit(in: &bytes, from: payload, length: header.length)
      case .resetStream where payload + header.length <= bytes.writerIndex:
        switch fateOfReset(header.streamID) {
        case .send: break
        case .sendAs(let code): bytes.setInteger(code, at: payload)
        case .drop:
          remainingPayload = 0
          index = payload - FrameHeader.byteCount
          Self.remove(FrameHeader.byteCount + header.length, at: index, from: &bytes)
        }
      default: break
      }
    }
    return callFrames
  }

  private func announceLimit(in bytes: inout ByteBuffer, from start: Int, length: Int) {
    let end = min(start + length, bytes.writerIndex) - Self.settingByteCount
    for index in stride(from: start, through: end, by: Self.settingByteCount)
    where bytes.getInteger(at: index) == Self.maximumConcurrentStreamsSetting {
      bytes.setInteger(maximumConcurrentStreams, at: index + MemoryLayout<UInt16>.size)
    }
  }

  private static func remove(_ count: Int, at index: Int, from bytes: inout ByteBuffer) {
    guard let before = bytes.getSlice(at: bytes.readerIndex, length: index - bytes.readerIndex),
      var after = bytes.getSlice(at: index + count, length: bytes.writerIndex - index - count)
    else { return }
    let start = bytes.readerIndex
    var result = ByteBuffer()
    // Indices of the caller stay valid.
    result.writeRepeatingByte(0, count: start)
    result.moveReaderIndex(to: start)
    result.writeImmutableBuffer(before)
    result.writeBuffer(&after)
    bytes = result
  }
}
