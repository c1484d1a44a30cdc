package import HearthRules

/// Queries and conditions of `allow list`, with the verdicts of Google's emulator and of ours.
package enum RuleQueryCorpus {
  /// A filter with the verdicts for a list of conditions, a letter each: T if the condition holds, F if its negation holds, E if neither.
  package struct Facts: Sendable {
    package let filter: RuleFilter?
    package let emulator: String
    package let ours: String

    init(_ filter: RuleFilter?, emulator: String, ours: String) {
      self.filter = filter
      self.emulator = emulator
      self.ours = ours
    }
  }

  /// A condition with a query of a collection.
  package struct Query: Sendable {
    package let condition: String
    package let verdict: RuleCase.Verdict
    package let filter: RuleFilter?
    package let orders: [RuleQuery.Order]
    package let limit: Int64?
    package let offset: Int64

    init(
      _ condition: String, _ verdict: String, filter: RuleFilter? = nil, orders: [RuleQuery.Order] = [],
      limit: Int64? = nil, offset: Int64 = 0
    ) {
      self.condition = condition
      self.verdict = RuleCase.Verdict(verdict[...])
      self.filter = filter
      self.orders = orders
      self.limit = limit
      self.offset = offset
    }
  }

  /// All conditions with their queries.
  package static var all: [Query] {
    let lines = conditions.split(separator: "\n").map(String.init)
    return queries
      + facts.flatMap { facts in
        zip(lines, zip(facts.emulator, facts.ours)).map { line, verdicts in
          Query(line, "\(verdicts.0)>\(verdicts.1)", filter: facts.filter)
        }
      }
  }
}
