internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging
internal import Synchronization

/// The databases of a server in its own process: one SQLite file for each in a folder, or all of them in memory.
///
/// A database without commits is *blank*: it is in memory, and is discarded when no call uses it and enough other blank ones were opened
/// since. So a mistyped project id leaves no trace.
///
/// Databases are opened and closed without a lock, on threads of their own; ``DatabaseTable`` decides, and knows the calls that wait.
final class EmbeddedBackend: Databases {
  /// Opens a storage. It is called on a thread that it may hold up, without any lock.
  typealias Opening =
    @Sendable (
      _ id: DatabaseID, _ open: () throws -> any ExclusiveStorage
    ) throws -> any ExclusiveStorage

  private typealias Waiter = CheckedContinuation<Result<HostedDatabase, StatusError>, Never>
  private typealias Table = DatabaseTable<HostedDatabase, Waiter>

  private struct State {
    var table: Table
    /// Nil if the server was not given any.
    var declaredIndexes: [IndexDefinition]?
    /// Grows with each declaration.
    var declarations = 0
    /// When databases were closed last because another one found no room.
    var lastRoom = Int64.min
    /// They wait until all databases are closed.
    var ends: [CheckedContinuation<Void, Never>] = []
  }

  private let location: StorageLocation
  private let folder: DataFolder?
  let limits: DatabaseLimits
  private let sortBudget: SortBudget
  /// In which the reads of all databases run.
  let readSlots: ReadSlots<StorageReader>
  /// Nil if queries may be without indexes.
  private let indexRules: RequiredIndexes?
  private let clock: ServerClock
  private let metrics: ServerMetrics?
  private let logger: Logger
  private let opening: Opening
  private let state: Mutex<State>
  private let waiterCount = Atomic(0)
  /// Opening a file waits for the disk, and may have to recover a long log: a few slow ones do not stop the others.
  private let fileOpenings = OpeningQueue(label: "hearth.opening.file", width: 8)
  /// A blank database costs some milliseconds of processor time. Any name makes one, so files do not wait behind them.
  private let blankOpenings = OpeningQueue(label: "hearth.opening.blank", width: 2)

  /// A database without calls, listeners and transactions is closed after this time.
  static let idleMicroseconds: Int64 = 300_000_000
  /// The same where another database finds no room.
  static let pauseMicroseconds: Int64 = 10_000_000
  /// The least time from making room to making room again.
  private static let roomMicroseconds: Int64 = 1_000_000
  /// The databases in the folder that are closed each time.
  private static let closingsForRoom = 16
  /// The databases that are closed at the same time. Each has a thread that waits for the disk.
  private static let closingsAtOnce = 8

  /// - Parameters:
  ///   - readSlots: In which the reads of all databases run.
  ///   - opening: Carries out each opening of a storage.
  /// - Throws: `ServerError` when the folder cannot be created, written or locked.
  init(
    location: StorageLocation, limits: DatabaseLimits = DatabaseLimits(), clock: ServerClock,
    readSlots: ReadSlots<StorageReader> = EmbeddedStorage.readSlots(), metrics: ServerMetrics? = nil, logger: Logger,
    opening: @escaping Opening = { _, open in try open() }
  ) throws(ServerError) {
    self.limits = limits
    self.readSlots = readSlots
    sortBudget = SortBudget(maximumBytes: limits.sortBytes)
    self.metrics = metrics
    indexRules = limits.requiresIndexes ? RequiredIndexes() : nil
    self.location = location
    self.clock = clock.steady(logger: logger)
    self.logger = logger
    self.opening = opening
    state = Mutex(State(table: Table(limit: limits.databases)))
    if case .folder(let path) = location { folder = try DataFolder(path: path) } else { folder = nil }
    folder?.report(to: logger)
  }

  /// The database of this name: open, opened, or blank.
  ///
  /// - Throws: As ``Databases/database(_:)``; INVALID_ARGUMENT for a name that cannot be a file's.
  func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
    let time = clock.elapsedMicroseconds
    if let known = state.withLock({ $0.table.use(id, at: time) }) { return known }
    return try await awaitDatabase(id)
  }

  private func awaitDatabase(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
    let number = waiterCount.wrappingAdd(1, ordering: .relaxed).newValue
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        let time = clock.elapsedMicroseconds
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
      case .open(let id): beginOpening(id)
      case .close(let database): Task { await close(database) }
      case .resume(let waiters, let result): for waiter in waiters { waiter.resume(returning: result) }
      case .release: break
      }
    }
  }

  // MARK: - Opening

  private func beginOpening(_ id: DatabaseID) {
    guard let folder else { return openBlank(id) }
    fileOpenings.run { [self] in
      do throws(StatusError) {
        guard let file = try folder.existingFile(for: id) else { return openBlank(id) }
        try requireRoom(state.withLock { $0.table.admit(id, .stored) })
        folder.reportEmpty(file, to: logger)
        let database = host(id, try open(id, at: .file(path: file)))
        let time = clock.elapsedMicroseconds
        change { $0.opened(id, database, at: time) }
        logger.debug("database opened", metadata: ["database": .escaped(id)])
        declareIndexes(inOpened: database.storage)
      } catch {
        change { $0.failed(id, error) }
      }
    }
  }

  private func openBlank(_ id: DatabaseID) {
    blankOpenings.run { [self] in
      do throws(StatusError) {
        try requireRoom(state.withLock { $0.table.admit(id, .blank) }, isBlank: true)
        let storage = try open(id, at: .memory, home: home(for: id))
        let database = host(id, storage)
        change {
          $0.openedBlank(id, database, storage: storage) { [weak self, weak storage] in
            guard let self, let storage else { return nil }
            return host(id, storage)
          }
        }
        declareIndexes(inOpened: storage)
      } catch {
        change { $0.failed(id, error) }
      }
    }
  }

  private func requireRoom(_ admission: Table.Admission, isBlank: Bool = false) throws(StatusError) {
    switch admission {
    case .admitted: return
    case .shutDown: throw Table.shutDownError
    case .full:
      metrics?.exceeded(.databases)
      // Blank ones have a room of their own.
      if !isBlank { makeRoom() }
      let subject = isBlank ? "databases without documents are in use" : "databases are open"
      throw StatusError(
        code: .resourceExhausted,
        message: "\(limits.databases) \(subject), the most that one server serves (hearth serve --max-databases)")
    }
  }

  private func open(
    _ id: DatabaseID, at place: Database.Location, home: StorageHome? = nil
  ) throws(StatusError) -> any ExclusiveStorage {
    do {
      return try opening(id) {
        try EmbeddedStorage(
          location: place, home: home, databaseID: id, clock: clock, windowBytes: limits.windowBytes,
          retention: HistoryRetention(limits), lockWait: limits.lockWait,
          waitingWrites: limits.waitingWritesPerDocument, rewrittenBytes: limits.rewrittenBytesPerCommit,
          logBytes: limits.writeAheadLogBytes, sortBudget: sortBudget, readSlots: readSlots, metrics: metrics,
          logger: logger)
      }
    } catch {
      logger.error("database cannot be opened", metadata: ["database": .escaped(id), "error": .escaped("\(error)")])
      throw StatusError(storage: error)
    }
  }

  private func host(_ id: DatabaseID, _ storage: any ExclusiveStorage) -> HostedDatabase {
    HostedDatabase(id: id, storage: storage, limits: limits, indexRules: indexRules, clock: clock, metrics: metrics)
  }

  private func home(for id: DatabaseID) -> StorageHome {
    StorageHome(
      create: { [weak self] in
        guard let self else { throw Table.shutDownError }
        try requireRoom(state.withLock { $0.table.beginSettling(id) })
        guard let folder else { return .memory }
        do throws(StatusError) {
          return .file(path: try folder.createFile(for: id))
        } catch {
          state.withLock { $0.table.undoSettling(id) }
          throw error
        }
      },
      discard: { [weak self, folder] in
        folder?.removeFile(for: id)
        self?.state.withLock { $0.table.undoSettling(id) }
      },
      settled: { [weak self] in
        guard let self else { return }
        let time = clock.elapsedMicroseconds
        state.withLock { $0.table.settled(id, at: time) }
        logger.debug("database created", metadata: ["database": .escaped(id)])
      })
  }

  // MARK: - Names

  func names() async throws(StatusError) -> [DatabaseID] {
    guard let folder else { return state.withLock { $0.table.settled }.sorted() }
    let result = await withCheckedContinuation {
      (done: CheckedContinuation<Result<[DatabaseID], StatusError>, Never>) in
      fileOpenings.run {
        done.resume(returning: Result { () throws(StatusError) in try folder.databases() })
      }
    }
    return try result.get().sorted()
  }

  // MARK: - Indexes

  func declare(_ contents: IndexFile.Contents) async {
    let indexes = contents.definitions
    indexRules?.declare(contents.declared)
    let databases = state.withLock { state in
      state.declaredIndexes = indexes
      state.declarations += 1
      return state.table.databases
    }
    for database in databases { await declareIndexes(in: database.storage) }
  }

  /// Declares the indexes in a database that was just opened. ``declare(_:)`` misses databases that are being opened or closed.
  private func declareIndexes(inOpened storage: any ServerStorage) {
    guard state.withLock({ $0.declaredIndexes != nil }) else { return }
    Task { await declareIndexes(in: storage) }
  }

  /// Declares the newest indexes, also if they are declared again while it does so.
  private func declareIndexes(in storage: any ServerStorage) async {
    var declared: Int?
    while true {
      let (number, indexes) = state.withLock { ($0.declarations, $0.declaredIndexes) }
      guard let indexes, number != declared else { return }
      await storage.declare(indexes)
      declared = number
    }
  }

  // MARK: - Use and end

  func use() -> DatabasesUse {
    let (count, databases) = openDatabases()
    return DatabasesUse(count: count, sortBytes: sortBudget.usedBytes, databases: databases.map { $0.use() })
  }

  /// The number of databases that count against the limit, and those that are open or blank.
  func openDatabases() -> (settled: Int, all: [HostedDatabase]) {
    state.withLock { ($0.table.count, $0.table.databases) }
  }

  /// Closes what nobody uses, and removes the history of open databases that is beyond its limits: the commits do that too, but there may be none.
  func tend() async {
    await closeIdle()
    for database in openDatabases().all { await database.storage.trimHistory() }
  }

  /// Closes the databases that nobody has used for ``idleMicroseconds``. The next call opens them again; one that comes while its database is
  /// being closed waits for that. Databases in memory are closed only if they hold nothing.
  func closeIdle() async {
    await closeUnused(for: Self.idleMicroseconds)
  }

  /// Closes databases that are not in use, so that those that found no room find it when they are tried again.
  private func makeRoom() {
    let now = clock.elapsedMicroseconds
    let isDue = state.withLock { state in
      guard state.lastRoom <= now - Self.roomMicroseconds else { return false }
      state.lastRoom = now
      return true
    }
    guard isDue else { return }
    Task { await closeUnused(for: Self.pauseMicroseconds, atMost: Self.closingsForRoom) }
  }

  /// - Parameter count: The number of databases in the folder that are closed, those first that were unused for longest.
  private func closeUnused(for microseconds: Int64, atMost count: Int = .max) async {
    let time = clock.elapsedMicroseconds - microseconds
    let unused = state.withLock { $0.table.unused(since: time) }
    await Self.forEach(folder == nil ? unused[...] : unused.prefix(count)) { [self] in
      await closeIfUnused($0, since: time)
    }
  }

  private func closeIfUnused(_ id: DatabaseID, since time: Int64) async {
    // Most of those in memory are kept. Nobody should miss them while they are looked at.
    if folder == nil, let database = state.withLock({ $0.table.unusedDatabase(id, since: time) }),
      await isNeeded(database)
    {
      return
    }
    guard let database = state.withLock({ $0.table.beginClosing(id, unusedSince: time) }) else { return }
    if await isNeeded(database) {
      let now = clock.elapsedMicroseconds
      change { $0.keep(id, database, at: now) }
      return declareIndexes(inOpened: database.storage)
    }
    await close(database)
    logger.debug("idle database closed", metadata: ["database": .escaped(id)])
  }

  private func isNeeded(_ database: HostedDatabase) async -> Bool {
    if database.transactions.hasOpen { return true }
    guard folder == nil else { return false }
    return await !database.storage.holdsNothing
  }

  private func close(_ database: HostedDatabase) async {
    await database.storage.close()
    change { $0.closed(database.id) }
  }

  func close() async {
    let (actions, open) = state.withLock { $0.table.shutDown() }
    perform(actions)
    await Self.forEach(open) { [self] in await close($0) }
    await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
      let isEnd = state.withLock { state in
        if !state.table.isEmpty { state.ends.append(end) }
        return state.table.isEmpty
      }
      if isEnd { end.resume() }
    }
    folder?.unlock()
  }

  /// Does `work` for each element, a few at the same time.
  private static func forEach<Element: Sendable>(
    _ elements: some Collection<Element>, _ work: @escaping @Sendable (Element) async -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, element) in elements.enumerated() {
        if index >= closingsAtOnce { await group.next() }
        group.addTask { await work(element) }
      }
    }
  }
}
