#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Logging
  internal import Synchronization

  /// The history of the PostgreSQL server: checks with each new session that it is still the one that the node knows.
  ///
  /// A promoted standby has another timeline, and a server that was restored from a backup another one or another identifier. It may lack
  /// commits that clients know. Then every database gets a new incarnation, and a version above those that were given out: no version is
  /// given out a second time, and listeners start anew.
  final class ClusterHistory: Sendable {
    private struct State {
      /// The server of the latest session.
      var known: Server?
      /// Grows when the server's history changes.
      var number = 0
      /// When the latest session's server was started, in microseconds since 1970.
      var serverStart: Int64 = 0
      var secret: [UInt8] = []
      /// The latest versions that this node has seen, by the numbers of their databases.
      var seen: [Int64: Int64] = [:]
      /// A difference of clocks was reported.
      var hasWarned = false
    }

    private struct Server: Equatable {
      var systemID: Int64
      var timeline: Int64
    }

    private let node: Int64
    private let location: ClusterLocation
    private let clock: ClusterClock
    private let logger: Logger
    private let state = Mutex(State())

    /// The oldest server that is supported, as libpq numbers it.
    static let oldestServer = 140_000
    /// The differences of clocks in microseconds: one that is reported, and one at which a node does not serve.
    private static let clockDifference = (reported: Int64(1_000_000), refused: Int64(60_000_000))

    init(node: Int64, location: ClusterLocation, clock: ClusterClock, logger: Logger) {
      self.node = node
      self.location = location
      self.clock = clock
      self.logger = logger
    }

    /// Grows when the server's history changes. What a node has kept in memory may be of the former one.
    var number: Int { state.withLock { $0.number } }

    /// When the server was started, as far as the node knows.
    var serverStart: Int64 { state.withLock { $0.serverStart } }

    /// Signs the ids of transactions. Empty until the first session is open.
    var secret: [UInt8] { state.withLock { $0.secret } }

    /// Takes note of a version of a database.
    func note(_ version: SnapshotVersion, of database: Int64) {
      state.withLock { $0.seen[database] = max($0.seen[database] ?? 0, version.microseconds) }
    }

    /// The latest version that this node has seen of a database.
    func seen(of database: Int64) -> SnapshotVersion {
      SnapshotVersion(microseconds: state.withLock { $0.seen[database] ?? 0 })
    }

    // MARK: - Sessions

    /// Called with each new session, on its thread.
    ///
    /// - Throws: `configuration` for a server that must not be used; what reading it throws.
    func check(_ session: PostgresSession) throws {
      let facts = try session.facts()
      try checkSettings(facts)
      try checkCommits(facts)
      try checkClock(facts)
      guard let timeline = facts.timeline else {
        throw PostgresError(.configuration, "The server is a standby and takes no writes.")
      }
      let server = Server(systemID: facts.systemIdentifier, timeline: timeline)
      let isKnown = state.withLock { state in
        state.serverStart = facts.startMicroseconds
        return state.known == server
      }
      if !isKnown { try settle(server, at: clock.time(server: facts.time), on: session) }
    }

    private func checkSettings(_ facts: PostgresServerFacts) throws(PostgresError) {
      if facts.version < Self.oldestServer {
        throw PostgresError(
          .configuration, "The server is PostgreSQL \(facts.version / 10_000); 14 or a newer one is needed.")
      }
      if facts.isInRecovery || facts.isReadOnly {
        throw PostgresError(
          .configuration,
          "The server takes no writes: it is a standby, or default_transaction_read_only is on. Name the primary, or all hosts "
            + "with target_session_attrs=read-write.")
      }
      guard !location.allowsUnsafeDurability else { return }
      for (name, value) in [("fsync", facts.fsync), ("full_page_writes", facts.fullPageWrites)] where value != "on" {
        throw PostgresError(
          .configuration,
          "The server's \(name) is \(value): a crash may lose acknowledged commits or damage the database. Set it to on, or "
            + "say --unsafe-durability.")
      }
    }

    /// - Throws: `configuration` if commits are acknowledged before they are on the disk.
    private func checkCommits(_ facts: PostgresServerFacts) throws(PostgresError) {
      guard !location.allowsUnsafeDurability, facts.synchronousCommit == "off" else { return }
      throw PostgresError(
        .configuration,
        "The server's synchronous_commit is off: a crash may lose acknowledged commits. Set it to on, or say "
          + "--unsafe-durability.")
    }

    private func checkClock(_ facts: PostgresServerFacts) throws(PostgresError) {
      let difference = clock.difference(server: facts.time)
      if difference > Self.clockDifference.refused {
        throw PostgresError(
          .configuration,
          "The clocks of this machine and of the server differ by \(difference / 1_000_000) s: set them by a time server."
        )
      }
      guard difference > Self.clockDifference.reported else { return }
      let isNew = state.withLock { state in
        defer { state.hasWarned = true }
        return !state.hasWarned
      }
      guard isNew else { return }
      logger.warning(
        "the clocks of this machine and of the PostgreSQL server differ",
        metadata: ["milliseconds": "\(difference / 1000)"])
    }

    // MARK: - Another server

    /// Compares the server with the one that the cluster's tables name, and begins a new history if it is another one.
    private func settle(_ server: Server, at time: Timestamp, on session: PostgresSession) throws {
      guard let row = try session.run(Self.read.call()).first else {
        throw PostgresError(.configuration, "Table hearth_cluster has no row: the schema is not complete.")
      }
      let stored = Server(systemID: try row.int64(0), timeline: try row.int64(1))
      let secret = try row.bytes(2)
      if stored.systemID == server.systemID, stored.timeline > server.timeline {
        throw PostgresError(
          .configuration,
          "The server is on timeline \(server.timeline), but timeline \(stored.timeline) was used before: it is a former primary."
        )
      }
      if stored != server { try begin(server, after: stored, at: time, on: session) }
      state.withLock { state in
        if let known = state.known, known != server { state.number += 1 }
        state.known = server
        state.secret = secret
      }
    }

    /// Stores that the server is another one. Of several nodes that find it out, one does it.
    private func begin(_ server: Server, after stored: Server, at time: Timestamp, on session: PostgresSession) throws {
      let present = try session.run([.begin, Self.lock.call()])[1].only()
      guard try Server(systemID: present.int64(0), timeline: present.int64(1)) == stored else {
        _ = try session.run(.rollback)
        return
      }
      var calls = [Self.update.call(.int8(server.systemID), .int8(server.timeline))]
      // A server with another identity is no standby of the former one. Operators set the timeline to 0 after they have restored a dump.
      let keepsCommits =
        location.keepsCommitsAtFailover && stored.systemID == server.systemID && stored.timeline > 0
      if !keepsCommits {
        let seen = state.withLock { Array($0.seen) }
        calls += [
          Self.renew.call(.bytea(Self.drawIncarnation())),
          Self.raise.call(
            .int8(time.microseconds), .int8(node), .int8Array(seen.map(\.key)), .int8Array(seen.map(\.value))),
        ]
      }
      _ = try session.run(calls + [.commit])
      logger.warning(
        "the PostgreSQL server has another history than before",
        metadata: [
          "timeline": "\(stored.timeline) -> \(server.timeline)",
          "listeners": keepsCommits ? "go on" : "start anew",
        ])
    }

    static func drawIncarnation() -> [UInt8] { (0..<8).map { _ in UInt8.random(in: .min ... .max) } }

    private static let read = PostgresStatement(
      "read cluster", "SELECT system_id, timeline, secret FROM hearth_cluster WHERE id = 1")
    private static let lock = PostgresStatement(
      "lock cluster", "SELECT system_id, timeline FROM hearth_cluster WHERE id = 1 FOR UPDATE")
    private static let update = PostgresStatement(
      "update cluster", "UPDATE hearth_cluster SET system_id = $1, timeline = $2 WHERE id = 1", [.int8, .int8])
    private static let renew = PostgresStatement(
      "renew incarnations", "UPDATE hearth_databases SET incarnation = $1", [.bytea])
    /// Makes a version the newest one of each database that is later than those that this node has seen, and than those that others can have
    /// seen by their clocks.
    private static let raise = PostgresStatement(
      "raise versions",
      """
      INSERT INTO hearth_commits (database, version, node, mark, bytes)
      SELECT d.number, greatest(
        $1::bigint,
        (SELECT c.version FROM hearth_commits c WHERE c.database = d.number ORDER BY c.version DESC LIMIT 1),
        (SELECT max(s.version) FROM unnest($3::bigint[], $4::bigint[]) AS s (number, version) WHERE s.number = d.number)
      ) + 1, $2, 0, 0 FROM hearth_databases d
      """, [.int8, .int8, .int8Array, .int8Array])
  }
#endif
