import HearthServer
import HearthWire
import NIOCore
import NIOHPACK
import NIOPosix
import SwiftProtobuf
import Synchronization

/// An HTTP/2 client that sends what frames a test wants, also wrong ones, and notes what comes back.
final class RawHTTP2Client: Sendable {
  struct Frame {
    var kind: UInt8
    var flags: UInt8 = 0
    var streamID: UInt32 = 0
    var payload = ByteBuffer()
  }

  /// The frames received from the server so far.
  struct Received {
    var settings: [UInt16: UInt32] = [:]
    var pingAnswers = 0
    /// Answered by ``RawHTTP2Client`` itself, unless told not to.
    var pings: [UInt64] = []
    /// Streams that ended with trailers, with their grpc-status.
    var statuses: [UInt32: String] = [:]
    /// The last headers of each stream.
    var headers: [UInt32: HPACKHeaders] = [:]
    /// The bytes of each stream's DATA frames.
    var messageBytes: [UInt32: Int] = [:]
    /// Streams that the server reset, with the code.
    var resets: [UInt32: UInt32] = [:]
    /// Bytes that were given back to the connection's window.
    var windowGain = 0
    /// Bytes that were given back to the windows of streams.
    var streamWindowGain = 0
    var goAway: (code: UInt32, text: String)?
    var isClosed = false
  }

  private struct State {
    var received = Received()
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

  private init(channel: any Channel, answersPings: Bool, acknowledgesSettings: Bool) {
    self.channel = channel
    self.answersPings = answersPings
    self.acknowledgesSettings = acknowledgesSettings
  }

  /// Runs `body` with a connection that has sent its preface.
  static func withConnection<R>(
    to server: EmbeddedServer, answersPings: Bool = true, acknowledgesSettings: Bool = true, reads: Bool = true,
    streamWindow: UInt32 = UInt32(Int32.max), widensConnection: Bool = true,
    _ body: (RawHTTP2Client) async throws -> R
  ) async throws -> R {
    try await withConnection(
      toPort: server.port, answersPings: answersPings, acknowledgesSettings: acknowledgesSettings, reads: reads,
      streamWindow: streamWindow, widensConnection: widensConnection, body)
  }

  /// Runs `body` with a connection that has sent its preface to a port of this machine.
  static func withConnection<R>(
    toPort port: Int, answersPings: Bool = true, acknowledgesSettings: Bool = true, reads: Bool = true,
    streamWindow: UInt32 = UInt32(Int32.max), widensConnection: Bool = true,
    _ body: (RawHTTP2Client) async throws -> R
  ) async throws -> R {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.autoRead, value: false)
      .connect(host: "127.0.0.1", port: port).get()
    let client = RawHTTP2Client(
      channel: channel, answersPings: answersPings, acknowledgesSettings: acknowledgesSettings)
    channel.closeFuture.whenComplete { _ in client.note { $0.isClosed = true } }
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(FrameReader { client.take($0) })
    }.get()
    do {
      try await client.sendPreface(streamWindow: streamWindow, widensConnection: widensConnection)
      if reads {
        try await channel.setOption(.autoRead, value: true).get()
        channel.read()
      }
      let result = try await body(client)
      try? await channel.close().get()
      return result
    } catch {
      try? await channel.close().get()
      throw error
    }
  }

  // MARK: - Sending

  /// By default the largest window of the connection, so that tests need not care for it.
  private func sendPreface(streamWindow: UInt32, widensConnection: Bool) async throws {
    var settings = ByteBuffer()
    settings.writeMultipleIntegers(UInt16(4), streamWindow)
    var window = ByteBuffer()
    window.writeInteger(UInt32(Int32.max) - 65_535)
    var bytes = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    let update = widensConnection ? [Frame(kind: 8, payload: window)] : []
    Self.write([Frame(kind: 4, payload: settings)] + update, to: &bytes)
    try await send(bytes)
  }

  /// Returns when the system has taken the bytes.
  func send(_ bytes: ByteBuffer) async throws {
    do {
      try await channel.writeAndFlush(bytes).get()
    } catch {
      throw Failure(what: "cannot send, \(error)", received: received)
    }
  }

  func send(_ frames: [Frame]) async throws {
    var bytes = ByteBuffer()
    Self.write(frames, to: &bytes)
    try await send(bytes)
  }

  /// Sends without waiting: for a server that does not read.
  func sendWithoutWaiting(_ frames: [Frame]) {
    var bytes = ByteBuffer()
    Self.write(frames, to: &bytes)
    channel.writeAndFlush(bytes, promise: nil)
  }

  static func write(_ frames: [Frame], to bytes: inout ByteBuffer) {
    for frame in frames {
      bytes.writeMultipleIntegers(
        UInt32(frame.payload.readableBytes) << 8 | UInt32(frame.kind), frame.flags, frame.streamID)
      bytes.writeImmutableBuffer(frame.payload)
    }
  }

  func close() {
    channel.close(promise: nil)
  }

  // MARK: - Receiving

  var received: Received { state.withLock { $0.received } }

  /// Waits until what has been received meets a condition.
  func wait(
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
        case .data(let streamID, let count): received.messageBytes[streamID, default: 0] += count
        case .reset(let streamID, let code): received.resets[streamID] = code
        case .windowUpdate(let count, isOfConnection: true): received.windowGain += count
        case .windowUpdate(let count, isOfConnection: false): received.streamWindowGain += count
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

  enum Event {
    case settings([UInt16: UInt32])
    case ping(UInt64)
    case pingAnswer
    case headers(UInt32, HPACKHeaders, isLast: Bool)
    case data(UInt32, count: Int)
    case reset(UInt32, code: UInt32)
    case windowUpdate(Int, isOfConnection: Bool)
    case goAway(UInt32, String)
  }

  private let deliver: ([Event]) -> Void
  private var buffer = ByteBuffer()
  private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())

  init(deliver: @escaping ([Event]) -> Void) {
    self.deliver = deliver
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
    case 0: return .data(frame.streamID, count: payload.readableBytes)
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
      let count = Int(payload.readInteger(as: UInt32.self) ?? 0)
      return .windowUpdate(count, isOfConnection: frame.streamID == 0)
    default: return nil
    }
  }
}

// MARK: - Frames of calls

extension RawHTTP2Client.Frame {
  /// The headers of a call, as literals that leave no trace in the compression state.
  static func headers(
    _ streamID: UInt32, method: String = "GetDocument", timeout: String? = nil, endsStream: Bool = false
  ) -> RawHTTP2Client.Frame {
    var change = [":path": "/google.firestore.v1.Firestore/\(method)"]
    change["grpc-timeout"] = timeout
    return request(streamID, change, endsStream: endsStream)
  }

  /// The headers of a call, with other values for some of them.
  static func request(
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
  static func message(_ message: some Message, _ streamID: UInt32, endsStream: Bool = true) throws
    -> RawHTTP2Client.Frame
  {
    let bytes: [UInt8] = try message.serializedBytes()
    var payload = ByteBuffer()
    payload.writeInteger(UInt8(0))
    payload.writeInteger(UInt32(bytes.count))
    payload.writeBytes(bytes)
    return RawHTTP2Client.Frame(kind: 0, flags: endsStream ? 1 : 0, streamID: streamID, payload: payload)
  }

  /// A whole call that reads a document.
  static func getCall(_ streamID: UInt32) throws -> [RawHTTP2Client.Frame] {
    [headers(streamID), try getMessage(streamID)]
  }

  static func getMessage(_ streamID: UInt32) throws -> RawHTTP2Client.Frame {
    var request = Google_Firestore_V1_GetDocumentRequest()
    request.name = name("rooms/eros")
    return try message(request, streamID)
  }

  static func reset(_ streamID: UInt32, code: UInt32) -> RawHTTP2Client.Frame {
    RawHTTP2Client.Frame(kind: 3, streamID: streamID, payload: ByteBuffer(integer: code))
  }

  static func windowUpdate(_ streamID: UInt32, _ count: UInt32) -> RawHTTP2Client.Frame {
    RawHTTP2Client.Frame(kind: 8, streamID: streamID, payload: ByteBuffer(integer: count))
  }

  static let ping = RawHTTP2Client.Frame(kind: 6, payload: ByteBuffer(integer: UInt64(7)))
}
