extension Value: Hashable {
  package static func == (a: Value, b: Value) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.boolean(let x), .boolean(let y)): x == y
    case (.integer(let x), .integer(let y)): x == y
    case (.double(let x), .double(let y)): x.normalizedBits == y.normalizedBits
    case (.timestamp(let x), .timestamp(let y)): x == y
    case (.pendingServerTimestamp(let x, let previousX), .pendingServerTimestamp(let y, let previousY)):
      x == y && previousX == previousY
    case (.string(let x), .string(let y)): ByteOrder.areEqual(x, y)
    case (.bytes(let x), .bytes(let y)): x == y
    case (.reference(let x), .reference(let y)): x == y
    case (.geoPoint(let x), .geoPoint(let y)): x == y
    case (.array(let x), .array(let y)): x == y
    case (.map(let x), .map(let y)): x == y
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    // The class is not enough: a vector and a map must agree with `==`, which treats both as maps.
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value ? 1 : 2)
    case .integer(let number):
      hasher.combine(3)
      hasher.combine(number)
    case .double(let number):
      hasher.combine(4)
      hasher.combine(number.normalizedBits)
    case .timestamp(let timestamp):
      hasher.combine(5)
      hasher.combine(timestamp)
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      hasher.combine(6)
      hasher.combine(localWriteTime)
      hasher.combine(previousValue)
    case .string(let string):
      hasher.combine(7)
      ByteOrder.hash(string, into: &hasher)
    case .bytes(let bytes):
      hasher.combine(8)
      hasher.combine(bytes)
    case .reference(let reference):
      hasher.combine(9)
      hasher.combine(reference)
    case .geoPoint(let point):
      hasher.combine(10)
      hasher.combine(point)
    case .array(let elements):
      hasher.combine(11)
      hasher.combine(elements)
    case .map(let map):
      hasher.combine(12)
      hasher.combine(map)
    }
  }
}

extension Double {
  /// The bits of the number, the same for every NaN.
  package var normalizedBits: UInt64 { isNaN ? Double.nan.bitPattern : bitPattern }
}
