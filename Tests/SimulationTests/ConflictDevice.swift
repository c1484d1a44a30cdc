import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// The cache of one device of a conflict simulation, which outlives the processes on it.
final class ConflictDevice {
  /// The parts of the cache that a process has open.
  struct Process {
    var database: Database
    /// Keeps the folder; only of a cache in a file of one process.
    var cache: OpenedCache?
    var store: LocalStore
    var engine: SyncEngine
    /// The name of the process among those that share the cache.
    var name = ""
  }

  let place: ConflictHistory.Place
  private let memory: Database?
  private let folder: URL?
  private let locks = CacheLocks()
  /// The connection of another program that writes the file.
  private var holder: Database?
  private var processCount = 0
  /// True once something in the file was damaged.
  private(set) var wasDamaged = false

  private static let databaseID = DatabaseID(projectID: "p")

  init(_ place: ConflictHistory.Place) throws {
    self.place = place
    memory = place == .memory ? try Database(.memory, options: .init(synchronous: .normal)) : nil
    folder = place == .memory ? nil : SharedSimulation.newFolder()
    if let folder { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
  }

  deinit {
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }

  // MARK: - Processes

  func begin(_ release: ConflictHistory.Release, user: String?) throws -> Process {
    processCount += 1
    let name = "process-\(processCount)"
    switch place {
    case .memory:
      guard let memory else { throw Simulation.Failure(description: "a cache in memory has no database") }
      return process(memory, nil, try makeStore(in: memory, user), release)
    case .file:
      let (cache, store) = try CacheFile.openStore(
        folder: folder?.path ?? "", databaseID: Self.databaseID, options: .init(database: .init(synchronous: .normal)),
        makeStore: { database, _ in try makeStore(in: database, user) })
      return process(cache.database, cache, store, release)
    case .shared:
      let database = try Database(.file(path: file), options: .init(synchronous: .normal, busyTimeout: .zero))
      var process = process(database, nil, try makeStore(in: database, user, locks: locks.begin(name)), release)
      process.name = name
      return process
    }
  }

  /// The process is gone.
  func end(_ process: Process) {
    locks.end(process.name)
    guard place != .memory else { return }
    process.database.close()
    process.cache?.close()
  }

  /// The system suspends the process, which has given its place back.
  func suspend(_ process: Process) { locks.end(process.name) }
  func resume(_ process: Process) { locks.resume(process.name) }

  /// Nobody can write the file while the body runs, because another program writes it.
  func withFileHeld(_ body: () throws -> Void) throws {
    try hold()
    try body()
    try free()
  }

  var isHeld: Bool { holder != nil }

  /// Another program begins to write the file.
  func hold() throws {
    let holder = try Database(.file(path: file), options: .init(synchronous: .normal, busyTimeout: .zero))
    try holder.execute("BEGIN IMMEDIATE")
    self.holder = holder
  }

  /// The program ends.
  func free() throws {
    try holder?.execute("ROLLBACK")
    holder?.close()
    holder = nil
  }

  private var file: String { folder?.appendingPathComponent("cache.sqlite").path ?? "" }

  private func makeStore(in database: Database, _ user: String?, locks: (any ClientLocks)? = nil) throws -> LocalStore {
    try LocalStore(
      database: database, databaseID: Self.databaseID,
      garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user, newCacheID: "cache", locks: locks)
  }

  private func process(
    _ database: Database, _ cache: OpenedCache?, _ store: LocalStore, _ release: ConflictHistory.Release
  ) -> Process {
    let configuration = SyncConfiguration(
      maxPendingWriteBatches: release.maxPendingWriteBatches, conflictRules: release.rules, jitter: { 0 })
    let engine = SyncEngine(localStore: store, configuration: configuration)
    return Process(database: database, cache: cache, store: store, engine: engine)
  }

  // MARK: - Damage

  enum Damage: CaseIterable {
    /// Everything in the file but the outbox is lost.
    case lostTable
    /// The same, and the bases of the pending writes are lost too.
    case lostTableAndBases
    /// A row of the bases cannot be read.
    case unreadableBase
    /// A document cannot be read.
    case unreadableDocument
  }

  /// The base documents of the pending writes in the file.
  func bases() throws -> [String] {
    let database = try Database(.file(path: file), options: .init(synchronous: .normal))
    defer { database.close() }
    let columns = ["user_key", "path", "state", "hex(fields)", "is_outdated", "next_state", "copy_name"]
    let row = columns.joined(separator: " || ' ' || ")
    var bases: [String] = []
    try database.forEachRow("SELECT \(row) FROM cache_base_documents JOIN cache_users USING (user_id) ORDER BY 1") {
      bases.append(try $0.string(at: 0))
      return true
    }
    return bases
  }

  /// - Returns: True if the base of a pending write may be lost.
  func damage(_ damage: Damage, _ generator: inout HistoryGenerator) throws -> Bool {
    wasDamaged = true
    let database = try Database(.file(path: file), options: .init(synchronous: .normal))
    defer { database.close() }
    switch damage {
    case .lostTable:
      try database.execute("DROP TABLE IF EXISTS cache_targets")
      return false
    case .lostTableAndBases:
      try database.execute("DELETE FROM cache_base_documents")
      try database.execute("DROP TABLE IF EXISTS cache_targets")
    case .unreadableBase:
      let column = generator.pick([
        "state = 7", "fields = 'x'", "is_outdated = 'x'", "next_state = 1.5", "path = x'FF'",
      ])
      let row = "hash = (SELECT max(hash) FROM cache_base_documents)"
      try database.execute("UPDATE cache_base_documents SET \(column) WHERE \(row)")
    case .unreadableDocument:
      try database.execute("UPDATE documents SET version = 'x' WHERE id = '\(generator.pick(["x", "y"]))'")
      return false
    }
    return true
  }
}
