/// The machines from which a listening address can be reached.
package enum AddressReach {
  /// 127.0.0.0/8, also as an IPv4-mapped IPv6 address, and ::1.
  case thisMachine
  case otherMachines

  private static let ipv4Loopback: UInt8 = 127

  /// Nil for what is not a numeric address.
  package init?(numericHost: String) {
    guard let bytes = NumericAddress(numericHost)?.bytes else { return nil }
    let isLoopback =
      bytes.count == 4
      ? bytes.first == Self.ipv4Loopback : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    self = isLoopback ? .thisMachine : .otherMachines
  }
}
