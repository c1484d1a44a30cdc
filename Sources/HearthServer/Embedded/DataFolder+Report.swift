internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import Logging
internal import Synchronization

/// Reports on the files in a data folder: on all of them before they are served, and later on those that have come since.
extension DataFolder {
  private static let shownNames = 8
  /// A folder may have many files, and listing them takes time in proportion.
  private static let lookInterval = Duration.seconds(10)

  /// The looks for files that are ignored.
  struct Looks {
    /// The ignored files that the last look has found, all of them reported.
    fileprivate var ignored: Set<String> = []
    /// In microseconds of the caller's clock.
    fileprivate var next = Int64.min
    /// True after a call that came too early: a look is due later.
    fileprivate var isWanted = false
  }

  /// Below so many bytes of free space, the start says so: a database cannot be opened on a full disk, even to be read.
  private static let lowBytes: Int64 = 64 << 20

  /// Logs a disk that is nearly full, the files of databases that are empty, and the files that do not belong to a database: one line for
  /// each kind, at the start.
  ///
  /// - Parameter freeBytes: The space that the disk has left; nil if it is not known.
  func report(to logger: Logger, freeBytes: Int64?) {
    if let freeBytes, freeBytes < Self.lowBytes {
      logger.warning(
        "the disk of the data folder is nearly full; on a full disk no database can be opened, and commits fail",
        metadata: ["folder": .escaped(path), "free-bytes": "\(freeBytes)"])
    }
    let names = self.names ?? []
    let empty = names.filter { Self.databaseID(ofFile: $0) != nil && isEmpty("\(path)/\($0)") }
    if !empty.isEmpty {
      logger.warning(
        "files of databases are empty (0 bytes) and are served as new databases; if they had documents, stop the server and restore them",
        metadata: metadata(empty))
    }
    reportIgnored(among: names, to: logger)
  }

  /// Logs files that do not belong to a database and have come since the last look. Called when a database was opened: a copy of a database
  /// under a wrong name leads to an empty database, and its user to the log.
  ///
  /// - Parameter microseconds: The present time of a clock that is never set. There is one look in ``lookInterval`` at most.
  func reportNew(to logger: Logger, at microseconds: Int64) {
    let isDue = looks.withLock { looks in
      looks.isWanted = microseconds < looks.next
      guard !looks.isWanted else { return false }
      looks.next = microseconds + Self.lookInterval.microseconds
      return true
    }
    if isDue, let names { reportIgnored(among: names, to: logger) }
  }

  /// Does the look for which an earlier call of ``reportNew(to:at:)`` came too early, when it is time for it.
  func reportWanted(to logger: Logger, at microseconds: Int64) {
    if looks.withLock({ $0.isWanted }) { reportNew(to: logger, at: microseconds) }
  }

  /// Logs that a file is empty, when its database is opened.
  func reportEmpty(_ file: String, to logger: Logger) {
    guard isEmpty(file) else { return }
    logger.warning(
      "the file of a database is empty (0 bytes); it is served as a new database", metadata: ["file": .escaped(file)])
  }

  /// The names of all files, in order; nil if the folder cannot be read.
  private var names: [String]? { (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() }

  /// Logs the files that do not belong to a database, without those that the last look has found.
  private func reportIgnored(among names: [String], to logger: Logger) {
    let ignored = names.filter { !Self.isKnown($0) || isFolder($0) }
    let new = looks.withLock { looks in
      defer { looks.ignored = Set(ignored) }
      return ignored.filter { !looks.ignored.contains($0) }
    }
    guard !new.isEmpty else { return }
    // A copy of a database under another name is not served, whatever its user thinks.
    let mayBeDatabases = new.contains { $0.contains(".sqlite") }
    logger.log(
      level: mayBeDatabases ? .warning : .notice,
      """
      files in the data folder are ignored, because they are folders, or their names are not those of databases: PROJECT.DATABASE.sqlite, \
      with %XX for each byte other than a-z, 0-9, - and _, such as demo.%28default%29.sqlite
      """, metadata: metadata(new))
  }

  /// The space that the disk of the folder has left for this user; nil if the system does not say.
  var freeBytes: Int64? {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
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
