internal import Foundation

#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

extension Database {
  /// The size of the file of the write-ahead log; 0 for a database in memory.
  package var logFileBytes: Int64 {
    guard case .file(let path) = location,
      let size = try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? NSNumber
    else { return 0 }
    return size.int64Value
  }

  /// Notes the length of the log at commits, and runs a checkpoint at those that find it long, as `PRAGMA wal_autocheckpoint` does, if the
  /// options ask for that.
  ///
  /// SQLite's own way ignores the result (https://www.sqlite.org/c3ref/wal_autocheckpoint.html). A failure is harmless, because the log
  /// keeps what the checkpoint left, unless a sync has failed: the system reports that once, and later syncs succeed although pages of the
  /// log may be missing on the disk.
  func watchLog() {
    sqlite3_wal_hook(
      connection,
      { context, _, _, pages in
        if let context { Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logHasGrown(to: Int(pages)) }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func logHasGrown(to pages: Int) {
    logPages = Int64(pages)
    if options.checkpointsAtCommits, pages >= options.logPages { checkpointPassively() }
  }

  /// Checkpoints the log before the connection is closed. SQLite would do it at the close, and ignore a sync that fails.
  ///
  /// - Returns: The error of a failed sync, as in ``failedCheckpoint``; nil for everything else.
  package func checkpointBeforeClose() -> StoreError? {
    checkpointPassively()
    return failedCheckpoint
  }

  private func checkpointPassively() {
    guard let connection else { return }
    var error = injectFailure?(.checkpoint)
    if error == nil {
      let code = sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
      if code != SQLITE_OK { error = StoreError(sqliteCode: code, connection: connection, databaseName: name) }
    }
    if let error, error.isFailedSync { failedCheckpoint = error }
  }
}
