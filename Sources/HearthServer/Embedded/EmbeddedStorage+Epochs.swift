internal import HearthModel
internal import Synchronization

extension EmbeddedStorage {
  nonisolated var epochs: Epochs { published.withLock { $0.epochs } }

  /// Stores the epoch that begins with the first commit since the start, in the transaction of that commit.
  ///
  /// A start that commits nothing needs none: all that its clients see is of the epoch before. So a database that is only read is not
  /// written, and no start waits for the disk.
  ///
  /// - Parameters:
  ///   - committed: The newest commit of the earlier epochs. A reserved version does not count: it may be later than commits that were lost.
  ///   - first: The version of the first commit.
  func storeNextEpoch(after committed: SnapshotVersion, first: SnapshotVersion) throws -> Epochs {
    let former = self.epochs
    let epochs = former.beginning(after: committed, first: first, logStart: log.start)
    try epochs.save(in: database, replacing: former)
    return epochs
  }

  /// Gives tokens of an epoch that is on disk.
  func begin(_ epochs: Epochs) {
    beginsEpoch = false
    published.withLock { $0.epochs = epochs }
  }
}
