internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import Logging

/// Reports on the files in a data folder before they are served.
extension DataFolder {
  private static let shownNames = 8

  /// Logs the files of databases that are empty, and the files that are none of a database's: one line for each kind, at the start.
  func report(to logger: Logger) {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    let empty = names.filter { Self.databaseID(ofFile: $0) != nil && isEmpty("\(path)/\($0)") }
    if !empty.isEmpty {
      logger.warning(
        "files of databases are empty (0 bytes) and are served as new databases; if they had documents, stop the server and restore them",
        metadata: metadata(empty))
    }
    let strangers = names.filter { !Self.isKnown($0) }
    guard !strangers.isEmpty else { return }
    // A copy of a database under another name is not served, whatever its user thinks.
    let mayBeDatabases = strangers.contains { $0.contains(".sqlite") }
    logger.log(
      level: mayBeDatabases ? .warning : .notice,
      """
      files in the data folder are ignored, because their names are none of a database (PROJECT.DATABASE.sqlite, with %XX in place of \
      other characters than a-z, 0-9, - and _)
      """, metadata: metadata(strangers))
  }

  /// Logs that a file is empty, when its database is opened.
  func reportEmpty(_ file: String, to logger: Logger) {
    guard isEmpty(file) else { return }
    logger.warning(
      "the file of a database is empty (0 bytes); it is served as a new database", metadata: ["file": .escaped(file)])
  }

  private func isEmpty(_ file: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file)
    return attributes?[.type] as? FileAttributeType == .typeRegular && (attributes?[.size] as? NSNumber)?.intValue == 0
  }

  private func metadata(_ names: [String]) -> Logger.Metadata {
    [
      "folder": .escaped(path), "count": "\(names.count)",
      "files": .escaped(names.prefix(Self.shownNames).joined(separator: ", ")),
    ]
  }
}
