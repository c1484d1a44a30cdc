#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// From where a listening address can be reached.
package enum AddressReach {
  /// 127.0.0.0/8, also as an IPv4-mapped IPv6 address, and ::1.
  case thisMachine
  case otherMachines

  /// Nil for what is not a numeric address.
  package init?(numericHost: String) {
    var ipv4 = in_addr()
    if inet_pton(AF_INET, numericHost, &ipv4) == 1 {
      self = UInt32(bigEndian: ipv4.s_addr) >> 24 == 127 ? .thisMachine : .otherMachines
      return
    }
    var ipv6 = in6_addr()
    guard inet_pton(AF_INET6, numericHost, &ipv6) == 1 else { return nil }
    let bytes = withUnsafeBytes(of: ipv6) { Array($0) }
    let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    let mappedLoopbackPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff, 127]
    self = isLoopback || bytes.starts(with: mappedLoopbackPrefix) ? .thisMachine : .otherMachines
  }
}
