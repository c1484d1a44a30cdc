import Foundation
import Hearth

/// The changes whose outcome was not reported yet: a text file next to the cache, with the id of each write's receipt and the change in
/// words.
///
/// The changes themselves are in the cache. If a line of this file is lost, only the report of that change is missing.
struct ReceiptFile {
  /// A line of the file.
  struct Entry {
    let id: WriteReceipt.ID
    let change: String
  }

  private let url: URL

  init(folder: URL) {
    url = folder.appendingPathComponent("receipts.txt")
  }

  /// Adds a change at the end.
  func append(_ id: WriteReceipt.ID, _ change: String) throws {
    try replace(with: entries() + [Entry(id: id, change: change)])
  }

  /// The changes, oldest first. Lines that are none are left out.
  func entries() throws -> [Entry] {
    guard FileManager.default.fileExists(atPath: url.path) else { return [] }
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let id = WriteReceipt.ID(String(parts[0])) else { return nil }
      return Entry(id: id, change: String(parts[1]))
    }
  }

  /// Rewrites the file.
  func replace(with entries: [Entry]) throws {
    let lines = entries.map { "\($0.id) \($0.change.replacingOccurrences(of: "\n", with: " "))\n" }
    try Data(lines.joined().utf8).write(to: url, options: .atomic)
  }
}
