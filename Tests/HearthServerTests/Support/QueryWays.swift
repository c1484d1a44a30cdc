import HearthModel
import HearthPlan

/// Counts of the ways in which a test has had its queries answered.
struct QueryWays {
  var counts: [String: Int] = [:]

  mutating func note(_ way: String) { counts[way, default: 0] += 1 }

  mutating func note(_ execution: QueryExecution?) {
    guard let execution else { return }
    if execution.isSortedByKeys { note("sorted by keys") }
    note("\(execution.plan)".prefix { $0 != "(" }.description)
    if !execution.mergedIndexes.isEmpty { note("merged") }
    if execution.accesses.count > 1 { note("several ranges") }
    for case .index(let definition, _, _) in execution.accesses where definition.scope == .collectionGroup {
      note("index of a group")
    }
  }
}
