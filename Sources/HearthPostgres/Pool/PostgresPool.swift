#if PostgreSQL
  /// So many sessions of one server, opened when they are needed.
  ///
  /// A session in use has a thread of its own, which blocks while the server works, so the threads of Swift's tasks never do. Callers get
  /// sessions in the order of their calls. A lost session is replaced at its next use. When no session can be opened, callers fail at once
  /// with the reason, and the next attempt waits for a pause that grows from ``shortestPause`` to ``longestPause``.
  package final class PostgresPool: Sendable {
    package static let shortestPause: Duration = .milliseconds(50)
    package static let longestPause: Duration = .seconds(2)

    /// - Parameters:
    ///   - label: The name of the threads, and `application_name` at the server.
    ///   - size: The largest number of sessions.
    ///   - onOpen: Called with each new session before its first use, on its thread. If it throws, the session is closed, and the callers fail
    ///     with the error. For instance it compares ``PostgresSession/facts(deadline:)`` with what the database should be.
    package init(
      _ configuration: PostgresConfiguration, label: String, size: Int,
      settings: PostgresSessionSettings = PostgresSessionSettings(),
      onOpen: (@Sendable (PostgresSession) throws -> Void)? = nil,
      onNotice: (@Sendable (PostgresNotice) -> Void)? = nil
    ) {}

    /// Runs `body` with a session of its own, on the thread of the session. A transaction that `body` leaves open is rolled back.
    ///
    /// If the task is cancelled while it waits for a session, it fails at once. If `body` runs, the server is asked to cancel the statement, and
    /// later calls of the session throw `cancelled`.
    ///
    /// - Parameter deadline: The end of the wait for a session, and the one of the session's calls that name no other.
    /// - Throws: The errors of `body`; `connection` or `configuration` if no session can be opened, or the error of `onOpen`; `deadline`,
    ///   `cancelled`, `closed`.
    package func withSession<Result: Sendable>(
      deadline: ContinuousClock.Instant, _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws -> Result {
      throw PostgresError(.closed, "not built yet")
    }

    /// The sessions and callers now, for metrics.
    package var use: Use { Use(open: 0, busy: 0, waiting: 0) }

    package struct Use: Sendable, Equatable {
      package var open: Int
      package var busy: Int
      package var waiting: Int
    }

    /// Lets the calls that run finish, fails those that wait and all later ones with `closed`, and closes the sessions.
    package func close() async {}
  }
#endif
