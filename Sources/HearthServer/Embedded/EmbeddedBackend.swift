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
/// Databases are opened and closed without a lock, on threads of their own; ``OpenDatabases`` has them, and the calls that wait.
final class EmbeddedBackend: Databases, DatabaseOpener {
  /// Opens a storage. It is called on a thread that it may hold up, without any lock.
  typealias Opening =
    @Sendable (
      _ id: DatabaseID, _ open: () throws -> any ExclusiveStorage
    ) throws -> any ExclusiveStorage

  private struct Declared {
    /// Nil if the server was not given any.
    var indexes: [IndexDefinition]?
    /// Grows with each declaration.
    var number = 0
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
  private let failures: FailureLog
  private let opening: Opening
  private let declared = Mutex(Declared())
  private let databases: OpenDatabases
  /// Opening a file waits for the disk, and may have to recover a long log: a few slow ones do not stop the others.
  private let fileOpenings = OpeningQueue(label: "hearth.opening.file", width: 8)
  /// A blank database costs some milliseconds of processor time. Any name makes one, so files do not wait behind them.
  private let blankOpenings = OpeningQueue(label: "hearth.opening.blank", width: 2)
  /// Looks at the folder, which wait for its disk, too.
  private let folderLooks = OpeningQueue(label: "hearth.folder", width: 1)

  /// A database without calls, listeners and transactions is closed after this time.
  static let idleMicroseconds: Int64 = 300_000_000
  /// The same where another database finds no room.
  static let pauseMicroseconds: Int64 = 10_000_000
  /// Follows the limit of databases where they are in memory, for tests most often.
  private static let adviceForTests =
    ". Clear those of tests that are over (DELETE /emulator/v1/projects/PROJECT/databases/DATABASE/documents), or raise the limit"
  /// The databases in the folder that are closed each time.
  private static let closingsForRoom = 16

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
    failures = FailureLog(logger)
    self.opening = opening
    let isFolder = if case .folder = location { true } else { false }
    databases = OpenDatabases(
      limit: limits.databases, advice: isFolder ? "" : Self.adviceForTests, clock: self.clock, metrics: metrics,
      logger: logger)
    folder =
      if case .folder(let path) = location { try DataFolder(path: path, logger: logger) } else { nil }
    folder?.report(to: logger, freeBytes: folder?.freeBytes)
  }

  private var logger: Logger { failures.logger }

  /// False while the folder is not in its place.
  var availability: Availability? { folder?.place.availability }

  /// The database of this name: open, opened, or blank.
  ///
  /// - Throws: As ``Databases/database(_:)``; INVALID_ARGUMENT for a name that cannot be a file's.
  func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
    try await databases.database(id, by: self)
  }

  // MARK: - Opening

  func beginOpening(_ id: DatabaseID) {
    guard let folder else { return openBlank(id) }
    fileOpenings.run { [self] in
      defer { folder.reportNew(to: logger, at: clock.elapsedMicroseconds) }
      do throws(StatusError) {
        try folder.place.require()
        guard let file = try folder.existingFile(for: id) else { return openBlank(id) }
        try databases.require(databases.table { $0.admit(id, .stored) }, by: self)
        folder.reportEmpty(file, to: logger)
        let database = host(id, try open(id, at: .file(path: file)))
        let time = clock.elapsedMicroseconds
        databases.change(by: self) { $0.opened(id, database, at: time) }
        logger.debug("database opened", metadata: ["database": .escaped(id)])
        declareIndexes(inOpened: database.storage)
      } catch {
        databases.change(by: self) { $0.failed(id, error) }
      }
    }
  }

  private func openBlank(_ id: DatabaseID) {
    blankOpenings.run { [self] in
      do throws(StatusError) {
        try databases.require(databases.table { $0.admit(id, .blank) }, isBlank: true, by: self)
        let storage = try open(id, at: .memory, home: home(for: id))
        let database = host(id, storage)
        databases.change(by: self) {
          $0.openedBlank(id, database, storage: storage) { [weak self, weak storage] in
            guard let self, let storage else { return nil }
            return host(id, storage)
          }
        }
        declareIndexes(inOpened: storage)
      } catch {
        databases.change(by: self) { $0.failed(id, error) }
      }
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
          logBytes: limits.writeAheadLogBytes, sortBudget: sortBudget, readSlots: readSlots, place: folder?.place,
          metrics: metrics, logger: logger)
      }
    } catch {
      if (error as? StoreError)?.kind == .full { metrics?.foundDiskFull() }
      failures.log("database cannot be opened", ["database": .escaped(id), "error": .escaped("\(error)")])
      let status = (error as? StatusError) ?? StatusError(storage: error)
      metrics?.storageFailed(status)
      throw status
    }
  }

  private func host(_ id: DatabaseID, _ storage: any ExclusiveStorage) -> HostedDatabase {
    HostedDatabase(id: id, storage: storage, limits: limits, indexRules: indexRules, clock: clock, metrics: metrics)
  }

  private func home(for id: DatabaseID) -> StorageHome {
    StorageHome(
      create: { [weak self] in
        guard let self else { throw StatusError.shuttingDown }
        try databases.require(databases.table { $0.beginSettling(id) }, by: self)
        guard let folder else { return .memory }
        do throws(StatusError) {
          try folder.place.require()
          return .file(path: try folder.createFile(for: id))
        } catch {
          if error.code == .resourceExhausted { metrics?.foundDiskFull() }
          databases.table { $0.undoSettling(id) }
          throw error
        }
      },
      discard: { [weak self, folder] in
        folder?.removeFile(for: id)
        self?.databases.table { $0.undoSettling(id) }
      },
      settled: { [weak self] in
        guard let self else { return }
        let time = clock.elapsedMicroseconds
        databases.table { $0.settled(id, at: time) }
        logger.debug("database created", metadata: ["database": .escaped(id)])
      })
  }

  // MARK: - Names

  func names() async throws(StatusError) -> [DatabaseID] {
    guard let folder else { return databases.table { $0.settled }.sorted() }
    let result = await withCheckedContinuation {
      (done: CheckedContinuation<Result<[DatabaseID], StatusError>, Never>) in
      fileOpenings.run { [logger, clock] in
        done.resume(
          returning: Result { () throws(StatusError) in
            try folder.place.require()
            return try folder.databases()
          })
        folder.reportNew(to: logger, at: clock.elapsedMicroseconds)
      }
    }
    return try result.get().sorted()
  }

  // MARK: - Indexes

  func declare(_ contents: IndexFile.Contents) async {
    let indexes = contents.definitions
    indexRules?.declare(contents.declared)
    declared.withLock { declared in
      declared.indexes = indexes
      declared.number += 1
    }
    for database in databases.present.all { await declareIndexes(in: database.storage) }
  }

  /// Declares the indexes in a database that was just opened. ``declare(_:)`` misses databases that are being opened or closed.
  private func declareIndexes(inOpened storage: any ServerStorage) {
    guard declared.withLock({ $0.indexes != nil }) else { return }
    Task { await declareIndexes(in: storage) }
  }

  /// Declares the newest indexes, also if they are declared again while it does so.
  private func declareIndexes(in storage: any ServerStorage) async {
    var latest: Int?
    while true {
      let (number, indexes) = declared.withLock { ($0.number, $0.indexes) }
      guard let indexes, number != latest else { return }
      await storage.declare(indexes)
      latest = number
    }
  }

  // MARK: - Use and end

  func use() -> DatabasesUse {
    let (count, databases) = databases.present
    return DatabasesUse(count: count, sortBytes: sortBudget.usedBytes, databases: databases.map { $0.use() })
  }

  /// The number of databases that count against the limit, and those that are open or blank.
  func openDatabases() -> (settled: Int, all: [HostedDatabase]) { databases.present }

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

  /// Looks at the place of the folder, because there may be no commits that do, and for files that have come into it.
  func watch(every interval: Duration) async {
    guard let folder else { return }
    while (try? await Task.sleep(for: interval)) != nil {
      await withCheckedContinuation { done in
        folderLooks.run { [logger, clock] in
          if folder.place.look() { folder.reportWanted(to: logger, at: clock.elapsedMicroseconds) }
          done.resume()
        }
      }
    }
  }

  func beginMakingRoom() {
    Task { await closeUnused(for: Self.pauseMicroseconds, atMost: Self.closingsForRoom) }
  }

  /// - Parameter count: The number of databases in the folder that are closed, those first that were unused for longest.
  private func closeUnused(for microseconds: Int64, atMost count: Int = .max) async {
    let time = clock.elapsedMicroseconds - microseconds
    let unused = databases.table { $0.unused(since: time) }
    await OpenDatabases.forEach(folder == nil ? unused[...] : unused.prefix(count)) { [self] in
      await closeIfUnused($0, since: time)
    }
  }

  private func closeIfUnused(_ id: DatabaseID, since time: Int64) async {
    // Most of those in memory are kept. Nobody should miss them while they are looked at.
    if folder == nil, let database = databases.table({ $0.unusedDatabase(id, since: time) }),
      await isNeeded(database)
    {
      return
    }
    guard let database = databases.table({ $0.beginClosing(id, unusedSince: time) }) else { return }
    if await isNeeded(database) {
      let now = clock.elapsedMicroseconds
      databases.change(by: self) { $0.keep(id, database, at: now) }
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

  func close(_ database: HostedDatabase) async {
    await database.storage.close()
    databases.change(by: self) { $0.closed(database.id) }
  }

  func close() async {
    await databases.close(by: self)
    folder?.unlock()
  }
}
