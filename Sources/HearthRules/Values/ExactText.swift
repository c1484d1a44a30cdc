/// A text whose identity is that of its UTF-8, as the names of fields have it.
///
/// Swift's strings are equal if they show the same characters. Two fields whose names differ only in the form of a character would become
/// one, and rules that count the fields of a document would miss the other.
package struct ExactText: Hashable, Comparable, Sendable {
  package let text: String
  /// The number of bytes, up to 255, and seven of them: all, or the first three and the last four. Texts with different marks differ, which
  /// nearly all names of fields do.
  private let mark: UInt64

  package init(_ text: String) {
    self.text = text
    mark = text.withBytes(Self.mark)
  }

  private static let mostBytesInMark = 7

  private static func mark(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    let count = bytes.count
    var mark = UInt64(min(count, 0xFF))
    let first = min(count, mostBytesInMark) - min(count, 4)
    for place in 0..<first { mark = mark << 8 | UInt64(bytes[place]) }
    for place in (count - min(count, 4))..<count { mark = mark << 8 | UInt64(bytes[place]) }
    return mark << UInt64(8 * max(0, mostBytesInMark - count))
  }

  /// True if the mark has all bytes.
  private var isShort: Bool { mark >> 56 <= UInt64(Self.mostBytesInMark) }

  package static func == (left: Self, right: Self) -> Bool {
    left.mark == right.mark && (left.isShort || left.text.hasSameBytes(as: right.text))
  }

  package static func < (left: Self, right: Self) -> Bool { left.text.precedesByBytes(right.text) }

  package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
  /// Runs `body` on the UTF-8, without a copy where it is contiguous. The bytes must not leave `body`.
  @inline(__always)
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    return Array(utf8).withUnsafeBytes(body)
  }

  /// Compares the UTF-8 of two texts.
  func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return withBytes { left in
      other.withBytes { right in left.countOfCommonPrefix(with: right) == left.count }
    }
  }

  /// The order of the UTF-8.
  func precedesByBytes(_ other: String) -> Bool {
    withBytes { left in
      other.withBytes { right in
        let place = left.countOfCommonPrefix(with: right)
        guard place < left.count, place < right.count else { return left.count < right.count }
        return left[place] < right[place]
      }
    }
  }

  func hashBytes(into hasher: inout Hasher) {
    var text = self
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(utf8.count)
  }
}

extension [String] {
  /// Compares the UTF-8 of all texts.
  func hasSameBytes(as other: [String]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
  }
}

extension UnsafeRawBufferPointer {
  /// The number of equal bytes at the beginning.
  ///
  /// Eight bytes are loaded at a place only if both buffers have eight from there on, so that no access leaves them.
  fileprivate func countOfCommonPrefix(with other: UnsafeRawBufferPointer) -> Int {
    let shared = Swift.min(count, other.count)
    var place = 0
    while place + 8 <= shared {
      let left = UInt64(littleEndian: loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let right = UInt64(littleEndian: other.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      if left != right { return place + (left ^ right).trailingZeroBitCount / 8 }
      place += 8
    }
    while place < shared, self[place] == other[place] { place += 1 }
    return place
  }
}
