internal import HearthModel
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

// Requests of HTTP that are not calls of gRPC.

extension CallConnection {
  /// - Returns: false if the server has no service for them.
  func openWeb(_ id: HTTP2StreamID, _ headers: HPACKHeaders, hasRequestEnd: Bool) -> Bool {
    guard let web = server.web else { return false }
    let exchange = web.exchange(for: Self.request(headers))
    if let refusal = server.load.callBegan(in: share) {
      let response = web.refusal(refusal, httpStatus: nil)
      var head = Self.headers(of: response, length: 0)
      head.replaceOrAdd(name: "content-length", value: "0")
      write(.headers(.init(headers: head, endStream: true)), id)
      if !hasRequestEnd { write(.rstStream(.noError), id) }
      return true
    }
    switch exchange {
    case .call(let method, let metadata, let transcoder):
      let stream = open(id, method, metadata, transcoder)
      if hasRequestEnd { receiveEnd(of: stream) }
    case .answer(let response):
      let stream = open(id, .answered, CallMetadata(), PreparedAnswer(response: response))
      stream.hasRequestEnd = hasRequestEnd
      stream.call.finish(.ok)
      takeOutput(of: stream)
    }
    return true
  }

  private static func request(_ headers: HPACKHeaders) -> WebRequest {
    var request = WebRequest(verb: "", target: "")
    for (name, value, _) in headers {
      switch name {
      case ":method": request.verb = value
      case ":path": request.target = value
      case ":authority": request.host = value
      case "host":
        if request.host == nil { request.host = value }
        request.headers.append((name, value))
      default: if !name.hasPrefix(":") { request.headers.append((name, value)) }
      }
    }
    return request
  }

  static func headers(of response: WebResponse, length: Int?) -> HPACKHeaders {
    var headers = HPACKHeaders([(":status", String(response.status))])
    for (name, value) in response.headers { headers.add(name: name, value: value) }
    if let length { headers.add(name: "content-length", value: String(length)) }
    return headers
  }

  /// Keeps a part of the body until all of it is there.
  func takeBody(_ bytes: ByteBuffer, _ stream: OpenStream) throws(CallStatus) {
    let count = (stream.request?.readableBytes ?? 0) + bytes.readableBytes
    guard count <= server.limits.requestBytes else { throw .tooLarge(server.limits.requestBytes) }
    if stream.request == nil { stream.request = ByteBuffer() }
    stream.request?.writeImmutableBuffer(bytes)
  }

  func takeOutput(_ output: ServerCall.Output, of stream: OpenStream, _ transcoder: any CallTranscoder) {
    if output.dropsBytes { drop(stream) }
    let web = WebOutput(output, transcoder, isHeadSent: stream.head != nil)
    guard !web.isBroken else {
      if stream.isHeadSent { return breakOff(stream) }
      // Nothing has gone out yet: the client gets the error alone.
      stream.head = nil
      return takeOutput(output, of: stream, transcoder)
    }
    if let head = web.head {
      stream.head = Self.headers(of: head, length: web.isWhole ? web.bytes.readableBytes : nil)
    }
    if web.bytes.readableBytes > 0 {
      stream.wait(web.bytes)
    }
    if let end = output.end { stream.end = end }
    send(stream)
  }

  private func breakOff(_ stream: OpenStream) {
    write(.rstStream(.internalError), stream.id)
    forget(stream.id)
    closeIfDone()
  }

  /// Ends a stream whose body was sent.
  func closeWeb(_ stream: OpenStream) {
    if stream.isHeadSent {
      write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), stream.id)
    } else if let head = stream.head {
      write(.headers(.init(headers: head, endStream: true)), stream.id)
    }
  }
}

extension CallStatus {
  /// - Parameters:
  ///   - count: The calls of all clients.
  ///   - limit: The calls that all clients may have.
  static func tooManyCalls(_ count: Int, _ limit: Int) -> CallStatus {
    let number = "\(count) of at most \(limit) calls in progress (hearth serve --max-calls)"
    return CallStatus(
      .resourceExhausted,
      count < limit
        ? "The server has \(number), and this client has as many of them as are free."
        : "The server has \(number).")
  }

  static func tooLarge(_ limit: Int) -> CallStatus {
    CallStatus(.invalidArgument, "Request payload size exceeds the limit: \(limit) bytes.", exceeding: .requestBytes)
  }

  /// - Parameters:
  ///   - count: The bytes of the refused request.
  ///   - limit: The limit for the bytes of all requests.
  static func tooManyInProgress(_ count: Int, _ limit: Int) -> CallStatus {
    CallStatus(
      .resourceExhausted,
      "A request of \(count) bytes has no room among those in progress: all together may hold \(limit) bytes, and those of one client "
        + "as many as they leave free (hearth serve --max-request-bytes-in-progress).",
      exceeding: .requestBytesInProgress)
  }

  /// - Parameter limit: The bytes that all calls may hold.
  static func tooManyUnread(_ limit: Int) -> CallStatus {
    CallStatus(
      .resourceExhausted,
      "All calls together hold more than the \(limit) bytes that may wait for clients to read them (hearth serve --max-unread-bytes), "
        + "and those of this call have waited longest.",
      exceeding: .unreadBytes)
  }

  static func tooManyReceived(_ limit: Int) -> CallStatus {
    CallStatus(
      .resourceExhausted,
      "The server holds \(limit) bytes of unfinished requests, the most that are allowed (hearth serve --max-received-bytes), and this client "
        + "holds more of them than others.",
      exceeding: .receivedBytes)
  }
}
