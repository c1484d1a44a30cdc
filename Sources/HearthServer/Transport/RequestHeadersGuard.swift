internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// Removes request headers of one stream on which gRPC would stop the process, before gRPC reads them.
///
/// grpc-swift 2.4 reads `grpc-timeout` as a signed number and traps on a negative one. It also takes a number of eight
/// digits, which the protocol allows, for no deadline at all; such a number is written in the next larger unit.
final class RequestHeadersGuard: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload

  private static let timeoutHeader = "grpc-timeout"

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .headers(var frame) = unwrapInboundIn(data), frame.headers.contains(name: Self.timeoutHeader) else {
      return context.fireChannelRead(data)
    }
    let values = frame.headers[Self.timeoutHeader]
    frame.headers.remove(name: Self.timeoutHeader)
    if values.count == 1, let timeout = Self.readableTimeout(values[0]) {
      frame.headers.add(name: Self.timeoutHeader, value: timeout)
    }
    context.fireChannelRead(wrapInboundOut(.headers(frame)))
  }

  /// The timeout with at most seven digits; nil for text that is not a timeout.
  ///
  /// One to eight digits and a unit (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Timeout").
  static func readableTimeout(_ value: String) -> String? {
    guard let unit = value.utf8.last, let units = larger[unit] else { return nil }
    let digits = value.utf8.dropLast()
    guard (1...8).contains(digits.count), digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let amount = Int(String(Substring(digits)))
    else { return nil }
    if amount <= maximumReadableAmount { return "\(amount)\(Character(Unicode.Scalar(unit)))" }
    // Rounded up: a call must not end before its time.
    return "\(min((amount + units.count - 1) / units.count, maximumReadableAmount))\(units.unit)"
  }

  private static let maximumReadableAmount = 9_999_999

  /// The number of units in the next larger one.
  private static let larger: [UInt8: (count: Int, unit: String)] = [
    UInt8(ascii: "n"): (1000, "u"), UInt8(ascii: "u"): (1000, "m"), UInt8(ascii: "m"): (1000, "S"),
    UInt8(ascii: "S"): (60, "M"), UInt8(ascii: "M"): (60, "H"), UInt8(ascii: "H"): (1, "H"),
  ]
}
