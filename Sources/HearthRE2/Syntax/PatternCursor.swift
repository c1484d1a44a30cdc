/// A place in the bytes of a pattern.
struct PatternCursor {
  let bytes: [UInt8]
  var offset = 0

  init(_ pattern: String) { bytes = Array(pattern.utf8) }

  var isAtEnd: Bool { offset == bytes.count }

  /// The byte at the place, or some bytes behind it; nil behind the end.
  func peek(_ distance: Int = 0) -> UInt8? {
    offset + distance < bytes.count ? bytes[offset + distance] : nil
  }

  func starts(with text: StaticString) -> Bool {
    text.withUTF8Buffer { text in
      text.count <= bytes.count - offset && text.indices.allSatisfy { bytes[offset + $0] == text[$0] }
    }
  }

  /// Steps over a byte if it is the next one.
  mutating func skip(_ byte: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: byte) else { return false }
    offset += 1
    return true
  }

  /// Reads a scalar, which must be there.
  mutating func readScalar() -> UInt32 {
    bytes.withUnsafeBufferPointer { bytes in
      let (scalar, width) = UTF8Text(bytes).scalar(at: offset)
      offset += width
      return scalar
    }
  }

  /// The offset of a text at or behind the place.
  func find(_ text: StaticString) -> Int? {
    var copy = self
    while !copy.isAtEnd {
      if copy.starts(with: text) { return copy.offset }
      copy.offset += 1
    }
    return nil
  }

  func text(_ range: Range<Int>) -> Substring { Substring(decoding: bytes[range], as: UTF8.self) }

  func error(_ kind: RegularExpressionError.Kind, from start: Int) -> RegularExpressionError {
    RegularExpressionError(kind, in: bytes, at: start..<offset)
  }

  func error(_ kind: RegularExpressionError.Kind, _ range: Range<Int>) -> RegularExpressionError {
    RegularExpressionError(kind, in: bytes, at: range)
  }
}
