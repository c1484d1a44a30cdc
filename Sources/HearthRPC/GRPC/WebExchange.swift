internal import HearthModel
package import NIOCore

/// The head of an HTTP request that is not a gRPC call.
package struct WebRequest: Sendable {
  package var verb: String
  /// The path and the query as they were sent.
  var target: String
  /// The name and the port by which the client calls the server: `Host`, or `:authority` in HTTP/2.
  var host: String?
  /// Names are in lower case.
  package var headers: [(name: String, value: String)] = []

  /// The first value of a header.
  package subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

  /// The headers as a call has them.
  package var metadata: CallMetadata {
    var metadata = CallMetadata()
    for (name, value) in headers { metadata.add(name: name, value: value) }
    return metadata
  }
}

/// The head of a response, and bytes that are part of its body.
package struct WebResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: ByteBuffer

  package init(status: Int, headers: [(name: String, value: String)], body: ByteBuffer = ByteBuffer()) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// Decides the answer to a request.
package protocol WebService: Sendable {
  func exchange(for request: WebRequest) -> WebExchange
  /// The answer to a request that cannot be read.
  func refusal(_ status: CallStatus, httpStatus: Int?) -> WebResponse
}

/// The work that a request needs.
package enum WebExchange: Sendable {
  /// Answered at once; a body is not wanted.
  case answer(WebResponse)
  /// A call, which begins when the body is there. Streams that a later protocol brings get a case of their own.
  case call(CallMethod, CallMetadata, any CallTranscoder)
}

/// Converts between the bodies of HTTP and the messages of a call with one request.
///
/// The functions are called one after the other for each call, the first two in its task and the last one by its connection.
package protocol CallTranscoder: Sendable {
  /// The request message.
  ///
  /// - Throws: The error with which the call ends.
  func request(from body: ByteBuffer) throws -> ByteBuffer

  /// Adds a response message to the body.
  func add(_ response: [UInt8], to body: inout ByteBuffer) throws

  /// The head of a response whose call has not failed before its first message.
  var head: WebResponse { get }

  /// The end of the body, and the head if none was sent.
  ///
  /// - Parameter isBegun: The head or parts of the body are on their way.
  func end(_ status: CallStatus, isBegun: Bool) -> WebResponse
}

/// An answer that is known before the call starts.
struct PreparedAnswer: CallTranscoder {
  let response: WebResponse

  func request(from body: ByteBuffer) -> ByteBuffer { body }
  func add(_ response: [UInt8], to body: inout ByteBuffer) {}
  var head: WebResponse { response }
  func end(_ status: CallStatus, isBegun: Bool) -> WebResponse { response }
}

/// The output of a connection for a call of HTTP: bodies as they come, and the head once it is known.
struct WebOutput {
  /// Sent before the bytes.
  var head: WebResponse?
  /// The head says how long the body is: all of it is there.
  var isWhole = false
  var bytes: ByteBuffer
  var isLast: Bool
  /// The response cannot be continued, and must not look complete.
  var isBroken = false

  /// - Parameter isHeadSent: The head was sent before.
  init(_ output: ServerCall.Output, _ transcoder: any CallTranscoder, isHeadSent: Bool) {
    bytes = output.dropsBytes ? ByteBuffer() : output.bytes
    isLast = output.end != nil
    guard let end = output.end else {
      if !isHeadSent, bytes.readableBytes > 0 { head = transcoder.head }
      return
    }
    guard !(output.dropsBytes && isHeadSent) else {
      isBroken = true
      return
    }
    let isBegun = isHeadSent || bytes.readableBytes > 0
    var last = transcoder.end(end, isBegun: isBegun)
    bytes.writeBuffer(&last.body)
    guard !isHeadSent else { return }
    head = isBegun ? transcoder.head : last
    isWhole = true
  }
}
