#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Logging
  internal import Synchronization

  /// The history of the PostgreSQL server: checks with each new session that it is still the one that the node knows.
  ///
  /// A promoted standby has another timeline, and a server that was restored from a backup another one or another identifier. A copy of the
  /// server's files, a snapshot of its machine and a dump keep both, but lack versions that nodes have seen. All of them may lack commits that
  /// clients know. Then every database gets a new incarnation, and a version above those that were given out: no version is given out a
  /// second time, and listeners start anew.
  ///
  /// The caches and sessions of a node belong to one history, see ``number``. The next one begins when a session finds
  ///
  /// - another server, also a restarted one, or another incarnation: when it is opened, or with what it reads (``ClusterBasis``),
  /// - that a version is not there any more that the node has seen before.
  final class ClusterHistory: Sendable {
    private struct State {
      /// The server of the latest session.
      var known: Known?
      /// See ``ClusterHistory/number``.
      var number = 0
      var secret: [UInt8] = []
      /// The latest versions that this node has seen in the known history, by the numbers of their databases.
      var seen: [Int64: Int64] = [:]
      /// A difference of clocks was reported.
      var hasWarned = false
    }

    private struct Server: Equatable {
      var systemID: Int64
      var timeline: Int64

      /// True for a server that another one has taken over from.
      func isFormer(to later: Server) -> Bool { systemID == later.systemID && timeline < later.timeline }
    }

    private struct Known: Equatable {
      var server: Server
      /// The incarnation of all databases. Two standbys that were promoted to the same timeline differ in it.
      var incarnation: [UInt8]
      /// When the server was started, in microseconds since 1970.
      var start: Int64
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

    /// Grows when the server's history changes, or may have. What a node has kept in memory, and the sessions that were opened before, may be of
    /// the former one.
    var number: Int { state.withLock { $0.number } }

    /// Signs the ids of transactions. Empty until the first session is open.
    var secret: [UInt8] { state.withLock { $0.secret } }

    /// Takes note of a version of a database, unless its history has ended.
    func note(_ version: SnapshotVersion, of database: Int64, in incarnation: [UInt8]) {
      state.withLock { state in
        guard state.known?.incarnation == incarnation else { return }
        state.seen[database] = max(state.seen[database] ?? 0, version.microseconds)
      }
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
      try checkClock(facts)
      guard let timeline = facts.timeline else {
        throw PostgresError(.configuration, "The server is a standby and takes no writes.")
      }
      let server = Server(systemID: facts.systemIdentifier, timeline: timeline)
      session.generation = try settle(server, facts, on: session)
    }

    /// False for a session that was opened in a former history.
    func isCurrent(_ session: PostgresSession) -> Bool { session.generation == number }

    /// A session has found what cannot be in the history that the node knows. All sessions are opened, and compared, again.
    func doubt(_ session: PostgresSession) {
      state.withLock { state in
        // Of several sessions that find it out, the first one begins.
        if session.generation == state.number { state.number += 1 }
      }
      session.discard()
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

    /// Two nodes may find the same out, and each of them more than the other.
    private static let maximumRounds = 4

    /// Compares the server with the one that the cluster's tables name, and with the versions that this node has seen. Begins a new history if
    /// it is another one.
    ///
    /// - Returns: The number of the history.
    private func settle(_ server: Server, _ facts: PostgresServerFacts, on session: PostgresSession) throws -> Int {
      for _ in 0..<Self.maximumRounds {
        let (seen, former) = state.withLock { ($0.seen, $0.known?.incarnation) }
        let results = try session.run([Self.read.call(), Self.lost(seen)])
        guard let row = results[0].first else {
          throw PostgresError(.configuration, "Table hearth_cluster has no row: the schema is not complete.")
        }
        let stored = Server(systemID: try row.int64(0), timeline: try row.int64(1))
        guard !server.isFormer(to: stored) else { throw Self.former(server, to: stored) }
        let known = Known(server: server, incarnation: try row.bytes(3), start: facts.startMicroseconds)
        // In a history that another node has begun there are others, all above those that were given out.
        let isFormer = former == nil || former == known.incarnation
        let lost = try results[1].first.flatMap { try isFormer || $0.bool(1) ? $0.int64(0) : nil }
        if stored == server, lost == nil { return try note(known, secret: row.bytes(2)) }
        try begin(known, after: stored, having: lost, at: clock.latest(server: facts.time), on: session)
      }
      throw PostgresError(.connection, "The history of the server changes again and again.")
    }

    private func note(_ present: Known, secret: [UInt8]) throws -> Int {
      try state.withLock { state in
        if let known = state.known {
          guard !present.server.isFormer(to: known.server) else { throw Self.former(present.server, to: known.server) }
          if known != present { state.number += 1 }
          if known.incarnation != present.incarnation { state.seen = [:] }
        }
        state.known = present
        state.secret = secret
        return state.number
      }
    }

    private static func former(_ server: Server, to later: Server) -> PostgresError {
      PostgresError(
        .configuration,
        "The server is on timeline \(server.timeline), but timeline \(later.timeline) was used before: it is a former primary."
      )
    }

    /// Stores that the server has another history. Of several nodes that find it out, one does it.
    ///
    /// - Parameters:
    ///   - known: The server as it was read.
    ///   - lost: The latest version that this node has seen and the server lacks; nil if it lacks none of them.
    ///   - time: The later one of the two clocks. Versions are given out by the earlier one, so those of other nodes are not above it.
    private func begin(
      _ known: Known, after stored: Server, having lost: Int64?, at time: Timestamp, on session: PostgresSession
    ) throws {
      let present = try session.run([.begin, Self.lock.call(), Self.incarnation.call()])
      let row = try present[1].only()
      guard try Server(systemID: row.int64(0), timeline: row.int64(1)) == stored,
        try present[2].only().bytes(0) == known.incarnation
      else {
        _ = try session.run(.rollback)
        return
      }
      var calls = [Self.update.call(.int8(known.server.systemID), .int8(known.server.timeline))]
      // A server with another identity is no standby of the former one. Operators set the timeline to 0 after they have restored a dump.
      let isFailover = stored.systemID == known.server.systemID && stored.timeline > 0
      let isNew = lost != nil || !location.keepsCommitsAtFailover || !isFailover
      if isNew {
        let latest = max(time.microseconds, state.withLock { $0.seen.values.max() ?? 0 })
        calls += [
          Self.renew.call(.bytea(Self.drawIncarnation()), .int8(latest)), Self.raise.call(.int8(latest), .int8(node)),
          TransactionEra.end,
        ]
      }
      // The session may be one whose commits are not durable.
      _ = try session.run(calls + [ClusterOrder.setDurable, .commit])
      logger.warning(
        "the PostgreSQL server has another history than before",
        metadata: [
          "timeline": "\(stored.timeline) -> \(known.server.timeline)", "listeners": isNew ? "start anew" : "go on",
          "lost-version": "\(lost.map { "\($0)" } ?? "none")",
        ])
    }

    static func drawIncarnation() -> [UInt8] { (0..<8).map { _ in UInt8.random(in: .min ... .max) } }

    private static let read = PostgresStatement(
      "read cluster",
      """
      SELECT system_id, timeline, secret, (SELECT incarnation FROM hearth_databases WHERE number = 0)
      FROM hearth_cluster WHERE id = 1
      """)
    private static let lock = PostgresStatement(
      "lock cluster", "SELECT system_id, timeline FROM hearth_cluster WHERE id = 1 FOR UPDATE")
    /// After the lock: columns of the statement that waits for it may be computed before.
    private static let incarnation = PostgresStatement(
      "incarnation", "SELECT incarnation FROM hearth_databases WHERE number = 0")
    private static let update = PostgresStatement(
      "update cluster", "UPDATE hearth_cluster SET system_id = $1, timeline = $2 WHERE id = 1", [.int8, .int8])
    /// Definitions of indexes that nodes keep in memory must not pass for those of the new history: their numbers jump.
    private static let renew = PostgresStatement(
      "renew incarnations",
      """
      UPDATE hearth_databases SET incarnation = $1, index_generation = greatest(index_generation, $2) + 1,
        index_state = greatest(index_state, $2) + 1
      """, [.bytea, .int8])
    /// Makes a version the newest one of each database that is later than $1. Numbers that are no versions do not count: a damaged row of one
    /// database keeps no node from the others.
    private static let raise = PostgresStatement(
      "raise versions",
      """
      INSERT INTO hearth_commits (database, version, node, mark, bytes)
      SELECT d.number, greatest($1, (
        SELECT c.version FROM hearth_commits c
        WHERE c.database = d.number AND c.version < \(SnapshotVersion.latestOfCluster.microseconds)
        ORDER BY c.version DESC LIMIT 1)
      ) + 1, $2, 0, 0 FROM hearth_databases d
      """, [.int8, .int8])

    private static func lost(_ seen: [Int64: Int64]) -> PostgresCall {
      lost.call(.int8Array(Array(seen.keys)), .int8Array(Array(seen.values)))
    }

    /// A version of some databases that they lack, and true if all their versions are below it.
    ///
    /// The log keeps all versions behind its start. A database that does not exist, or not any more, begins above the empty one.
    private static let lost = PostgresStatement(
      "lost version",
      """
      SELECT version, is_above FROM (
        SELECT k.number, k.version, k.version > coalesce(
          (SELECT c.version FROM hearth_commits c WHERE c.database = k.number ORDER BY c.version DESC LIMIT 1),
          (SELECT c.version FROM hearth_commits c WHERE c.database = 0 ORDER BY c.version DESC LIMIT 1), 0) AS is_above
        FROM unnest($1, $2) AS k (number, version)) k
      WHERE is_above OR version > (SELECT d.log_start FROM hearth_databases d WHERE d.number = k.number)
        AND (
          SELECT c.version FROM hearth_commits c WHERE c.database = k.number AND c.version = k.version LIMIT 1) IS NULL
      ORDER BY is_above DESC, version DESC LIMIT 1
      """, [.int8Array, .int8Array])
  }
#endif
