/// Cuts a text into JSON values: the elements of one array, or values one after the other. What is wrong within a value is found by its
/// reader.
struct JSONPieces {
  enum Piece {
    case value(Range<Int>, line: Int)
    /// A mistake between the values.
    case fault(String, line: Int)
  }

  private let bytes: [UInt8]
  private let isArray: Bool
  private var hasEnded = false
  /// The place behind the last piece.
  private(set) var offset: Int
  /// The line of ``offset``, counted from 1.
  private var line: Int

  /// - Parameter offset: The place of the first piece, or of what separates it from the one before.
  init(_ bytes: [UInt8], from offset: Int) {
    self.bytes = bytes
    let start = bytes.firstIndex { !Self.isSpace($0) } ?? bytes.endIndex
    isArray = start < bytes.endIndex && bytes[start] == UInt8(ascii: "[")
    self.offset = min(max(offset, isArray ? start + 1 : start), bytes.count)
    line = 1 + bytes[..<self.offset].count { $0 == 0x0A }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  /// The next value; nil at the end.
  mutating func next() -> Piece? {
    while offset < bytes.count, Self.isSpace(bytes[offset]) || !hasEnded && bytes[offset] == UInt8(ascii: ",") {
      step()
    }
    guard !hasEnded else {
      guard offset < bytes.count else { return nil }
      offset = bytes.count
      return .fault("there is more after the array", line: line)
    }
    guard offset < bytes.count else {
      hasEnded = true
      return isArray ? .fault("the file ends before the array does: it is cut off", line: line) : nil
    }
    if isArray, bytes[offset] == UInt8(ascii: "]") {
      hasEnded = true
      step()
      return next()
    }
    let (start, startLine) = (offset, line)
    skipValue()
    // With the space before it on its line, so that a place in it is one on the line.
    var first = start
    while first > 0, bytes[first - 1] == 0x20 || bytes[first - 1] == 0x09 { first -= 1 }
    return .value(first..<offset, line: startLine)
  }

  private mutating func step() {
    if bytes[offset] == 0x0A { line += 1 }
    offset += 1
  }

  /// Moves behind a value, or behind a byte that begins none.
  private mutating func skipValue() {
    let end = max(JSONPlaces.end(ofValueAt: offset, in: bytes), offset + 1)
    line += bytes[offset..<end].count { $0 == 0x0A }
    offset = end
  }
}
