#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

/// The function that SQLite calls back while a statement runs.
final class ProgressHandler {
  let isToStop: () -> Bool

  init(_ isToStop: @escaping () -> Bool) {
    self.isToStop = isToStop
  }
}

extension Database {
  /// Calls `isToStop` again and again while statements run, on their thread, so that long work can make room for other work or end.
  ///
  /// The function may block, and must not use this connection. When it returns true, the running statement fails with
  /// ``StoreError/Kind/unavailable``, and so does whatever needs its rows.
  ///
  /// - Parameter instructions: about so many steps of SQLite's virtual machine lie between two calls; a row of a scan takes about 10.
  package func onProgress(everyInstructions instructions: Int, _ isToStop: @escaping () -> Bool) {
    let handler = ProgressHandler(isToStop)
    // SQLite has the address only: `progress` keeps the object alive as long as the connection, which is closed by `deinit` at the latest.
    progress = handler
    sqlite3_progress_handler(
      connection, Int32(clamping: max(instructions, 1)),
      { context in
        guard let context else { return 0 }
        return Unmanaged<ProgressHandler>.fromOpaque(context).takeUnretainedValue().isToStop() ? 1 : 0
      }, Unmanaged.passUnretained(handler).toOpaque())
  }

  /// The state of the write-ahead log after ``checkpoint()``.
  package struct LogState: Equatable, Sendable {
    /// The pages in the log.
    package var pages: Int64
    /// The pages that a checkpoint has copied into the file. When the file has all of them and no connection reads the log, the next commit
    /// restarts the log.
    package var checkpointedPages: Int64
  }

  /// Runs a passive checkpoint: copies committed pages from the write-ahead log into the file, as far as no reader needs the older state.
  /// It waits for no connection, and no connection waits for it.
  ///
  /// For a connection that does not checkpoint at commits (``Options/checkpointsAtCommits``), or for one opened for this purpose.
  package func checkpoint() throws(StoreError) -> LogState {
    let statement = try prepare("PRAGMA wal_checkpoint(PASSIVE)")
    guard try statement.step() else { return LogState(pages: 0, checkpointedPages: 0) }
    // Both are -1 for a database without such a log (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint).
    return LogState(pages: max(try statement.int64(at: 1), 0), checkpointedPages: max(try statement.int64(at: 2), 0))
  }

  /// The number of pages that this connection has written to the log or the file. Never goes back.
  package var writtenPages: Int64 {
    guard let connection else { return 0 }
    var (pages, unused): (Int32, Int32) = (0, 0)
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 0)
    return Int64(UInt32(bitPattern: pages))
  }
}
