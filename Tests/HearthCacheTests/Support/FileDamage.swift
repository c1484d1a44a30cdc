import Foundation
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// Damage that no statement does.
extension TestCache {
  /// The bytes of the page at which a table or an index begins.
  func rootPage(of name: String) throws -> Range<Int> {
    let page = try database.firstRow("SELECT rootpage FROM sqlite_master WHERE name = ?", .text(name)) {
      Int(try $0.int64(at: 0))
    }
    let end = try #require(page) * PageDamage.pageBytes
    return end - PageDamage.pageBytes..<end
  }

  /// The bytes of the file.
  func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName))) }

  /// Closes the cache and changes its file.
  func damage(_ body: (inout Data) throws -> Void) throws {
    close()
    var bytes = try bytes()
    try body(&bytes)
    try bytes.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
  }

  /// Changes the file of the cache while it is open.
  func damageWhileOpen(_ body: (inout Data) throws -> Void) throws {
    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    var bytes = try bytes()
    try body(&bytes)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
    try file.write(contentsOf: bytes)
    try file.close()
    // Pages in memory would hide the damage.
    try database.execute("PRAGMA shrink_memory")
  }

  /// Closes the cache, or not, and swaps the first pages of two tables or indexes.
  func swapPages(_ name: String, _ other: String, whileOpen: Bool = false) throws {
    let (first, second) = try (rootPage(of: name), rootPage(of: other))
    func swap(_ bytes: inout Data) {
      let contents = (Data(bytes[first]), Data(bytes[second]))
      bytes.replaceSubrange(first, with: contents.1)
      bytes.replaceSubrange(second, with: contents.0)
    }
    try whileOpen ? damageWhileOpen(swap) : damage(swap)
  }

  /// Opens the closed cache as a client does.
  func openAsClient(user: String?) throws -> (cache: OpenedCache, store: LocalStore) {
    try CacheFile.openStore(folder: folder.path, databaseID: Self.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: Self.databaseID, garbageCollection: garbageCollection, user: user,
        newCacheID: "new")
    }
  }
}
