internal import NIOCore

/// The part of an address that one client has for itself: an IPv4 address, or a network of IPv6 (/64), whose addresses are all at its disposal
/// (RFC 6177, RFC 8981).
package struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
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

  /// Such as `192.0.2.1`, or `2001:db8:0:1::/64`.
  package var description: String {
    guard isIPv6 else { return (0..<4).reversed().map { "\(prefix >> (8 * $0) & 0xff)" }.joined(separator: ".") }
    let groups = (0..<4).reversed().map { String(prefix >> (16 * $0) & 0xffff, radix: 16) }
    return groups.joined(separator: ":") + "::/64"
  }
}
