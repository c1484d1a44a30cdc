internal import Foundation
internal import HearthModel

/// The progress of an import: everything before the position is at the backend. Written next to the source from time to time.
struct ImportState: Codable, Hashable, Sendable {
  static let format = "hearth-import-1"

  var format = Self.format
  var project: String
  var database: String
  var files: [ImportFile]
  var position = ImportPosition()
  var documents = 0
  var skipped = 0
  var failed = 0

  init(databaseID: DatabaseID, files: [ImportFile]) {
    project = databaseID.projectID
    database = databaseID.database
    self.files = files
  }

  /// Reads the state of an earlier import of the same files into the same database.
  ///
  /// - Throws: A ``DataError`` for a file that is not such a state.
  init(contentsOfFile path: String, databaseID: DatabaseID, files: [ImportFile]) throws(DataError) {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw .file(
        path, "does not say how the import goes on. Delete it, and import from the beginning without --resume.")
    }
    guard format == Self.format, position.file >= 0, position.offset >= 0, position.line >= 0 else {
      throw .file(path, "is of another version. Delete it, and import from the beginning without --resume.")
    }
    guard project == databaseID.projectID, database == databaseID.database else {
      throw .file(
        path,
        "is of an import into project \"\(project)\", database \"\(database)\". Give those with --project and --database, or import "
          + "from the beginning without --resume.")
    }
    guard self.files == files else {
      throw .file(path, "is of other files, or they have changed since. Import from the beginning without --resume.")
    }
  }

  func write(to path: String) throws(DataError) {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try FileWriting.replace(path, with: try encoder.encode(self))
    } catch {
      throw DataError("\(error) Name another place with --progress-file.")
    }
  }
}
