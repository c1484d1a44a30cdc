/// Bytes that are read as UTF-8, while a call lasts.
///
/// A byte that does not begin a valid sequence is read as U+FFFD and is one byte wide, as Go's `regexp` reads it. Valid sequences lie at
/// the same places whether a text is read forwards or backwards.
struct UTF8Text {
  static let replacement: UInt32 = 0xFFFD

  let bytes: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var count: Int { bytes.count }

  /// The scalar that begins at a place before the end, and its width in bytes.
  @inline(__always)
  func scalar(at place: Int) -> (scalar: UInt32, width: Int) {
    let first = bytes[place]
    return first < 0x80 ? (UInt32(first), 1) : longScalar(at: place)
  }

  /// The scalar that ends at a place behind the start, and its width in bytes.
  @inline(__always)
  func scalar(before place: Int) -> (scalar: UInt32, width: Int) {
    let last = bytes[place - 1]
    return last < 0x80 ? (UInt32(last), 1) : longScalar(before: place)
  }

  private func longScalar(before place: Int) -> (scalar: UInt32, width: Int) {
    var width = 2
    while width <= 4, width <= place {
      // Only the first byte of a sequence can reach the place.
      if bytes[place - width] & 0xC0 != 0x80 {
        let (scalar, length) = scalar(at: place - width)
        return length == width ? (scalar, width) : (Self.replacement, 1)
      }
      width += 1
    }
    return (Self.replacement, 1)
  }

  private func longScalar(at place: Int) -> (scalar: UInt32, width: Int) {
    let first = UInt32(bytes[place])
    let available = bytes.count - place
    func tail(_ distance: Int) -> UInt32? {
      guard distance < available, bytes[place + distance] & 0xC0 == 0x80 else { return nil }
      return UInt32(bytes[place + distance] & 0x3F)
    }
    // Sequences that are longer than needed, surrogates and numbers behind the last scalar are invalid (Unicode, table 3-7).
    switch first {
    case 0xC2...0xDF:
      if let second = tail(1) { return ((first & 0x1F) << 6 | second, 2) }
    case 0xE0...0xEF:
      if let second = tail(1), let third = tail(2) {
        let scalar = (first & 0x0F) << 12 | second << 6 | third
        if scalar >= 0x800, !(0xD800...0xDFFF).contains(scalar) { return (scalar, 3) }
      }
    case 0xF0...0xF4:
      if let second = tail(1), let third = tail(2), let fourth = tail(3) {
        let scalar = (first & 0x07) << 18 | second << 12 | third << 6 | fourth
        if (0x10000...0x10FFFF).contains(scalar) { return (scalar, 4) }
      }
    default: break
    }
    return (Self.replacement, 1)
  }
}
