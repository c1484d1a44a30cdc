/// The order of single segments of resource paths: collection ids and document ids.
package enum PathSegment {
  /// The number in an id of the form `__id<number>__` that fits 64 bits, or nil. Such ids come before all others, in
  /// the order of their numbers.
  package static func numericID(_ segment: String) -> Int64? {
    ByteOrder.withUTF8(of: segment) { numericID($0) }
  }

  static func numericID(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    guard bytes.count > 6, bytes[0] == 0x5F, bytes[1] == 0x5F, bytes[2] == 0x69, bytes[3] == 0x64,
      bytes[bytes.count - 1] == 0x5F, bytes[bytes.count - 2] == 0x5F
    else { return nil }
    var index = 4
    let end = bytes.count - 2
    let isNegative = bytes[index] == 0x2D
    if isNegative { index += 1 }
    guard index < end else { return nil }
    // Accumulated as a negative number, because Int64.min has no positive counterpart.
    var number: Int64 = 0
    while index < end {
      let digit = bytes[index] &- 0x30
      guard digit <= 9 else { return nil }
      let (product, overflow) = number.multipliedReportingOverflow(by: 10)
      let (difference, underflow) = product.subtractingReportingOverflow(Int64(digit))
      if overflow || underflow { return nil }
      number = difference
      index += 1
    }
    if isNegative { return number }
    return number == .min ? nil : -number
  }

  /// Numeric ids first, by number; then all others by UTF-8 bytes. Two spellings of one number are ordered by bytes, so
  /// that only equal segments compare as the same.
  package static func compare(_ a: String, _ b: String) -> Ordering {
    ByteOrder.withUTF8(of: a) { x in ByteOrder.withUTF8(of: b) { y in compare(x, y) } }
  }

  static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Ordering {
    switch (numericID(a), numericID(b)) {
    case (let x?, let y?): Ordering(x, y).then(ByteOrder.compare(a, b))
    case (_?, nil): .ascending
    case (nil, _?): .descending
    case (nil, nil): ByteOrder.compare(a, b)
    }
  }

  /// Compares whole paths, segments separated by `/`, segment by segment; a path comes before those below it.
  static func comparePaths(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Ordering {
    let index = ByteOrder.countOfCommonPrefix(a, b)
    if index == a.count && index == b.count { return .same }
    if a.isEmpty || b.isEmpty { return Ordering(a.count, b.count) }
    let aEnds = index == a.count || a[index] == separator
    let bEnds = index == b.count || b[index] == separator
    if index == a.count, bEnds { return .ascending }
    if index == b.count, aEnds { return .descending }
    var start = index
    while start > 0, a[start &- 1] != separator { start &-= 1 }
    // Ids of numbers begin with an underscore, and other ids rarely do.
    let mayBeNumber = (start < a.count && a[start] == 0x5F) || (start < b.count && b[start] == 0x5F)
    if mayBeNumber { return compare(segment(of: a, from: start), segment(of: b, from: start)) }
    if aEnds || bEnds { return aEnds ? .ascending : .descending }
    return a[index] < b[index] ? .ascending : .descending
  }

  static let separator: UInt8 = 0x2F

  private static func segment(of path: UnsafeRawBufferPointer, from start: Int) -> UnsafeRawBufferPointer {
    var end = start
    while end < path.count, path[end] != separator { end += 1 }
    return UnsafeRawBufferPointer(rebasing: path[start..<end])
  }
}
