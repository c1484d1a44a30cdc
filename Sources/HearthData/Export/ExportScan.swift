internal import Foundation
package import HearthModel

/// The progress of an unfinished export, as the complete lines of its file show it.
package struct ExportScan: Sendable {
  /// The last document of each part; nil for a part without a document in the file.
  package var positions: [DocumentKey?]
  package var documentCount = 0
  /// The length of the complete lines. What follows is the beginning of a line, or was never written.
  package var byteCount = 0

  /// Reads a file up to the first line that is not a complete document of the plan's parts.
  ///
  /// - Parameter only: The one part that the file may hold; nil for all.
  /// - Throws: A ``DataError`` for a file that cannot be read, or that holds documents of no part.
  package init(file: String, parts: [ExportPart], only: Int? = nil) throws(DataError) {
    positions = Array(repeating: nil, count: parts.count)
    guard FileManager.default.fileExists(atPath: file) else { return }
    let lines = try LineReader(path: file)
    // Lines of a part mostly come together.
    var latest = only ?? 0
    while let line = try lines.next() {
      guard line.isComplete, line.bytes.last == UInt8(ascii: "}"), let path = DocumentLine.path(in: line.bytes),
        let key = try? DocumentKey(ResourcePath(canonical: path))
      else { break }
      if !parts[latest].contains(key) {
        guard only == nil, let index = parts.firstIndex(where: { $0.contains(key) }) else {
          throw .file(
            file, "holds document \"\(path.prefix(80))\", which is not of this export. Begin again in another place.")
        }
        latest = index
      }
      positions[latest] = key
      documentCount += 1
      byteCount = line.end
    }
  }
}
