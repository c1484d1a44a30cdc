internal import NIOCore

/// The part of an address that one client has for itself: an IPv4 address, or a network of IPv6 (/64), whose addresses are all at its disposal
/// (RFC 6177, RFC 8981).
package struct ClientNetwork: Hashable, Sendable {
  /// 4 bytes of an IPv4 address, or 8 of an IPv6 address.
  private let prefix: UInt64
  private let isIPv6: Bool

  private static let networkBytes = 8

  /// Nil for what is not a numeric address.
  init?(numericHost: String) {
    guard let bytes = NumericAddress(numericHost)?.bytes else { return nil }
    isIPv6 = bytes.count > 4
    prefix = bytes.prefix(Self.networkBytes).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Nil for an address that is not one of IP.
  init?(_ address: SocketAddress?) {
    guard let text = address?.ipAddress else { return nil }
    self.init(numericHost: text)
  }
}
