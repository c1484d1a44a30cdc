internal import HearthWire
package import NIOCore
package import NIOHPACK
internal import NIOPosix
package import SwiftProtobuf
internal import Synchronization

/// An HTTP/2 client that sends what frames a test wants, also wrong ones, and notes what comes back.
package final class RawHTTP2Client: Sendable {
  package struct Frame {
    package var kind: UInt8
    package var flags: UInt8
    package var streamID: UInt32
    package var payload: ByteBuffer

    package init(kind: UInt8, flags: UInt8 = 0, streamID: UInt32 = 0, payload: ByteBuffer = ByteBuffer()) {
      self.kind = kind
      self.flags = flags
      self.streamID = streamID
      self.payload = payload
    }
  }

  /// The frames received from the server so far.
  package struct Received {
    package var settings: [UInt16: UInt32] = [:]
    package var pingAnswers = 0
    /// Answered by ``RawHTTP2Client`` itself, unless told not to.
    package var pings: [UInt64] = []
    /// Streams that ended with trailers, with their grpc-status.
    package var statuses: [UInt32: String] = [:]
    /// The last headers of each stream.
    package var headers: [UInt32: HPACKHeaders] = [:]
    /// The bytes of each stream's DATA frames.
    package var messageBytes: [UInt32: Int] = [:]
    /// The bytes of each stream's DATA frames, if the client keeps messages.
    package var data: [UInt32: ByteBuffer] = [:]
    /// Streams that the server reset, with the code.
    package var resets: [UInt32: UInt32] = [:]
    /// Bytes that were given back to the connection's window.
    package var windowGain = 0
    /// Bytes that were given back to the window of each stream.
    package var streamWindowGains: [UInt32: Int] = [:]
    /// Bytes that were given back to the windows of streams.
    package var streamWindowGain: Int { streamWindowGains.values.reduce(0, +) }
    package var goAway: (code: UInt32, text: String)?
    package var isClosed = false
  }

  private struct State {
    var received = Received()
    /// Bytes that ``send(message:streamID:endsStream:)`` has sent on each stream.
    var sentBytes: [UInt32: Int] = [:]
    var waiting: [(isMet: @Sendable (Received) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private struct Failure: Error, CustomStringConvertible {
    var what: String
    var received: Received
    var description: String {
      "\(what): \(received.statuses.count) ended, \(received.resets.count) reset, "
        + "\(received.pingAnswers) ping answers, GOAWAY \(String(describing: received.goAway)), "
        + "closed: \(received.isClosed)"
    }
  }

  private let channel: any Channel
  private let state = Mutex(State())
  private let answersPings: Bool
  private let acknowledgesSettings: Bool
  private let keepsMessages: Bool

  private init(channel: any Channel, answersPings: Bool, acknowledgesSettings: Bool, keepsMessages: Bool) {
    self.channel = channel
    self.answersPings = answersPings
    self.acknowledgesSettings = acknowledgesSettings
    self.keepsMessages = keepsMessages
  }

  /// Runs `body` with a connection that has sent its preface to a port of this machine.
  package static func withConnection<R>(
    toPort port: Int, from source: String? = nil, answersPings: Bool = true, acknowledgesSettings: Bool = true,
    reads: Bool = true, keepsMessages: Bool = false, streamWindow: UInt32 = UInt32(Int32.max),
    connectionWindow: UInt32 = UInt32(Int32.max), _ body: (RawHTTP2Client) async throws -> R
  ) async throws -> R {
    let client = try await connect(
      toPort: port, from: source, answersPings: answersPings, acknowledgesSettings: acknowledgesSettings, reads: reads,
      keepsMessages: keepsMessages, streamWindow: streamWindow, connectionWindow: connectionWindow)
    do {
      let result = try await body(client)
      try? await client.channel.close().get()
      return result
    } catch {
      try? await client.channel.close().get()
      throw error
    }
  }

  /// Opens a connection and sends its preface.
  /// - Parameters:
  ///   - source: The address of this machine that the connection comes from; nil for the one that the system chooses.
  ///   - keepsMessages: True to keep the bytes of DATA frames in ``Received/data``.
  ///   - streamWindow: Bytes that the server may send on a stream; they are never given back.
  ///   - connectionWindow: Bytes that the server may send on all streams, at least 65,535.
  package static func connect(
    toPort port: Int, from source: String? = nil, answersPings: Bool = true, acknowledgesSettings: Bool = true,
    reads: Bool = true, keepsMessages: Bool = false, streamWindow: UInt32 = UInt32(Int32.max),
    connectionWindow: UInt32 = UInt32(Int32.max)
  ) async throws -> RawHTTP2Client {
    var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).channelOption(.autoRead, value: reads)
    if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
    // The preface goes out before anything is read, which may have to be answered.
    let preface = Self.preface(streamWindow: streamWindow, connectionWindow: connectionWindow)
    let client = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
      channel.eventLoop.makeCompletedFuture {
        let client = RawHTTP2Client(
          channel: channel, answersPings: answersPings, acknowledgesSettings: acknowledgesSettings,
          keepsMessages: keepsMessages)
        try channel.pipeline.syncOperations.addHandler(FrameReader(preface: preface) { client.take($0) })
        return client
      }
    }
    client.channel.closeFuture.whenComplete { _ in client.note { $0.isClosed = true } }
    return client
  }

  // MARK: - Sending

  /// The window that HTTP/2 gives each connection and stream (RFC 9113, 6.9.2).
  private static let initialWindow: UInt32 = 65_535

  private static func preface(streamWindow: UInt32, connectionWindow: UInt32) -> ByteBuffer {
    var settings = ByteBuffer()
    settings.writeMultipleIntegers(UInt16(4), streamWindow)
    var bytes = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    write([Frame(kind: 4, payload: settings)], to: &bytes)
    if connectionWindow > initialWindow {
      write([.windowUpdate(0, connectionWindow - initialWindow)], to: &bytes)
    }
    return bytes
  }

  /// Returns when the system has taken the bytes.
  package func send(_ bytes: ByteBuffer) async throws {
    do {
      try await channel.writeAndFlush(bytes).get()
    } catch {
      throw Failure(what: "cannot send, \(error)", received: received)
    }
  }

  package func send(_ frames: [Frame]) async throws {
    var bytes = ByteBuffer()
    Self.write(frames, to: &bytes)
    try await send(bytes)
  }

  /// Sends without waiting: for a server that does not read.
  package func sendWithoutWaiting(_ frames: [Frame]) {
    var bytes = ByteBuffer()
    Self.write(frames, to: &bytes)
    channel.writeAndFlush(bytes, promise: nil)
  }

  package static func write(_ frames: [Frame], to bytes: inout ByteBuffer) {
    for frame in frames {
      bytes.writeMultipleIntegers(
        UInt32(frame.payload.readableBytes) << 8 | UInt32(frame.kind), frame.flags, frame.streamID)
      bytes.writeImmutableBuffer(frame.payload)
    }
  }

  /// Sends a message of any size, in frames that fit the server's windows. Returns early where the stream or connection ends.
  ///
  /// Only one message of a connection is sent at a time.
  package func send(message: [UInt8], streamID: UInt32, endsStream: Bool = true) async throws {
    var rest = ByteBuffer()
    rest.writeInteger(UInt8(0))
    rest.writeInteger(UInt32(message.count))
    rest.writeBytes(message)
    try await wait(for: "SETTINGS of the server", seconds: 15) { !$0.settings.isEmpty || $0.isClosed }
    while rest.readableBytes > 0 {
      let (sent, sentOfAll) = state.withLock { state in
        (state.sentBytes[streamID] ?? 0, state.sentBytes.values.reduce(0, +))
      }
      let windows: @Sendable (Received) -> Int = { received in
        min(
          Int(received.settings[4] ?? Self.initialWindow) + (received.streamWindowGains[streamID] ?? 0) - sent,
          Int(Self.initialWindow) + received.windowGain - sentOfAll)
      }
      try await wait(for: "room for a message", seconds: 15) {
        windows($0) > 0 || $0.statuses[streamID] != nil || $0.resets[streamID] != nil || $0.goAway != nil
          || $0.isClosed
      }
      guard case let window = windows(received), window > 0 else { return }
      let piece = rest.readSlice(length: min(window, 16_384, rest.readableBytes)) ?? ByteBuffer()
      state.withLock { $0.sentBytes[streamID, default: 0] += piece.readableBytes }
      let isLast = rest.readableBytes == 0 && endsStream
      try await send([Frame(kind: 0, flags: isLast ? 1 : 0, streamID: streamID, payload: piece)])
    }
  }

  package func close() {
    channel.close(promise: nil)
  }

  // MARK: - Receiving

  /// Takes the whole gRPC messages that a stream has received, and keeps what follows them.
  package func takeMessages(of streamID: UInt32) -> [[UInt8]] {
    state.withLock { state in
      var messages: [[UInt8]] = []
      while let buffer = state.received.data[streamID],
        let length = buffer.getInteger(at: buffer.readerIndex + 1, as: UInt32.self),
        let message = buffer.getBytes(at: buffer.readerIndex + 5, length: Int(length))
      {
        messages.append(message)
        state.received.data[streamID]?.moveReaderIndex(forwardBy: 5 + Int(length))
      }
      return messages
    }
  }

  package var received: Received { state.withLock { $0.received } }

  /// Waits until what has been received meets a condition.
  package func wait(
    for what: String, seconds: Int = 60, until isMet: @escaping @Sendable (Received) -> Bool
  ) async throws {
    let timer = channel.eventLoop.scheduleTask(in: .seconds(Int64(seconds))) { self.resumeAll() }
    await withCheckedContinuation { continuation in
      let isMetAlready = state.withLock { state in
        if isMet(state.received) { return true }
        state.waiting.append((isMet, continuation))
        return false
      }
      if isMetAlready { continuation.resume() }
    }
    timer.cancel()
    let received = received
    guard isMet(received) else { throw Failure(what: "waited in vain for \(what)", received: received) }
  }

  private func resumeAll() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.continuation.resume() }
  }

  private func note(_ change: (inout Received) -> Void) {
    let met = state.withLock { state in
      change(&state.received)
      let met = state.waiting.filter { $0.isMet(state.received) }
      if !met.isEmpty { state.waiting.removeAll { $0.isMet(state.received) } }
      return met
    }
    for waiter in met { waiter.continuation.resume() }
  }

  private func take(_ events: [FrameReader.Event]) {
    note { received in
      for event in events {
        switch event {
        case .settings(let settings): received.settings.merge(settings) { $1 }
        case .pingAnswer: received.pingAnswers += 1
        case .ping(let data): received.pings.append(data)
        case .headers(let streamID, let headers, let isLast):
          received.headers[streamID] = headers
          if isLast { received.statuses[streamID] = headers.first(name: "grpc-status") ?? "none" }
        case .data(let streamID, let bytes):
          received.messageBytes[streamID, default: 0] += bytes.readableBytes
          if keepsMessages { received.data[streamID, default: ByteBuffer()].writeImmutableBuffer(bytes) }
        case .reset(let streamID, let code): received.resets[streamID] = code
        case .windowUpdate(0, let count): received.windowGain += count
        case .windowUpdate(let streamID, let count): received.streamWindowGains[streamID, default: 0] += count
        case .goAway(let code, let text): received.goAway = (code, text)
        }
      }
    }
    for event in events {
      switch event {
      case .settings where acknowledgesSettings: sendWithoutWaiting([Frame(kind: 4, flags: 1)])
      case .ping(let data) where answersPings:
        sendWithoutWaiting([Frame(kind: 6, flags: 1, payload: ByteBuffer(integer: data))])
      default: break
      }
    }
  }
}

/// Takes the server's bytes apart.
private final class FrameReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  enum Event {
    case settings([UInt16: UInt32])
    case ping(UInt64)
    case pingAnswer
    case headers(UInt32, HPACKHeaders, isLast: Bool)
    case data(UInt32, ByteBuffer)
    case reset(UInt32, code: UInt32)
    case windowUpdate(UInt32, count: Int)
    case goAway(UInt32, String)
  }

  private let preface: ByteBuffer
  private let deliver: ([Event]) -> Void
  private var buffer = ByteBuffer()
  private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())

  init(preface: ByteBuffer, deliver: @escaping ([Event]) -> Void) {
    (self.preface, self.deliver) = (preface, deliver)
  }

  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(preface), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    buffer.writeBuffer(&bytes)
    var events: [Event] = []
    while let frame = nextFrame() {
      if let event = event(of: frame) { events.append(event) }
    }
    buffer.discardReadBytes()
    deliver(events)
  }

  private func nextFrame() -> RawHTTP2Client.Frame? {
    guard
      let (lengthAndKind, flags, streamID) = buffer.getMultipleIntegers(
        at: buffer.readerIndex, as: (UInt32, UInt8, UInt32).self),
      buffer.readableBytes >= 9 + Int(lengthAndKind >> 8)
    else { return nil }
    buffer.moveReaderIndex(forwardBy: 9)
    let payload = buffer.readSlice(length: Int(lengthAndKind >> 8)) ?? ByteBuffer()
    return RawHTTP2Client.Frame(
      kind: UInt8(truncatingIfNeeded: lengthAndKind), flags: flags, streamID: streamID & 0x7fff_ffff, payload: payload)
  }

  private func event(of frame: RawHTTP2Client.Frame) -> Event? {
    var payload = frame.payload
    switch frame.kind {
    case 1:
      guard let headers = try? decoder.decodeHeaders(from: &payload) else { return nil }
      return .headers(frame.streamID, headers, isLast: frame.flags & 1 != 0)
    case 0: return .data(frame.streamID, payload)
    case 3: return .reset(frame.streamID, code: payload.readInteger() ?? 0)
    case 4 where frame.flags & 1 == 0:
      var settings: [UInt16: UInt32] = [:]
      while let (id, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) { settings[id] = value }
      return .settings(settings)
    case 6: return frame.flags & 1 == 0 ? .ping(payload.readInteger() ?? 0) : .pingAnswer
    case 7:
      _ = payload.readInteger(as: UInt32.self)
      let code = payload.readInteger(as: UInt32.self) ?? 0
      return .goAway(code, String(buffer: payload))
    case 8:
      return .windowUpdate(frame.streamID, count: Int(payload.readInteger(as: UInt32.self) ?? 0))
    default: return nil
    }
  }
}

// MARK: - Frames of calls

extension RawHTTP2Client.Frame {
  /// The headers of a call, as literals that leave no trace in the compression state.
  package static func headers(
    _ streamID: UInt32, method: String = "GetDocument", timeout: String? = nil, endsStream: Bool = false
  ) -> RawHTTP2Client.Frame {
    var change = [":path": "/google.firestore.v1.Firestore/\(method)"]
    change["grpc-timeout"] = timeout
    return request(streamID, change, endsStream: endsStream)
  }

  /// The headers of a call, with other values for some of them.
  package static func request(
    _ streamID: UInt32, _ change: [String: String], endsStream: Bool = false
  ) -> RawHTTP2Client.Frame {
    var payload = ByteBuffer()
    let usual = [
      (":method", "POST"), (":scheme", "http"), (":path", "/google.firestore.v1.Firestore/GetDocument"),
      (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers"),
    ]
    let further = change.filter { change in !usual.contains { $0.0 == change.key } }.map { ($0.key, $0.value) }
    for (name, value) in usual.map({ ($0.0, change[$0.0] ?? $0.1) }) + further {
      payload.writeInteger(UInt8(0))
      for text in [name, value] {
        payload.writeInteger(UInt8(text.utf8.count))
        payload.writeString(text)
      }
    }
    return RawHTTP2Client.Frame(kind: 1, flags: endsStream ? 5 : 4, streamID: streamID, payload: payload)
  }

  /// A message of a call.
  package static func message(_ message: some Message, _ streamID: UInt32, endsStream: Bool = true) throws
    -> RawHTTP2Client.Frame
  {
    let bytes: [UInt8] = try message.serializedBytes()
    var payload = ByteBuffer()
    payload.writeInteger(UInt8(0))
    payload.writeInteger(UInt32(bytes.count))
    payload.writeBytes(bytes)
    return RawHTTP2Client.Frame(kind: 0, flags: endsStream ? 1 : 0, streamID: streamID, payload: payload)
  }

  package static func reset(_ streamID: UInt32, code: UInt32) -> RawHTTP2Client.Frame {
    RawHTTP2Client.Frame(kind: 3, streamID: streamID, payload: ByteBuffer(integer: code))
  }

  package static func windowUpdate(_ streamID: UInt32, _ count: UInt32) -> RawHTTP2Client.Frame {
    RawHTTP2Client.Frame(kind: 8, streamID: streamID, payload: ByteBuffer(integer: count))
  }

  package static let ping = RawHTTP2Client.Frame(kind: 6, payload: ByteBuffer(integer: UInt64(7)))
}
