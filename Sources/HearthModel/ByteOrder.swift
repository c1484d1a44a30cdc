/// Order and equality by bytes. Firestore compares strings by their UTF-8 bytes. Swift's `String` operators compare by canonical
/// equivalence, so this module does not use them on data.
package enum ByteOrder {
  /// Unsigned lexicographic order; a prefix comes before longer texts.
  static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Ordering {
    let index = countOfCommonPrefix(a, b)
    if index == a.count || index == b.count { return Ordering(a.count, b.count) }
    return a[index] < b[index] ? .ascending : .descending
  }

  /// The number of equal bytes at the beginning.
  static func countOfCommonPrefix(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let shared = min(a.count, b.count)
    var index = 0
    while index &+ 8 <= shared {
      let x = UInt64(littleEndian: a.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let y = UInt64(littleEndian: b.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      if x != y { return index &+ (x ^ y).trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < shared, a[index] == b[index] { index &+= 1 }
    return index
  }

  static func compare(_ a: String, _ b: String) -> Ordering {
    withUTF8(of: a) { x in withUTF8(of: b) { y in compare(x, y) } }
  }

  static func compare(_ a: UnsafeRawBufferPointer, _ b: String) -> Ordering {
    withUTF8(of: b) { compare(a, $0) }
  }

  package static func compare(_ a: [UInt8], _ b: [UInt8]) -> Ordering {
    a.withUnsafeBytes { x in b.withUnsafeBytes { y in compare(x, y) } }
  }

  package static func areEqual(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && compare(a, b) == .same
  }

  static func areEqual(_ a: UnsafeRawBufferPointer, _ b: String) -> Bool {
    a.count == b.utf8.count && compare(a, b) == .same
  }

  static func areEqual(_ a: UnsafeRawBufferPointer, _ b: StaticString) -> Bool {
    a.count == b.utf8CodeUnitCount
      && compare(a, UnsafeRawBufferPointer(start: b.utf8Start, count: b.utf8CodeUnitCount)) == .same
  }

  /// Feeds a string's bytes, and their count, to a hasher: strings that differ in bytes are different.
  static func hash(_ string: String, into hasher: inout Hasher) {
    withUTF8(of: string) { bytes in
      hasher.combine(bytes.count)
      hasher.combine(bytes: bytes)
    }
  }

  /// Runs `body` on the UTF-8 bytes of a string, without a copy where the string stores them contiguously.
  ///
  /// Inlined, because otherwise each comparison of two keys would count two references up and down.
  @inline(__always)
  static func withUTF8<R>(of string: String, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    if let result = string.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    return Array(string.utf8).withUnsafeBytes(body)
  }
}
