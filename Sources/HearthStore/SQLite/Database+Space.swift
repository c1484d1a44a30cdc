#if canImport(SQLite3)
  internal import SQLite3
#else
  internal import CSQLite
#endif

extension Database {
  /// Gives unused pages at the end of the file back, moving pages that are in use from there into unused ones before.
  ///
  /// Needs a file that was made with incremental vacuum, as every file of this library is; with another one nothing
  /// happens. The file becomes smaller when the log is next written back to it, see ``truncateLog()``.
  ///
  /// - Parameter limit: no more pages than this; about 10 microseconds of processor time each.
  /// - Returns: bytes given back, and the unused pages that remain.
  package func releaseFreePages(limit: Int) throws(StoreError) -> (bytes: Int64, remainingPages: Int64) {
    let before = try fileSizeBytes
    let statement = try prepare("PRAGMA incremental_vacuum(\(max(limit, 1)))")
    while try statement.step() {}
    return (max(before - (try fileSizeBytes), 0), try freePageCount)
  }

  /// Writes the write-ahead log back into the file and cuts it to nothing, so that both take only the space they need.
  ///
  /// Does not wait for other connections: while one of them reads an older state, the log stays until the next time.
  /// Does nothing for a database in memory.
  package func truncateLog() throws(StoreError) {
    guard case .file = location else { return }
    try withoutWaiting { () throws(StoreError) in
      let statement = try prepare("PRAGMA wal_checkpoint(TRUNCATE)")
      while try statement.step() {}
    }
  }
}
