internal import Foundation

/// Makes a database with a damaged list of tables readable again.
///
/// The list is a tree of pages that starts at the first page (https://www.sqlite.org/fileformat.html#storage_of_the_sql_database_schema).
/// Databases that were created by the same statements have their tables at the same pages, so the list of a new database fits.
package enum SchemaGraft {
  /// Copies a database, and its write-ahead log, with the list of tables of another one. The copy is for reading only: it knows
  /// nothing of unused pages.
  ///
  /// - Parameter template: The other database, in a file, which this closes.
  /// - Throws: ``StoreError``, also if the log of the template cannot be moved into its file, where the list of tables would be missing.
  package static func copy(_ source: String, to target: String, schemaOf template: Database) throws(StoreError) {
    defer { template.close() }
    guard case .file(let path) = template.location else {
      throw .misuse("Database \(template.name) cannot be a template: a template is a database in a file.")
    }
    guard try template.truncateLog() else {
      throw StoreError(
        kind: .unavailable,
        message: "Another program reads \(template.name), a temporary file of a recovery. End that program.")
    }
    template.close()
    guard let other = DatabasePages(path: path) else { throw failure("read", path) }
    do {
      try FileManager.default.copyItem(atPath: source, toPath: target)
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: target))
      defer { try? file.close() }
      for page in schemaPages(of: other) {
        try write(other.bytes(of: page), at: DatabasePages.offset(of: page), in: file)
      }
      // Unused pages: none. The counter for which the length of the file is right: not this one, so that it is measured.
      try write([UInt8](repeating: 0, count: 8), at: 32, in: file)
      try write([UInt8](repeating: 0xFF, count: 4), at: 92, in: file)
      if FileManager.default.fileExists(atPath: source + "-wal") {
        try FileManager.default.copyItem(atPath: source + "-wal", toPath: target + "-wal")
      }
    } catch {
      throw failure("write", target, error)
    }
  }

  /// Writing after the end fills the bytes in between with zeros.
  private static func write(_ bytes: [UInt8], at offset: UInt64, in file: FileHandle) throws {
    try file.seek(toOffset: offset)
    try file.write(contentsOf: bytes)
  }

  private static func failure(_ operation: String, _ path: String, _ error: (any Error)? = nil) -> StoreError {
    let reason = error.map { " (\($0.localizedDescription))" } ?? ""
    return StoreError(kind: .io, message: "Cannot \(operation) \"\(path)\"\(reason).")
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
