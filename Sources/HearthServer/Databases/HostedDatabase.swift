internal import HearthModel
internal import HearthWire

/// One database: its storage, its open transactions and the translation of its messages.
final class HostedDatabase: Sendable {
  let id: DatabaseID
  let storage: any ServerStorage
  let transactions: any Transactions
  let translator: WireTranslator
  let limits: DatabaseLimits
  /// Nil if queries may be without indexes.
  let indexRules: RequiredIndexes?
  /// Nil if the program has no metrics backend.
  let metrics: ServerMetrics?

  init(
    id: DatabaseID, storage: any ServerStorage, transactions: any Transactions,
    limits: DatabaseLimits = DatabaseLimits(), indexRules: RequiredIndexes? = nil, metrics: ServerMetrics? = nil
  ) {
    self.id = id
    self.storage = storage
    self.transactions = transactions
    self.translator = WireTranslator(database: id)
    self.limits = limits
    self.indexRules = indexRules
    self.metrics = metrics
  }

  /// The use of the database now.
  func use() -> DatabaseUse {
    DatabaseUse(
      storage: storage.use(), transactions: transactions.use(), windowBytes: storage.feed.windowMemory.usedBytes)
  }
}
