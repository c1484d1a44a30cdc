internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

extension EmbeddedStorage {
  nonisolated var epochs: Epochs { published.withLock { $0.epochs } }

  /// The feed has each commit before it is acknowledged. For the first listener of a start, an epoch begins.
  ///
  /// A snapshot of a restored database at the version of its latest commit would be older than what clients have seen of the history that was
  /// lost: they would leave it alone until the next commit. So the first listener gets one of the present time. It is on disk before it is
  /// given out, so that a clock that is set back before the next start does not lead to earlier ones.
  nonisolated func catchUpFeed() async throws(StatusError) {
    guard published.withLock({ $0.awaitsListener }) else { return }
    try await beginEpochOfListeners()
  }

  private func beginEpochOfListeners() throws(StatusError) {
    try requireOpen()
    guard beginsEpoch, published.withLock({ $0.awaitsListener }) else { return }
    // Tried once: listeners do not depend on it.
    published.withLock { $0.awaitsListener = false }
    let (before, version) = (known, SnapshotVersion(clock.now()))
    // A clock that is behind shows no time that is later.
    guard version > lastVersion else { return }
    publishing {
      do {
        try requireSafeDisk()
        let epochs = try database.transaction("begin epoch") {
          try storeNextEpoch(after: before.committedVersion, first: version)
        }
        noteCommit(at: version)
        begin(epochs)
        return ((), [CommittedChange(version: version)])
      } catch {
        rollBack(to: before)
        logger.warning(
          "an epoch cannot begin with the first listener; it begins with the first commit",
          metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
        return ((), [])
      }
    }
  }

  /// Stores the epoch that begins with the first commit since the start, in the transaction of that commit, or with the first listener.
  ///
  /// A start without either needs none. So a database that is only read is not written, and no start waits for the disk.
  ///
  /// - Parameters:
  ///   - committed: The newest commit of the earlier epochs. A reserved version does not count: it may be later than commits that were lost.
  ///   - first: The version of the first commit or of the first listener.
  func storeNextEpoch(after committed: SnapshotVersion, first: SnapshotVersion) throws -> Epochs {
    let former = self.epochs
    let epochs = former.beginning(after: committed, first: first, logStart: log.start)
    try epochs.save(in: database, replacing: former)
    return epochs
  }

  /// Gives tokens of an epoch that is on disk.
  func begin(_ epochs: Epochs) {
    beginsEpoch = false
    published.withLock {
      $0.epochs = epochs
      $0.awaitsListener = false
    }
  }
}
