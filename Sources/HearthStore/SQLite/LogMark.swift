internal import Foundation

/// The mark in the file of a database that is in use: what was committed may be in its write-ahead log alone.
///
/// SQLite takes a missing log for one that was checkpointed and deleted when the last connection was closed. After a kill, and in a copy
/// that was made without the log, this is wrong: the database would be opened without its newest commits, and perhaps without any. So a
/// database that has the mark must have a log, even an empty one.
///
/// The mark is SQLite's `user_version`, which is read without SQLite, before that creates a log
/// (https://www.sqlite.org/fileformat2.html#user_version_number).
package struct LogMark: Sendable {
  private static let magic = Data("SQLite format 3\0".utf8)
  private static let place = 60..<64

  package let database: String
  /// True if the file is marked. A mark that is only in the log does not count.
  package let isSet: Bool
  /// The size of the file; nil if there is none.
  package let fileBytes: Int64?
  /// The size of the log; nil if there is none.
  package let logBytes: Int64?

  /// Reads the mark of a database that no connection of this process has open: closing a file releases all locks that the process has on it
  /// (https://www.sqlite.org/howtocorrupt.html, section 2.2).
  package init(of database: String) {
    self.database = database
    // The log first: a process that deletes it has copied it into the file before.
    logBytes = Self.size(of: DatabaseLog.path(of: database))
    let header = FileHandle(forReadingAtPath: database).flatMap { file in
      defer { try? file.close() }
      return try? file.read(upToCount: Self.place.upperBound)
    }
    isSet =
      header.map {
        $0.count == Self.place.upperBound && $0.starts(with: Self.magic) && $0[Self.place].contains { $0 != 0 }
      }
      ?? false
    fileBytes = Self.size(of: database)
  }

  private static func size(of path: String) -> Int64? {
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    return size?.int64Value
  }
}

extension LogMark {
  /// The mark as far as an open connection knows it.
  struct Progress {
    /// True if the mark is in the file, and not in the log alone.
    var isInFile = false
    /// The commits until the next attempt, and the number after which that one is repeated.
    private var (rest, wait) = (0, 1)

    /// Returns true for the first commit, and then less and less often: an attempt is a checkpoint.
    mutating func isDue() -> Bool {
      guard !isInFile else { return false }
      guard rest == 0 else {
        rest -= 1
        return false
      }
      (rest, wait) = (wait, 2 * wait)
      return true
    }
  }
}

extension Database {
  /// Takes note of the mark that was read before the database was opened. A server that was killed while it stopped may have removed the
  /// mark in the log alone.
  package func noteLogMark(_ mark: LogMark) throws(StoreError) {
    let isSetInTheLog = try integer("PRAGMA user_version") != 0
    logMark.isInFile = mark.isSet && isSetInTheLog
  }

  /// Marks the file of the database, before the first commit whose loss would matter. Does nothing for a database in memory.
  ///
  /// While another connection reads, the mark may not reach the file yet. Later calls try again.
  package func setLogMark() throws(StoreError) {
    guard case .file = location, logMark.isDue() else { return }
    if try integer("PRAGMA user_version") == 0 { try execute("PRAGMA user_version = 1") }
    logMark.isInFile = try truncateLog()
  }

  /// Removes the mark, if there is one, right before the last connection is closed. If that fails, the log stays, which the mark demands.
  package func clearLogMark() {
    guard case .file = location else { return }
    do {
      if try integer("PRAGMA user_version") != 0 { try execute("PRAGMA user_version = 0") }
    } catch {
      keepLogAtClose()
    }
  }
}
