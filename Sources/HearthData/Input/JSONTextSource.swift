internal import Foundation
internal import HearthModel
internal import HearthTransport

/// Documents of a file whose JSON is not in lines: an array of documents, or documents over several lines, as people write them.
struct JSONTextSource: ImportSource {
  /// The file is held in memory; larger sources are JSON lines.
  private static let maximumBytes = 256 << 20

  let files: [ImportFile]
  private var position: ImportPosition
  private let bytes: [UInt8]
  private var pieces: JSONPieces
  private let database: DatabaseID

  /// - Parameter position: The place of the first entry.
  init(file: ImportFile, from position: ImportPosition, database: DatabaseID) throws(DataError) {
    guard file.byteCount ?? 0 <= Self.maximumBytes else {
      throw .file(
        file.path,
        "has more than \(Self.maximumBytes >> 20) MiB, and is not JSON lines. Write each document on a line of its own."
      )
    }
    do {
      bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file.path)))
    } catch {
      throw .file(file.path, "cannot be read: \(FileFailure.reason(error)).")
    }
    files = [file]
    self.position = position
    self.database = database
    pieces = JSONPieces(bytes, from: position.offset)
  }

  /// True for a file that begins with an array, or with a value that does not end on its line while the next line is none either.
  static func isText(_ path: String) throws(DataError) -> Bool {
    let reader = try LineReader(path: path)
    var isFirst = true
    while let line = try reader.next() {
      guard let first = line.bytes.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { continue }
      if isFirst, first == UInt8(ascii: "[") { return true }
      do throws(JSONTextReader.Failure) {
        _ = try JSONTextReader.read(line.bytes)
        return false
      } catch {
        if isFirst, error.offset < line.bytes.count { return false }
      }
      if !isFirst { return true }
      isFirst = false
    }
    return false
  }

  var total: Int? { bytes.count }

  func done(at position: ImportPosition) -> Int { position.offset }

  mutating func next() throws(DataError) -> ImportEntry? {
    guard let piece = pieces.next() else { return nil }
    position.offset = pieces.offset
    switch piece {
    case .fault(let text, let line):
      position.line = line
      return ImportEntry(content: .unreadable(text), keyHash: line, position: position, byteCount: 0)
    case .value(let range, let line):
      position.line = line
      let value = bytes[range]
      return ImportEntry(
        content: .line(value), keyHash: DocumentLine.keyHash(of: value, in: database), position: position,
        byteCount: value.count)
    }
  }
}
