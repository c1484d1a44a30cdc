/// The fields of one encoded protobuf message, read without generated code: the echo service should cost as little as possible.
struct WireFields {
  let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
  }

  /// One field: its number, what it holds if that has a length, and all its bytes with the tag.
  struct Field {
    var number: Int
    var content: ArraySlice<UInt8>
    var value: UInt64
    var encoded: ArraySlice<UInt8>
  }

  func forEach(_ body: (Field) -> Void) {
    var rest = bytes
    while !rest.isEmpty {
      let whole = rest
      guard let tag = Self.varint(&rest) else { return }
      var field = Field(number: Int(tag >> 3), content: [], value: 0, encoded: [])
      switch tag & 7 {
      case 0: field.value = Self.varint(&rest) ?? 0
      case 1: rest = rest.dropFirst(8)
      case 2:
        let length = Int(Self.varint(&rest) ?? 0)
        field.content = rest.prefix(length)
        rest = rest.dropFirst(length)
      case 5: rest = rest.dropFirst(4)
      default: return
      }
      field.encoded = whole[whole.startIndex..<rest.startIndex]
      body(field)
    }
  }

  /// The first field of that number in the message, in the one inside it, and so on.
  func first(_ path: Int...) -> Field? {
    var found: Field?
    var fields = self
    for number in path {
      found = nil
      fields.forEach { if found == nil, $0.number == number { found = $0 } }
      guard let found else { return nil }
      fields = WireFields(found.content)
    }
    return found
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = rest.popFirst(), shift < 64 {
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }
}

/// Writes an encoded protobuf message.
struct WireMessage {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: Int, _ value: Int) {
    appendVarint(UInt64(number << 3))
    appendVarint(UInt64(value))
  }

  mutating func append(_ number: Int, _ content: some Collection<UInt8>) {
    appendVarint(UInt64(number << 3 | 2))
    appendVarint(UInt64(content.count))
    bytes.append(contentsOf: content)
  }

  mutating func append(_ number: Int, double: Double) {
    appendVarint(UInt64(number << 3 | 1))
    withUnsafeBytes(of: double.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Fields that are encoded already.
  mutating func append(encoded: some Collection<UInt8>) {
    bytes.append(contentsOf: encoded)
  }

  private mutating func appendVarint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }
}
