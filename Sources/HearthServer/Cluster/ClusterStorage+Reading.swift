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
          try withNumber(on: session) { try body(session, $0) }
        }
      } catch {
        throw engine.status(of: error, in: databaseID)
      }
    }

    /// Runs `body` with the number of the database, and again if the database was not there when it was looked up, but is there for `body`.
    ///
    /// A result of the empty database may have a version above those of one that was created before its snapshot was taken. What is not there
    /// after `body`, or in the snapshot of its transaction, was not there for `body`.
    func withNumber<Result>(on session: PostgresSession, _ body: (Int64) throws -> Result) throws -> Result {
      let number = try knownNow(on: session).number
      let result = try body(number)
      guard number == ClusterSchema.emptyDatabase else { return result }
      let present = try knownNow(on: session).number
      return present == number ? result : try body(present)
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
      /// - Throws: As ``ClusterBasis/check(_:_:on:)``, also if there is no such database.
      init(
        _ row: PostgresRow?, of known: Known, since basis: ClusterBasis, in engine: ClusterEngine,
        on session: PostgresSession
      ) throws {
        let latest = try row?.optionalVersion(1)
        try basis.check(latest, row?.optionalBytes(3), on: session)
        guard let row, let latest else { throw ClusterSnapshot.damaged("database \(known.number) is not there") }
        self.latest = latest
        logStart = try row.version(2)
        time = engine.clock.time(server: Timestamp(microseconds: try row.microseconds(4)))
        self.known = known
      }
    }

    /// Asks for the present of the database.
    func present() async throws(StatusError) -> Present {
      try await reading { [self] session, _ in
        let (known, basis) = basis()
        let row = try session.run(Self.present.call(.int8(known.number), basis.seenParameter)).first
        return try Present(row, of: known, since: basis, in: engine, on: session)
      }
    }

    /// Publishes what is found to be the present.
    ///
    /// - Returns: True if there were commits of other nodes.
    func follow(_ present: Present) async -> Bool {
      // Below it: commits were published after the present was read. A server that has lost them is found out by who reads it.
      guard await tail.through < present.latest else { return false }
      do throws(StatusError) {
        try await tail.advance(to: present.latest, of: self)
        return true
      } catch {
        // The next poll tries again, and its streams end when the database stays out of reach.
        return false
      }
    }

    /// Has the listeners read the database again, which fails while its present cannot be read.
    func wakeListeners() async { await tail.wakeListeners() }

    private static let present = PostgresStatement(
      "present",
      """
      SELECT number, (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1),
        log_start, \(ClusterBasis.incarnation(withVersion: "$2")), clock_timestamp()
      FROM hearth_databases d WHERE number = $1
      """, [.int8, .int8])

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
      guard version >= present.logStart else { throw StatusError.readTimeTooOld(start: present.logStart) }
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
    /// A listener that has seen a later version of a history that is lost needs a version above it, because it leaves earlier snapshots alone. Its
    /// token does not become good by that: no commit has its version, see ``ClusterSnapshot/isInHistory(_:)``.
    func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) {
      let published = await tail.through
      var present = try await present()
      if present.latest < published {
        // The log was read by a session of a history that is lost. All versions are raised above what is noted.
        engine.history.note(published, of: present.known.number, in: present.known.incarnation)
        present = try await self.present()
      }
      if let seen, seen > present.latest, seen.timestamp <= present.time, mayAnnounce() {
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
