internal import HearthModel
package import NIOCore

/// Cuts the bytes of a request into its messages. Each has a byte for the compression, its length in four bytes, and its content.
///
/// A message that arrives whole is a slice of the received bytes. The bytes of an unfinished message are copied into a buffer of its own,
/// so that it keeps no other bytes alive. That buffer doubles as it grows, so a message of n bytes costs O(n) however it is split.
package struct MessageAssembler {
  private static let headByteCount = 5

  private let maximumBytes: Int
  private var buffer = ByteBuffer()
  /// True if ``buffer`` is a slice of received bytes, or has messages before its reader index.
  private var isShared = false

  /// - Parameter maximumBytes: The size of the largest message that is accepted.
  init(maximumBytes: Int) {
    self.maximumBytes = maximumBytes
  }

  /// The bytes of the message that is not complete yet.
  var unfinishedBytes: Int { buffer.readableBytes }

  /// The memory that the unfinished message takes.
  var heldBytes: Int { buffer.readableBytes == 0 ? 0 : buffer.storageCapacity }

  mutating func append(_ bytes: ByteBuffer) {
    if buffer.readableBytes == 0 {
      buffer = bytes
      isShared = true
    } else {
      buffer.writeImmutableBuffer(bytes)
    }
  }

  /// The next complete message; nil if there is none.
  ///
  /// - Throws: `CallStatus`: INVALID_ARGUMENT for a message that is too large, as soon as its length is known; INTERNAL for a compressed one,
  ///   since no compression was agreed on.
  mutating func next() throws(CallStatus) -> ByteBuffer? {
    guard
      let (compression, length) = buffer.getMultipleIntegers(at: buffer.readerIndex, as: (UInt8, UInt32).self)
    else {
      keepRest()
      return nil
    }
    guard compression == 0 else {
      throw CallStatus(.internal, "A message has the flag \(compression), but the call's encoding is identity.")
    }
    guard length <= maximumBytes else {
      // Not RESOURCE_EXHAUSTED: clients would retry the same write without end.
      throw CallStatus(
        .invalidArgument, "Request payload size exceeds the limit: \(maximumBytes) bytes. The message has \(length).",
        exceeding: .requestBytes)
    }
    guard buffer.readableBytes >= Self.headByteCount + Int(length) else {
      keepRest()
      return nil
    }
    buffer.moveReaderIndex(forwardBy: Self.headByteCount)
    isShared = true
    return buffer.readSlice(length: Int(length))
  }

  private mutating func keepRest() {
    guard isShared else { return }
    isShared = false
    var rest = ByteBuffer()
    if buffer.readableBytes > 0 { rest.writeImmutableBuffer(buffer) }
    buffer = rest
  }

  mutating func removeAll() {
    buffer = ByteBuffer()
  }

  /// Adds a message with its head to a buffer.
  package static func write(_ message: [UInt8], to buffer: inout ByteBuffer) {
    buffer.writeMultipleIntegers(UInt8(0), UInt32(message.count))
    buffer.writeBytes(message)
  }
}
