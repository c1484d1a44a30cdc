internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// The state that a connection keeps for a stream. Confined to the event loop.
final class OpenStream {
  let id: HTTP2StreamID
  let call: ServerCall

  // From the client.
  var requests: MessageAssembler
  /// The request of a call with one, or what has come of its body; the call begins when the client has closed its side.
  var request: ByteBuffer?
  var hasBegun = false
  /// The client has closed its side.
  var hasRequestEnd = false
  /// A request was refused; what comes behind it is dropped.
  var hasRefusedRequest = false
  /// Bytes that the client has sent, and for which its window was not returned yet.
  var unreturnedBytes = 0

  // To the client.
  /// The head of a response that is not one of gRPC, once it is known.
  var head: HPACKHeaders?
  var isHeadSent = false
  /// Bytes that flow control has not let go, in order.
  private(set) var waiting: [ByteBuffer] = []
  /// The stream is one of the connection's ``WaitingStreams``, which set this.
  var isListed = false
  /// The bytes that the client lets the stream send; negative after a change of its settings.
  var window: Int
  var end: CallStatus?
  /// The time since which the client has taken nothing, if bytes wait.
  var waitingSince = NIODeadline.now()
  var deadline: Scheduled<Void>?

  init(id: HTTP2StreamID, call: ServerCall, window: Int, maximumRequestBytes: Int) {
    self.id = id
    self.call = call
    self.window = window
    requests = MessageAssembler(maximumBytes: maximumRequestBytes)
  }

  /// Small messages are copied together, so that many of them are few frames and few buffers.
  private static let joinedBytes = 16 << 10

  /// Adds bytes for the client behind those that wait.
  func wait(_ bytes: ByteBuffer) {
    if waiting.isEmpty { waitingSince = .now() }
    if let last = waiting.indices.last, waiting[last].readableBytes + bytes.readableBytes <= Self.joinedBytes {
      waiting[last].writeImmutableBuffer(bytes)
    } else {
      waiting.append(bytes)
    }
  }

  /// Takes bytes that are sent now.
  ///
  /// - Parameter most: At least 1.
  /// - Returns: nil if nothing waits. `isWhole` is false if bytes that were added together with these are left.
  func takeWaiting(most: Int) -> (bytes: ByteBuffer, isWhole: Bool)? {
    guard let count = waiting.first?.readableBytes else { return nil }
    if count <= most { return (waiting.removeFirst(), true) }
    return waiting[0].readSlice(length: most).map { ($0, false) }
  }

  /// Drops all bytes that wait.
  ///
  /// - Returns: Their number.
  func dropWaiting() -> Int {
    defer { waiting = [] }
    return waitingBytes
  }

  /// The number of bytes that flow control has not let go.
  var waitingBytes: Int { waiting.reduce(0) { $0 + $1.readableBytes } }
}
