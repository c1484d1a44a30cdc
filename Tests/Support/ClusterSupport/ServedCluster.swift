#if PostgreSQL
  package import HearthServer
  package import PostgresSupport

  /// Servers over one PostgreSQL database, and a port in front of them.
  package struct ServedCluster: Sendable {
    package let nodes: [EmbeddedServer]
    private let balancer: FaultyProxy

    /// The port that gives each connection to the next node.
    package var port: Int { balancer.port }

    /// Runs `body` with nodes of their own, which end afterwards.
    ///
    /// - Parameters:
    ///   - count: The number of nodes.
    ///   - engine: The PostgreSQL server; the shared one if nil.
    package static func with<Result: Sendable>(
      nodes count: Int, on engine: PostgresServer? = nil,
      _ configure: @Sendable (inout EmbeddedServer.Configuration) -> Void = { _ in },
      _ body: (ServedCluster) async throws -> Result
    ) async throws -> Result {
      let engine = if let engine { engine } else { try await PostgresServer.shared() }
      var location = ClusterLocation(url: try await engine.createDatabase())
      // The servers of tests are not durable.
      location.allowsUnsafeDurability = true
      try await ClusterSetup(location).create()
      var nodes: [EmbeddedServer] = []
      func end() async {
        for node in nodes { await node.shutdown() }
      }
      do {
        for number in 1...count {
          location.nodeName = "node\(number)"
          nodes.append(
            try await EmbeddedServer.start(storage: .cluster(location), logger: quiet) {
              // As in memory.
              $0.permissions.insert(.clearing)
              configure(&$0)
            })
        }
        let balancer = try FaultyProxy(toEachOf: nodes.map(\.port))
        defer { balancer.close() }
        let result = try await body(ServedCluster(nodes: nodes, balancer: balancer))
        await end()
        return result
      } catch {
        await end()
        throw error
      }
    }
  }
#endif
