internal import HearthModel

/// Documents that are sent in one request. None occurs twice.
struct ImportBatch: Sendable {
  /// Production takes 500 writes in a request, and 10 MiB.
  static let maximumCount = 500
  /// The limit of a batch in bytes of its text, in which two characters may be a double of eleven bytes.
  static let maximumBytes = 3 << 19

  var entries: [ImportEntry] = []
  var hashes: Set<Int> = []
  private var byteCount = 0

  init() {
    entries.reserveCapacity(Self.maximumCount)
  }

  var end: ImportPosition? { entries.last?.position }

  /// Adds an entry unless the batch is full, or has a document with the same hash.
  mutating func add(_ entry: ImportEntry) -> Bool {
    guard entries.isEmpty || (entries.count < Self.maximumCount && byteCount + entry.byteCount <= Self.maximumBytes),
      hashes.insert(entry.keyHash).inserted
    else { return false }
    entries.append(entry)
    byteCount += entry.byteCount
    return true
  }
}

/// The writes of a batch.
struct ParsedBatch: Sendable {
  struct Write: Sendable {
    var mutation: Mutation
    var position: ImportPosition
  }

  var writes: [Write] = []
  /// The entries that are no documents, in order.
  var failures: [ImportFailure] = []

  /// - Parameter stopsAtFailure: True to read nothing behind the first entry that is no document.
  init(_ batch: ImportBatch, database: DatabaseID, precondition: Precondition, stopsAtFailure: Bool) {
    writes.reserveCapacity(batch.entries.count)
    for entry in batch.entries {
      let line: DocumentLine
      switch entry.content {
      case .document(let document): line = document
      case .unreadable(let reason):
        failures.append(ImportFailure(position: entry.position, column: nil, message: reason))
        if stopsAtFailure { return } else { continue }
      case .line(let bytes):
        do throws(DocumentLine.Failure) {
          line = try DocumentLine(parsing: bytes, database: database)
        } catch {
          failures.append(ImportFailure(error, in: bytes, at: entry.position))
          if stopsAtFailure { return } else { continue }
        }
      }
      writes.append(
        Write(mutation: .set(line.key, line.fields, precondition: precondition), position: entry.position))
    }
  }
}

/// An entry that was not imported.
struct ImportFailure: Sendable {
  var position: ImportPosition
  /// Counted in bytes from 1; nil if the place within the line is not known.
  var column: Int?
  var message: String

  init(position: ImportPosition, column: Int?, message: String) {
    (self.position, self.column, self.message) = (position, column, message)
  }

  /// - Parameter bytes: What was read, which may take several lines.
  init(_ failure: DocumentLine.Failure, in bytes: ArraySlice<UInt8>, at position: ImportPosition) {
    let before = bytes.prefix(failure.offset)
    self.position = position
    self.position.line += before.count { $0 == 0x0A }
    column = before.lastIndex(of: 0x0A).map { before.endIndex - $0 } ?? failure.offset + 1
    message = failure.message
  }

  func text(_ files: [ImportFile]) -> String {
    let path = files.indices.contains(position.file) ? files[position.file].path : "the source"
    return "\(path):\(position.line)" + (column.map { ":\($0)" } ?? "") + ": \(message)"
  }
}
