internal import HearthModel
internal import HearthStore

/// A cache whose write-ahead log is damaged before its end.
extension CacheFile {
  /// Looks at the log before SQLite opens the file: it would use a damaged log up to the damage, and delete it at the end.
  ///
  /// Where the file has what the damage has destroyed, the newest state is moved into it, and nothing is lost.
  ///
  /// - Returns: The log if SQLite leaves out a part of it.
  /// - Throws: `StoreError`: `unavailable` while another opener has the folder or another program the file, `newerSchema`.
  static func readLog(of files: CacheFiles, _ lock: FolderLock) throws -> DatabaseLog? {
    guard let log = files.unreadLog, log.isWhole, files.markedDamage == nil else { return files.unreadLog }
    try checkIsKnown(files)
    try lock.exclusively(replacesFile: true) {
      lock.keepNumber()
      // Another client may have opened the folder until then.
      guard let log = files.unreadLog, log.isWhole else { return }
      try files.remove(files.merged)
      try log.moveIntoDatabase(through: files.merged)
    }
    return files.unreadLog
  }

  /// The damage for which the file is set aside.
  ///
  /// A loss of power may leave a log with a gap, too: of pages that no caller was told of, those behind others may be on the disk without them. Then
  /// nothing of the outbox lies behind the gap but perhaps the commit that was being written, and the cache is sound up to there.
  ///
  /// - Parameters:
  ///   - log: The log if SQLite leaves out a part of it.
  ///   - name: Distinguishes the copy from those of others who open the folder at the same time.
  static func knownDamage(
    _ files: CacheFiles, _ log: DatabaseLog?, _ databaseID: DatabaseID, name: String
  ) throws -> String? {
    if let reason = files.markedDamage { return reason }
    guard let log, log.isDamage else { return nil }
    if log.isInFile { return log.reason }
    let copy = "\(files.merged)-\(name)"
    try files.remove(copy)
    defer { try? files.remove(copy) }
    try log.copyDatabase(to: copy, .withoutUnfinished)
    let complete = SalvagedOutbox(reading: copy, databaseID: databaseID)
    if complete.holdsSame(as: SalvagedOutbox(reading: files.main, databaseID: databaseID)) { return nil }
    // Another client may have opened the folder, emptied the log and rewritten it during the copy.
    return files.unreadLog == nil ? nil : log.reason
  }

  /// Empties a log that SQLite reads only up to a gap. Once this client has written over the frames before the gap, those behind it could be taken
  /// for newer ones and come back.
  ///
  /// The frame that is missing may have had the mark of what was sent. So all pending batches count as sent, before the log no longer shows the gap.
  ///
  /// - Throws: `StoreError`: `unavailable` while other programs read the file, and what keeps the log from being moved into the file.
  static func emptyLog(of database: Database, _ files: CacheFiles) throws {
    // Another client that has opened the folder by now has done so.
    guard files.unreadLog != nil else { return }
    if try CacheSchema.hasOutbox(database) {
      try database.transaction("Count batches as sent", synchronous: .full) {
        try SentMarks(database: database).countAllAsSent()
      }
    }
    guard try database.truncateLog(waitingAtMost: longestWaitForReaders) else {
      throw StoreError(
        kind: .unavailable,
        message: "The write-ahead log of \(database.name) must be emptied, but another program reads it.",
        sqliteCode: 5)
    }
  }

  /// Other processes read older states for moments only.
  private static let longestWaitForReaders: Duration = .seconds(1)

  /// Calls `body` with the path of a copy of the file that has the sound pages of its damaged log.
  static func withCopy<T>(of files: CacheFiles, _ log: DatabaseLog, _ body: (String) throws -> T) throws -> T {
    try files.remove(files.merged)
    defer { try? files.remove(files.merged) }
    try log.copyDatabase(to: files.merged)
    return try body(files.merged)
  }
}
