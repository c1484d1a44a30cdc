internal import HearthModel
internal import NIOCore
internal import NIOHTTP2

// From the client: DATA, windows and what was received of requests.

extension CallConnection {
  func receive(_ data: HTTP2Frame.FramePayload.Data, _ id: HTTP2StreamID) {
    guard case .byteBuffer(let bytes) = data.data else { return }
    let count = bytes.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
    // The bytes that a connection may send are bounded by its streams' windows.
    unreturnedBytes += count
    if unreturnedBytes >= Self.connectionWindow / 2 {
      write(.windowUpdate(windowSizeIncrement: unreturnedBytes), .rootStream)
      unreturnedBytes = 0
    }
    guard let stream = streams[id] else { return }
    stream.unreturnedBytes += count
    guard stream.end == nil else { return }
    guard !stream.hasRefusedRequest else {
      if data.endStream { stream.hasRequestEnd = true }
      return
    }
    do throws(CallStatus) {
      if stream.call.transcoder != nil { try takeBody(bytes, stream) } else { stream.requests.append(bytes) }
      while let message = try stream.requests.next() { try take(message, stream) }
    } catch {
      guard stream.call.method.kind == .requestStream, stream.call.transcoder == nil else { return fail(stream, error) }
      if data.endStream { stream.hasRequestEnd = true }
      return refuse(stream, error)
    }
    noteReceived(stream)
    guard stream.end == nil, streams[id] != nil else { return }
    if data.endStream { receiveEnd(of: stream) } else { returnWindow(of: stream) }
  }

  /// Ends a stream with a request that is not taken, after the answers to those before.
  private func refuse(_ stream: OpenStream, _ status: CallStatus) {
    stream.hasRefusedRequest = true
    stream.requests.removeAll()
    noteReceived(stream)
    stream.call.deliverEnd(.failure(status))
  }

  private func take(_ message: ByteBuffer, _ stream: OpenStream) throws(CallStatus) {
    guard stream.call.method.kind == .oneRequest else {
      server.load.metrics?.requestReceived(bytes: message.readableBytes)
      stream.call.deliver(message)
      return
    }
    guard stream.request == nil else {
      throw CallStatus(.unimplemented, "The call has more than one request message; its method takes one.")
    }
    stream.request = message
  }

  func noteReceived(_ stream: OpenStream) {
    // Requested before the bytes are read: bytes that are taken in between are noted again.
    _ = stream.call.keepWindow()
    let held = stream.requests.heldBytes + stream.call.requestBytes + (stream.request?.readableBytes ?? 0)
    for call in server.load.received.note(held, of: stream.call) {
      call.stop(.tooManyReceived(server.limits.receivedBytes))
    }
  }

  func receiveEnd(of stream: OpenStream) {
    stream.hasRequestEnd = true
    guard stream.end == nil, !stream.hasRefusedRequest else { return }
    // Ended from outside, for example for its bytes: nothing of it is carried out any more.
    guard stream.call.cause == nil else { return takeOutput(of: stream) }
    guard stream.requests.unfinishedBytes == 0 else {
      return fail(stream, CallStatus(.internal, "The client has ended the stream within a message."))
    }
    if stream.call.method.kind == .requestStream { return stream.call.deliverEnd() }
    guard stream.request != nil || stream.call.transcoder != nil else {
      return fail(stream, CallStatus(.unimplemented, "The call has no request message; its method takes one."))
    }
    _ = server.load.received.note(0, of: stream.call)
    begin(stream)
  }

  /// Lets the client send as much again as was handled. While complete requests wait, it is not.
  func returnWindow(of stream: OpenStream) {
    guard !stream.hasRequestEnd, stream.unreturnedBytes >= Self.streamWindow / 2 else { return }
    guard !stream.call.keepWindow() else { return }
    write(.windowUpdate(windowSizeIncrement: stream.unreturnedBytes), stream.id)
    stream.unreturnedBytes = 0
  }
}
