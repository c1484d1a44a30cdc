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

  static func openDatabase(_ folder: URL?) throws -> (Database, OpenedCache?) {
    guard let folder else { return (try Database(.memory, options: .init(synchronous: .normal)), nil) }
    let cache = try CacheFile.open(
      folder: folder.path, databaseID: databaseID, options: .init(database: .init(synchronous: .normal)))
    return (cache.database, cache)
  }

  private static var databaseID: DatabaseID { DatabaseID(projectID: "p") }

  static func open(_ database: Database, _ history: History, user: String?) throws -> (LocalStore, SyncEngine) {
    let store = try LocalStore(
      database: database, databaseID: databaseID,
      garbageCollection: history.kind == .eager ? .eager : .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user,
      newCacheID: "cache")
    let detachment = DetachmentLimits(documentsOnLoop: -1, partsPerScan: 3)
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2, detachment: history.kind == .beside ? detachment : nil, jitter: { 0 })
    return (store, SyncEngine(localStore: store, configuration: configuration))
  }

  /// The process ends without a word and another begins on the same cache.
  func restart() throws {
    world.note("\(name) restarts")
    end()
    if folder != nil { close() }
    try begin()
  }

  /// What was in memory is gone.
  private func end() {
    failingTransactions = []
    isNetworkEnabled = true
    clearInbox()
    timers = []
    opening = []
    listeners = [:]
    openWrites = []
    openWaits = []
    expectedAnswers = [:]
    heard = [:]
    for query in besideQueries { query.close() }
    besideQueries = []
    breakWatchStream(nil)
    breakWriteStream(nil)
  }

  private func begin() throws {
    if folder != nil { (database, openedCache) = try Self.openDatabase(folder) }
    injectFailures()
    do {
      (store, engine) = try Self.open(database, world.history, user: user)
    } catch  where disturbance != nil {
      // The cache cannot be opened. The application tries again.
      (store, engine) = try looking { try Self.open(database, world.history, user: user) }
    }
    identities = IdentitySource(stream: UInt64(world.nextNumber()))
    streamUser = user
    hasCommitted = true
    watchAttempts.mayBeginAtOnce()
    post(.start)
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
