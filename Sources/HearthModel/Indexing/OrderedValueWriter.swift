/// Encodes values so that their bytes, compared unsigned, are in the total order of values.
///
/// | value | bytes after that of its class |
/// |---|---|
/// | null | none |
/// | boolean | 0 or 1 |
/// | number | the largest double not above it, as eight bytes in order; for whole numbers from 2^53 to 2^63 in magnitude, two more bytes for the distance of an integer from that double |
/// | timestamp | seconds, nanoseconds |
/// | string, bytes | the bytes, 00 written as 00 FF, and 00 01 at the end |
/// | reference | project, database, path: a mark before each segment, 00 at the end |
/// | geo point | two numbers |
/// | array | the elements, 00 at the end |
/// | vector | the number of elements, the elements |
/// | map | for each entry 01, the key, the value; 00 at the end |
///
/// Values that are equal in the order (1 and 1.0, 0 and -0.0) have the same bytes, all others have different bytes, and no encoding is a
/// prefix of another. So concatenated encodings are ordered component by component. A descending component has all its bits inverted.
package struct OrderedValueWriter {
  package private(set) var bytes: [UInt8]

  /// Numbers the classes with room for new ones between them. 00 and 01 stay free: 00 ends arrays, and 01 begins entries of an index
  /// without values.
  private enum Mark {
    static let end: UInt8 = 0x00
    static let entry: UInt8 = 0x01
    static let numericSegment: UInt8 = 0x02
    static let segment: UInt8 = 0x03
    static let escape: UInt8 = 0xFF
    static let terminator: UInt8 = 0x01

    static func of(_ typeClass: TypeClass) -> UInt8 { UInt8(0x10 + 4 * typeClass.rawValue) }
  }

  package init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  // MARK: - Components

  /// Appends a value that is read in place.
  ///
  /// - Throws: for malformed bytes, and for more than 100 levels of nesting. The bytes written of the value then remain.
  package mutating func append(_ value: EncodedValue, descending: Bool = false) throws(WireFormatError) {
    let start = bytes.count
    try write(value, depth: 0)
    if descending { invert(from: start) }
  }

  package mutating func append(_ value: Value, descending: Bool = false) throws(WireFormatError) {
    let encoded = value.encoded()
    try encoded.withReader { reader throws(WireFormatError) in
      try append(EncodedValue(reader), descending: descending)
    }
  }

  /// Appends the beginning that all values of one class have.
  package mutating func appendClass(of value: Value, descending: Bool = false) {
    let start = bytes.count
    bytes.append(Mark.of(value.typeClass))
    if descending { invert(from: start) }
  }

  /// Appends the id of a document, in the order of the documents of one collection.
  package mutating func append(documentID: String, descending: Bool = false) {
    let start = bytes.count
    ByteOrder.withUTF8(of: documentID) { writeSegment($0) }
    if descending { invert(from: start) }
  }

  /// Appends the key of a document, in the order of the documents of several collections.
  package mutating func append(documentKey: DocumentKey, descending: Bool = false) {
    let start = bytes.count
    ByteOrder.withUTF8(of: documentKey.canonicalString) { writePath($0) }
    if descending { invert(from: start) }
  }

  private mutating func invert(from start: Int) {
    for index in start..<bytes.count { bytes[index] = ~bytes[index] }
  }

  // MARK: - Values

  private mutating func write(_ value: EncodedValue, depth: Int) throws(WireFormatError) {
    bytes.append(Mark.of(value.typeClass))
    switch value.payload {
    case .null: break
    case .boolean(let isTrue): bytes.append(isTrue ? 1 : 0)
    case .integer(let number): write(number)
    case .double(let number): write(number)
    case .timestamp(let time), .pendingServerTimestamp(let time, _): write(time)
    case .string(let text): writeTerminated(text.remainingBytes)
    case .bytes(let contents): writeTerminated(contents)
    case .reference(let parts, _): write(parts)
    case .geoPoint(let point):
      write(point.latitude)
      write(point.longitude)
    case .array(let message):
      try writeElements(message, depth: depth)
      bytes.append(Mark.end)
    case .vector(_, let elements):
      writeBigEndian(UInt64(try EncodedElements(elements).count()))
      try writeElements(elements, depth: depth)
    case .map(let message):
      try writeEntries(message, depth: depth)
      bytes.append(Mark.end)
    }
  }

  private mutating func writeElements(_ message: WireReader, depth: Int) throws(WireFormatError) {
    try EncodedValue.requireDepth(depth, message)
    var elements = EncodedElements(message)
    while let element = try elements.next() { try write(element, depth: depth + 1) }
  }

  private mutating func writeEntries(_ message: WireReader, depth: Int) throws(WireFormatError) {
    try EncodedValue.requireDepth(depth, message)
    for entry in try EncodedEntries(message, field: ValueField.mapEntries).sorted() {
      bytes.append(Mark.entry)
      writeTerminated(entry.key.remainingBytes)
      try write(EncodedValue(entry.value), depth: depth + 1)
    }
  }

  // MARK: - Numbers

  /// From here on doubles are whole, and not every integer is one.
  private static let firstInexact = 0x1p53

  private mutating func write(_ number: Double) {
    writeOrdered(number)
    if Self.isWithDistance(number) { bytes += [0, 0] }
  }

  private mutating func write(_ number: Int64) {
    var below = Double(number)
    // Rounding to nearest may have gone up, also to 2^63, which is no Int64.
    if below >= 0x1p63 || Int64(below) > number { below = below.nextDown }
    writeOrdered(below)
    guard Self.isWithDistance(below) else { return }
    // Less than 1,024: neighbouring doubles below 2^63 are not further apart.
    let distance = UInt16(truncatingIfNeeded: number &- Int64(below))
    bytes.append(UInt8(distance >> 8))
    bytes.append(UInt8(truncatingIfNeeded: distance))
  }

  private static func isWithDistance(_ number: Double) -> Bool {
    number.magnitude >= firstInexact && number >= -0x1p63 && number < 0x1p63
  }

  /// NaN first; both zeros are the same.
  private mutating func writeOrdered(_ number: Double) {
    if number.isNaN { return writeBigEndian(0) }
    let bits = (number == 0 ? 0 : number).bitPattern
    writeBigEndian(bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
  }

  private mutating func write(_ time: Timestamp) {
    writeBigEndian(UInt64(bitPattern: time.seconds) ^ 1 << 63)
    let nanoseconds = UInt32(bitPattern: Int32(truncatingIfNeeded: time.nanoseconds)) ^ 1 << 31
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: nanoseconds >> UInt32(shift)))
    }
  }

  private mutating func writeBigEndian(_ number: UInt64) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  // MARK: - Texts

  private mutating func writeTerminated(_ contents: UnsafeRawBufferPointer) {
    if contents.contains(0) {
      for byte in contents {
        bytes.append(byte)
        if byte == 0 { bytes.append(Mark.escape) }
      }
    } else {
      bytes.append(contentsOf: contents)
    }
    bytes.append(0)
    bytes.append(Mark.terminator)
  }

  private mutating func write(_ parts: ReferenceNameParts) {
    writeTerminated(parts.project)
    writeTerminated(parts.database)
    writePath(parts.path)
  }

  /// A mark before each segment, 00 at the end: a path comes before those below it.
  private mutating func writePath(_ path: UnsafeRawBufferPointer) {
    var rest = path[...]
    while let slash = rest.firstIndex(of: PathSegment.separator) {
      writeSegment(UnsafeRawBufferPointer(rebasing: rest[..<slash]))
      rest = rest[(slash + 1)...]
    }
    writeSegment(UnsafeRawBufferPointer(rebasing: rest))
    bytes.append(Mark.end)
  }

  /// Numeric ids first, by number; two spellings of one number by their bytes.
  private mutating func writeSegment(_ segment: UnsafeRawBufferPointer) {
    if let number = PathSegment.numericID(segment) {
      bytes.append(Mark.numericSegment)
      writeBigEndian(UInt64(bitPattern: number) ^ 1 << 63)
    } else {
      bytes.append(Mark.segment)
    }
    writeTerminated(segment)
  }
}

extension OrderedValueWriter {
  /// The smallest bytes that are greater than everything that begins with `prefix`; nil if there are none.
  package static func end(of prefix: [UInt8]) -> [UInt8]? {
    var end = prefix
    while let last = end.last {
      if last < 0xFF {
        end[end.count - 1] = last + 1
        return end
      }
      end.removeLast()
    }
    return nil
  }
}
