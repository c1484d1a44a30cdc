internal import Foundation
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix

/// The same echo service without gRPC Swift: a connection's calls are answered where its HTTP/2 frames arrive, without a channel or a task
/// for a stream. The difference between the two services is the price of gRPC Swift's transport.
enum EchoCodec {
  static let command = "echo-codec"

  static func main() async throws {
    let answers = EchoAnswers()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 1024)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          var configuration = NIOHTTP2Handler.ConnectionConfiguration()
          configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 16_384),
            HTTP2Setting(parameter: .initialWindowSize, value: EchoConnection.windowBytes),
          ]
          // Clients ping with their data, and reset calls that are over.
          configuration.controlFrameRateLimit.maximumCount = .max
          var streams = NIOHTTP2Handler.StreamConfiguration()
          streams.streamResetFrameRateLimit.maximumCount = .max
          try channel.pipeline.syncOperations.addHandlers([
            NIOHTTP2Handler(mode: .server, connectionConfiguration: configuration, streamConfiguration: streams),
            EchoConnection(answers),
          ])
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    ServerProcess.announce(port: channel.localAddress?.port ?? 0)
    exit(0)
  }
}

/// The calls of one connection.
private final class EchoConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  static let windowBytes = 256 * 1024

  private struct Call {
    var method: Substring
    var documentCount = 0
    var notifies = false
    var received = ByteBuffer()
    var unacknowledgedBytes = 0
    /// The number of the listener, in a Listen call; nil in others.
    var listener: Int?
  }

  private let answers: EchoAnswers
  private var calls: [HTTP2StreamID: Call] = [:]
  private var unacknowledgedBytes = 0

  init(_ answers: EchoAnswers) {
    self.answers = answers
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.payload {
    case .headers(let headers):
      calls[frame.streamID] = Self.call(headers.headers)
    case .data(let content):
      guard case .byteBuffer(var bytes) = content.data else { return }
      acknowledge(bytes.readableBytes, frame.streamID, isOver: content.endStream, context)
      calls[frame.streamID]?.received.writeBuffer(&bytes)
      answer(frame.streamID, context)
    case .rstStream: forget(frame.streamID)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
  }

  func channelInactive(context: ChannelHandlerContext) {
    for stream in Array(calls.keys) { forget(stream) }
  }

  private func forget(_ stream: HTTP2StreamID) {
    if let listener = calls.removeValue(forKey: stream)?.listener { answers.remove(listener) }
  }

  private static func call(_ headers: HPACKHeaders) -> Call {
    var call = Call(method: "")
    for (name, value, _) in headers {
      switch name {
      case ":path": call.method = value.split(separator: "/").last ?? ""
      case "echo-documents": call.documentCount = Int(value) ?? 0
      case "echo-notify": call.notifies = true
      default: break
      }
    }
    return call
  }

  /// Gives the windows back that the data took, half a window at a time.
  private func acknowledge(_ count: Int, _ stream: HTTP2StreamID, isOver: Bool, _ context: ChannelHandlerContext) {
    unacknowledgedBytes += count
    if unacknowledgedBytes > 32 * 1024 {
      write(.windowUpdate(windowSizeIncrement: unacknowledgedBytes), .rootStream, context)
      unacknowledgedBytes = 0
    }
    calls[stream]?.unacknowledgedBytes += count
    if !isOver, let bytes = calls[stream]?.unacknowledgedBytes, bytes > Self.windowBytes / 2 {
      write(.windowUpdate(windowSizeIncrement: bytes), stream, context)
      calls[stream]?.unacknowledgedBytes = 0
    }
  }

  // MARK: - Answers

  /// Answers a call as soon as its request is there. Each has one message.
  private func answer(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
    guard let call = calls[stream], call.listener == nil,
      let length = call.received.getInteger(at: call.received.readerIndex + 1, as: UInt32.self),
      let request = call.received.getBytes(at: call.received.readerIndex + 5, length: Int(length))
    else { return }
    var out = context.channel.allocator.buffer(capacity: 1024)
    switch call.method {
    case "Commit": Self.append(answers.commit(request, notifies: call.notifies), to: &out)
    case "BatchGetDocuments": for answer in answers.batchGet(request) { Self.append(answer, to: &out) }
    case "RunQuery":
      let results = answers.query(request, count: call.documentCount)
      for index in 0..<results.count { Self.append(results.make(index), to: &out) }
    default:
      guard let target = answers.target(request) else { return }
      let results = answers.snapshot(request, target: target, count: call.documentCount)
      Self.append(EchoAnswers.targetChange(1, target: target), to: &out)
      for index in 0..<results.count { Self.append(results.make(index), to: &out) }
      Self.append(EchoAnswers.targetChange(3, target: target), to: &out)
      Self.append(EchoAnswers.targetChange(nil), to: &out)
      calls[stream]?.listener = listen(target, stream, context)
      calls[stream]?.received = ByteBuffer()
    }
    write(.headers(.init(headers: Self.head)), stream, context)
    write(.data(.init(data: .byteBuffer(out))), stream, context)
    guard calls[stream]?.listener == nil else { return }
    calls[stream] = nil
    write(.headers(.init(headers: Self.trailers, endStream: true)), stream, context)
  }

  private func listen(_ target: Int, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext) -> Int {
    let channel = context.channel
    return answers.add(
      EchoAnswers.Listener(target: target) { messages in
        var out = channel.allocator.buffer(capacity: 1024)
        for message in messages { Self.append(message, to: &out) }
        channel.writeAndFlush(HTTP2Frame(streamID: stream, payload: .data(.init(data: .byteBuffer(out)))), promise: nil)
      })
  }

  private func write(_ payload: HTTP2Frame.FramePayload, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  private static let head: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
  private static let trailers: HPACKHeaders = ["grpc-status": "0"]

  /// A message of gRPC: not compressed, its length, its bytes.
  private static func append(_ message: [UInt8], to out: inout ByteBuffer) {
    out.writeInteger(UInt8(0))
    out.writeInteger(UInt32(message.count))
    out.writeBytes(message)
  }
}
