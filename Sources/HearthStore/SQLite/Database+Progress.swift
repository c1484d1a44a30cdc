#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

/// The function that SQLite calls back while a statement runs, and that is called for work on its rows.
final class ProgressHandler {
  let isToStop: () -> Bool
  private let bytesPerStep: Int
  private var bytes = 0

  init(bytesPerStep: Int, _ isToStop: @escaping () -> Bool) {
    self.bytesPerStep = bytesPerStep
    self.isToStop = isToStop
  }

  /// Counts work, and asks at the end of each step.
  func isToStop(after work: Int) -> Bool {
    bytes += work
    guard bytes >= bytesPerStep else { return false }
    bytes = 0
    return isToStop()
  }
}

extension Database {
  /// Calls `isToStop` repeatedly while statements run and their rows are looked at, on their thread. So long work can make room for other
  /// work, or end.
  ///
  /// The function may block, and must not use this connection. When it returns true, the running statement fails with
  /// ``StoreError/Kind/unavailable``, and so does whatever needs its rows.
  ///
  /// - Parameters:
  ///   - instructions: the approximate number of steps of SQLite's virtual machine between two calls; a row of a scan takes about 10.
  ///   - bytes: the same for the bytes of documents that are looked at, see ``noteWork(bytes:)``.
  package func onProgress(
    everyInstructions instructions: Int, everyBytes bytes: Int = 1 << 20, _ isToStop: @escaping () -> Bool
  ) {
    let handler = ProgressHandler(bytesPerStep: max(bytes, 1), isToStop)
    // SQLite has the address only: `progress` keeps the object alive as long as the connection, which is closed by `deinit` at the latest.
    progress = handler
    sqlite3_progress_handler(
      connection, Int32(clamping: max(instructions, 1)),
      { context in
        guard let context else { return 0 }
        return Unmanaged<ProgressHandler>.fromOpaque(context).takeUnretainedValue().isToStop() ? 1 : 0
      }, Unmanaged.passUnretained(handler).toOpaque())
  }

  /// Counts work on a row that SQLite does not see: a few rows of large documents may take longer than thousands of small ones.
  ///
  /// - Parameter bytes: The bytes that are looked at, each as often as it is looked at.
  /// - Throws: ``StoreError/Kind/unavailable`` if the work has to end, as a statement does.
  func noteWork(bytes: @autoclosure () -> Int) throws(StoreError) {
    // Asked in this way, because binding it would count references for each row of a scan.
    guard progress != nil, progress?.isToStop(after: bytes()) == true else { return }
    throw StoreError(kind: .unavailable, message: "Database \(name): the read was cancelled.")
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
