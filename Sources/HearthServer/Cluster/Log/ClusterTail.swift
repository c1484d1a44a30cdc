#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Brings the commits of all nodes into the feed of one database, in the order of their versions.
  ///
  /// A group of this node is published from memory if nothing lies between what is published and the group. Everything else is read from the
  /// log: once for all listeners of the node, when a poll or a hint says that there is something new, or when a listener begins.
  actor ClusterTail {
    private let feed: ChangeFeed
    /// All commits up to this version are published.
    private(set) var through: SnapshotVersion
    /// A read of the log that is on its way.
    private var reading: Task<Result<Void, StatusError>, Never>?

    /// The changes that are read at once, and their bytes. Listeners take what is beyond from the log by themselves.
    private static let changesAtOnce = (count: 4_000, bytes: Int64(16 << 20))

    init(feed: ChangeFeed) {
      self.feed = feed
      through = feed.latestVersion
    }

    /// Publishes a group that this node has committed. When it returns, everything up to the group is published.
    func publish(_ outcome: GroupCommit.Outcome, of storage: ClusterStorage) async {
      while let reading { _ = await reading.value }
      guard outcome.after > through else { return }
      if outcome.before == through {
        for change in outcome.changes { publish(change) }
      } else {
        // If the log cannot be read now, its listeners read it themselves.
        do throws(StatusError) { try await advance(to: outcome.after, of: storage) } catch {
          publishUnknown(through: outcome.after)
        }
      }
    }

    /// Publishes everything up to a version, which is in the database.
    ///
    /// - Throws: As a read, see ``ServerStorage``.
    func advance(to version: SnapshotVersion, of storage: ClusterStorage) async throws(StatusError) {
      while through < version {
        if let reading {
          try await reading.value.get()
        } else if feed.hasListeners {
          let start = through
          let task = Task { await self.read(storage, atLeastTo: version) }
          reading = task
          try await task.value.get()
          if through == start {
            throw StatusError(code: .unavailable, message: "The history of the database has changed; try again.")
          }
        } else {
          publishUnknown(through: version)
        }
      }
    }

    /// - Parameter version: It is in the database.
    private func read(
      _ storage: ClusterStorage, atLeastTo version: SnapshotVersion
    ) async -> Result<Void, StatusError> {
      // Before its task ends: callers that have waited for it look again at once.
      defer { reading = nil }
      let start = through
      do throws(StatusError) {
        let (latest, commits) = try await storage.reading { session, number in
          let results = try session.run([
            .beginSnapshot, Self.latest.call(.int8(number)),
            ChangeRow.changes(
              of: number, after: .end(of: start), upTo: Self.changesAtOnce.count, bytes: Self.changesAtOnce.bytes),
            .rollback,
          ])
          let state = try results[1].only()
          let (latest, logStart) = (try state.version(0), try state.version(1))
          // While this node stood still, the next changes may have been removed.
          guard logStart <= start, results[2].count < Self.changesAtOnce.count else {
            return (latest, nil as [CommittedChange]?)
          }
          return (latest, try results[2].map(ChangeRow.init).commits)
        }
        for commit in commits ?? [] { publish(commit) }
        if commits == nil { publishUnknown(through: latest) }
        if latest > through { publish(CommittedChange(version: latest)) }
        return .success(())
      } catch {
        // A row of the log cannot be read: those whose targets it concerns find that out, the others do not need it.
        guard error.code == .dataLoss || error.code == .internal else { return .failure(error) }
        publishUnknown(through: version)
        return .success(())
      }
    }

    private func publish(_ change: CommittedChange) {
      guard change.version > through else { return }
      // At most a microsecond behind what has woken the listeners.
      if change.version > feed.latestVersion { feed.publish(change) }
      through = change.version
    }

    /// Publishes a version that the database does not have, so that its listeners read the database. ``through`` stays: nothing is published.
    func wakeListeners() {
      if let next = try? feed.latestVersion.next() { feed.publish(CommittedChange(unknownThrough: next)) }
    }

    private func publishUnknown(through version: SnapshotVersion) {
      publish(CommittedChange(unknownThrough: version))
    }

    private static let latest = PostgresStatement(
      "latest version and start of log",
      """
      SELECT (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1), log_start
      FROM hearth_databases WHERE number = $1
      """, [.int8])
  }
#endif
