import NIOCore
import NIOEmbedded
import RawHTTP2
import Testing

@testable import HearthRPC
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
      handlers: [ConnectionGuard(limits: ConnectionLimits(), log: ConnectionLog(ServerFixture.quietLogger)), codec])
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
}

/// Stands in the place of the codec.
private final class ByteCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private(set) var count = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count += unwrapInboundIn(data).readableBytes
  }
}
