internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

extension EmbeddedStorage {
  nonisolated var epochs: Epochs {
    published.withLock { published in
      var epochs = published.epochs
      epochs.latestCommit = published.committedVersion
      return epochs
    }
  }

  /// The feed has each commit before it is acknowledged. But clients may have seen later versions than those of its commits: of a history
  /// that was lost when the folder was restored, or of another copy of it. They leave earlier snapshots alone. So the first listener of a
  /// start, and one that has seen a later version, get the present time as a version.
  nonisolated func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) {
    // The feed's version is the one that the listener gets. A version that was reserved for a read may be later.
    let latest = feed.latestVersion
    guard published.withLock({ $0.announcements.mayBeDue(seen: seen, latest: latest) }) else { return }
    try await announcePresent(seen: seen)
  }

  /// Makes the present time the newest version, which is no commit. It is on disk before it is given out: a clock that is set back before
  /// the next start must not lead to earlier versions.
  private func announcePresent(seen: SnapshotVersion?) throws(StatusError) {
    try requireOpen()
    let (before, version, now) = (known, SnapshotVersion(clock.now()), clock.elapsedMicroseconds)
    let latest = feed.latestVersion
    guard
      published.withLock({ $0.announcements.begin(seen: seen, latest: latest, present: version, at: now) })
    else { return }
    defer { published.withLock { $0.announcements.end() } }
    // A clock that is behind shows no time that is later.
    guard version > lastVersion else { return }
    publishing {
      do {
        try requireSafeDisk()
        try write("announce version") { try ServerState.saveAnnounced(version, in: database) }
        note(uncommitted: version)
        published.withLock { if $0.epochs.quiet?.announced == nil { $0.epochs.quiet?.announced = version } }
        return ((), [CommittedChange(version: version)])
      } catch {
        // Listeners do not depend on it.
        rollBack(to: before)
        if let error = error as? StoreError, error.isFailedSync { noteFailedSync(error) }
        logger.warning(
          "the present time cannot be stored; listeners get the version of the newest commit",
          metadata: ["database": .escaped(databaseID), "error": .escaped("\(error)")])
        return ((), [])
      }
    }
    checkpoint()
  }

  /// Stores the epoch that begins with the first commit since the start, in the transaction of that commit.
  ///
  /// A start that commits nothing needs none: all that its clients see is of the epoch before.
  ///
  /// - Parameters:
  ///   - committed: The newest commit of the earlier epochs. A version that was reserved or announced does not count: it may be later than
  ///     commits that were lost.
  ///   - first: The version of the first commit.
  func storeNextEpoch(after committed: SnapshotVersion, first: SnapshotVersion) throws -> Epochs {
    let former = self.epochs
    let epochs = former.beginning(
      after: committed, first: min(first, former.quiet?.announced ?? first), logStart: log.start)
    try epochs.save(in: database, replacing: former)
    return epochs
  }

  /// Gives tokens of an epoch that is on disk.
  func begin(_ epochs: Epochs) {
    published.withLock { $0.epochs = epochs }
  }
}
