internal import Foundation
package import HearthModel
package import HearthStore

/// An open cache folder: its database, and the right to use it. Keep it as long as the database is used; it closes when the last reference
/// is released.
package final class OpenedCache {
  package let database: Database
  /// The recovery that opening the folder needed; nil when the file was in order or new.
  package let recovery: CacheRecovery?
  /// The files of this client; nil for an opener that no other client should know of.
  package let client: ClientFiles?
  fileprivate let lock: FolderLock
  private let files: CacheFiles
  /// The database's file when it was opened.
  private let main: FileIdentity?
  /// The file of its log when it was first seen.
  private var log: FileIdentity?

  init(database: Database, recovery: CacheRecovery?, client: ClientFiles?, lock: FolderLock, files: CacheFiles) {
    self.database = database
    self.recovery = recovery
    self.client = client
    self.lock = lock
    self.files = files
    main = FileIdentity(path: files.main)
    log = FileIdentity(path: files.log)
  }

  /// The reason why a write would now be lost, or hidden from other clients: another program has deleted or replaced the files. Nil if they
  /// are unchanged.
  ///
  /// A lock file that is the only one missing is created again.
  package var lostFiles: String? {
    guard lock.isHeld else { return nil }
    if let replacedFile { return "\"\(replacedFile)\" was deleted or replaced while it was in use" }
    if lock.isInPlace { return nil }
    do {
      if try lock.renew() { return nil }
    } catch {
      return "the lock file of the cache folder was deleted or replaced: \(error)"
    }
    return "another process had the folder of \"\(files.main)\" for itself after its lock file was deleted"
  }

  /// The database or its log, if it is not the file any more that it was; nil if both are.
  ///
  /// SQLite deletes the log with the last connection, and overlooks those of a process that has opened and closed the file besides, as a copy of
  /// the folder does: that gives up the locks of the process (https://www.sqlite.org/howtocorrupt.html, section 2.2).
  private var replacedFile: String? {
    guard main == FileIdentity(path: files.main) else { return files.main }
    let present = FileIdentity(path: files.log)
    if log == nil { log = present }
    return log == present ? nil : files.log
  }

  /// Leaves a mark next to the file, so that the next opening sets the file aside and saves the outbox from it. Other clients close the
  /// file when they see the mark.
  package func markDamaged(_ reason: String) throws {
    // The file in its place is another one.
    guard main == FileIdentity(path: files.main) else { return }
    do {
      try CacheFile.checkIsKnown(files)
    } catch let error as StoreError where error.kind == .newerSchema {
      // The next opening says so. That release finds the damage by itself.
      return
    }
    try files.mark(reason)
    ClientFiles.wakeAll(in: files.folder)
  }

  /// The damage that another client has found in the file; nil if there is none.
  package var markedDamage: String? { files.markedDamage }

  /// True while another process wants the folder for itself.
  package var isWantedByOther: Bool { EndRequest.isOpen(in: files.folder) }

  /// Gives the folder back for a while. Until ``resume()`` has returned true, nothing may be read or written.
  package func suspend() {
    client?.suspend()
    lock.release()
  }

  /// Takes the folder again.
  ///
  /// - Returns: False when another opener had it for itself in between, so that what is remembered of the cache may be wrong.
  /// - Throws: `StoreError`: `unavailable` while another opener has it, `newerSchema` when a newer release has migrated the file.
  package func resume() throws -> Bool {
    guard try lock.acquireUnchanged() else {
      try CacheFile.checkIsKnown(files)
      return false
    }
    do {
      try client?.resume()
    } catch {
      lock.release()
      throw error
    }
    return true
  }

  /// True if a folder that was released, and that another opener has for itself now, is as it was left. That opener may be recovering a damaged
  /// file, after which this one can go on.
  package var isFolderUnchanged: Bool { lock.isUnchanged }

  /// Closes the database, then releases the folder.
  ///
  /// The log stays if it is not the one that the database was opened with, and while other clients live (``CacheFiles/close(_:besides:)``).
  package func close() {
    if database.isOpen {
      if replacedFile != nil { database.keepLogAtClose() } else { checkpointBeforeClose() }
      files.close(database, besides: client?.name)
    }
    client?.end()
    lock.release()
  }

  /// The last client checkpoints the log. If a sync fails then, pages of the log may be missing on the disk, and the next opening must not write behind
  /// them.
  private func checkpointBeforeClose() {
    guard files.markedDamage == nil, !ClientFiles.anyIsAlive(in: files.folder, besides: client?.name),
      let failure = database.checkpointBeforeClose()
    else { return }
    database.keepLogAtClose()
    try? markDamaged("\(failure)")
  }

  deinit { close() }
}

/// The file of a durable cache: "cache.sqlite" in a folder of its own.
package enum CacheFile {
  package struct Options: Sendable {
    /// Reads the whole file and checks it before it is used. Without it only the header, the tables and the counters
    /// are looked at, and damage elsewhere shows when it is read.
    package var checksWholeFile: Bool
    package var database: Database.Options
    package var sharing: CacheSharing
    /// A name that no other client of the cache has had; nil for an opener that no other client should know of.
    package var clientName: String?
    /// The request of an opener that takes the folder over, or migrates the file. Its owner withdraws it when the folder is open, or no longer
    /// wanted.
    package var endRequest: EndRequest?

    package init(
      checksWholeFile: Bool = false, database: Database.Options = Database.Options(), sharing: CacheSharing = .alone,
      clientName: String? = nil, endRequest: EndRequest? = nil
    ) {
      self.endRequest = endRequest
      self.checksWholeFile = checksWholeFile
      self.database = database
      self.sharing = sharing
      self.clientName = clientName
    }
  }

  package static let fileName = "cache.sqlite"

  /// Opens the cache in a folder, which is made with its parents if it does not exist.
  ///
  /// A file that is damaged or not a database, or that was marked as damaged when it was last open, is renamed to
  /// "cache.sqlite.corrupt" (in place of an earlier one), the pending writes that can be read in it go into a new file, and
  /// the result says so. An interruption at any moment of that loses nothing: the new file takes the place of the old one only
  /// when it is complete.
  ///
  /// - Throws: `StoreError`: `unavailable` while another opener has the folder, `cannotOpen` when the folder cannot be
  ///   made or written or the file belongs to another program, `newerSchema` when a newer release wrote the file. None
  ///   of these changes the file, and clients that have given the folder back for it continue.
  package static func open(folder: String, databaseID: DatabaseID, options: Options = Options()) throws -> OpenedCache {
    let cache = try tryOpening(folder, databaseID, options) { _ in }
    cache.lock.keepNumber()
    return cache
  }

  /// As ``open(folder:databaseID:options:)``, but closing the cache unchanged leaves it to those who had it before.
  private static func tryOpening(
    _ folder: String, _ databaseID: DatabaseID, _ options: Options, report: (CacheRecovery) -> Void
  ) throws -> OpenedCache {
    try makeFolder(folder)
    let lock = try lock(folder, options)
    ClientFiles.removePipes(in: folder)
    let files = CacheFiles(folder: folder)
    do {
      if files.hasInterruptedRecovery {
        try lock.exclusively(replacesFile: true) {
          lock.keepNumber()
          try files.finishInterruptedRecovery()
        }
      }
      var recovery: CacheRecovery?
      var database: Database
      do {
        let log = try readLog(of: files, lock)
        if let reason = try knownDamage(files, log, databaseID, name: options.clientName ?? "alone") {
          throw StoreError(kind: .corrupt, message: reason)
        }
        database = try openMigrated(files, lock, options, emptiesLog: log != nil)
      } catch {
        guard let damage = CacheDamage(error) else { throw error }
        try checkIsKnown(files)
        askToClose(files, damage)
        recovery = try lock.exclusively(replacesFile: true) {
          lock.keepNumber()
          return try recover(
            files, reason: damage.reason, databaseID: databaseID, options: options, report: report)
        }
        database = try openChecked(files, options)
      }
      let client = try options.clientName.map { try ClientFiles(folder: folder, name: $0) }
      return OpenedCache(database: database, recovery: recovery, client: client, lock: lock, files: files)
    } catch {
      lock.release()
      throw error
    }
  }

  private static func lock(_ folder: String, _ options: Options) throws(StoreError) -> FolderLock {
    switch options.sharing {
    case .alone: return try FolderLock(folder: folder)
    case .takingOver:
      do {
        return try FolderLock(folder: folder)
      } catch {
        if error.kind == .unavailable { options.endRequest?.ask(clientsOf: folder) }
        throw error
      }
    case .shared:
      guard let network = FileSystemKind.network(of: folder) else {
        return try FolderLock(folder: folder, mode: .shared)
      }
      do {
        return try FolderLock(folder: folder)
      } catch {
        guard error.kind == .unavailable else { throw error }
        throw StoreError(
          kind: .unavailable,
          message: error.message + " Only one process may use a cache on a network file system (\(network)).")
      }
    }
  }

  /// Lets other clients close a damaged file, so that it can be replaced.
  private static func askToClose(_ files: CacheFiles, _ damage: CacheDamage) {
    // Without a mark they find the damage themselves.
    if files.markedDamage == nil, files.hasMain { try? files.mark(damage.reason) }
    ClientFiles.wakeAll(in: files.folder)
  }

  /// As ``open(folder:databaseID:options:)``, with a local store that has been started. Damage that only the store finds
  /// is dealt with like damage that opening the file finds.
  ///
  /// - Parameter report: Told of each recovery before the new file takes the place of the damaged one: the process may end right after that, and
  ///   the new file says nothing of what was lost. A recovery that is interrupted and made again is reported again.
  package static func openStore(
    folder: String, databaseID: DatabaseID, options: Options = Options(), report: (CacheRecovery) -> Void = { _ in },
    makeStore: (Database, ClientFiles?) throws -> LocalStore
  ) throws -> (cache: OpenedCache, store: LocalStore) {
    let first = try tryOpening(folder, databaseID, options, report: report)
    do {
      return (first, try start(first, makeStore))
    } catch {
      guard let damage = CacheDamage(error) else {
        first.close()
        throw error
      }
      defer { first.close() }
      try checkIsKnown(CacheFiles(folder: folder))
      try first.markDamaged(damage.reason)
    }
    let second = try tryOpening(folder, databaseID, options, report: report)
    do {
      return (second, try start(second, makeStore))
    } catch {
      second.close()
      throw error
    }
  }

  private static func start(
    _ cache: OpenedCache, _ makeStore: (Database, ClientFiles?) throws -> LocalStore
  ) throws -> LocalStore {
    let store = try makeStore(cache.database, cache.client)
    store.transactions.health.lostFiles = { [weak cache] in cache?.lostFiles }
    try store.start()
    cache.lock.keepNumber()
    return store
  }

  /// Deletes everything that the cache has stored in a folder, files that were set aside included.
  ///
  /// - Throws: `StoreError`: `unavailable` while the cache is open, `io` when a file cannot be deleted.
  package static func delete(folder: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else { return }
    let lock = try FolderLock(folder: folder)
    defer { lock.release() }
    lock.keepNumber()
    try CacheFiles(folder: folder).deleteAll()
  }

  private static func makeFolder(_ folder: String) throws(StoreError) {
    do {
      try DatabaseFolder.create(folder, permissions: 0o700)
    } catch {
      throw StoreError(
        kind: .cannotOpen,
        message: "Cache folder \"\(folder)\" cannot be created: \(error.message). "
          + "Choose a folder that this user can write.")
    }
  }

  /// The tables of a file are those of an earlier release.
  private struct OutdatedTables: Error {}

  /// Opens the database. Tables of an earlier release are migrated when no other client has the file open: its statements do not fit them
  /// any more.
  ///
  /// - Parameter emptiesLog: True to empty the log before anything is written.
  /// - Throws: `StoreError.unavailable` until the others have given the folder back, which ``Options/endRequest`` asks them for.
  private static func openMigrated(
    _ files: CacheFiles, _ lock: FolderLock, _ options: Options, emptiesLog: Bool
  ) throws -> Database {
    do {
      return try openChecked(files, options, emptiesLog: emptiesLog)
    } catch is OutdatedTables {
      // A client that has the folder alone has no other client to ask, and a notice would count as a change of the database.
      if lock.isShared { options.endRequest?.ask(clientsOf: files.folder) }
      try lock.exclusively {
        let database = try Database(.file(path: files.main), options: options.database)
        defer { database.close() }
        try CacheSchema.migrateAll(database)
      }
      return try openChecked(files, options)
    }
  }

  /// Refuses the file of a newer release, also a damaged one: this release does not know what a recovery has to save.
  ///
  /// - Throws: `StoreError` `newerSchema`. Nothing, if the versions are damaged too.
  static func checkIsKnown(_ files: CacheFiles) throws {
    guard files.hasMain else { return }
    var options = Database.Options()
    options.isReadOnly = true
    options.toleratesDamage = true
    // So that no files are created next to it.
    options.isImmutable = !files.hasLog
    let database = try? Database(.file(path: files.main), options: options)
    defer { database?.close() }
    try CacheSchema.checkVersionsOfDamaged(database, path: files.main)
  }

  /// Opens the database and looks at what every use needs: the header, the tables, the counters.
  private static func openChecked(
    _ files: CacheFiles, _ options: Options, emptiesLog: Bool = false
  ) throws -> Database {
    let database = try Database(.file(path: files.main), options: options.database)
    do {
      try CacheSchema.checkVersions(in: database)
      // Also before the tables are migrated: SQLite runs a checkpoint when this connection is closed, and then nothing shows the gap.
      if emptiesLog { try emptyLog(of: database, files) }
      if try CacheSchema.isOutdated(database) { throw OutdatedTables() }
      _ = try CacheSchema.migrate(database)
      try CacheGlobals(database: database).check()
      if options.checksWholeFile, let problem = try database.integrityProblems().first {
        throw StoreError(kind: .corrupt, message: problem)
      }
      return database
    } catch {
      files.close(database)
      throw error
    }
  }

  /// The outbox in a damaged file, also in one whose list of tables is lost.
  private static func readOutbox(_ files: CacheFiles, databaseID: DatabaseID) throws -> SalvagedOutbox {
    guard let log = files.damagedLog else { return try readOutbox(of: files.main, files, databaseID: databaseID) }
    // SQLite would see nothing of what lies behind the damage.
    var outbox = try withCopy(of: files, log) { try readOutbox(of: $0, files, databaseID: databaseID) }
    outbox.takeLost(from: SalvagedOutbox(reading: files.main, databaseID: databaseID))
    (outbox.isComplete, outbox.isRejectedComplete) = (false, false)
    return outbox
  }

  private static func readOutbox(
    of source: String, _ files: CacheFiles, databaseID: DatabaseID
  ) throws -> SalvagedOutbox {
    let outbox = SalvagedOutbox(reading: source, databaseID: databaseID)
    guard !outbox.hasTables else { return outbox }
    // Which of them the file has is not known: the one that finds most is right.
    var best: SalvagedOutbox?
    for layout in Layout.allCases {
      let grafted = try readOutbox(of: source, files, databaseID: databaseID, as: layout)
      if (best?.foundCount ?? -1) < grafted.foundCount { best = grafted }
    }
    // No layout fits a file with other tables.
    if let best, best.foundCount >= outbox.foundCount { return best }
    return outbox
  }

  /// The order of the tables in a file.
  private enum Layout: CaseIterable {
    case asMade
    /// Rewritten by ``Database/rewrite()``, as a shared cache or as one that is not shared.
    case rewrittenShared, rewrittenAlone
  }

  private static func readOutbox(
    of source: String, _ files: CacheFiles, databaseID: DatabaseID, as layout: Layout
  ) throws -> SalvagedOutbox {
    try files.removeScratch()
    defer { try? files.removeScratch() }
    let template = try Database(.file(path: files.template))
    defer { template.close() }
    _ = try CacheSchema.migrate(template)
    if layout == .rewrittenShared { try ClientSchema.schema.migrate(template) }
    if layout != .asMade { try DatabaseNameTable.schema.migrate(template) }
    if layout != .asMade { try template.rewrite() }
    try SchemaGraft.copy(source, to: files.graft, schemaOf: template)
    var grafted = SalvagedOutbox(reading: files.graft, databaseID: databaseID)
    grafted.isComplete = false
    return grafted
  }

  private static func recover(
    _ files: CacheFiles, reason: String, databaseID: DatabaseID, options: Options, report: (CacheRecovery) -> Void
  ) throws -> CacheRecovery {
    let outbox = try readOutbox(files, databaseID: databaseID)
    let replacement = try Database(.file(path: files.replacement), options: options.database)
    defer { replacement.close() }
    try outbox.save(to: replacement, databaseID: databaseID)
    let recovery = CacheRecovery(of: outbox, reason: reason, setAsidePath: files.aside)
    try files.replaceMain(by: replacement) { report(recovery) }
    return recovery
  }
}
