import GRPCNIOTransportHTTP2
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import HearthServer

/// The order in which a server ends. NIO stops the process when a connection or a stream is opened that nothing takes any more.
@Suite("End of a server's connections")
struct ServerEndTests {
  typealias Frame = RawHTTP2Client.Frame

  @Test("once its connection is being closed, a guard passes nothing on")
  func guardAfterTheEnd() throws {
    let connections = OpenConnections()
    let codec = ByteCounter()
    let channel = EmbeddedChannel(
      handlers: [ConnectionGuard(limits: ConnectionLimits(), logger: ServerFixture.quietLogger), codec])
    try connections.add(channel)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    channel.pipeline.fireChannelRead(preface)
    #expect(codec.count == preface.readableBytes)

    _ = connections.beginClosing()
    #expect(!channel.isActive)
    // The handlers stay until the event loop has run.
    var frames = ByteBuffer()
    RawHTTP2Client.write([Frame(kind: 4), Frame.headers(1)], to: &frames)
    channel.pipeline.fireChannelRead(frames)
    #expect(codec.count == preface.readableBytes)

    #expect(connections.count == 1)
    channel.embeddedEventLoop.run()
    #expect(connections.count == 0)
  }

  @Test("an ending server closes the connections that are not active yet and those that it still accepts")
  func refusedConnections() throws {
    let connections = OpenConnections()
    let (active, waiting, late) = (EmbeddedChannel(), EmbeddedChannel(), EmbeddedChannel())
    try connections.add(active)
    try active.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try connections.add(waiting)

    connections.refuseNew()
    #expect(throws: ChannelError.ioOnClosedChannel) { try connections.add(late) }
    for channel in [active, waiting, late] { channel.embeddedEventLoop.run() }
    #expect([active, waiting, late].map(isClosed) == [false, true, true])
    #expect(connections.count == 1)

    _ = connections.beginClosing()
    active.embeddedEventLoop.run()
    #expect(isClosed(active))
    #expect(connections.count == 0)
  }

  private func isClosed(_ channel: EmbeddedChannel) -> Bool {
    var isClosed = false
    channel.closeFuture.assumeIsolated().whenComplete { _ in isClosed = true }
    return isClosed
  }

  @Test("the task that takes a connection's streams is cancelled only after the connection is closed")
  func order() async throws {
    let listener = GuardedListener(
      host: "127.0.0.1", port: 0, limits: ConnectionLimits(), logger: ServerFixture.quietLogger)
    let transport = listener.makeTransport(maximumRequestBytes: 1 << 20)
    let connections = listener.connections
    let calls = HeldCalls()
    let openAtCancellation = Mutex<[Int]>([])
    let serving = Task {
      try await transport.listen { _, _ in
        await withTaskCancellationHandler {
          // Goes on after the cancellation, as calls may: the connection's task waits for it, but takes no streams any more.
          await calls.hold()
        } onCancel: {
          openAtCancellation.withLock { $0.append(connections.count) }
        }
      }
    }
    defer { calls.release() }
    let port = try #require(await transport.listeningAddress?.ipv4?.port)
    try await RawHTTP2Client.withConnection(toPort: port) { client in
      try await client.send([Frame.headers(1)])
      await calls.waitForFirst()
      #expect(connections.count == 1)
      await EmbeddedServer.cancel(serving, closing: connections)
      #expect(openAtCancellation.withLock { $0 } == [0])
      // On an open connection, this stream would stop the process.
      client.sendWithoutWaiting([Frame.headers(3)])
      try await client.wait(for: "the end") { $0.isClosed }
    }
    calls.release()
    _ = await serving.result
  }
}

/// Stands in the place of the codec.
private final class ByteCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private(set) var count = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count += unwrapInboundIn(data).readableBytes
  }
}

/// Calls that last until they are released, whether they are cancelled or not.
private final class HeldCalls: Sendable {
  private struct State {
    var isReleased = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let (begun, beginning) = AsyncStream<Void>.makeStream()

  func hold() async {
    beginning.yield()
    await withCheckedContinuation { continuation in
      let isReleased = state.withLock { state in
        if !state.isReleased { state.waiting.append(continuation) }
        return state.isReleased
      }
      if isReleased { continuation.resume() }
    }
  }

  func waitForFirst() async {
    for await _ in begun { return }
  }

  func release() {
    let waiting = state.withLock { state in
      state.isReleased = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
