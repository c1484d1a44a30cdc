internal import HearthModel
internal import HearthRules
internal import Synchronization

/// Counts the values of the expressions of rules in one database, from all calls.
final class CoverageCounter: Sendable {
  private let counted: Mutex<RuleCoverage>

  init(of rules: RuleSet) {
    counted = Mutex(rules.emptyCoverage)
  }

  func add(_ trace: RuleTrace) { counted.withLock { $0.add(trace) } }

  var coverage: RuleCoverage { counted.withLock { $0 } }
}

/// The counters of the databases that were used last.
struct CoverageCounters {
  /// More databases than a test run uses at a time.
  static let largestCount = 32

  /// The one that was used last stands at the end.
  private var counters: [(database: DatabaseID, counter: CoverageCounter)] = []

  /// The counter of a database, which starts if there is none. If there are too many, that of another database is dropped.
  mutating func counter(of database: DatabaseID, _ rules: RuleSet) -> CoverageCounter {
    if counters.last?.database == database { return counters[counters.count - 1].counter }
    let known = counters.firstIndex { $0.database == database }.map { counters.remove(at: $0).counter }
    let counter = known ?? CoverageCounter(of: rules)
    if counters.count == Self.largestCount { counters.removeFirst() }
    counters.append((database, counter))
    return counter
  }

  /// The counter of a database; nil if nothing was counted there.
  func known(_ database: DatabaseID) -> CoverageCounter? { counters.first { $0.database == database }?.counter }

  /// Drops the counters of databases whose rules are replaced.
  mutating func remove(where isReplaced: (DatabaseID) -> Bool) { counters.removeAll { isReplaced($0.database) } }
}
