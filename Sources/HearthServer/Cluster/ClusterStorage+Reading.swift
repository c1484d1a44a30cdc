#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  extension ClusterStorage {
    /// Runs `body` on a session for reads, with the number of the database, again if the session was lost.
    ///
    /// - Throws: As a read, see ``ServerStorage``.
    func reading<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresSession, _ number: Int64) throws -> Result
    ) async throws(StatusError) -> Result {
      try requireOpen()
      do {
        return try await engine.reading { [self] session in
          try body(session, knownNow(on: session).number)
        }
      } catch {
        throw engine.status(of: error, in: databaseID)
      }
    }

    func currentVersion() async throws(StatusError) -> SnapshotVersion {
      try await present().latest
    }

    /// The database at a moment.
    struct Present: Sendable {
      var latest: SnapshotVersion
      /// The log is complete after this version.
      var logStart: SnapshotVersion
      /// The time that counts for versions.
      var time: Timestamp
      var known: Known

      /// - Parameter row: With the newest version, the start of the log, the incarnation and the time behind its first column.
      /// - Returns: Nil if there is no such database.
      init?(_ row: PostgresRow, of known: Known, in engine: ClusterEngine) throws {
        guard let latest = try row.optionalInt64(1) else { return nil }
        self.latest = SnapshotVersion(microseconds: latest)
        logStart = SnapshotVersion(microseconds: try row.int64(2))
        time = engine.clock.time(server: Timestamp(microseconds: try row.microseconds(4)))
        self.known = known
        self.known.incarnation = try row.bytes(3)
      }
    }

    /// Asks for the present of the database.
    func present() async throws(StatusError) -> Present {
      let present = try await reading { [self] session, _ in
        let known = self.known
        let row = try session.run(Self.present.call(.int8(known.number))).first
        guard let present = try row.flatMap({ try Present($0, of: known, in: engine) }) else {
          throw StatusError(code: .dataLoss, message: "Table hearth_databases has no row \(known.number).")
        }
        return present
      }
      note(present.known)
      engine.history.note(present.latest, of: present.known.number)
      return present
    }

    /// Publishes what is found to be the present.
    ///
    /// - Returns: True if there were commits of other nodes.
    func follow(_ present: Present) async -> Bool {
      let through = await tail.through
      guard present.latest != through else { return false }
      do throws(StatusError) {
        if present.latest < through {
          // Commits may have been published after this was read, or are lost in the server's present history.
          guard try await self.present().latest < tail.through else { return false }
          try await raise(to: SnapshotVersion(microseconds: tail.through.microseconds + 1))
        }
        try await tail.advance(to: present.latest, of: self)
        return true
      } catch {
        // The next poll tries again, and its streams end when the database stays out of reach.
        return false
      }
    }

    private static let present = PostgresStatement(
      "present",
      """
      SELECT number, (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1),
        log_start, incarnation, clock_timestamp()
      FROM hearth_databases WHERE number = $1
      """, [.int8])

    // MARK: - Versions without commits

    func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
      guard readTime.truncatedToMicroseconds() == readTime else {
        throw StatusError(
          code: .invalidArgument,
          message: "read_time \(readTime): timestamp cannot have more than microseconds precision")
      }
      let (version, present) = (SnapshotVersion(readTime), try await present())
      if present.latest < version {
        guard version.timestamp <= present.time else {
          throw StatusError(
            code: .invalidArgument, message: "The requested 'read_time' \(readTime) cannot be in the future.")
        }
        try await raise(to: version)
      }
      guard version >= present.logStart else { throw StatusError.readTimeTooOld }
      return version
    }

    /// Makes a version the newest one, unless the newest is later. So no later commit gets a version at or below it.
    private func raise(to version: SnapshotVersion) async throws(StatusError) {
      let mark = engine.mark()
      do {
        try await engine.commits.withSession(deadline: ClusterEngine.deadline) { [self] session in
          let number = try knownNow(on: session).number
          let order = try ClusterOrder.begin(number, on: session)
          guard order.latest < version else {
            _ = try session.run(.rollback)
            return
          }
          _ = try session.run(
            [ClusterOrder.append(version, to: number, by: mark)] + order.commit(on: engine.location))
        }
      } catch {
        throw engine.status(of: error, in: databaseID)
      }
    }

    // MARK: - Listeners

    /// The present of the database is that of the feed when this returns.
    ///
    /// Two listeners need a later version than that of the newest commit: one that has seen a later version of a history that is lost, because
    /// it leaves earlier snapshots alone, and one of a node that has published a later version before the history was lost.
    func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) {
      var present = try await present()
      let published = await tail.through
      if present.latest < published {
        try await raise(to: SnapshotVersion(microseconds: published.microseconds + 1))
        present = try await self.present()
      } else if let seen, seen > present.latest, seen.timestamp <= present.time, mayAnnounce() {
        try await raise(to: SnapshotVersion(present.time))
        present = try await self.present()
      }
      try await tail.advance(to: present.latest, of: self)
    }

    /// False if a version was announced for a listener within the last second: listeners may make up what they have seen.
    private func mayAnnounce() -> Bool {
      let now = engine.clock.node.elapsedMicroseconds
      return state.withLock { state in
        guard state.latestAnnouncement.map({ now - $0 >= 1_000_000 }) ?? true else { return false }
        state.latestAnnouncement = now
        return true
      }
    }
  }
#endif
