internal import Foundation

/// Makes a database readable again whose list of tables is damaged.
///
/// The list lies in a tree of pages that begins with the first one
/// (https://www.sqlite.org/fileformat.html#storage_of_the_sql_database_schema).
/// Databases that were made by the same statements have their tables at the same pages, so the list of a new one fits.
package enum SchemaGraft {
  /// Copies a database, and its write-ahead log, with the list of tables of another one. The copy is for reading only: it knows
  /// nothing of unused pages.
  package static func copy(_ source: String, to target: String, schemaOf template: String) throws(StoreError) {
    var file = try read(source)
    let other = try read(template)
    // A full disk may have kept the template's pages in its log.
    guard other.count >= DatabasePages.pageBytes else {
      throw StoreError(kind: .io, message: "\"\(template)\" has only \(other.count) bytes, not the list of tables.")
    }
    for page in schemaPages(of: DatabasePages(file: other)) {
      let range = DatabasePages.range(of: page)
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

  private static func read(_ path: String) throws(StoreError) -> Data {
    do {
      return try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw StoreError(kind: .io, message: "Cannot read \"\(path)\" (\(error.localizedDescription)).")
    }
  }

  /// The pages of the tree that begins with the first page.
  private static func schemaPages(of database: DatabasePages) -> [Int] {
    var pages = [1]
    var next = 0
    while next < pages.count {
      let children = database.children(of: pages[next])
      pages += children.filter { $0 > 1 && $0 <= database.count && !pages.contains($0) }
      next += 1
    }
    return pages
  }
}
