internal import HearthModel

/// The transactions of a database that only this process uses: ``TransactionRegistry`` has them in memory, and the storage has their locks
/// and checks their reads. Only ``read(_:keys:query:)`` and ``commit(_:ending:)`` suspend.
final class EmbeddedTransactions: Transactions {
  let registry: TransactionRegistry
  private let storage: any ExclusiveStorage
  private let databaseID: DatabaseID

  init(
    of storage: any ExclusiveStorage, databaseID: DatabaseID, limits: DatabaseLimits, clock: ServerClock,
    metrics: ServerMetrics?
  ) {
    registry = TransactionRegistry(limits: limits, clock: clock, locks: storage.locks, metrics: metrics)
    self.storage = storage
    self.databaseID = databaseID
  }

  func begin(
    _ isolation: TransactionIsolation, repeating repeated: [UInt8], at version: SnapshotVersion?
  ) throws(StatusError) -> [UInt8] {
    try registry.begin(isolation, repeating: repeated, at: version)
  }

  func read(
    _ transaction: [UInt8], keys: [DocumentKey], query: Query?
  ) async throws(StatusError) -> SnapshotVersion? {
    let latest = try await storage.currentVersion()
    return try await registry.read(transaction, keys: keys, query: query, latest: latest)
  }

  func commit(_ request: CommitRequest, ending transaction: [UInt8]) async throws(StatusError) -> CommitOutcome {
    let mutations = request.mutations
    let digest = RequestLabel.digest(of: mutations, in: databaseID)
    return try await registry.commit(transaction, isWriting: !mutations.isEmpty, digest: digest) {
      (conditions) throws(StatusError) in
      var conditions = conditions
      // Reads alone are consistent: they all saw one snapshot, or were locked.
      if mutations.isEmpty { conditions.reads = nil }
      return try await storage.commit(request, ending: conditions)
    }
  }

  func rollback(_ transaction: [UInt8]) throws(StatusError) { try registry.rollback(transaction) }
  func abortAll() { registry.abortAll() }
  func use() -> TransactionUse { registry.use() }
  var hasOpen: Bool { registry.hasOpen }
}

extension HostedDatabase {
  /// A database that this process has for itself.
  convenience init(
    id: DatabaseID, storage: any ExclusiveStorage, limits: DatabaseLimits = DatabaseLimits(),
    indexRules: RequiredIndexes? = nil, clock: ServerClock, metrics: ServerMetrics? = nil
  ) {
    let transactions = EmbeddedTransactions(
      of: storage, databaseID: id, limits: limits, clock: clock, metrics: metrics)
    self.init(
      id: id, storage: storage, transactions: transactions, limits: limits, indexRules: indexRules, metrics: metrics)
  }
}
