internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// What a connection keeps of a stream. Confined to the event loop.
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
  /// Bytes that the client has sent and was not given back the window for.
  var unreturnedBytes = 0

  // To the client.
  /// The head of a response that is not one of gRPC, once it is known.
  var head: HPACKHeaders?
  var isHeadSent = false
  /// Bytes that flow control has not let go, in order.
  var waiting: [ByteBuffer] = []
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
}
