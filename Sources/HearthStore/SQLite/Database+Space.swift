#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

extension Database {
  /// Returns unused pages at the end of the file to the file system, after moving used pages from there into unused ones.
  ///
  /// Needs a file that was created with incremental vacuum, as every file of this library is; with another one nothing happens. The file
  /// becomes smaller at the next checkpoint, see ``truncateLog(waitingAtMost:)``.
  ///
  /// - Parameter limit: the largest number of pages; each takes about 10 microseconds of processor time.
  /// - Returns: the bytes that were returned, and the number of unused pages that remain.
  package func releaseFreePages(limit: Int) throws(StoreError) -> (bytes: Int64, remainingPages: Int64) {
    let before = try fileSizeBytes
    let statement = try prepare("PRAGMA incremental_vacuum(\(max(limit, 1)))")
    while try statement.step() {}
    return (max(before - (try fileSizeBytes), 0), try freePageCount)
  }

  /// Runs a checkpoint and truncates the write-ahead log to nothing, so that both files take only the space they need.
  ///
  /// While another connection reads an older state, the log stays until the next time. Does nothing for a database in memory.
  ///
  /// - Parameter duration: The approximate time to wait for such reads. No connection can write while this one waits. Reads that begin then
  ///   see the newest state and are not in the way.
  /// - Returns: True if the log holds nothing any more, and the file everything.
  @discardableResult
  package func truncateLog(waitingAtMost duration: Duration = .zero) throws(StoreError) -> Bool {
    guard case .file = location else { return true }
    var isTruncated = false
    do throws(StoreError) {
      try waiting(atMost: duration) { () throws(StoreError) in
        let statement = try prepare("PRAGMA wal_checkpoint(TRUNCATE)")
        // The first column is 1 if another connection was in the way (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint).
        while try statement.step() { isTruncated = try statement.int64(at: 0) == 0 }
      }
      if isTruncated { logPages = 0 }
    } catch {
      if error.isFailedSync { failedCheckpoint = error }
      throw error
    }
    return isTruncated
  }

  /// Rewrites the whole database without anything that was deleted: neither unused pages nor the unused parts of pages remain. The file has
  /// its new contents after the next checkpoint, see ``truncateLog(waitingAtMost:)``.
  ///
  /// One transaction that takes time and memory in proportion to the size of the database; other connections can read while it runs. Tables
  /// move to other pages: all tables before all indexes, each in the order of their creation.
  ///
  /// - Throws: ``StoreError``: `unavailable` while another connection writes; `full`.
  package func rewrite() throws(StoreError) {
    if isInTransaction { throw .misuse("Database \(name) cannot be rewritten inside a transaction.") }
    try execute("VACUUM")
  }
}
