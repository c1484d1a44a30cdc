internal import HearthModel
internal import HearthStore

/// Runs the named transactions of a cache, and holds the state that its parts share: the tables, the active user, the targets in use, the
/// references to documents, and the role among the clients.
///
/// A failed transaction changes nothing, neither in the file nor in memory. Each outermost transaction first reads the changes of other
/// clients, and verifies the lease if only its holder may do the work.
final class CacheTransactions {
  let tables: CacheTables
  let health: CacheHealth
  let user: ActiveUser
  let targets: ActiveTargets
  let references: DocumentReferences
  let sharing: ClientSharing
  /// The number of transactions that have written, or could have.
  private(set) var writeCount = 0
  /// Told about each repair, in words for a log.
  var repaired: ((String) -> Void)?

  init(_ tables: CacheTables, user: String?, isEager: Bool, locks: (any ClientLocks)?, backend: String) {
    self.tables = tables
    health = CacheHealth(of: tables.database)
    self.user = ActiveUser(user, in: tables.queue)
    targets = ActiveTargets(in: tables.targets)
    references = DocumentReferences(in: tables, isEager: isEager)
    sharing = ClientSharing(in: tables, locks: locks, backend: backend)
  }

  var isEager: Bool { references.isEager }

  /// True if this client may do what only the holder of the lease may, as far as it knows.
  var isPrimary: Bool { sharing.isPrimary }

  // MARK: - Transactions

  /// Runs a named transaction. If it fails, what is in memory goes back to what it was, like what is on disk.
  ///
  /// - Parameters:
  ///   - synchronous: `.full` for what a caller is told is saved or what must not be sent again; `.normal` for
  ///     what the backend can send again, which a loss of power (not the end of the process) may undo.
  ///   - needsLease: true for what only the holder of the lease may do.
  /// - Throws: `CacheError.leaseLost`, for a transaction that needs the lease, if another client has it.
  func run<T>(
    _ name: String, synchronous: Database.Synchronous = .normal, needsLease: Bool = false, _ body: () throws -> T
  ) throws -> T {
    try repairing { try runOnce(name, synchronous: synchronous, needsLease: needsLease, body) }
  }

  /// As ``run(_:synchronous:needsLease:_:)``, without a repair of damaged rows.
  func runOnce<T>(
    _ name: String, synchronous: Database.Synchronous, needsLease: Bool = false, isRepair: Bool = false,
    _ body: () throws -> T
  ) throws -> T {
    let before = memory
    assertInvariants()
    references.begin(name)
    defer { references.end() }
    let database = tables.database
    let isOutermost = !database.isInTransaction
    // A transaction that has begun is carried out.
    if isOutermost { try health.checkBeforeTransaction(isDurable: synchronous == .full) }
    do {
      let result = try database.transaction(name, synchronous: synchronous) {
        if isOutermost { try begin(needsLease: needsLease, isRepair: isRepair) }
        let result = try body()
        if isEager { try references.collectTouchedDocuments() }
        return result
      }
      if isOutermost { writeCount += 1 }
      assertInvariants()
      health.noteFailedCheckpoint()
      return result
    } catch {
      goBack(to: before)
      health.noteFailedSync(error)
      throw error
    }
  }

  /// Runs a named transaction that only reads.
  func read<T>(_ name: String, _ body: () throws -> T) throws -> T {
    try repairing { try readOnce(name, body) }
  }

  private func readOnce<T>(_ name: String, _ body: () throws -> T) throws -> T {
    let before = memory
    let database = tables.database
    let isOutermost = !database.isInTransaction
    if isOutermost { try health.checkBeforeTransaction(isDurable: false) }
    do {
      return try database.readTransaction(name) {
        if isOutermost { try begin(needsLease: false) }
        return try body()
      }
    } catch {
      goBack(to: before)
      throw error
    }
  }

  /// Runs a body in which everything that is read from the cache belongs to one state of the file, with the news up to that state.
  ///
  /// Without other clients, nothing changes the file in between anyway. If the file cannot be read, the body runs all the same, and its own
  /// reading fails.
  func withOneState<T>(_ body: () -> T) -> T {
    let database = tables.database
    guard sharing.isShared, !database.isInTransaction else { return body() }
    let before = memory
    var result: T?
    do {
      try database.readTransaction("Read one state") {
        try begin(needsLease: false)
        result = body()
      }
    } catch {
      // Nothing was written that the failure could undo.
      if result == nil { goBack(to: before) }
    }
    return result ?? body()
  }

  /// Starts each outermost transaction: reads what other clients have changed.
  ///
  /// - Parameter isRepair: True for the transaction that repairs rows that cannot be read here.
  /// - Throws: `CacheError.leaseLost` if the transaction needs the lease and another client has it, `CacheError.otherBackend` if others have
  ///   used the file with another backend, `StoreError` `newerSchema` if a newer release has migrated the file.
  private func begin(needsLease: Bool, isRepair: Bool = false) throws {
    guard sharing.isShared else { return }
    if try sharing.takeFileVersion(checkVersions: health.checkVersions) {
      // The other client may have repaired the users.
      user.forgetRow()
      do {
        try sharing.refresh()
      } catch let error as CacheError where error.isOtherBackend {
        health.noteOtherBackend(error)
        throw error
      } catch {
        guard isRepair else { throw error }
      }
      // The transaction itself goes on after a failure. The next one looks again.
      sharing.noteCatchUp(Result { try gatherNews() })
    }
    if needsLease { try sharing.checkLease() }
  }

  // MARK: - Memory

  /// The values that the parts keep in memory. A failed transaction restores the values from before it.
  private struct Memory {
    var user: ActiveUser.Memory
    var targets: ActiveTargets.Memory
    var references: DocumentReferences.Memory
    var sharing: ClientSharing.Membership?
  }

  private var memory: Memory {
    Memory(
      user: user.memory, targets: targets.memory, references: references.memory, sharing: sharing.membership)
  }

  private func goBack(to former: Memory) {
    user.goBack(to: former.user)
    targets.goBack(to: former.targets)
    references.goBack(to: former.references)
    sharing.goBack(to: former.sharing)
  }

  /// Checks what is in memory, in debug builds only. Checks whose cost grows with the contents in use are made in each 64th transaction.
  private func assertInvariants() {
    // A repair may leave memory and file apart until the cache is opened again.
    guard health.reopening == nil else { return }
    let isSample = writeCount.isMultiple(of: 64)
    targets.assertInvariants(isThorough: isSample)
    sharing.assertInvariants()
    if isSample { references.assertInvariants() }
  }

  // MARK: - Telling others

  /// Writes a notice for other clients, if anybody could read it. Part of the transaction that makes the change.
  func tell(_ notice: Notice) throws { try sharing.tell(notice) }

  func tell(ofDocuments keys: some Sequence<DocumentKey>, user: MutationQueue.UserRow? = nil) throws {
    guard sharing.hasOthers else { return }
    for key in keys { try sharing.tell(.document(key, user: user)) }
  }

  // MARK: - Targets in use

  /// Returns whether garbage collection must keep a target.
  func isInUse(_ targetID: TargetID) throws -> Bool {
    if targets[targetID] != nil || targets.loaded.contains(targetID) { return true }
    return try sharing.isUsed(targetID)
  }

  /// The targets for which that is so.
  func targetsInUse() throws -> Set<TargetID> {
    try sharing.usedTargets().union(targets.targetIDs).union(targets.loaded)
  }

  /// The row of a target; nil if it has none.
  ///
  /// The state in memory of a target in use is newer than its row, except at a secondary client: the holder of the lease writes the rows.
  func knownTarget(_ target: Target) throws -> TargetData? {
    try activeTarget(target)?.data ?? tables.targets.target(target)
  }

  /// As ``knownTarget(_:)``, for a target in use; nil for every one at a secondary client.
  func activeTarget(_ target: Target) -> ActiveTarget? {
    guard isPrimary else { return nil }
    return targets.targetID(of: target).flatMap { targets[$0] }
  }
}
