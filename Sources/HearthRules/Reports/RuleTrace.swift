/// The values of all expressions that an evaluation has reached.
package struct RuleTrace: Sendable {
  /// The value of an expression, or the reason why it has none.
  struct Entry: Sendable {
    /// The place in ``Program/expressions``.
    let node: Int32
    /// The calls of functions around it.
    let callDepth: Int32
    let outcome: Result<RuleValue, RuleFailure>
  }

  /// An `allow` whose path and methods are those of the request.
  package struct Rule: Sendable {
    /// The match around it.
    package let title: String
    package let range: SourceRange
    /// The value of its condition; true for an `allow` without one.
    package let outcome: Result<RuleValue, RuleFailure>
    /// In the order in which the values were complete, so that parts stand before the whole.
    let entries: [Entry]
  }

  /// In the order in which they were evaluated. A query with several disjuncts evaluates rules once for each.
  package internal(set) var rules: [Rule] = []
}
