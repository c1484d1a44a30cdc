#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthStore
  internal import Logging
  internal import Synchronization

  /// The databases of a node in a cluster. A database takes some memory while it is open, and nothing is lost when it is closed.
  ///
  /// ``DatabaseTable`` decides, and knows the calls that wait.
  final class ClusterDatabases: Databases {
    private typealias Waiter = CheckedContinuation<Result<HostedDatabase, StatusError>, Never>
    private typealias Table = DatabaseTable<HostedDatabase, Waiter>

    private struct State {
      var table: Table
      /// Nil if the server was not given any.
      var indexFile: ClusterIndexFile?
      /// When databases were closed last because another one found no room.
      var lastRoom = Int64.min
      /// They wait until all databases are closed.
      var ends: [CheckedContinuation<Void, Never>] = []
      var waiterCount = 0
    }

    let limits: DatabaseLimits
    let engine: ClusterEngine
    private let sortBudget: SortBudget
    /// Nil if queries may be without indexes.
    private let indexRules: RequiredIndexes?
    private let metrics: ServerMetrics?
    private let state: Mutex<State>
    private let follower: ClusterFollower
    private let known: KnownStorages

    /// The storages of the open databases, for the follower.
    private final class KnownStorages: Sendable {
      let all = Mutex<[DatabaseID: ClusterStorage]>([:])
    }

    /// A database without calls and listeners is closed after this time, in microseconds; and where another one finds no room.
    private static let idleMicroseconds: Int64 = 300_000_000
    private static let pauseMicroseconds: Int64 = 10_000_000
    /// The least time from making room to making room again.
    private static let roomMicroseconds: Int64 = 1_000_000

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
      state = Mutex(State(table: Table(limit: limits.databases)))
      let known = KnownStorages()
      self.known = known
      follower = ClusterFollower(engine) { known.all.withLock { Array($0.values) } }
    }

    var availability: Availability? { engine.availability }
    var secret: [UInt8]? { engine.history.secret }

    // MARK: - Opening

    func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
      let time = engine.clock.node.elapsedMicroseconds
      if let known = state.withLock({ $0.table.use(id, at: time) }) { return known }
      return try await awaitDatabase(id)
    }

    private func awaitDatabase(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
      let number = state.withLock { state in
        state.waiterCount += 1
        return state.waiterCount
      }
      let result = await withTaskCancellationHandler {
        await withCheckedContinuation { (waiter: Waiter) in
          let time = engine.clock.node.elapsedMicroseconds
          change { table in
            // Under the lock: a call that is cancelled later is found by `cancel`.
            guard !Task.isCancelled else { return [.resume([waiter], .failure(Self.cancelled))] }
            return table.ask(id, number, waiter, at: time)
          }
        }
      } onCancel: {
        state.withLock { $0.table.cancel(number, waitingFor: id) }?.resume(returning: .failure(Self.cancelled))
      }
      return try result.get()
    }

    private static let cancelled = StatusError(code: .cancelled, message: "The call was cancelled.")

    /// Changes the table, and does what follows from it without the lock.
    private func change(_ event: @Sendable (inout Table) -> [Table.Action]) {
      let (actions, ends) = state.withLock { state -> ([Table.Action], [CheckedContinuation<Void, Never>]) in
        let actions = event(&state.table)
        guard state.table.isShutDown, state.table.isEmpty else { return (actions, []) }
        defer { state.ends = [] }
        return (actions, state.ends)
      }
      perform(actions)
      for end in ends { end.resume() }
    }

    private func perform(_ actions: [Table.Action]) {
      for action in actions {
        switch action {
        case .open(let id): Task { await open(id) }
        case .close(let database): Task { await close(database) }
        case .resume(let waiters, let result): for waiter in waiters { waiter.resume(returning: result) }
        case .release: break
        }
      }
    }

    private func open(_ id: DatabaseID) async {
      do throws(StatusError) {
        try requireRoom(state.withLock { $0.table.admit(id, .stored) })
        let storage = try await ClusterStorage.open(
          id, in: engine, limits: limits, sortBudget: sortBudget, metrics: metrics)
        let database = HostedDatabase(
          id: id, storage: storage, transactions: ClusterTransactions(of: storage, limits: limits, metrics: metrics),
          limits: limits, indexRules: indexRules, metrics: metrics)
        known.all.withLock { $0[id] = storage }
        let time = engine.clock.node.elapsedMicroseconds
        change { $0.opened(id, database, at: time) }
        if let file = state.withLock({ $0.indexFile }) { await storage.declare(file) }
      } catch {
        change { $0.failed(id, error) }
      }
    }

    private func requireRoom(_ admission: Table.Admission) throws(StatusError) {
      switch admission {
      case .admitted: return
      case .shutDown: throw Table.shutDownError
      case .full:
        metrics?.exceeded(.databases)
        makeRoom()
        throw StatusError(
          code: .resourceExhausted,
          message:
            "\(limits.databases) databases are open, the most that one server serves (hearth serve --max-databases)")
      }
    }

    // MARK: - Names and indexes

    func names() async throws(StatusError) -> [DatabaseID] {
      do {
        return try await engine.reading { session in
          try session.run(Self.allNames.call(.int8(ClusterSchema.emptyDatabase))).map { row in
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
      "names of databases", "SELECT project, name FROM hearth_databases WHERE number > $1", [.int8])

    func declare(_ contents: IndexFile.Contents) async {
      indexRules?.declare(contents.declared)
      let file = ClusterIndexFile(definitions: contents.definitions, readTime: await engine.readTime())
      state.withLock { $0.indexFile = file }
      for storage in known.all.withLock({ Array($0.values) }) { await storage.declare(file) }
    }

    // MARK: - Use and end

    func use() -> DatabasesUse {
      let (count, databases) = state.withLock { ($0.table.count, $0.table.databases) }
      return DatabasesUse(count: count, sortBytes: sortBudget.usedBytes, databases: databases.map { $0.use() })
    }

    func report() {
      engine.metrics?.sampled(isAvailable: engine.availability.isAvailable, engine.sessionUse)
    }

    func tend() async {
      await closeUnused(for: Self.idleMicroseconds)
      for database in state.withLock({ $0.table.databases }) { await database.storage.trimHistory() }
    }

    /// Closes databases that are not in use, so that those that found no room find it when they are tried again.
    private func makeRoom() {
      let now = engine.clock.node.elapsedMicroseconds
      let isDue = state.withLock { state in
        guard state.lastRoom <= now - Self.roomMicroseconds else { return false }
        state.lastRoom = now
        return true
      }
      if isDue { Task { await closeUnused(for: Self.pauseMicroseconds) } }
    }

    private func closeUnused(for microseconds: Int64) async {
      let time = engine.clock.node.elapsedMicroseconds - microseconds
      for id in state.withLock({ $0.table.unused(since: time) }) {
        guard let database = state.withLock({ $0.table.beginClosing(id, unusedSince: time) }) else { continue }
        await close(database)
      }
    }

    private func close(_ database: HostedDatabase) async {
      known.all.withLock { $0[database.id] = nil }
      await database.storage.close()
      change { $0.closed(database.id) }
    }

    func close() async {
      await follower.close()
      let (actions, open) = state.withLock { $0.table.shutDown() }
      perform(actions)
      await withTaskGroup(of: Void.self) { group in
        for database in open { group.addTask { await self.close(database) } }
      }
      await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
        let isOver = state.withLock { state in
          if !state.table.isEmpty { state.ends.append(end) }
          return state.table.isEmpty
        }
        if isOver { end.resume() }
      }
      await engine.close()
    }
  }
#endif
