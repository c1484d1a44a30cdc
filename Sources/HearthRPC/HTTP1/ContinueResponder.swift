internal import NIOCore
internal import NIOHTTP1

/// Answers `Expect: 100-continue`: clients wait for that answer before they send a large body.
final class ContinueResponder: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data), head.version == .http1_1,
      head.headers.first(name: "expect")?.lowercased() == "100-continue"
    {
      let response = HTTPResponseHead(version: head.version, status: .continue)
      context.writeAndFlush(wrapOutboundOut(.head(response)), promise: nil)
    }
    context.fireChannelRead(data)
  }
}
