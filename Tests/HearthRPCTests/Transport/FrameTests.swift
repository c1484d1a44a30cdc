import NIOCore
import TestSupport
import Testing

@testable import HearthRPC

@Suite("Frames between the socket and the codec")
struct FrameTests {
  @Test("the codec gets the same bytes, and the guard the same frames, however the stream is cut", arguments: 0..<50)
  func cuts(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (bytes, openStreams) = stream(&random)
    let whole = pieces(of: bytes, cutInto: { $0 }, openStreams)
    let cut = pieces(of: bytes, cutInto: { min($0, Int(random.next() % 30)) }, openStreams)
    #expect(whole.passed == cut.passed)
    #expect(whole.callFrames == cut.callFrames)
    #expect(whole.smallUpdates == cut.smallUpdates)
    #expect(whole.events == cut.events)
    #expect(whole.passed.count + whole.takenOut == bytes.readableBytes)
  }

  @Test("the codec's settings announce the limit; a reset is dropped or has its code changed")
  func outbound() {
    var frames = OutboundFrames(maximumConcurrentStreams: 77)
    var settings = ByteBuffer()
    FrameHeader(.settings, length: 12).write(to: &settings)
    settings.writeMultipleIntegers(UInt16(4), UInt32(3), UInt16(3), UInt32.max)
    #expect(frames.process(&settings) { _ in .send } == 0)
    #expect(Array(settings.readableBytesView.suffix(6)) == [0, 3, 0, 0, 0, 77])
    #expect(settings.readableBytes == 21)

    var resets = ByteBuffer()
    for stream in UInt32(1)...3 {
      FrameHeader(.resetStream, length: 4, streamID: stream).write(to: &resets)
      resets.writeInteger(UInt32(8))
    }
    _ = frames.process(&resets) { stream in
      switch stream {
      case 1: .drop
      case 2: .sendAs(code: 7)
      default: .send
      }
    }
    #expect(resets.readableBytes == 26)
    #expect(FrameHeader(at: resets.readerIndex, of: resets)?.streamID == 2)
    #expect(resets.getInteger(at: resets.readerIndex + 9) == UInt32(7))
    #expect(FrameHeader(at: resets.readerIndex + 13, of: resets)?.streamID == 3)
    #expect(resets.getInteger(at: resets.readerIndex + 22) == UInt32(8))
  }

  @Test("a payload that the codec writes apart from its header is not taken for frames")
  func splitWrites() {
    var frames = OutboundFrames(maximumConcurrentStreams: 1)
    var header = ByteBuffer()
    FrameHeader(.data, length: 26, streamID: 1).write(to: &header)
    #expect(frames.process(&header) { _ in .send } == 1)
    var payload = ByteBuffer()
    for _ in 0..<2 {
      FrameHeader(.resetStream, length: 4, streamID: 1).write(to: &payload)
      payload.writeInteger(UInt32(8))
    }
    #expect(frames.process(&payload) { _ in .drop } == 0)
    #expect(payload.readableBytes == 26)
  }

  // MARK: - Support

  private struct Pieces {
    var passed: [UInt8] = []
    var callFrames = 0
    var smallUpdates = 0
    var events: [InboundFrames.Event] = []
    var takenOut = 0
  }

  private func pieces(of bytes: ByteBuffer, cutInto length: (Int) -> Int, _ openStreams: Set<UInt32>) -> Pieces {
    var frames = InboundFrames()
    var rest = bytes
    var result = Pieces()
    while rest.readableBytes > 0 {
      frames.append(rest.readSlice(length: length(rest.readableBytes)) ?? ByteBuffer())
      while let event = frames.next(isOpen: { openStreams.contains($0) }) {
        if case .pass(let bytes, let callFrames, let smallUpdates) = event {
          result.passed += bytes.readableBytesView
          result.callFrames += callFrames
          result.smallUpdates += smallUpdates
        } else {
          result.events.append(event)
        }
      }
    }
    result.takenOut = bytes.readableBytes - result.passed.count
    return result
  }

  /// A preface and some hundred frames of all kinds, with the streams that count as open.
  private func stream(_ random: inout SeededGenerator) -> (ByteBuffer, Set<UInt32>) {
    var bytes = ByteBuffer(repeating: UInt8(ascii: "P"), count: 24)
    var openStreams: Set<UInt32> = []
    for _ in 0..<300 {
      let kind = UInt8(random.next() % 12)
      let lengths: [UInt8: Int] = [2: 5, 3: 4, 4: 0, 6: 8, 8: 4]
      let length = random.next() % 10 == 0 ? Int(random.next() % 40) : lengths[kind] ?? Int(random.next() % 60)
      let streamID = UInt32(random.next() % 40)
      if kind == 1, random.next().isMultiple(of: 2) { openStreams.insert(streamID) }
      bytes.writeMultipleIntegers(UInt32(length) << 8 | UInt32(kind), UInt8(random.next() % 8), streamID)
      for _ in 0..<length { bytes.writeInteger(UInt8(truncatingIfNeeded: random.next())) }
    }
    return (bytes, openStreams)
  }
}
