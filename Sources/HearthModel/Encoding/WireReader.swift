/// Reads the protobuf wire format from bytes that it does not own.
///
/// Every access is checked against the end of the message. Anything that does not fit is a `WireFormatError` whose offset counts from the
/// beginning of the outermost bytes. Groups are rejected, because no message of Firestore has them.
///
/// It must not outlive the memory it was made from: use it inside the `withUnsafeBytes` that created it.
package struct WireReader {
  /// The outermost bytes; this message is `position..<end` of them.
  private let base: UnsafeRawBufferPointer
  package private(set) var position: Int
  let end: Int

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.init(base: bytes, position: 0, end: bytes.count)
  }

  private init(base: UnsafeRawBufferPointer, position: Int, end: Int) {
    self.base = base
    self.position = position
    self.end = end
  }

  package var isAtEnd: Bool { position >= end }

  /// The unread bytes.
  var remainingBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: base[position..<end]) }

  /// The bytes between an earlier position of this reader and the present one.
  package func bytes(since start: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: base[start..<position])
  }

  /// The bytes between two positions that readers of this message have had.
  func bytes(in range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: base[range]) }

  /// Returns whether the unread bytes are a text.
  package func remainderEquals(_ text: String) -> Bool { ByteOrder.areEqual(remainingBytes, text) }

  /// The number and wire type of the next field; nil at the end of the message.
  package mutating func readTag(_ message: StaticString) throws(WireFormatError) -> WireTag? {
    if isAtEnd { return nil }
    let start = position
    let raw = try readVarint(message)
    let number = raw >> 3
    guard number > 0, number <= 0x1FFF_FFFF else {
      throw error("field number \(number) is outside of 1...536870911", message, at: start)
    }
    guard let type = WireType(rawValue: UInt8(raw & 7)) else {
      throw error(
        raw & 7 == 3 || raw & 7 == 4 ? "groups are not supported" : "unknown wire type \(raw & 7)", message, at: start)
    }
    return WireTag(field: Int(number), type: type)
  }

  package mutating func readVarint(_ field: StaticString) throws(WireFormatError) -> UInt64 {
    let start = position
    if start < end, base[start] < 0x80 {
      position = start &+ 1
      return UInt64(base[start])
    }
    var result: UInt64 = 0
    for index in 0..<10 {
      guard position < end else { throw error("the varint is cut off", field, at: start) }
      let byte = base[position]
      position &+= 1
      if index == 9, byte > 1 { break }
      result |= UInt64(byte & 0x7F) << UInt64(7 * index)
      if byte < 0x80 { return result }
    }
    throw error("the varint does not fit 64 bits", field, at: start)
  }

  mutating func readFixed64(_ field: StaticString) throws(WireFormatError) -> UInt64 {
    guard end - position >= 8 else { throw error("the 64-bit number is cut off", field, at: position) }
    defer { position &+= 8 }
    return UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  /// A reader of the contents of a length-delimited field.
  package mutating func readMessage(_ field: StaticString) throws(WireFormatError) -> WireReader {
    let start = position
    let length = try readVarint(field)
    guard length <= UInt64(end - position) else {
      throw error("its length is \(length) bytes, but only \(end - position) are left", field, at: start)
    }
    let contents = WireReader(base: base, position: position, end: position + Int(length))
    position += Int(length)
    return contents
  }

  /// The contents of a length-delimited field.
  package mutating func readBytes(_ field: StaticString) throws(WireFormatError) -> UnsafeRawBufferPointer {
    try readMessage(field).remainingBytes
  }

  /// The contents of a length-delimited field, which must be UTF-8.
  package mutating func readString(_ field: StaticString) throws(WireFormatError) -> String {
    let contents = try readMessage(field)
    return try contents.remainingString(field)
  }

  /// The unread bytes as text, which must be UTF-8.
  package func remainingString(_ field: StaticString) throws(WireFormatError) -> String {
    guard let string = String(wellFormedUTF8: remainingBytes) else {
      throw error("the text is not valid UTF-8", field, at: position)
    }
    return string
  }

  /// Reads the next field if it is an entry of a map field in the form that every usual encoder writes: a key of less than 128 bytes
  /// (field 1), then a message (field 2), and nothing else. Returns nil, without moving, for any other form, malformed or not.
  ///
  /// Documents are searched entry by entry, so this is the innermost step of every scan.
  @inline(__always)
  mutating func nextPlainEntry(field: Int) -> PlainEntry? {
    guard end &- position >= 6, base[position] == UInt8(truncatingIfNeeded: field &<< 3 | 2) else { return nil }
    guard let start = startOfContents(lengthAt: position &+ 1) else { return nil }
    let entryEnd = start.end
    guard entryEnd &- start.offset >= 4, base[start.offset] == 0x0A else { return nil }
    let keyStart = start.offset &+ 2
    let keyLength = Int(base[start.offset &+ 1])
    guard keyLength < 0x80, keyLength &+ 2 <= entryEnd &- keyStart else { return nil }
    let keyEnd = keyStart &+ keyLength
    guard base[keyEnd] == 0x12, let value = startOfContents(lengthAt: keyEnd &+ 1), value.end == entryEnd else {
      return nil
    }
    position = entryEnd
    return PlainEntry(keyStart: keyStart, keyEnd: keyEnd, valueStart: value.offset, valueEnd: entryEnd)
  }

  /// The places of an entry's parts, in offsets of the outermost bytes.
  struct PlainEntry {
    let keyStart: Int
    let keyEnd: Int
    let valueStart: Int
    let valueEnd: Int
  }

  /// The bytes between two offsets that were found in this message.
  @inline(__always)
  func part(_ start: Int, _ end: Int) -> WireReader {
    WireReader(base: base, position: start, end: end)
  }

  /// The contents after a length, if they end where this message ends.
  @inline(__always)
  func wholeContents(lengthAt offset: Int) -> WireReader? {
    guard let contents = startOfContents(lengthAt: offset), contents.end == end else { return nil }
    return part(contents.offset, end)
  }

  /// Returns whether a range of `texts` stands at an offset of this message, which must have as many bytes there.
  @inline(__always)
  func holds(_ texts: UnsafeRawBufferPointer, _ range: Range<Int>, at offset: Int) -> Bool {
    var index = 0
    while index < range.count {
      if base[offset &+ index] != texts[range.lowerBound &+ index] { return false }
      index &+= 1
    }
    return true
  }

  /// Reads a length of at most three bytes; nil if it is longer or its contents do not fit.
  @inline(__always)
  private func startOfContents(lengthAt offset: Int) -> (offset: Int, end: Int)? {
    guard offset &+ 3 <= end else {
      guard offset < end, base[offset] < 0x80, Int(base[offset]) <= end &- offset &- 1 else { return nil }
      return (offset &+ 1, offset &+ 1 &+ Int(base[offset]))
    }
    var length = Int(base[offset])
    var start = offset &+ 1
    if length >= 0x80 {
      length = length & 0x7F | Int(base[start]) &<< 7
      start &+= 1
      if length >= 0x4000 {
        length = length & 0x3FFF | Int(base[start]) &<< 14
        start &+= 1
        if length >= 0x20_0000 { return nil }
      }
    }
    return length <= end &- start ? (start, start &+ length) : nil
  }

  /// Skips the contents of a field.
  package mutating func skip(_ tag: WireTag, _ message: StaticString) throws(WireFormatError) {
    switch tag.type {
    case .varint: _ = try readVarint(message)
    case .fixed64: _ = try readFixed64(message)
    case .lengthDelimited: _ = try readMessage(message)
    case .fixed32:
      guard end - position >= 4 else { throw error("the 32-bit number is cut off", message, at: position) }
      position &+= 4
    }
  }

  /// Rejects a known field with a wrong wire type.
  package func require(_ type: WireType, _ tag: WireTag, _ field: StaticString) throws(WireFormatError) {
    if tag.type != type {
      throw error("wire type \(tag.type.rawValue) where \(type.rawValue) is required", field, at: position)
    }
  }

  /// An error at the present position.
  package func error(_ what: String, _ field: StaticString) -> WireFormatError {
    error(what, field, at: position)
  }

  private func error(_ what: String, _ field: StaticString, at offset: Int) -> WireFormatError {
    WireFormatError(what: what, offset: offset, field: field.description)
  }
}

/// The number and the wire type of a field.
package struct WireTag: Hashable, Sendable {
  package var field: Int
  package var type: WireType

  package init(field: Int, type: WireType) {
    self.field = field
    self.type = type
  }
}

/// The wire types that Firestore's messages use.
package enum WireType: UInt8, Sendable {
  case varint = 0
  case fixed64 = 1
  case lengthDelimited = 2
  case fixed32 = 5
}
