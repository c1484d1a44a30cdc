#if PostgreSQL
  import Foundation
  import HearthModel
  import HearthPostgres
  import Logging
  import PostgresSupport
  import Synchronization
  import Testing

  @testable import HearthServer

  /// A cluster over a PostgreSQL database of its own, with any number of nodes.
  struct ClusterFixture: Sendable {
    let server: PostgresServer
    let location: ClusterLocation
    let clock: ServerClock
    private let engines = Engines()

    /// Ends the nodes with the fixture.
    private final class Engines: Sendable {
      let all = Mutex<[ClusterEngine]>([])
      let followers = Mutex<[ClusterFollower]>([])
    }

    /// - Parameters:
    ///   - server: The shared one if nil.
    ///   - clock: The clock of this machine by default.
    ///   - isDurable: True if commits must survive a crash of the server.
    static func make(
      on server: PostgresServer? = nil, clock: ServerClock = .system, isDurable: Bool = false
    ) async throws -> ClusterFixture {
      let server = if let server { server } else { try await PostgresServer.shared() }
      var location = ClusterLocation(url: try await server.createDatabase())
      // The servers of most tests are not durable.
      location.allowsUnsafeDurability = !isDurable
      location.commitSessions = 2
      location.readSessions = 3
      try await ClusterSetup(location, clock: ClusterClock(clock)).create()
      return ClusterFixture(server: server, location: location, clock: clock)
    }

    private init(server: PostgresServer, location: ClusterLocation, clock: ServerClock) {
      (self.server, self.location, self.clock) = (server, location, clock)
    }

    /// A node of the cluster.
    ///
    /// - Parameters:
    ///   - port: The port of a proxy, through which the node reaches the server.
    ///   - clock: Its own one; that of the cluster if nil.
    func node(
      _ name: String = "node", port: Int? = nil, polling: Duration = .milliseconds(20), clock: ServerClock? = nil,
      hooks: ClusterEngine.Hooks = .init(), logger: Logger = ServerFixture.quietLogger
    ) async throws -> ClusterNode {
      var location = location
      location.nodeName = name
      location.polling = polling
      if let port { location.url = location.url.replacing(":\(server.port)/", with: ":\(port)/") }
      let engine = try ClusterEngine(location, clock: clock ?? self.clock, hooks: hooks, logger: logger)
      engines.all.withLock { $0.append(engine) }
      return ClusterNode(engine: engine)
    }

    /// Ends a follower with the fixture.
    func follow(_ follower: ClusterFollower) { engines.followers.withLock { $0.append(follower) } }

    func close() async {
      for follower in engines.followers.withLock({ $0 }) { await follower.close() }
      for engine in engines.all.withLock({ $0 }) { await engine.close() }
    }

    /// Runs `body` with a cluster, and ends its nodes.
    static func withCluster<Result: Sendable>(
      on server: PostgresServer? = nil, clock: ManualClock? = nil, isDurable: Bool = false,
      _ body: (ClusterFixture) async throws -> Result
    ) async throws -> Result {
      let fixture = try await make(on: server, clock: clock?.clock ?? .system, isDurable: isDurable)
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
      await fixture.close()
      return try result.get()
    }

    /// Runs a statement in the database of the cluster.
    @discardableResult
    func execute(_ sql: String) async throws -> PostgresRows {
      let pool = PostgresPool(try PostgresConfiguration(url: location.url), label: "test", size: 1)
      let rows = try await pool.withSession(deadline: .now + .seconds(30)) { session in
        try session.run(PostgresStatement("test", sql).call())
      }
      await pool.close()
      return rows
    }
  }

  /// A node of a cluster, without a server.
  struct ClusterNode: Sendable {
    let engine: ClusterEngine

    func storage(
      _ id: DatabaseID = ServerFixture.database, limits: DatabaseLimits = DatabaseLimits()
    ) async throws -> ClusterStorage {
      try await ClusterStorage.open(id, in: engine, limits: limits)
    }

    func hosted(_ id: DatabaseID = ServerFixture.database) async throws -> HostedDatabase {
      let storage = try await storage(id)
      return HostedDatabase(
        id: id, storage: storage,
        transactions: ClusterTransactions(of: storage, limits: DatabaseLimits(), metrics: nil))
    }
  }

  extension ServerStorage {
    @discardableResult
    func commit(_ mutations: Mutation...) async throws -> SnapshotVersion {
      try await commit(CommitRequest(mutations: mutations)).version
    }

    @discardableResult
    func set(_ path: String, _ fields: MapValue = [:]) async throws -> SnapshotVersion {
      try await commit(.set(key(path), fields))
    }

    func document(_ path: String) async throws -> Document {
      try await documents(for: [key(path)], at: nil).documents[0]
    }

    /// The integer in field `n` of a document; nil if there is none.
    func number(_ path: String) async throws -> Int64? {
      guard case .integer(let number)? = try await document(path).fields.decoded()["n"] else { return nil }
      return number
    }
  }

  /// Repeats what is refused because the database is out of reach, as clients do.
  @discardableResult
  func retried<Result>(_ body: () async throws -> Result) async throws -> Result {
    let end = ContinuousClock.now + .seconds(30)
    while true {
      do {
        return try await body()
      } catch let error as StatusError {
        guard error.code == .unavailable, ContinuousClock.now < end else { throw error }
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Adds one to field `n`.
  func increment(_ path: String) -> Mutation {
    Mutation(
      key: key(path), operation: .patch(.empty, mask: .empty),
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
  }
#endif
