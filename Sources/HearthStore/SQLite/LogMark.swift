internal import Foundation

/// The mark in the file of a database that is in use: what was committed may be in its write-ahead log alone.
///
/// To SQLite, a log that is missing is one that was moved into the file and deleted when the last connection was closed. After a kill, and in a
/// copy that was made without the log, it is not: then the database would be opened without its newest commits, and perhaps without any. So a
/// database that has the mark must have a log, even an empty one.
///
/// The mark is SQLite's `user_version`, which is read without SQLite, before that creates a log
/// (https://www.sqlite.org/fileformat2.html#user_version_number).
package struct LogMark: Sendable {
  private static let magic = Data("SQLite format 3\0".utf8)
  private static let place = 60..<64

  package let database: String
  /// True if the file is marked, as far as a checkpoint has moved that into it.
  package let isSet: Bool
  /// The size of the file; nil if there is none.
  package let fileBytes: Int64?
  /// The size of the log; nil if there is none.
  package let logBytes: Int64?

  /// Reads the mark of a database that is not open.
  package init(of database: String) {
    self.database = database
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
    logBytes = Self.size(of: DatabaseLog.path(of: database))
  }

  private static func size(of path: String) -> Int64? {
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    return size?.int64Value
  }
}

extension Database {
  /// Marks the file of the database, before the first commit whose loss would matter. Does nothing for a database in memory.
  ///
  /// While another connection reads, the mark may not reach the file yet. Then the next call tries again.
  package func setLogMark() throws(StoreError) {
    guard !hasLogMark, case .file(let path) = location else { return }
    if !LogMark(of: path).isSet {
      if try integer("PRAGMA user_version") == 0 { try execute("PRAGMA user_version = 1") }
      _ = try truncateLog()
    }
    hasLogMark = LogMark(of: path).isSet
  }

  /// Removes the mark, if there is one, right before the last connection is closed. If that fails, the log stays, which the mark demands.
  package func clearLogMark() {
    guard case .file(let path) = location, hasLogMark || LogMark(of: path).isSet else { return }
    do {
      try execute("PRAGMA user_version = 0")
    } catch {
      keepLogAtClose()
    }
  }
}
