/// Returns whether bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF), without making a
/// string of them.
func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  var index = 0
  let count = bytes.count
  while index < count {
    if index &+ 32 <= count, isASCII(bytes, words: 4, at: index) {
      index &+= 32
      continue
    }
    if index &+ 8 <= count, isASCII(bytes, words: 1, at: index) {
      index &+= 8
      continue
    }
    let first = bytes[index]
    if first < 0x80 {
      index &+= 1
      continue
    }
    // The length of the sequence, and the range of its second byte (Unicode standard, table 3-7).
    let length: Int
    let second: ClosedRange<UInt8>
    switch first {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return false
    }
    guard count &- index >= length, second.contains(bytes[index &+ 1]) else { return false }
    for offset in 2..<max(2, length) where bytes[index &+ offset] & 0xC0 != 0x80 { return false }
    index &+= length
  }
  return true
}

@inline(__always)
private func isASCII(_ bytes: UnsafeRawBufferPointer, words: Int, at index: Int) -> Bool {
  var bits: UInt64 = 0
  for word in 0..<words { bits |= bytes.loadUnaligned(fromByteOffset: index &+ 8 &* word, as: UInt64.self) }
  return bits & 0x8080_8080_8080_8080 == 0
}

extension String {
  /// The text of well-formed UTF-8; nil for any other bytes.
  ///
  /// `String(validating:as:)` gives the same, but looks up generic types at run time, in tables that all threads share: that took a tenth
  /// of decoding a document, and made two threads wait for each other.
  package init?(wellFormedUTF8 bytes: UnsafeRawBufferPointer) {
    guard isValidUTF8(bytes) else { return nil }
    self = bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
  }
}
