package import HearthModel
package import HearthStore

/// The face of the cache: what one device remembers of documents, writes and targets.
///
/// Every method is one transaction of the database, under the name that Google's sync-engine corpus gives it, so that
/// tests can make any of them fail. A transaction that fails changes nothing, neither in the file nor in memory.
///
/// Two equations hold between transactions:
/// * local view = remote documents + pending batches, for every user; what a batch did to a document when the user saw it first
///   stays until its answer (`OverlayTable.State`);
/// * a stored resume token is never ahead of the stored documents.
///
/// A `LocalStore` is confined to its owner's loop. Apart from the user and what open listeners need (`State`) it keeps
/// nothing in memory: the database is the truth.
package final class LocalStore {
  /// The name that this cache was given when it was made. A copy of the cache has the same.
  package let cacheID: String
  /// The backend's database that this is a cache of.
  package let databaseID: DatabaseID

  /// The state in memory. A value, so that a failed transaction restores the one from before it.
  struct State {
    var user: String?
    /// Nil until it is looked up, and while the user has written nothing. A repair removes rows, and another user can get the number: it is
    /// forgotten with each repair and with each change by another client.
    var userRow: MutationQueue.UserRow?
    /// The targets that have a listener.
    var targets: [TargetID: ActiveTarget] = [:]
    var targetIDs: [Target: TargetID] = [:]
    /// The targets that bundles loaded since the start have filled and that no listener has released since.
    var bundleTargets: Set<TargetID> = []
    /// True if a query that an index would have made faster creates it.
    var createsIndexes = false
    /// Kept for eager garbage collection only.
    var viewReferences = ViewReferences()
    /// As above.
    var resultEdges = ResultEdges()
    /// Nil for the only client that a cache can have.
    var membership: Membership?

    /// Checks what holds between transactions, in debug builds only.
    ///
    /// - Parameter isThorough: True to look at each target in use.
    func assertInvariants(isThorough: Bool) {
      assert(
        targets.count == targetIDs.count,
        "\(targets.count) targets have a listener, but \(targetIDs.count) are found by query")
      guard isThorough else { return }
      assert(
        targetIDs.allSatisfy { targets[$0.value]?.data.target == $0.key },
        "a query leads to another target than its own: \(targetIDs)")
      assert(
        targets.allSatisfy { $0.key == $0.value.data.targetID && $0.key == $0.value.persisted.targetID },
        "a target is found under another one's number: \(targets)")
      assert(
        targets.values.allSatisfy { $0.data.target == $0.persisted.target },
        "the row of a target in use is another one's: \(targets)")
    }
  }

  /// A target as it is now, and as its row in the database has it.
  struct ActiveTarget {
    var data: TargetData
    var persisted: TargetData
    /// True if this client wants the backend to be asked for it. With other clients, the file says who does.
    var isWatched = false
  }

  let database: Database
  let documents: DocumentStore
  let globals: CacheGlobals
  let queue: MutationQueue
  let overlays: OverlayTable
  let targets: TargetTable
  let uses: DocumentUses
  let bundles: BundleTable
  let sentMarks: SentMarks
  let outcomes: OutcomeTable
  let rejected: RejectedBatchTable
  let bases: BaseDocumentTable
  let pins: PinTable
  let localDocuments: LocalDocuments
  let clients: ClientTable
  let notices: NoticeTable
  /// Nil for the only client that a cache can have.
  let locks: (any ClientLocks)?
  /// The backend of this client, for the others.
  let backend: String
  let garbageCollection: GarbageCollection
  var state: State
  /// The sequence number and the keys of the running transaction; empty between transactions.
  var step = Step()

  /// The reason to open the cache again; nil while this one can be used.
  package internal(set) var reopening: Reopening?
  /// The reason of a failed sync: what is written behind it is not safe, whatever else was found before. Nil if none has failed.
  var failedSync: String?
  /// The reason why this store must be given up, and its file left as it is: a newer release has migrated it. Nil while it can be used.
  package internal(set) var ending: StoreError?
  /// Looks for the files that this store was opened with: the reason why they are lost, or nil. Nil for a cache in memory.
  var lostFiles: (() -> String?)?
  /// The number of notices that wait for other clients.
  package var noticeLimits = NoticeLimits()
  /// The refused batches that are kept.
  package var rejectedBatchLimits = RejectedBatchLimits()
  /// The documents whose pending writes keep what they were made for.
  package var conflictRules = ConflictRules()
  /// True after the first call of ``start()`` that has succeeded.
  private var hasStarted = false
  /// The number of transactions that have written, or could have.
  package private(set) var writeTransactionCount = 0
  /// Told about each repair, in words for a log.
  package var repaired: ((String) -> Void)?

  struct Step {
    var sequenceNumber: Int64?
    /// Documents that may have lost their last reference. Kept for eager garbage collection only.
    var touchedKeys: Set<DocumentKey> = []
  }

  /// Opens the cache in a database, making or migrating its tables.
  ///
  /// - Parameters:
  ///   - user: whose queue is active; nil when no user is signed in.
  ///   - newCacheID: the name that the cache takes if it has none yet. Must differ from that of every other cache.
  ///   - locks: those of this client if it shares the cache with others; nil if it has the cache for itself.
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
    let globals = CacheGlobals(database: database)
    self.databaseID = databaseID
    self.database = database
    self.documents = documents
    self.globals = globals
    self.queue = MutationQueue(database: database, databaseID: databaseID, globals: globals)
    self.overlays = OverlayTable(database: database, databaseID: databaseID)
    self.targets = TargetTable(database: database, databaseID: databaseID, globals: globals)
    self.uses = DocumentUses(database: database)
    self.bundles = BundleTable(database: database, databaseID: databaseID)
    self.sentMarks = SentMarks(database: database)
    self.outcomes = OutcomeTable(database: database, databaseID: databaseID)
    self.rejected = RejectedBatchTable(database: database, databaseID: databaseID)
    self.bases = BaseDocumentTable(database: database)
    self.pins = PinTable(database: database, databaseID: databaseID)
    self.localDocuments = LocalDocuments(documents: documents, queue: queue, overlays: overlays)
    self.clients = ClientTable(database: database)
    self.notices = NoticeTable(database: database)
    self.locks = locks
    self.backend = backend
    self.garbageCollection = garbageCollection
    self.state = State(user: user)
    self.cacheID = try Self.name(newCacheID, database, globals)
    if let locks { try runTransaction("Join cache", synchronous: .normal) { try join(locks) } }
  }

  private static func name(_ newCacheID: String, _ database: Database, _ globals: CacheGlobals) throws -> String {
    try database.transaction("Open cache") {
      let known = try globals.cacheID()
      if !known.isEmpty { return known }
      try globals.setCacheID(newCacheID)
      return newCacheID
    }
  }

  /// Reads the counters once, so that a damaged file is noticed before anything is sent or promised.
  package func start() throws {
    try withRepairedRows {
      try read("Start local store") {
        try globals.check()
        try globals.checkBatchCounter()
        try queue.checkOwners()
        if let user = try userRow() { _ = try queue.highestBatchID(user: user) }
      }
    }
    try withRepairedRows { try retryUnreadableBatches() }
    hasStarted = true
  }

  /// Executes a step of the start, and once more if rows were repaired in it: nothing is in memory yet that a repair could disagree with. At
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
    guard !hasStarted, case .targetsWereRepaired = reopening, state.targets.isEmpty else { return false }
    reopening = nil
    return true
  }

  /// Returns whether garbage collection must keep a target.
  func isInUse(_ targetID: TargetID) throws -> Bool {
    if state.targets[targetID] != nil || state.bundleTargets.contains(targetID) { return true }
    return try state.membership != nil && clients.isUsed(targetID)
  }

  /// The targets for which that is so.
  func targetsInUse() throws -> Set<TargetID> {
    let others = try state.membership == nil ? [] : clients.usedTargets()
    return others.union(state.targets.keys).union(state.bundleTargets)
  }

  // MARK: - Transactions

  var isEager: Bool { garbageCollection == .eager }

  /// Runs a named transaction. If it fails, what is in memory goes back to what it was, like what is on disk.
  ///
  /// - Parameters:
  ///   - synchronous: `.full` for what a caller is told is saved or what must not be sent again; `.normal` for
  ///     what the backend can send again, which a loss of power (not the end of the process) may undo.
  ///   - needsLease: true for what only the holder of the lease may do.
  /// - Throws: `CacheError.leaseLost`, for a transaction that needs the lease, if another client has it.
  func transaction<T>(
    _ name: String, synchronous: Database.Synchronous = .normal, needsLease: Bool = false, _ body: () throws -> T
  ) throws -> T {
    try repairing { try runTransaction(name, synchronous: synchronous, needsLease: needsLease, body) }
  }

  func runTransaction<T>(
    _ name: String, synchronous: Database.Synchronous, needsLease: Bool = false, isRepair: Bool = false,
    _ body: () throws -> T
  ) throws -> T {
    let before = state
    assertInvariants()
    assert(
      step.sequenceNumber == nil && step.touchedKeys.isEmpty,
      "\(name) runs inside another transaction, whose touched documents it would forget")
    step = Step()
    defer { step = Step() }
    // A transaction that has begun is carried out.
    if let ending, !database.isInTransaction { throw ending }
    // A caller is told that it is saved.
    if synchronous == .full, !database.isInTransaction {
      try lookForFiles()
      if let failed = database.failedCheckpoint {
        noteFailedSync(failed)
        throw failed
      }
      // The system reports a failed sync once: what is written behind it seems to be safe.
      if let failedSync { throw StoreError(kind: .io, message: failedSync) }
    }
    do {
      let isOutermost = !database.isInTransaction
      let result = try database.transaction(name, synchronous: synchronous) {
        if isOutermost { try beginShared(needsLease: needsLease, isRepair: isRepair) }
        let result = try body()
        if isEager { try collectTouchedDocuments() }
        return result
      }
      if isOutermost { writeTransactionCount += 1 }
      assertInvariants()
      if let failed = database.failedCheckpoint { noteFailedSync(failed) }
      return result
    } catch {
      state = before
      noteFailedSync(error)
      throw error
    }
  }

  /// Checks what is in memory, in debug builds only. What costs more the more is in use is checked in each 64th transaction.
  private func assertInvariants() {
    // A repair may leave memory and file apart until the cache is opened again.
    guard reopening == nil else { return }
    let isSample = writeTransactionCount.isMultiple(of: 64)
    state.assertInvariants(isThorough: isSample || state.targets.count <= 8)
    if isSample { state.viewReferences.assertInvariants() }
  }

  func read<T>(_ name: String, _ body: () throws -> T) throws -> T {
    try repairing { try runRead(name, body) }
  }

  private func runRead<T>(_ name: String, _ body: () throws -> T) throws -> T {
    let before = state
    if let ending, !database.isInTransaction { throw ending }
    do {
      let isOutermost = !database.isInTransaction
      return try database.readTransaction(name) {
        if isOutermost { try beginShared(needsLease: false) }
        return try body()
      }
    } catch {
      state = before
      throw error
    }
  }

  /// The number under which this transaction marks what it uses, taken when first asked for.
  func sequenceNumber() throws -> Int64 {
    if let number = step.sequenceNumber { return number }
    let number = try globals.takeSequenceNumber()
    step.sequenceNumber = number
    return number
  }

  /// Notes that documents gained or, before, lost a reference: for the eager collector at the end of this transaction,
  /// or with a sequence number for the least-recently-used one.
  func touch(_ keys: some Sequence<DocumentKey>) throws {
    if isEager {
      step.touchedKeys.formUnion(keys)
    } else {
      for key in keys { try uses.markUse(of: key, sequenceNumber: sequenceNumber()) }
    }
  }

  /// Notes that documents have one pending batch less. It was of use when it was written; the answer counts as another
  /// use where nothing else needs the document.
  ///
  /// So the answer to a write of a document that a target holds, which is the usual case, changes neither the counters
  /// nor the table of uses: two pages less in a durable commit, each 5 to 10 microseconds of processor time.
  func touchLeftByBatch(_ keys: some Sequence<DocumentKey>) throws {
    guard !isEager else { return try touch(keys) }
    for key in keys where try !(targets.hasTarget(for: key) || queue.hasPendingBatch(for: key)) {
      try uses.markUse(of: key, sequenceNumber: sequenceNumber())
    }
  }

  /// Adds documents to a target, which counts as a use of them.
  func add(_ keys: [DocumentKey], toTarget targetID: TargetID) throws {
    guard !keys.isEmpty else { return }
    let sequenceNumber = isEager ? 0 : try sequenceNumber()
    for key in keys { try targets.add(key, to: targetID, sequenceNumber: sequenceNumber) }
    if isEager { return try touch(keys) }
    guard try uses.hasUnneeded() else { return }
    for key in keys { try uses.markNeeded(key) }
  }

  /// Drops the documents that this transaction touched and that no target, no view and no pending batch of any user
  /// needs. Runs after the transaction has read what it returns, so a view can still show what the cache just lost.
  private func collectTouchedDocuments() throws {
    guard !step.touchedKeys.isEmpty else { return }
    assert(isEager, "documents are collected at once that are to be kept until they are old")
    var kept: KeptDocuments?
    for key in step.touchedKeys.sorted() {
      if state.viewReferences.contains(key) { continue }
      if try targets.hasTarget(for: key) || queue.hasPendingBatch(for: key) { continue }
      if kept == nil { kept = try KeptDocuments(in: self, state.resultEdges, within: .unlimited) }
      if try kept?.contains(key) != false { continue }
      try documents.remove(key)
    }
    if let kept { state.resultEdges = kept.edges }
  }

  /// The current user's row, nil as long as the user has never written.
  func userRow() throws -> MutationQueue.UserRow? {
    if let row = state.userRow { return row }
    state.userRow = try queue.row(of: state.user)
    return state.userRow
  }

  func userRowForWriting() throws -> MutationQueue.UserRow {
    if let row = state.userRow { return row }
    let row = try queue.makeRow(userKey: MutationQueue.userKey(state.user))
    state.userRow = row
    return row
  }
}
