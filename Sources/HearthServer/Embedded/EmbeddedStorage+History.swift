internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// Keeps the history within its limits when commits alone do not: after large earlier commits, and while there are no commits.
extension EmbeddedStorage {
  /// Called every now and then. Indexes that nobody uses are dropped too.
  func trimHistory() {
    if trimStep() { continueTrimming() }
    releaseSpace()
    tendIndexes()
  }

  /// Removes history in steps between the commits, as long as a trim has left some that is beyond the limits.
  func continueTrimming() {
    guard log.isBehind, !isTrimming else { return }
    isTrimming = true
    Task {
      self.isTrimming = false
      if self.trimStep() { self.continueTrimming() }
    }
  }

  /// Does one step.
  ///
  /// - Returns: False if it has failed. The next commit tries again.
  private func trimStep() -> Bool {
    guard mayWriteInBackground else { return false }
    let logBefore = log.totals
    do {
      // Not durable by itself: a power cut that brings rows back takes back what is noted of them too.
      try writeStep("Trim history", synchronous: .normal) {
        guard try log.trimMore(now: clock.now()) else { return }
        try ServerState.save(lastVersion: committedVersion, logStart: log.start, logBytes: log.bytes, in: database)
      }
    } catch {
      log.rollBack(to: logBefore)
      if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
      failures.log(
        "history cannot be trimmed", ["database": .escaped(databaseID), "error": .escaped("\(error)")])
      return false
    }
    publishState()
    return true
  }

  /// Publishes the version and the size of the log that are on disk.
  func publishState() {
    published.withLock { published in
      published.version = lastVersion
      published.committedVersion = committedVersion
      published.logStart = log.start
      published.logBytes = log.bytes
    }
  }
}
