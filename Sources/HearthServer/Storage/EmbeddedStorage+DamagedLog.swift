internal import Foundation
internal import HearthModel
internal import HearthStore

/// A database whose write-ahead log is damaged before its end.
extension EmbeddedStorage {
  /// Refuses a database that SQLite would open without commits of which clients were told.
  ///
  /// SQLite reads a log up to the first frame whose checksum does not fit. Behind that lies at most the commit that was being written when the
  /// process was killed or the power failed, and steps of background work, which need not be durable. A commit of a client behind it was
  /// durable once: the file has been damaged since.
  ///
  /// - Throws: `StoreError` `corrupt` if there is one. The files stay as they are.
  static func checkLog(of location: Database.Location) throws {
    guard case .file(let path) = location, let log = DatabaseLog(damagedIn: path), log.isDamage else { return }
    let copy = path + "-log-check"
    try? FileManager.default.removeItem(atPath: copy)
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + suffix) } }
    do {
      try log.copyDatabase(to: copy, includesUnfinished: false)
    } catch {
      throw StoreError(
        kind: error.kind,
        message: """
          \(log.reason). To find out if commits of clients are among them, the database is copied: \(error.message) Make room for the copy; \
          \(wayOut(path)).
          """)
    }
    guard let complete = newestVersion(in: copy), let known = newestVersion(in: path) else { return }
    // Pages of the log that are older than those of the file would make a mixture of states.
    guard log.isInFile || complete > known else { return }
    throw StoreError(
      kind: .corrupt,
      message: """
        \(log.reason): without it the database would go back from \(complete) to \(known). Restore a backup of "\(path)"; \
        \(wayOut(path)).
        """)
  }

  private static func wayOut(_ path: String) -> String {
    "to go on without those commits, run PRAGMA wal_checkpoint(TRUNCATE) on \"\(path)\" with the sqlite3 program"
  }

  /// - Returns: Nil if it cannot be read, which the opening of the database will say.
  private static func newestVersion(in path: String) -> Timestamp? {
    guard let database = try? Database(.file(path: path), options: .init(isReadOnly: true)) else { return nil }
    defer { database.close() }
    let version = try? database.firstRow("SELECT \(ServerState.newestVersion) FROM server_state WHERE id = 1") {
      SnapshotVersion(microseconds: try $0.int64(at: 0)).timestamp
    }
    return version ?? nil
  }
}
