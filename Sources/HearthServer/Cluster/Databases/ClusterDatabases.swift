#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthStore
  internal import Logging
  internal import Synchronization

  /// The databases of a node in a cluster. A database takes some memory while it is open, and nothing is lost when it is closed.
  ///
  /// ``OpenDatabases`` has them, and the calls that wait.
  final class ClusterDatabases: Databases, DatabaseOpener {
    let limits: DatabaseLimits
    let engine: ClusterEngine
    private let sortBudget: SortBudget
    /// Nil if queries may be without indexes.
    private let indexRules: RequiredIndexes?
    private let metrics: ServerMetrics?
    /// Nil if the server was not given any.
    private let indexFile = Mutex<ClusterIndexFile?>(nil)
    private let databases: OpenDatabases
    private let follower: ClusterFollower
    private let known: KnownStorages

    /// The storages of the open databases, for the follower.
    private final class KnownStorages: Sendable {
      let all = Mutex<[DatabaseID: ClusterStorage]>([:])
    }

    /// A database without calls and listeners is closed after this time, in microseconds; and where another one finds no room.
    private static let idleMicroseconds: Int64 = 300_000_000
    private static let pauseMicroseconds: Int64 = 10_000_000

    /// Connects to the PostgreSQL server.
    ///
    /// - Throws: `ServerError` when it cannot be reached or used, or has not the tables of this release.
    static func open(
      _ location: ClusterLocation, limits: DatabaseLimits, clock: ServerClock, hooks: ClusterEngine.Hooks = .init(),
      metrics: ServerMetrics?, logger: Logger
    ) async throws(ServerError) -> ClusterDatabases {
      try await ClusterSetup(location).checkSchema()
      do {
        let engine = try ClusterEngine(
          location, clock: clock.steady(logger: logger), hooks: hooks,
          metrics: metrics.map { ClusterMetrics($0.factory) },
          logger: logger)
        let databases = ClusterDatabases(engine, limits: limits, metrics: metrics)
        do {
          // The first session checks the server, and reads what transactions are signed with.
          try await engine.reads.withSession(deadline: ClusterEngine.deadline) { _ in }
          try databases.follower.begin()
        } catch {
          await databases.close()
          throw error
        }
        return databases
      } catch {
        throw ServerError(storage: error)
      }
    }

    private init(_ engine: ClusterEngine, limits: DatabaseLimits, metrics: ServerMetrics?) {
      self.engine = engine
      self.limits = limits
      self.metrics = metrics
      sortBudget = SortBudget(maximumBytes: limits.sortBytes)
      indexRules = limits.requiresIndexes ? RequiredIndexes() : nil
      databases = OpenDatabases(
        limit: limits.databases, clock: engine.clock.node, metrics: metrics, logger: engine.logger)
      let known = KnownStorages()
      self.known = known
      follower = ClusterFollower(engine) { known.all.withLock { Array($0.values) } }
    }

    var availability: Availability? { engine.availability }
    var secret: [UInt8]? { engine.history.secret }

    // MARK: - Opening

    func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
      try await databases.database(id, by: self)
    }

    func beginOpening(_ id: DatabaseID) {
      Task { await open(id) }
    }

    private func open(_ id: DatabaseID) async {
      do throws(StatusError) {
        try databases.require(databases.table { $0.admit(id, .stored) }, by: self)
        let storage = try await ClusterStorage.open(
          id, in: engine, limits: limits, sortBudget: sortBudget, metrics: metrics)
        let database = HostedDatabase(
          id: id, storage: storage, transactions: ClusterTransactions(of: storage, limits: limits, metrics: metrics),
          limits: limits, indexRules: indexRules, metrics: metrics)
        known.all.withLock { $0[id] = storage }
        let time = engine.clock.node.elapsedMicroseconds
        databases.change(by: self) { $0.opened(id, database, at: time) }
        if let file = indexFile.withLock({ $0 }) { await storage.declare(file) }
      } catch {
        databases.change(by: self) { $0.failed(id, error) }
      }
    }

    // MARK: - Names and indexes

    func names() async throws(StatusError) -> [DatabaseID] {
      do {
        return try await engine.reading { session in
          let names = Self.allNames.call(.int8(ClusterSchema.emptyDatabase), .int2(ClusterTask.check.rawValue))
          return try session.run(names).map { row in
            DatabaseID(
              projectID: String(decoding: try row.bytes(0), as: UTF8.self),
              database: String(decoding: try row.bytes(1), as: UTF8.self))
          }
        }.sorted()
      } catch {
        throw StatusError(postgres: error)
      }
    }

    private static let allNames = PostgresStatement(
      "names of databases",
      """
      SELECT project, name FROM hearth_databases d WHERE number > $1
        AND NOT EXISTS (SELECT 1 FROM hearth_tasks t WHERE t.database = d.number AND t.kind = $2)
      """, [.int8, .int2])

    func declare(_ contents: IndexFile.Contents) async {
      indexRules?.declare(contents.declared)
      let file = ClusterIndexFile(definitions: contents.definitions, readTime: await engine.readTime())
      indexFile.withLock { $0 = file }
      for storage in known.all.withLock({ Array($0.values) }) { await storage.declare(file) }
    }

    // MARK: - Use and end

    func use() -> DatabasesUse {
      let (count, databases) = databases.present
      return DatabasesUse(count: count, sortBytes: sortBudget.usedBytes, databases: databases.map { $0.use() })
    }

    func report() {
      engine.metrics?.sampled(isAvailable: engine.availability.isAvailable, engine.sessionUse)
    }

    func tend() async {
      await closeUnused(for: Self.idleMicroseconds)
      for database in databases.present.all { await database.storage.trimHistory() }
    }

    func beginMakingRoom() {
      Task { await closeUnused(for: Self.pauseMicroseconds) }
    }

    private func closeUnused(for microseconds: Int64) async {
      let time = engine.clock.node.elapsedMicroseconds - microseconds
      for id in databases.table({ $0.unused(since: time) }) {
        guard let database = databases.table({ $0.beginClosing(id, unusedSince: time) }) else { continue }
        await close(database)
      }
    }

    func close(_ database: HostedDatabase) async {
      known.all.withLock { $0[database.id] = nil }
      await database.storage.close()
      databases.change(by: self) { $0.closed(database.id) }
    }

    func close() async {
      await follower.close()
      await databases.close(by: self)
      await engine.close()
    }
  }
#endif
