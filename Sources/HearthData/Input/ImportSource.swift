internal import HearthModel

/// One document of an import, before it is read.
struct ImportEntry: Sendable {
  enum Content: Sendable {
    case line(ArraySlice<UInt8>)
    case document(DocumentLine)
    /// A record that cannot be read, and the reason.
    case unreadable(String)
  }

  var content: Content
  /// Identifies the document among others that are on their way; several may share one.
  var keyHash: Int
  var position: ImportPosition
  /// About the size of the write.
  var byteCount: Int
}

/// The place behind an entry.
struct ImportPosition: Codable, Hashable, Sendable {
  /// The index of the file among those of the source.
  var file = 0
  /// The bytes, or for an export of an emulator the records, that were read of the file.
  var offset = 0
  /// The line, or the record, counted from 1.
  var line = 0
}

/// The documents of an import, in order.
protocol ImportSource {
  /// The files, for messages and to know them again.
  var files: [ImportFile] { get }
  /// The amount of all the work, in units of ``done(at:)``; nil if it is not known.
  var total: Int? { get }

  func done(at position: ImportPosition) -> Int
  /// The next entry; nil at the end.
  mutating func next() throws(DataError) -> ImportEntry?
}

struct ImportFile: Codable, Hashable, Sendable {
  var path: String
  /// Nil for standard input.
  var byteCount: Int?
}

/// Documents as JSON lines of one file after the other.
struct LineSource: ImportSource {
  let files: [ImportFile]
  private var position: ImportPosition
  private var reader: LineReader?
  private let database: DatabaseID

  /// - Parameter position: The place of the first entry.
  init(files: [ImportFile], from position: ImportPosition, database: DatabaseID) {
    self.files = files
    self.position = position
    self.database = database
  }

  var total: Int? {
    var total = 0
    for file in files {
      guard let byteCount = file.byteCount else { return nil }
      total += byteCount
    }
    return total
  }

  func done(at position: ImportPosition) -> Int {
    files.prefix(position.file).reduce(0) { $0 + ($1.byteCount ?? 0) } + position.offset
  }

  mutating func next() throws(DataError) -> ImportEntry? {
    while position.file < files.count {
      let file = files[position.file]
      if reader == nil {
        reader = file.byteCount == nil ? LineReader() : try LineReader(path: file.path, offset: position.offset)
      }
      while let line = try reader?.next() {
        position.offset = line.end
        position.line += 1
        var bytes = line.bytes
        if bytes.last == 0x0D { bytes.removeLast() }
        guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { continue }
        return ImportEntry(
          content: .line(bytes), keyHash: DocumentLine.keyHash(of: bytes, in: database), position: position,
          byteCount: bytes.count)
      }
      reader = nil
      position = ImportPosition(file: position.file + 1)
    }
    return nil
  }
}

extension DocumentLine {
  /// The hash of the path. Lines that do not begin with it are read for it; an unreadable one has any.
  static func keyHash(of line: ArraySlice<UInt8>, in database: DatabaseID) -> Int {
    if let path = path(in: line) { return path.utf8Hash }
    return (try? DocumentLine(parsing: line, database: database))?.key.canonicalString.utf8Hash ?? 0
  }
}

extension String {
  /// A hash of the bytes: documents whose names differ only in Unicode normalisation are two.
  var utf8Hash: Int {
    var hasher = Hasher()
    for byte in utf8 { hasher.combine(byte) }
    return hasher.finalize()
  }
}
