internal import Foundation
internal import HearthModel
internal import HearthTransport

/// The documents of an export of Google's Firestore emulator, or of the managed export of Cloud Firestore, which has the same form.
struct EmulatorExport: ImportSource {
  let files: [ImportFile]
  private var position: ImportPosition
  private var records: LogRecords?
  private let reader: EntityReader

  init(files: [ImportFile], from position: ImportPosition, database: DatabaseID) {
    self.files = files
    self.position = position
    reader = EntityReader(database: database)
  }

  /// Records are not counted before they are read.
  var total: Int? { nil }

  func done(at position: ImportPosition) -> Int { position.line }

  mutating func next() throws(DataError) -> ImportEntry? {
    while position.file < files.count {
      if records == nil {
        records = try open()
        for _ in 0..<position.offset { _ = try record() }
      }
      guard let record = try record() else {
        records = nil
        position = ImportPosition(file: position.file + 1)
        continue
      }
      position.offset += 1
      position.line += 1
      do throws(EntityReader.Failure) {
        let document = try reader.document(record)
        return ImportEntry(
          content: .document(document), keyHash: document.key.canonicalString.utf8Hash, position: position,
          byteCount: record.count)
      } catch {
        return ImportEntry(
          content: .unreadable(
            "this record, at byte \(records?.recordStart ?? 0), is not a document: \(error.message)"),
          keyHash: position.line,
          position: position, byteCount: record.count)
      }
    }
    return nil
  }

  private func open() throws(DataError) -> LogRecords {
    let path = files[position.file].path
    do {
      return LogRecords([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
    } catch {
      throw .file(path, "cannot be read: \(FileFailure.reason(error)).")
    }
  }

  private mutating func record() throws(DataError) -> [UInt8]? {
    do throws(LogRecords.Failure) {
      return try records?.next()
    } catch {
      throw .file(
        files[position.file].path,
        "cannot be read at byte \(error.offset), record \(position.line + 1): \(error.message).")
    }
  }
}
