package import Foundation

/// A way in which a disk damages a page of a database file.
package enum PageDamage: String, CaseIterable, CustomStringConvertible, Sendable {
  case overwritten, zeroed, truncated
  /// With the page behind it; the last one with the first.
  case swapped

  /// The page size of the files that the library makes.
  package static let pageBytes = 8192

  package var description: String { rawValue }

  /// - Parameter page: counted from 0.
  package func apply(to bytes: inout Data, page: Int) {
    let range = Self.range(of: page)
    switch self {
    case .overwritten:
      bytes.replaceSubrange(range, with: Data((0..<Self.pageBytes).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }))
    case .zeroed: bytes.replaceSubrange(range, with: Data(count: Self.pageBytes))
    case .truncated: bytes = bytes.prefix(range.lowerBound)
    case .swapped:
      let other = Self.range(of: (page + 1) % (bytes.count / Self.pageBytes))
      let (first, second) = (Data(bytes[range]), Data(bytes[other]))
      bytes.replaceSubrange(range, with: second)
      bytes.replaceSubrange(other, with: first)
    }
  }

  /// Returns the former bytes of all pages that are no longer as they were.
  package static func replacedBytes(of before: Data, in after: Data) -> Data {
    var replaced = Data()
    for page in 0..<before.count / pageBytes {
      let range = range(of: page)
      if after.count < range.upperBound || after[range] != before[range] { replaced.append(before[range]) }
    }
    return replaced
  }

  private static func range(of page: Int) -> Range<Int> { page * pageBytes..<(page + 1) * pageBytes }
}
