import Foundation
import HearthStore
import TestSupport
import Testing

/// The pages of a cache file at which its tables and indexes begin. Small ones have no other page.
enum TablePages {
  /// In order of name; pages are counted from 1.
  static func all(in path: String) throws -> [(name: String, page: Int)] {
    let database = try Database(.file(path: path))
    defer { database.close() }
    var pages: [(name: String, page: Int)] = []
    try database.forEachRow("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 1 ORDER BY name") {
      pages.append((try $0.string(at: 0), Int(try $0.int64(at: 1))))
      return true
    }
    return pages
  }

  /// Overwrites the page at which a table begins.
  static func overwrite(_ table: String, in path: String) throws {
    let page = try #require(try all(in: path).first { $0.name == table }).page
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let length = PageDamage.pageBytes
    // No page of any kind begins like this, so that every reader notices.
    bytes.replaceSubrange((page - 1) * length..<page * length, with: Data(repeating: 0xA5, count: length))
    try bytes.write(to: URL(fileURLWithPath: path))
  }
}
