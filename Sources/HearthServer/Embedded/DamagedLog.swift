internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging

/// A write-ahead log that is damaged before its end, looked at before the database is opened.
enum DamagedLog {
  /// Ends the name of a copy of the database, which exists during a check.
  static let copySuffix = "-log-check"

  /// Refuses a database that SQLite would open without commits that were acknowledged to clients.
  ///
  /// SQLite reads a log up to the first frame whose checksum does not fit. At most the commit that was being written when the process was
  /// killed or the power failed may follow it, and steps of background work, which need not be durable. If a commit of a client follows, it
  /// was durable once, so the file has been damaged since.
  ///
  /// If a checkpoint has copied the destroyed pages into the file, the newest state is moved into it.
  ///
  /// - Returns: True if the log has a gap, after which nothing counts: ``empty(of:)`` must be called before anything is written.
  /// - Throws: `StoreError` `corrupt` if there is such a commit, or if that cannot be found out; `io`. The files stay as they are.
  static func check(of location: Database.Location, _ databaseID: DatabaseID, _ logger: Logger) throws -> Bool {
    guard case .file(let path) = location, let log = DatabaseLog(damagedIn: path) else { return false }
    guard log.isDamage else { return true }
    let copy = path + copySuffix
    try? FileManager.default.removeItem(atPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    if log.isWhole {
      try move(log, through: copy, databaseID, logger)
      return false
    }
    guard !log.isInFile else { throw mixture(log, path) }
    let complete: Timestamp?
    let known: Timestamp?
    do {
      complete = try newestVersion(of: log, .withoutUnfinished, through: copy)
      known = try newestVersion(of: log, .shown, through: copy)
    } catch {
      throw StoreError(
        kind: error.kind,
        message: """
          \(log.reason). To find out if commits of clients are among them, the database is copied: \(error.message) Make room for the copy; \
          \(wayOut(path)).
          """)
    }
    // A state that cannot be read may be that of any commit, or of none.
    if let complete, let known, complete <= known { return true }
    guard !log.hasMoved else { throw mixture(log, path) }
    let newest = complete.map { "\($0)" } ?? "a state that cannot be read"
    throw StoreError(
      kind: .corrupt,
      message: """
        \(log.reason): without it the database would go back from \(newest) to \(known.map { "\($0)" } ?? "nothing"). \
        Restore a backup of "\(path)"; \(wayOut(path)).
        """)
  }

  /// Empties a log that SQLite reads only up to a gap. Once the server has written over the frames before the gap, those behind it could be taken
  /// for newer ones.
  ///
  /// - Throws: `StoreError` `unavailable` while another program reads the database.
  static func empty(of database: Database) throws {
    do {
      guard try database.truncateLog(waitingAtMost: .seconds(1)) else {
        throw StoreError(
          kind: .unavailable,
          message: """
            The write-ahead log of \(database.name) has a gap that an interruption has left, and must be emptied, but another program reads \
            the database. End that program, and start again.
            """)
      }
    } catch {
      database.close()
      throw error
    }
  }

  /// Only for a log that was not moved into the file: otherwise the older pages would take the places of newer ones.
  private static func wayOut(_ path: String) -> String {
    """
    to go on without those commits, run PRAGMA wal_checkpoint(TRUNCATE) on "\(path)" with the sqlite3 program, and make an empty file \
    "\(path)-wal" afterwards
    """
  }

  private static func move(
    _ log: DatabaseLog, through copy: String, _ databaseID: DatabaseID, _ logger: Logger
  ) throws {
    do {
      try log.moveIntoDatabase(through: copy)
    } catch {
      let wayOut = error.kind == .unavailable ? "" : " Make room for it."
      throw StoreError(
        kind: error.kind,
        message: """
          \(log.reason). Nothing is lost, but the log has to be moved into the file: \(error.message)\(wayOut)
          """)
    }
    logger.warning(
      "write-ahead log was damaged; nothing is lost, because the file had what was damaged",
      metadata: ["database": .escaped(databaseID), "damage": .escaped(log.reason)])
  }

  private static func mixture(_ log: DatabaseLog, _ path: String) -> StoreError {
    let wayOut = """
      ; to go on with what the file holds, which is all that can be read of the log, move "\(path)-wal" and "\(path)-shm" away, and make an empty file \
      "\(path)-wal"
      """
    return StoreError(
      kind: .corrupt,
      message: """
        \(log.reason): SQLite would put older pages of the log over newer ones of the file, so no program may open it. \
        Restore a backup of "\(path)"\(log.isWhollyInFile ? wayOut : "").
        """)
  }

  /// - Returns: Nil if it cannot be read.
  private static func newestVersion(
    of log: DatabaseLog, _ state: DatabaseLog.State, through copy: String
  ) throws(StoreError) -> Timestamp? {
    try? FileManager.default.removeItem(atPath: copy)
    try log.copyDatabase(to: copy, state)
    var options = Database.Options(isReadOnly: true)
    options.isImmutable = true
    guard let database = try? Database(.file(path: copy), options: options) else { return nil }
    defer { database.close() }
    let version = try? database.firstRow("SELECT \(ServerState.newestVersion) FROM server_state WHERE id = 1") {
      SnapshotVersion(microseconds: try $0.int64(at: 0)).timestamp
    }
    return version ?? nil
  }
}

extension LogMark {
  /// Refuses a database whose log is missing. SQLite would open it without the commits that are there only, and delete the log of an empty file.
  ///
  /// - Throws: `StoreError` `corrupt`. The files stay as they are.
  func requireLog() throws(StoreError) {
    let path = database
    if isSet, logBytes == nil {
      throw StoreError(
        kind: .corrupt,
        message: """
          The write-ahead log "\(path)-wal" is missing, and the newest commits may be there only: the server was killed, or was not stopped when \
          the file was copied. Put the log there, or restore a backup of both. To go on with what the file holds, which is all if sqlite3 has \
          emptied the log, make an empty file of this name.
          """)
    }
    if fileBytes == 0, let logBytes, logBytes > 0 {
      throw StoreError(
        kind: .corrupt,
        message: """
          The file "\(path)" is empty, but its write-ahead log is not: the file is a copy that was not finished. Put the whole file there, or \
          restore a backup of both.
          """)
    }
  }
}
