#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import Logging
  internal import Synchronization

  /// The PostgreSQL server of a cluster as one node uses it: its sessions, and what all databases of the node share.
  final class ClusterEngine: Sendable {
    /// Settings for tests only.
    struct Hooks: Sendable {
      /// Called on the thread of a session that holds an order row, between the two round trips of a group of commits.
      var betweenRoundTrips: (@Sendable () -> Void)?
      /// False to hear of the commits of other nodes by polling alone.
      var sendsHints = true
    }

    let location: ClusterLocation
    let hooks: Hooks
    let clock: ClusterClock
    /// The failures of calls; its logger is for other lines.
    private let failures: FailureLog
    /// The sessions for commits. A group of commits waits for nothing else of the node while it has one.
    let commits: PostgresPool
    let reads: PostgresPool
    /// The session that looks for commits of other nodes, and whether the server is there. Nothing else keeps it waiting.
    let polls: PostgresPool
    /// The sessions that write what a crash of the server may take: hints, and what transactions have read.
    let relaxed: PostgresPool
    /// Names this start of the node in `hearth_commits`.
    let node = Int64.random(in: 1 ... .max)
    let history: ClusterHistory
    /// Tells the other nodes of commits.
    let hints: HintSender
    /// False while the server is out of reach.
    let availability = Availability()
    /// Nil if the program has no metrics backend.
    let metrics: ClusterMetrics?
    private let marks = Atomic<Int64>(0)
    private let arrivals = Atomic<Int64>(0)

    /// The longest time of a read or of a group of commits.
    static let callTime = Duration.seconds(10)

    /// - Throws: `configuration` for a URL that cannot be used.
    init(
      _ location: ClusterLocation, clock: ServerClock, hooks: Hooks = Hooks(), metrics: ClusterMetrics? = nil,
      logger: Logger
    ) throws(PostgresError) {
      let configuration = try PostgresConfiguration(url: location.url)
      self.location = location
      self.hooks = hooks
      self.metrics = metrics
      self.clock = ClusterClock(clock)
      var logger = logger
      logger[metadataKey: "node"] = .escaped(location.nodeName)
      failures = FailureLog(logger)
      let history = ClusterHistory(node: node, location: location, clock: self.clock, logger: logger)
      self.history = history
      func pool(
        _ name: String, _ size: Int, share: Int? = nil, _ settings: PostgresSessionSettings = .init()
      ) -> PostgresPool {
        PostgresPool(
          configuration, label: "hearth \(name)", size: size, share: share, settings: settings,
          onOpen: { try history.check($0) }, isCurrent: { history.isCurrent($0) })
      }
      commits = pool("commits", location.commitSessions)
      reads = pool("reads", location.readSessions, share: Self.share(of: location.readSessions))
      polls = pool("polls", 1)
      var settings = PostgresSessionSettings()
      settings.others["synchronous_commit"] = "off"
      let relaxedSessions = max(3, location.readSessions / 4 + 1)
      relaxed = pool("transactions", relaxedSessions, share: Self.share(of: relaxedSessions), settings)
      hints = HintSender(relaxed, node: node, isOn: hooks.sendsHints)
    }

    /// The sessions that the reads of one sender have at most at a time. A scan of a large collection keeps its session for as long as it takes;
    /// the others' are left for those who do not scan.
    private static func share(of sessions: Int) -> Int { max(1, sessions - max(1, sessions / 4)) }

    func close() async {
      await commits.close()
      await reads.close()
      await polls.close()
      await relaxed.close()
    }

    /// The sessions now.
    var sessionUse: [ClusterMetrics.SessionUse] {
      let pools: [(ClusterMetrics.SessionPool, PostgresPool)] = [
        (.commits, commits), (.reads, reads), (.transactions, relaxed), (.polls, polls),
      ]
      return pools.map { name, pool in
        let use = pool.use
        return ClusterMetrics.SessionUse(pool: name, open: use.open, busy: use.busy, waiting: use.waiting)
      }
    }

    /// A new mark of a transaction of this node.
    func mark() -> CommitMark {
      CommitMark(node: node, number: marks.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// The next number of a ``Seniority``: it rises on this node, and no other node has it.
    func seniorityNumber() -> Int64 {
      arrivals.wrappingAdd(1, ordering: .relaxed).newValue << Self.nodeBits | node & (1 << Self.nodeBits - 1)
    }

    private static let nodeBits = 24

    /// The time at which a file is read: that of the server, or that of the node while the server is out of reach.
    func readTime() async -> Int64 {
      let time = try? await repeating(on: reads) { [clock] session in try clock.leaseTime(on: session) }
      return time ?? clock.node.now().microseconds
    }

    static var deadline: ContinuousClock.Instant { .now + callTime }

    // MARK: - Reads

    /// The sessions that the server may have ended since their last use, one after the other, before a read fails.
    private static let maximumRepetitions = 3

    /// Runs `body` on a session for reads, again if the session was lost.
    func reading<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws -> Result {
      try await repeating(on: reads, body)
    }

    /// Runs `body`, which may take effect twice, again if the session was lost. The calls of different senders take turns, see ``CallSender``.
    func repeating<Result: Sendable>(
      on pool: PostgresPool, deadline: ContinuousClock.Instant = ClusterEngine.deadline,
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws -> Result {
      for _ in 0..<Self.maximumRepetitions {
        do {
          return try await pool.withSession(deadline: deadline, sender: CallSender.current, body)
        } catch let error as PostgresError {
          guard error.mayBeRepeated else { throw error }
        }
      }
      return try await pool.withSession(deadline: deadline, sender: CallSender.current, body)
    }

    var logger: Logger { failures.logger }

    /// The status for a client, whose reason is logged if it is one that the operator must know.
    func status(of error: any Error, in database: DatabaseID) -> StatusError {
      let status = StatusError(postgres: error)
      let isExpected =
        error is StatusError ? status.code != .dataLoss && status.code != .internal : status.code == .cancelled
      if !isExpected {
        // While the server is out of reach, which is logged once, each call fails.
        let isAvailable = availability.isAvailable
        if isAvailable { metrics?.storageFailed() }
        failures.log(
          level: isAvailable ? .error : .debug, "storage failed",
          ["database": .escaped(database), "error": .escaped("\(error)")])
      }
      return status
    }
  }
#endif
