internal import HearthModel
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

// To the client: what calls have to send, as far as windows and socket let it go.

extension CallConnection {
  static let head: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]

  /// Does what calls have asked for since the last time.
  func takeOutbox() {
    for call in outbox.takeAll() {
      guard let stream = streams[HTTP2StreamID(call.number)] else { continue }
      takeOutput(of: stream)
    }
    flushIfNeeded()
  }

  func takeOutput(of stream: OpenStream) {
    let output = stream.call.takeOutput()
    if output.returnsWindow {
      noteReceived(stream)
      returnWindow(of: stream)
    }
    if output.end != nil, stream.requests.unfinishedBytes > 0 || stream.request != nil {
      stream.requests.removeAll()
      stream.request = nil
      _ = server.load.received.note(0, of: stream.call)
    }
    if let transcoder = stream.call.transcoder { return takeOutput(output, of: stream, transcoder) }
    if output.sendsHead, !stream.isHeadSent, output.end == nil || output.bytes.readableBytes > 0 { sendHead(stream) }
    if output.bytes.readableBytes > 0 {
      stream.wait(output.bytes)
    }
    if output.dropsBytes { drop(stream) }
    if let end = output.end { stream.end = end }
    send(stream)
  }

  private func sendHead(_ stream: OpenStream) {
    stream.isHeadSent = true
    write(.headers(.init(headers: stream.head ?? Self.head)), stream.id)
  }

  func drop(_ stream: OpenStream) {
    let count = stream.dropWaiting()
    if count > 0 { stream.call.accepted(count) }
  }

  /// Sends as much of a stream as the windows and the socket take. The codec, which would keep any number of bytes beyond the windows,
  /// gets no more than that.
  func send(_ stream: OpenStream) {
    guard let context else { return }
    visitedStreams += 1
    var sent = 0
    while min(stream.window, window) > 0, context.channel.isWritable,
      let (part, isWhole) = stream.takeWaiting(most: min(stream.window, window))
    {
      if !stream.isHeadSent { sendHead(stream) }
      let count = part.readableBytes
      // A client may answer each of these with updates of windows. Pieces that its small windows have cut do not pay for more of them.
      if isWhole || count >= ConnectionLimits.smallUpdateBytes { connectionGuard.responseSent() }
      stream.window -= count
      window -= count
      sent += count
      write(.data(.init(data: .byteBuffer(part))), stream.id)
      // The codec writes DATA when it is flushed; only then it is known whether the socket takes more.
      if sent >= Self.bytesPerFlush, !stream.waiting.isEmpty { context.flush() }
    }
    if sent > 0 {
      let now = NIODeadline.now()
      stream.waitingSince = now
      stream.call.accepted(sent, at: now)
    }
    if stream.waiting.isEmpty {
      if let end = stream.end { close(stream, end) }
    } else {
      // A flush can find the connection closed, which has forgotten the stream.
      if stream.window > 0, streams[stream.id] === stream { waitingStreams.append(stream) }
      scheduleStallCheck()
    }
  }

  private static let bytesPerFlush = 128 << 10

  /// Lets the streams that wait send in turn, until the window is used up or the socket is full. A stream that then has bytes left waits
  /// behind the others.
  func sendWaiting() {
    var unvisited = waitingStreams.count
    while unvisited > 0, window > 0, context?.channel.isWritable == true, let stream = waitingStreams.popFirst() {
      unvisited -= 1
      if !stream.waiting.isEmpty { send(stream) }
    }
  }

  private func close(_ stream: OpenStream, _ status: CallStatus) {
    if stream.call.transcoder != nil {
      closeWeb(stream)
    } else {
      var headers = stream.isHeadSent ? HPACKHeaders() : Self.head
      status.write(to: &headers)
      write(.headers(.init(headers: headers, endStream: true)), stream.id)
    }
    if !stream.hasRequestEnd {
      // Bytes that wait in the codec would be dropped with the stream.
      context?.flush()
      write(.rstStream(.noError), stream.id)
    }
    forget(stream.id)
    closeIfDone()
  }

  // MARK: - Clients that do not read

  private func scheduleStallCheck() {
    guard stallCheck == nil, let context else { return }
    let since = streams.values.lazy.filter { !$0.waiting.isEmpty }.map(\.waitingSince).min()
    guard let since else { return }
    let due = since + TimeAmount(server.limits.unreadTime)
    stallCheck = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) {
      self.stallCheck = nil
      self.endStalled()
    }
  }

  /// Ends the streams whose clients have taken nothing for too long.
  private func endStalled() {
    let limit = TimeAmount(server.limits.unreadTime)
    let now = NIODeadline.now()
    for stream in Array(streams.values) where !stream.waiting.isEmpty && now - stream.waitingSince >= limit {
      let count = stream.waitingBytes
      stream.call.stop(
        CallStatus(
          .resourceExhausted,
          "\(count) bytes of the stream have waited \(server.limits.unreadTime) for the client to read them (hearth serve --unread-seconds).",
          exceeding: .unread),
        droppingBytes: true)
      takeOutput(of: stream)
    }
    scheduleStallCheck()
    flushIfNeeded()
  }
}
