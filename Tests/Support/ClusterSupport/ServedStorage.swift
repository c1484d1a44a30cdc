package import HearthServer
internal import Logging

#if PostgreSQL
  internal import PostgresSupport
#endif

/// The storages over which servers are tested with clients of every kind.
package enum ServedStorage: String, Sendable {
  /// One server with databases of its own.
  case embedded
  /// Several servers over one PostgreSQL database. Connections go to them in turn.
  case cluster

  /// The storages that can be had here.
  package static var available: [ServedStorage] {
    #if PostgreSQL
      if PostgresServer.isAvailable { return [.embedded, .cluster] }
    #endif
    return [.embedded]
  }

  /// Why there is no PostgreSQL server here.
  package static var reason: String {
    #if PostgreSQL
      return PostgresServer.skipReason
    #else
      return "the tests were built without the trait PostgreSQL (apt install libpq-dev postgresql)"
    #endif
  }

  /// Runs `body` against a port of 127.0.0.1 that servers of their own share, which end afterwards.
  ///
  /// - Parameters:
  ///   - nodes: The number of servers of a cluster.
  ///   - location: The databases of a single server.
  package func withServers<Result: Sendable>(
    nodes: Int = 2, location: StorageLocation = .memory,
    _ configure: @Sendable (inout EmbeddedServer.Configuration) -> Void = { _ in },
    _ body: (_ port: Int) async throws -> Result
  ) async throws -> Result {
    #if PostgreSQL
      if self == .cluster {
        return try await ServedCluster.with(nodes: nodes, configure) { try await body($0.port) }
      }
    #endif
    let server = try await EmbeddedServer.start(storage: location, logger: quiet, configure: configure)
    do {
      let result = try await body(server.port)
      await server.shutdown()
      return result
    } catch {
      await server.shutdown()
      throw error
    }
  }
}

/// Logs nothing.
let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
