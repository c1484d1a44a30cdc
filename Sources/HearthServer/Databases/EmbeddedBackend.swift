internal import Foundation
internal import HearthModel
internal import HearthStore
internal import Logging
internal import Synchronization

/// All databases of a server. Any project and database id is accepted; a database is created by its first commit.
///
/// A database without commits is *blank*: it is in memory, and is discarded when no call uses it and enough other blank
/// ones were opened since. So a mistyped project id leaves nothing behind.
final class EmbeddedBackend: Sendable {
  private struct State {
    var databases: [DatabaseID: HostedDatabase] = [:]
    /// The blank databases that are in use, and those in `latestBlanks`.
    var blanks: [DatabaseID: WeakDatabase] = [:]
    /// Oldest first. They are kept because a client may continue, for example with a transaction that it has begun.
    var latestBlanks: [HostedDatabase] = []
    /// When each open database was last asked for, by ``ServerClock/elapsedMicroseconds``.
    var lastUses: [DatabaseID: Int64] = [:]
    /// Databases that are being closed for want of use.
    var closing: Set<DatabaseID> = []
    var isClosed = false
    /// Nil if the server was not given any.
    var declaredIndexes: [IndexDefinition]?

    /// The database if it is open or blank, noted as used.
    mutating func use(_ id: DatabaseID, at time: @autoclosure () -> Int64) -> HostedDatabase? {
      // Blank ones are not closed for want of use.
      guard let known = databases[id] else { return blanks[id]?.database }
      lastUses[id] = time()
      return known
    }
  }

  private struct WeakDatabase {
    weak let database: HostedDatabase?
  }

  private let location: StorageLocation
  private let folder: DataFolder?
  let limits: DatabaseLimits
  private let sortBudget: SortBudget
  /// Nil if queries may be without indexes.
  private let indexRules: IndexRules?
  private let clock: ServerClock
  private let metrics: ServerMetrics?
  private let logger: Logger
  private let state = Mutex(State())

  /// A database without calls, listeners and transactions is closed after this time.
  static let idleMicroseconds: Int64 = 300_000_000
  /// A blank database takes about 320 KB.
  private static let keptBlanks = 64

  /// - Throws: `ServerError` when the folder cannot be created, written or locked.
  init(
    location: StorageLocation, limits: DatabaseLimits = DatabaseLimits(), clock: ServerClock,
    metrics: ServerMetrics? = nil, logger: Logger
  ) throws(ServerError) {
    self.limits = limits
    sortBudget = SortBudget(maximumBytes: limits.sortBytes)
    self.metrics = metrics
    indexRules = limits.requiresIndexes ? IndexRules() : nil
    self.location = location
    self.clock = clock.steady(logger: logger)
    self.logger = logger
    switch location {
    case .memory: folder = nil
    case .folder(let path): folder = try DataFolder(path: path)
    }
  }

  /// As ``database(_:)``, for callers that may not be held up: a database is opened on another thread.
  func databaseWithoutBlocking(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
    if let known = state.withLockIfAvailable({ $0.use(id, at: clock.elapsedMicroseconds) }) ?? nil { return known }
    return try await withTaskExecutorPreference(globalConcurrentExecutor) {
      () async throws(StatusError) -> HostedDatabase in
      try database(id)
    }
  }

  /// The database of this name: open, opened, or blank.
  ///
  /// - Throws: `StatusError`: INVALID_ARGUMENT for a name that cannot be a file's, or the failure of the storage.
  func database(_ id: DatabaseID) throws(StatusError) -> HostedDatabase {
    let result = state.withLock { state -> Result<HostedDatabase, StatusError> in
      if let known = state.use(id, at: clock.elapsedMicroseconds) { return .success(known) }
      guard !state.isClosed else {
        return .failure(StatusError(code: .unavailable, message: "the server is shutting down"))
      }
      do throws(StatusError) {
        guard !state.closing.contains(id) else {
          throw StatusError(code: .unavailable, message: "the database is being closed for want of use; try again")
        }
        if let file = try folder?.existingFile(for: id) {
          try requireRoom(in: state)
          let opened = try open(id, at: .file(path: file), declaring: state.declaredIndexes)
          state.databases[id] = opened
          state.lastUses[id] = clock.elapsedMicroseconds
          return .success(opened)
        }
        let blank = try open(id, at: .memory, home: home(for: id), declaring: state.declaredIndexes)
        state.blanks = state.blanks.filter { $0.value.database != nil }
        state.blanks[id] = WeakDatabase(database: blank)
        state.latestBlanks.append(blank)
        if state.latestBlanks.count > Self.keptBlanks { state.latestBlanks.removeFirst() }
        return .success(blank)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func requireRoom(in state: State) throws(StatusError) {
    guard state.databases.count < limits.databases else {
      metrics?.exceeded(.databases)
      throw StatusError(
        code: .resourceExhausted,
        message: "\(limits.databases) databases are open, the most that one server serves")
    }
  }

  private func open(
    _ id: DatabaseID, at place: Database.Location, home: StorageHome? = nil, declaring indexes: [IndexDefinition]?
  ) throws(StatusError) -> HostedDatabase {
    do {
      let storage = try EmbeddedStorage(
        location: place, home: home, databaseID: id, clock: clock, windowBytes: limits.windowBytes,
        retention: ChangeLog.Retention(limits), lockWait: limits.lockWait,
        waitingWrites: limits.waitingWritesPerDocument, rewrittenBytes: limits.rewrittenBytesPerCommit,
        logBytes: limits.writeAheadLogBytes, sortBudget: sortBudget, metrics: metrics, logger: logger)
      if let indexes { Task { await storage.declare(indexes) } }
      if home == nil { logger.debug("database opened", metadata: ["database": .escaped(id)]) }
      return HostedDatabase(
        id: id, storage: storage, limits: limits, indexRules: indexRules, clock: clock, metrics: metrics)
    } catch {
      logger.error("database cannot be opened", metadata: ["database": .escaped(id), "error": .escaped("\(error)")])
      throw StatusError(storage: error)
    }
  }

  private func home(for id: DatabaseID) -> StorageHome {
    StorageHome(
      create: { [weak self] in
        guard let self else { throw StatusError(code: .unavailable, message: "the server is shutting down") }
        try state.withLock { state throws(StatusError) in
          // The same name was asked for again after its blank had been forgotten, and the other one came first.
          if state.databases[id] != nil {
            throw StatusError(code: .unavailable, message: "the database has just been created")
          }
          try requireRoom(in: state)
        }
        guard let folder else { return .memory }
        return .file(path: try folder.createFile(for: id))
      },
      discard: { [folder] in folder?.removeFile(for: id) },
      settled: { [weak self] in self?.settle(id, $0) })
  }

  /// A blank database has had its first commit.
  private func settle(_ id: DatabaseID, _ storage: any ServerStorage) {
    state.withLock { state in
      // The name may have been asked for again after this one's blank was forgotten: another blank, in which nothing is stored.
      let blank = state.blanks.removeValue(forKey: id)?.database
      let database =
        blank.flatMap { $0.storage === storage ? $0 : nil }
        ?? HostedDatabase(
          id: id, storage: storage, limits: limits, indexRules: indexRules, clock: clock, metrics: metrics)
      state.databases[id] = database
      state.lastUses[id] = clock.elapsedMicroseconds
      state.latestBlanks.removeAll { $0 === blank }
    }
    logger.debug("database created", metadata: ["database": .escaped(id)])
  }

  /// Makes these the declared indexes of all databases, also of those that are opened later.
  func declare(_ contents: IndexFile.Contents) async {
    let indexes = contents.definitions
    indexRules?.declare(contents.declared)
    let databases = state.withLock { state in
      state.declaredIndexes = indexes
      return Array(state.databases.values) + state.blanks.values.compactMap(\.database)
    }
    for database in databases { await database.storage.declare(indexes) }
  }

  /// The bytes of sort keys of all databases.
  var sortBytes: Int { sortBudget.usedBytes }

  /// The databases that are open; those that are blank as well only in the second list.
  func openDatabases() -> (settled: Int, all: [HostedDatabase]) {
    state.withLock { state in
      (state.databases.count, Array(state.databases.values) + state.blanks.values.compactMap(\.database))
    }
  }

  /// Removes the history of open databases that is beyond its limits.
  func trimHistories() async {
    for database in openDatabases().all { await database.storage.trimHistory() }
  }

  /// Closes the databases in the folder that nobody has used for ``idleMicroseconds``. The next call opens them again.
  func closeIdle() async {
    guard folder != nil else { return }
    let idle = state.withLock { state -> [HostedDatabase] in
      let now = clock.elapsedMicroseconds
      var idle: [HostedDatabase] = []
      for (id, lastUse) in state.lastUses where now - lastUse > Self.idleMicroseconds {
        guard var database = state.databases.removeValue(forKey: id) else { continue }
        // Calls and streams hold the database while they last.
        guard isKnownUniquelyReferenced(&database), !database.transactions.hasOpen else {
          state.databases[id] = database
          continue
        }
        state.lastUses[id] = nil
        state.closing.insert(id)
        idle.append(database)
      }
      return idle
    }
    for database in idle {
      await database.storage.close()
      state.withLock { _ = $0.closing.remove(database.id) }
      logger.debug("idle database closed", metadata: ["database": .escaped(database.id)])
    }
  }

  /// Closes all databases; later calls get UNAVAILABLE.
  func close() async {
    let databases = state.withLock { state in
      state.isClosed = true
      defer { (state.databases, state.blanks, state.latestBlanks) = ([:], [:], []) }
      return Array(state.databases.values) + state.blanks.values.compactMap(\.database)
    }
    for database in databases { await database.storage.close() }
    folder?.unlock()
  }
}
