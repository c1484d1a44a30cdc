internal import Foundation

/// The pages of a database file, read without SQLite (https://www.sqlite.org/fileformat.html#b_tree_pages).
///
/// Pages are counted from 1. Reading past the end of a page or of the file gives nil, so that arbitrary bytes are safe to read. At most two
/// pages are in memory at a time: the one whose cells are read, and one that a cell points to. The file is not mapped, because a disk error
/// in a mapped file is a signal, not an error.
final class DatabasePages {
  enum Kind: UInt8 {
    case tableInterior = 0x05
    case indexLeaf = 0x0A
    case tableLeaf = 0x0D
  }

  /// The page size of every file that this library makes.
  static let pageBytes = 8192

  /// The size of the file in bytes.
  let fileBytes: Int
  /// The pages that are there as a whole.
  let count: Int
  private let file: FileHandle
  /// The page that was read last, and the one before it.
  private var latest = Page()
  private var former = Page()

  private struct Page {
    /// 0 for none.
    var number = 0
    /// Empty for a page that cannot be read.
    var bytes: [UInt8] = []
  }

  /// - Returns: Nil if the file cannot be read.
  init?(path: String) {
    guard let file = FileHandle(forReadingAtPath: path), let size = try? file.seekToEnd() else { return nil }
    self.file = file
    fileBytes = Int(clamping: size)
    count = fileBytes / Self.pageBytes
  }

  deinit { try? file.close() }

  /// The place of a page in the file.
  static func offset(of page: Int) -> UInt64 { UInt64(page - 1) * UInt64(pageBytes) }

  func byte(_ page: Int, _ offset: Int) -> UInt8? {
    guard page >= 1, page <= count, offset >= 0, offset < Self.pageBytes else { return nil }
    if latest.number != page { load(page) }
    return offset < latest.bytes.count ? latest.bytes[offset] : nil
  }

  private func load(_ page: Int) {
    swap(&latest, &former)
    guard latest.number != page else { return }
    latest = Page(number: page, bytes: bytes(of: page))
  }

  /// The bytes of a page; fewer, or none, if the disk fails.
  func bytes(of page: Int) -> [UInt8] {
    do {
      try file.seek(toOffset: Self.offset(of: page))
      return Array(try file.read(upToCount: Self.pageBytes) ?? Data())
    } catch {
      return []
    }
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
