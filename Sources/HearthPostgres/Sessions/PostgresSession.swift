#if PostgreSQL
  /// A session of a PostgreSQL server. It belongs to one thread at a time, and blocks it while it waits for the server.
  ///
  /// All calls go through libpq's pipeline mode: those of one ``run(_:deadline:)`` are sent together, and answered together, in one round trip.
  /// A failed call skips the rest of its pipeline. So `run([.begin, …, .commit])` commits everything or nothing, and a transaction may also
  /// go on over several runs.
  ///
  /// *After an error no transaction is open*: the session rolls back what is left of it before it throws, or it is given up
  /// (``isUsable``). A pipeline without BEGIN, outside of a transaction, is a transaction of its own.
  package final class PostgresSession {
    /// The statements that a session keeps prepared.
    package static let preparedStatementLimit = 500

    init() {}

    /// Opens a session, with the first of the hosts that is reachable and does what the configuration demands.
    ///
    /// - Parameters:
    ///   - deadline: The end of the whole attempt. Names are resolved by the system, which may take longer.
    ///   - onNotice: Called on the thread of the session for each notice and warning of the server.
    /// - Throws: `connection` or `configuration`; the message has a sentence for each address.
    package static func open(
      _ configuration: PostgresConfiguration, settings: PostgresSessionSettings = PostgresSessionSettings(),
      deadline: ContinuousClock.Instant, onNotice: (@Sendable (PostgresNotice) -> Void)? = nil
    ) throws(PostgresError) -> PostgresSession {
      throw PostgresError(.connection, "not built yet")
    }

    /// Sends calls as one pipeline and waits for their results.
    ///
    /// When the deadline has passed, or the task of ``PostgresPool/withSession(deadline:_:)`` is cancelled, the server is asked to cancel. If
    /// it answers nothing within ``cancellationGrace``, the session is given up. So this returns at the deadline plus that time at the latest.
    ///
    /// - Parameters:
    ///   - calls: In their order. BEGIN and COMMIT are calls as all others (``PostgresCall/begin``, ``PostgresCall/commit``).
    ///   - deadline: The present one of the session if nil: that of ``PostgresPool/withSession(deadline:_:)``.
    /// - Returns: The result of each call.
    /// - Throws: `statement` for the first call that the server refuses, with its index; `deadline`, `cancelled`, `connection`;
    ///   `outcomeUnknown` if the calls had ``PostgresCall/commit`` and it is not known whether that has taken effect.
    package func run(
      _ calls: [PostgresCall], deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> [PostgresRows] {
      throw PostgresError(.connection, "not built yet")
    }

    /// Runs one call.
    package func run(
      _ call: PostgresCall, deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> PostgresRows {
      try run([call], deadline: deadline)[0]
    }

    /// The time that the server gets to end a statement after it was asked to.
    package static let cancellationGrace: Duration = .seconds(1)

    /// The deadline of calls that name none.
    package var deadline: ContinuousClock.Instant { .now }

    /// True while the server has an open transaction of this session.
    package var isInTransaction: Bool { false }

    /// False when the connection is lost or given up. All later calls fail at once, and the pool replaces the session.
    package var isUsable: Bool { false }

    /// Gives up the session: the pool opens another one at the next use. For a caller that finds the server wrong, for instance not the primary.
    package func discard() {}

    /// What this session's server is now.
    package func facts(deadline: ContinuousClock.Instant? = nil) throws(PostgresError) -> PostgresServerFacts {
      throw PostgresError(.connection, "not built yet")
    }
  }

  /// A notice or warning that the server has sent beside the results.
  package struct PostgresNotice: Sendable, Equatable {
    /// WARNING, NOTICE, INFO, …, always in English.
    package var severity: String
    package var sqlState: SQLState?
    package var message: String
    package var detail: String?
    /// True for the warning that a commit has not waited for its synchronous standby. ``PostgresSession/run(_:deadline:)`` throws
    /// `outcomeUnknown` then.
    package var isUnreplicatedCommit: Bool
  }

  /// What a server is at a moment.
  package struct PostgresServerFacts: Sendable, Equatable {
    /// For instance 150018 for 15.18.
    package var version: Int
    /// Differs between two servers that were initialized apart, also after one has got the other's data as text. Standbys have that of their primary.
    package var systemIdentifier: Int64
    /// Rises with each promotion of a standby. Nil on a server in recovery. Taken from the name of the present WAL file: the one of
    /// `pg_control_checkpoint()` comes later.
    package var timeline: Int64?
    package var isInRecovery: Bool
    /// True if transactions are read-only unless they say otherwise.
    package var isReadOnly: Bool
    /// `fsync`, `full_page_writes` and `synchronous_commit` of the session, as the server writes them.
    package var fsync: String
    package var fullPageWrites: String
    package var synchronousCommit: String
    package var synchronousStandbyNames: String
    /// The clock of the server, in microseconds since 1970.
    package var clockMicroseconds: Int64
    /// When the server was started, in microseconds since 1970.
    package var startMicroseconds: Int64
    package var maximumConnections: Int
  }
#endif
