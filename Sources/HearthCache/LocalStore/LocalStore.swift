package import HearthModel
package import HearthStore

/// The facade of the cache: the documents, writes and targets that one device stores.
///
/// Every method that changes something is one transaction of the database, under the name that Google's sync-engine corpus gives it, so
/// that tests can make any of them fail. A transaction that fails changes nothing, neither in the file nor in memory.
///
/// Two equations hold between transactions:
/// * local view = remote documents + pending batches, for every user; the effect of a batch on a document, as first shown to the user,
///   stays until its answer (`OverlayTable.State`);
/// * a stored resume token is never ahead of the stored documents.
///
/// A `LocalStore` is confined to its owner's loop. It composes parts that do not call each other:
///
/// | part | responsible for |
/// |---|---|
/// | `CacheOutbox` | pending writes, their answers and their bases (`WriteBases`); refused writes |
/// | `CacheTargets` | the rows of targets, snapshots of the backend, pins |
/// | `CacheBundles` | loaded bundles and named queries |
/// | `CacheIndexes` | definitions and filling |
/// | `CacheQueries` | reading the local view |
/// | `ClientSharing` | the other clients, notices, the lease |
///
/// Each part may read in transactions of its own. Changes of the cache run inside a transaction that is named here. The parts share the
/// state that `CacheTransactions` holds for a transaction and restores when it fails. Apart from that the database is the truth.
package final class LocalStore {
  /// The name that this cache was given when it was made. A copy of the cache has the same.
  package let cacheID: String
  /// The backend's database that this is a cache of.
  package let databaseID: DatabaseID

  let tables: CacheTables
  let transactions: CacheTransactions
  let sharing: ClientSharing
  let targets: CacheTargets
  package let outbox: CacheOutbox
  package let queries: CacheQueries
  package let bundles: CacheBundles
  package let indexes: CacheIndexes
  let garbageCollection: GarbageCollection

  /// The number of notices that wait for other clients.
  package var noticeLimits = NoticeLimits()
  /// True after the first call of ``start()`` that has succeeded.
  private var hasStarted = false

  /// Opens the cache in a database, making or migrating its tables.
  ///
  /// - Parameters:
  ///   - user: the owner of the active queue; nil when no user is signed in.
  ///   - newCacheID: the name that the cache takes if it has none yet. Must differ from that of every other cache.
  ///   - locks: the locks of this client if it shares the cache with others; nil if it has the cache for itself.
  ///   - backend: names the backend for other clients of the cache, which must have the same.
  ///   - namesDatabase: false for a tool that has only guessed the database.
  /// - Throws: `StoreError`, with kind `newerSchema` when a newer version of this package wrote the file.
  package init(
    database: Database, databaseID: DatabaseID, garbageCollection: GarbageCollection, user: String?, newCacheID: String,
    locks: (any ClientLocks)? = nil, backend: String = "", namesDatabase: Bool = true
  ) throws {
    try CacheSchema.checkVersions(in: database)
    let documents = try CacheSchema.migrate(database)
    // A cache that nobody can share has no use for them.
    if locks != nil { try ClientSchema.schema.migrate(database) }
    if namesDatabase { try DatabaseNameTable(database: database).name(databaseID) }
    self.databaseID = databaseID
    self.garbageCollection = garbageCollection
    tables = CacheTables(database: database, databaseID: databaseID, documents: documents)
    transactions = CacheTransactions(
      tables, user: user, isEager: garbageCollection == .eager, locks: locks, backend: backend)
    sharing = transactions.sharing
    targets = CacheTargets(transactions)
    outbox = CacheOutbox(transactions)
    queries = CacheQueries(transactions)
    bundles = CacheBundles(transactions)
    indexes = CacheIndexes(transactions)
    let globals = tables.globals
    cacheID = try database.transaction("Open cache") {
      let known = try globals.cacheID()
      if !known.isEmpty { return known }
      try globals.setCacheID(newCacheID)
      return newCacheID
    }
    if locks != nil {
      try transactions.runOnce("Join cache", synchronous: .normal) {
        try sharing.join(userKey: transactions.user.key)
      }
    }
  }

  var database: Database { tables.database }
  package var user: String? { transactions.user.name }

  // MARK: - Starting

  /// Reads the counters once, so that a damaged file is noticed before anything is sent or promised.
  package func start() throws {
    try withRepairedRows {
      try transactions.read("Start local store") {
        try tables.globals.check()
        try tables.globals.checkBatchCounter()
        try tables.queue.checkOwners()
        if let user = try transactions.user.row() { _ = try tables.queue.highestBatchID(user: user) }
      }
    }
    // Batches that were set aside go back into their queues, where they can be read now.
    try withRepairedRows {
      guard try outbox.hasReadableBatchesAgain() else { return }
      try transactions.run("Retry unreadable batches", synchronous: .full) { try outbox.retryUnreadableBatches() }
    }
    hasStarted = true
  }

  /// Executes a step of the start, and repeats it if rows were repaired in it: nothing is in memory yet that a repair could contradict. At
  /// a second start callers may wait for batches already.
  private func withRepairedRows(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isUsableAfterRepair() else { throw error }
      return try body()
    }
    _ = isUsableAfterRepair()
  }

  private func isUsableAfterRepair() -> Bool {
    !hasStarted && transactions.targets.isEmpty && transactions.health.forgetRepair()
  }

  // MARK: - Transactions

  /// Runs a body in which everything that is read from the cache belongs to one state of the file, with the news up to that state.
  package func withOneState<T>(_ body: () -> T) -> T { transactions.withOneState(body) }

  /// The number of transactions that have written, or could have.
  package var writeTransactionCount: Int { transactions.writeCount }

  // MARK: - The file

  /// The reason to open the cache again; nil while this one can be used.
  package var reopening: Reopening? { transactions.health.reopening }

  /// The reason why this store must be given up, and its file left as it is: a newer release has migrated it, or others use it with another
  /// backend. Nil while it can be used.
  package var ending: (any Error)? { transactions.health.ending }

  /// Told about each repair, in words for a log.
  package var repaired: ((String) -> Void)? {
    get { transactions.repaired }
    set { transactions.repaired = newValue }
  }

  /// The refused batches that are kept.
  package var rejectedBatchLimits: RejectedBatchLimits {
    get { outbox.rejectedLimits }
    set { outbox.rejectedLimits = newValue }
  }

  /// The documents whose pending writes keep their bases.
  package var conflictRules: ConflictRules {
    get { outbox.bases.rules }
    set { outbox.bases.rules = newValue }
  }

  /// True if slow scans create indexes. Off at every start (firebase-ios-sdk query_engine.cc).
  package var createsIndexes: Bool {
    get { indexes.areCreated }
    set { indexes.areCreated = newValue }
  }

  /// Notes an error that a reader outside this store has found.
  package func noteDamage(_ error: any Error) { _ = try? transactions.repairs(after: error) }

  /// Another client has found damage beyond repair.
  package func noteDamagedFile(_ reason: String) { transactions.health.noteDamagedFile(reason) }

  /// Looks whether the files that this store was opened with are still there.
  ///
  /// - Throws: `CacheError.filesAreLost`.
  package func lookForFiles() throws { try transactions.health.lookForFiles() }

  /// The time that a transaction waits for another process that writes the file, about.
  package var busyTimeout: Duration { database.options.busyTimeout }

  /// Returns true if no other process holds the file, after waiting for at most this time.
  package func isFree(waitingAtMost duration: Duration) -> Bool {
    guard sharing.isShared else { return true }
    do {
      try database.waiting(atMost: duration) { try database.transaction("Look for free file") {} }
      return true
    } catch {
      // Any other error is that of the operation for which this was asked.
      return (error as? StoreError)?.kind != .unavailable
    }
  }
}
