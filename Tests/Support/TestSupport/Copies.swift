extension [UInt8] {
  /// Many copies of the same bytes. A debug build takes seconds to join a million of them one by one.
  package init(copies count: Int, of bytes: [UInt8]) {
    self = []
    reserveCapacity(count * bytes.count)
    var (block, rest) = (bytes, count)
    while rest > 0 {
      if !rest.isMultiple(of: 2) { self += block }
      rest /= 2
      if rest > 0 { block += block }
    }
  }
}
