/// Writes the protobuf wire format.
package struct WireWriter {
  package private(set) var bytes: [UInt8]

  package init() {
    bytes = []
  }

  package mutating func reserveCapacity(_ count: Int) {
    bytes.reserveCapacity(count)
  }

  mutating func writeTag(_ field: Int, _ type: WireType) {
    writeVarint(UInt64(truncatingIfNeeded: field) << 3 | UInt64(type.rawValue))
  }

  package mutating func writeVarint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  package mutating func writeVarint(_ value: Int64, field: Int) {
    writeTag(field, .varint)
    writeVarint(UInt64(bitPattern: value))
  }

  mutating func writeDouble(_ value: Double, field: Int) {
    writeTag(field, .fixed64)
    withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func writeString(_ value: String, field: Int) {
    writeTag(field, .lengthDelimited)
    writeVarint(UInt64(value.utf8.count))
    bytes.append(contentsOf: value.utf8)
  }

  package mutating func writeBytes(_ value: [UInt8], field: Int) {
    writeTag(field, .lengthDelimited)
    writeVarint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// Appends bytes that are already encoded.
  package mutating func writeEncoded(_ encoded: [UInt8]) {
    bytes.append(contentsOf: encoded)
  }

  /// Writes a length-delimited field whose contents `body` writes.
  package mutating func writeMessage(field: Int, _ body: (inout WireWriter) -> Void) {
    writeTag(field, .lengthDelimited)
    // Most messages are shorter than 128 bytes, so one byte is reserved for the length; longer ones are moved.
    let lengthPosition = bytes.count
    bytes.append(0)
    body(&self)
    var length = bytes.count - lengthPosition - 1
    if length < 0x80 {
      bytes[lengthPosition] = UInt8(length)
      return
    }
    var encodedLength: [UInt8] = []
    while length >= 0x80 {
      encodedLength.append(UInt8(truncatingIfNeeded: length) | 0x80)
      length >>= 7
    }
    encodedLength.append(UInt8(length))
    bytes.replaceSubrange(lengthPosition...lengthPosition, with: encodedLength)
  }

  package mutating func writeTimestamp(_ timestamp: Timestamp, field: Int) {
    writeMessage(field: field) { writer in
      if timestamp.seconds != 0 { writer.writeVarint(timestamp.seconds, field: 1) }
      if timestamp.nanoseconds != 0 { writer.writeVarint(Int64(timestamp.nanoseconds), field: 2) }
    }
  }
}

extension WireReader {
  /// Reads the contents of a `google.protobuf.Timestamp`.
  ///
  /// - Throws: `WireFormatError` also for nanoseconds outside of 0..<1,000,000,000.
  package static func timestamp(in message: WireReader, _ field: StaticString) throws(WireFormatError) -> Timestamp {
    var reader = message
    var seconds: Int64 = 0
    var nanoseconds: Int64 = 0
    while let tag = try reader.readTag(field) {
      switch tag.field {
      case 1:
        try reader.require(.varint, tag, field)
        seconds = Int64(bitPattern: try reader.readVarint(field))
      case 2:
        try reader.require(.varint, tag, field)
        nanoseconds = Int64(bitPattern: try reader.readVarint(field))
      default:
        try reader.skip(tag, field)
      }
    }
    guard (0..<1_000_000_000).contains(nanoseconds) else {
      throw message.error("nanos are \(nanoseconds), outside of 0...999999999", field)
    }
    return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }
}
