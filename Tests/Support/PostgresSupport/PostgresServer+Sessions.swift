#if PostgreSQL
  package import HearthPostgres
  internal import Foundation

  extension PostgresServer {
    /// A pool of sessions of a new, empty database of the server that the tests share.
    package static func sharedPool(
      size: Int = 2, settings: PostgresSessionSettings = PostgresSessionSettings()
    ) async throws -> PostgresPool {
      let url = try await shared().createDatabase()
      return PostgresPool(try PostgresConfiguration(url: url), label: "tests", size: size, settings: settings)
    }
  }

  /// Runs `body` with a session of its own of this database, on a thread of its own.
  package func withPostgresSession<Result: Sendable>(
    _ url: String, settings: PostgresSessionSettings = PostgresSessionSettings(),
    onNotice: (@Sendable (PostgresNotice) -> Void)? = nil,
    _ body: @escaping @Sendable (PostgresSession) throws -> Result
  ) async throws -> Result {
    let configuration = try PostgresConfiguration(url: url)
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Swift.Result {
            let session = try PostgresSession.open(
              configuration, settings: settings, deadline: .now + .seconds(30), onNotice: onNotice)
            return try body(session)
          })
      }
    }
  }
#endif
