internal import Foundation

/// The pages of a database file, read without SQLite (https://www.sqlite.org/fileformat.html#b_tree_pages).
///
/// Pages are counted from 1. Reading behind the end of a page or of the file gives nil, so that any bytes can be looked at.
struct DatabasePages {
  enum Kind: UInt8 {
    case tableInterior = 0x05
    case tableLeaf = 0x0D
  }

  /// The page size of every file that this library makes.
  static let pageBytes = 8192

  let file: Data

  /// The pages that are there as a whole.
  var count: Int { file.count / Self.pageBytes }

  /// The range of a page in the file.
  static func range(of page: Int) -> Range<Int> { (page - 1) * pageBytes..<page * pageBytes }

  func byte(_ page: Int, _ offset: Int) -> UInt8? {
    guard page >= 1, page <= count, offset >= 0, offset < Self.pageBytes else { return nil }
    return file[file.startIndex + (page - 1) * Self.pageBytes + offset]
  }

  /// A number of `bytes` bytes, the highest first.
  func integer(_ page: Int, _ offset: Int, bytes: Int) -> Int? {
    var value = 0
    for index in 0..<bytes {
      guard let byte = byte(page, offset + index) else { return nil }
      value = value << 8 | Int(byte)
    }
    return value
  }

  /// Returns where the cells of a page of this kind begin; none for a page of another kind.
  func cells(of page: Int, _ kind: Kind) -> [Int] {
    let header = Self.headerStart(of: page)
    guard byte(page, header) == kind.rawValue, let cellCount = integer(page, header + 3, bytes: 2) else { return [] }
    let first = header + (kind == .tableInterior ? 12 : 8)
    return (0..<cellCount).compactMap { integer(page, first + 2 * $0, bytes: 2) }
  }

  /// Returns the pages below an interior page of a table; none for a page of another kind.
  func children(of page: Int) -> [Int] {
    let left = cells(of: page, .tableInterior).compactMap { integer(page, $0, bytes: 4) }
    guard !left.isEmpty, let right = integer(page, Self.headerStart(of: page) + 8, bytes: 4) else { return [] }
    return left + [right]
  }

  /// The first page begins with the header of the file.
  private static func headerStart(of page: Int) -> Int { page == 1 ? 100 : 0 }
}
