internal import Foundation

/// Makes a database readable again whose list of tables is damaged.
///
/// The list lies in a tree of pages that begins with the first one (https://www.sqlite.org/fileformat.html#storage_of_the_sql_database_schema).
/// Databases that were made by the same statements have their tables at the same pages, so the list of a new one fits.
package enum SchemaGraft {
  /// Copies a database, and its write-ahead log, with the list of tables of another one. The copy is for reading only: it knows
  /// nothing of unused pages.
  package static func copy(_ source: String, to target: String, schemaOf template: String) throws(StoreError) {
    var file = try read(source)
    let other = try read(template)
    for page in schemaPages(of: other) {
      let range = (page - 1) * pageBytes..<page * pageBytes
      if file.count < range.upperBound { file.append(Data(count: range.upperBound - file.count)) }
      file.replaceSubrange(range, with: other[range])
    }
    // Unused pages: none. The counter for which the length of the file is right: not this one, so that it is measured.
    for offset in 32..<40 { file[offset] = 0 }
    for offset in 92..<96 { file[offset] = 0xFF }
    do {
      try file.write(to: URL(fileURLWithPath: target))
      if FileManager.default.fileExists(atPath: source + "-wal") {
        try FileManager.default.copyItem(atPath: source + "-wal", toPath: target + "-wal")
      }
    } catch {
      throw StoreError(kind: .io, message: "Cannot write \"\(target)\" (\(error.localizedDescription)).")
    }
  }

  /// The page size of every file that this library makes.
  private static let pageBytes = 8192

  private static func read(_ path: String) throws(StoreError) -> Data {
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw StoreError(kind: .io, message: "Cannot read \"\(path)\" (\(error.localizedDescription)).")
    }
  }

  /// The pages of the tree that begins with the first page (https://www.sqlite.org/fileformat.html#b_tree_pages).
  private static func schemaPages(of file: Data) -> [Int] {
    func integer(_ page: Int, _ offset: Int, bytes: Int) -> Int {
      let start = (page - 1) * pageBytes + offset
      guard offset + bytes <= pageBytes, start + bytes <= file.count else { return 0 }
      return file[start..<start + bytes].reduce(0) { $0 << 8 | Int($1) }
    }
    var pages = [1]
    var next = 0
    while next < pages.count {
      let page = pages[next]
      let header = page == 1 ? 100 : 0
      next += 1
      guard integer(page, header, bytes: 1) == 5 else { continue }
      let cells = (0..<integer(page, header + 3, bytes: 2)).map { integer(page, header + 12 + 2 * $0, bytes: 2) }
      let children = cells.map { integer(page, $0, bytes: 4) } + [integer(page, header + 8, bytes: 4)]
      pages += children.filter { $0 > 1 && $0 * pageBytes <= file.count && !pages.contains($0) }
    }
    return pages
  }
}
