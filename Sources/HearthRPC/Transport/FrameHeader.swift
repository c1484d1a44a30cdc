internal import NIOCore

/// The nine octets at the start of each HTTP/2 frame (RFC 9113, section 4.1).
struct FrameHeader: Equatable {
  static let byteCount = 9

  /// The bytes of the payload.
  var length: Int
  var kind: Kind
  var flags: UInt8
  /// 0 stands for the connection.
  var streamID: UInt32

  struct Kind: RawRepresentable, Equatable {
    var rawValue: UInt8

    static let data = Kind(rawValue: 0)
    static let headers = Kind(rawValue: 1)
    static let priority = Kind(rawValue: 2)
    static let resetStream = Kind(rawValue: 3)
    static let settings = Kind(rawValue: 4)
    static let ping = Kind(rawValue: 6)
    static let goAway = Kind(rawValue: 7)
    static let windowUpdate = Kind(rawValue: 8)
    static let continuation = Kind(rawValue: 9)
  }

  private static let endStreamFlag: UInt8 = 0x1
  private static let acknowledgementFlag: UInt8 = 0x1
  private static let endHeadersFlag: UInt8 = 0x4

  /// For DATA and HEADERS.
  var endsStream: Bool { flags & Self.endStreamFlag != 0 }
  /// For SETTINGS and PING.
  var isAcknowledgement: Bool { flags & Self.acknowledgementFlag != 0 }
  /// For HEADERS and CONTINUATION.
  var endsHeaders: Bool { flags & Self.endHeadersFlag != 0 }

  init(_ kind: Kind, length: Int, isAcknowledgement: Bool = false, streamID: UInt32 = 0) {
    self.length = length
    self.kind = kind
    flags = isAcknowledgement ? Self.acknowledgementFlag : 0
    self.streamID = streamID
  }

  /// Reads a header without moving the reader index; nil when fewer than nine bytes are there.
  init?(at index: Int, of buffer: ByteBuffer) {
    guard
      let (lengthAndKind, flags, streamID) = buffer.getMultipleIntegers(
        at: index, as: (UInt32, UInt8, UInt32).self)
    else { return nil }
    length = Int(lengthAndKind >> 8)
    kind = Kind(rawValue: UInt8(truncatingIfNeeded: lengthAndKind))
    self.flags = flags
    self.streamID = streamID & 0x7fff_ffff
  }

  func write(to buffer: inout ByteBuffer) {
    buffer.writeMultipleIntegers(UInt32(length) << 8 | UInt32(kind.rawValue), flags, streamID)
  }
}

/// The error codes of HTTP/2 that the server sends (RFC 9113, section 7).
enum ErrorCode {
  static let refusedStream: UInt32 = 0x7
  static let enhanceYourCalm: UInt32 = 0xb
}
