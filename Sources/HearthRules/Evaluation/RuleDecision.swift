/// The answer of rules to a request.
package struct RuleDecision: Sendable {
  package enum Answer: Sendable, Hashable {
    case allowed
    case denied
    /// The answer depends on documents that were not read. The evaluation is repeated when they are.
    case needsDocuments([LookedUpDocument])
  }

  /// A condition that did not hold.
  package struct Refusal: Sendable {
    /// The match of the `allow`.
    package let rule: String
    /// The line of the `allow`.
    package let line: Int
    /// The reason if the condition had no value; nil if it was false.
    package let failure: RuleFailure?
  }

  package internal(set) var answer = Answer.denied
  /// The conditions that were evaluated before the answer was known, at most ``largestRefusalCount``.
  package internal(set) var refusals: [Refusal] = []
  /// The documents that conditions looked up. Requests of several documents add them up against a limit of their own.
  package internal(set) var documents: [LookedUpDocument] = []
  /// The documents that the filters of a query name and whose contents were looked at. They do not count against that limit.
  package internal(set) var named: [LookedUpDocument] = []
  /// True if conditions looked at the time of the request: at another time, the answer may be another one.
  package internal(set) var usesTime = false
  package internal(set) var expressionCount = 0
  /// In units of ``RuleResourceLimits/work``.
  package internal(set) var workDone = 0
  package internal(set) var trace: RuleTrace?

  package var isAllowed: Bool { answer == .allowed }

  package static let largestRefusalCount = 20
}
