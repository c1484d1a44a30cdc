#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The bytes of an IP address.
struct NumericAddress {
  /// 4 for IPv4, also if the address is an IPv4-mapped IPv6 address; otherwise 16.
  let bytes: [UInt8]

  private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]

  /// Nil for what is not a numeric address.
  init?(_ text: String) {
    var ipv4 = in_addr()
    if inet_pton(AF_INET, text, &ipv4) == 1 {
      bytes = withUnsafeBytes(of: ipv4) { Array($0) }
      return
    }
    var ipv6 = in6_addr()
    guard inet_pton(AF_INET6, text, &ipv6) == 1 else { return nil }
    let bytes = withUnsafeBytes(of: ipv6) { Array($0) }
    self.bytes = bytes.starts(with: Self.mappedPrefix) ? Array(bytes.dropFirst(Self.mappedPrefix.count)) : bytes
  }
}
