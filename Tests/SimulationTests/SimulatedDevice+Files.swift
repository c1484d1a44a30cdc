import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

extension SimulatedDevice {
  /// The folder of a device as it was at some moment between two transactions.
  struct Copy {
    var folder: URL
    var reference: SimulationReference
    var queues: [String?: [MutationBatch]]
    /// If the machine was copied while it ran.
    var identities: IdentitySource?
  }

  /// The parts of a running client.
  struct OpenClient {
    var database: Database
    /// Keeps the folder; nil for a cache in memory.
    var cache: OpenedCache?
    var store: LocalStore
    var engine: SyncEngine
  }

  /// - Parameter reused: the cache in memory that outlives the process.
  /// - Parameter prepare: is given the database before it is used.
  static func open(
    _ folder: URL?, reusing reused: Database? = nil, _ history: History, user: String?, prepare: (Database) -> Void
  ) throws -> OpenClient {
    let databaseID = DatabaseID(projectID: "p")
    func makeStore(_ database: Database) throws -> LocalStore {
      prepare(database)
      return try LocalStore(
        database: database, databaseID: databaseID,
        garbageCollection: history.kind == .eager ? .eager : .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user,
        newCacheID: cacheID)
    }
    let backgroundQueryLimits = BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 3)
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2,
      backgroundQueryLimits: history.kind == .background ? backgroundQueryLimits : nil, jitter: { 0 })
    guard let folder else {
      let database = try reused ?? Database(.memory, options: .init(synchronous: .normal))
      let store = try makeStore(database)
      return OpenClient(
        database: database, store: store, engine: SyncEngine(localStore: store, configuration: configuration))
    }
    let (cache, store) = try CacheFile.openStore(
      folder: folder.path, databaseID: databaseID, options: .init(database: .init(synchronous: .normal)),
      makeStore: { database, _ in try makeStore(database) })
    return OpenClient(
      database: cache.database, cache: cache, store: store,
      engine: SyncEngine(localStore: store, configuration: configuration))
  }

  /// Long enough to be found among the bytes of a file.
  static let cacheID = "the name of the cache"

  /// The process ends without a word and another begins on the same cache.
  func restart() throws {
    world.note("\(name) restarts")
    // A write that no file has yet ends with the process.
    for id in engine.heldWriteIDs { world.ledger.mayBeLost(id.rawValue) }
    end()
    if folder != nil { close() }
    try begin()
  }

  /// Forgets everything in memory.
  func end() {
    failures.transactions = []
    isNetworkEnabled = true
    listeners = [:]
    listenersToRepeat = []
    heard = [:]
    endEngine()
    driver.processEnded()
  }

  /// Forgets everything that ends with the engine, even if another takes its place in the same process.
  func endEngine() {
    driver.engineEnded()
    openWaits = []
    expectedAnswers = [:]
    hasCommitted = true
    watchAttempts.mayBeginAtOnce()
  }

  private func begin() throws {
    try openClient()
    identities = IdentitySource(stream: UInt64(world.nextNumber()))
    driver.streamUser = user
    post(.start)
  }

  func openClient() throws {
    let reused = folder == nil ? client.database : nil
    func open() throws -> OpenClient {
      try Self.open(folder, reusing: reused, world.history, user: user) { injectFailures(into: $0) }
    }
    do {
      client = try open()
    } catch  where !failures.statements.isEmpty || !failures.transactions.isEmpty {
      // The cache cannot be opened. The application tries again.
      client = try looking(open)
    }
    hasDamagedUsers = false
    if client.cache?.recovery != nil { hasDamagedPages = false }
  }

  // MARK: - Copies

  func copy() throws -> Copy {
    try readQueues()
    let target = world.folder.appendingPathComponent("copy-\(world.nextNumber())")
    guard let folder else { throw Simulation.Failure(description: "\(name) has no folder") }
    world.note("\(name) is copied to \(target.lastPathComponent)")
    try FileManager.default.copyItem(at: folder, to: target)
    var reference = reference
    reference.watchStreamClosed()
    return Copy(
      folder: target, reference: reference, queues: queues,
      identities: world.generator.chance(40) ? identities : nil)
  }

  /// While its process does not run, the folder is replaced by another.
  func replaceFolder(by copy: Copy) throws {
    guard let folder else { return }
    world.note("\(name) gets the folder \(copy.folder.lastPathComponent)")
    try readQueues()
    for batch in queues.values.joined() { world.ledger.mayBeLost(batch.number) }
    end()
    close()
    try FileManager.default.removeItem(at: folder)
    try FileManager.default.copyItem(at: copy.folder, to: folder)
    reference = copy.reference
    queues = copy.queues
    try begin()
  }

  /// The device begins with a copy.
  func remember(_ copy: Copy) {
    reference = copy.reference
    queues = copy.queues
    if let identities = copy.identities { self.identities = identities }
  }
}
