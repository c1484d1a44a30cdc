internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// The behaviour of a database after a failed sync, when it is unknown whether a write has reached the disk.
///
/// The system may have dropped the pages in question, so that the next sync succeeds without them. The database takes no commits and runs
/// no checkpoints until the server has been restarted and SQLite has read what is on the disk. Reads go on.
extension EmbeddedStorage {
  /// - Throws: UNAVAILABLE after a failed synchronisation, or while the data folder is not in its place, so that clients keep their writes.
  func requireSafeDisk() throws(StatusError) {
    let (failedSync, place) = published.withLock { ($0.failedSync, $0.place) }
    try place?.require()
    guard let failedSync else { return }
    throw StatusError(
      code: .unavailable,
      message:
        "The server's disk has failed to keep a commit, and no more are taken until the server has been restarted: "
        + "\(failedSync)")
  }

  nonisolated func noteFailedSync(_ error: StoreError) {
    let isFirst = published.withLock { published in
      defer { published.failedSync = published.failedSync ?? error.message }
      return published.failedSync == nil
    }
    guard isFirst else { return }
    metrics?.diskFailedToSync()
    logger.critical(
      "the disk has failed to keep a commit; no more are taken until the server has been restarted",
      metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
  }
}
