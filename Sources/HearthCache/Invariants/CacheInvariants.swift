internal import HearthModel
package import HearthStore

/// Checks the invariants of a cache that hold between two transactions.
///
/// Returns violations instead of asserting: the disk, another process or an earlier release may have written anything into the file, so a
/// row that breaks a rule is not a programming error. Tests and simulations that damage nothing expect no violation. Rules that SQL can
/// express are lists of `RowRule`; the others read and decode the rows. The cost grows with the cache.
package final class CacheInvariants {
  let store: LocalStore
  private var violations: [RowViolation] = []

  private init(_ store: LocalStore) {
    self.store = store
  }

  var database: Database { store.database }

  /// Reads the whole cache and returns the violations, each rule in the order of its rows. Repairs nothing.
  ///
  /// - Throws: `StoreError` if the file cannot be read. A row that cannot be decoded is a violation.
  package static func violations(in store: LocalStore) throws -> [RowViolation] {
    try store.database.readTransaction("Check invariants") {
      let check = CacheInvariants(store)
      try check.run()
      return check.violations
    }
  }

  private func run() throws {
    violations += try StoreInvariants.violations(in: store.tables.documents)
    try check(Self.outboxRules + Self.overlayRules + Self.targetRules + Self.keptRules)
    try check(store.transactions.isEager ? [] : Self.useRules)
    let isShared = try database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'cache_sharing'") { _ in true }
    if isShared != nil { try check(Self.clientRules) }
    try checkBatches()
    try checkKeptBatches()
    try checkOverlays()
    try checkTargets()
    try checkActiveTargets()
    if store.transactions.isEager { try checkUnreferencedDocuments() }
  }

  private func check(_ rules: [RowRule]) throws {
    for rule in rules { violations += try rule.violations(in: database) }
  }

  func report(_ others: [RowViolation]) { violations += others }

  func report(_ table: String, _ row: String, _ rule: String) {
    violations.append(RowViolation(table: table, row: row, rule: rule))
  }

  /// Reports that a row cannot be decoded, and goes on.
  func decoding(_ table: String, _ row: @autoclosure () -> String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch CacheError.unreadableBatch(let batchID, let reason) {
      report(table, "\(batchID)", "it can be decoded (\(reason))")
    } catch {
      guard let damage = CacheDamage(error) else { throw error }
      report(table, row(), "it can be decoded (\(damage.reason))")
    }
  }
}
