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
  package internal(set) var expressionCount = 0
  package internal(set) var trace: RuleTrace?

  package var isAllowed: Bool { answer == .allowed }

  package static let largestRefusalCount = 20
}

/// The values of all expressions that an evaluation has reached.
package struct RuleTrace: Sendable {
  package struct Entry: Sendable {
    package let range: SourceRange
    package let value: Result<RuleValue, RuleFailure>
  }

  /// In the order in which their values were known, so that parts stand before the whole.
  package internal(set) var entries: [Entry] = []
}

/// Counts how often expressions were evaluated, over many evaluations.
package struct RuleCoverage: Sendable {
  package struct Count: Hashable, Sendable {
    package internal(set) var isTrue = 0
    package internal(set) var isFalse = 0
    package internal(set) var hasOtherValue = 0
    package internal(set) var hasFailed = 0
  }

  package private(set) var counts: [SourceRange: Count] = [:]

  package init() {}

  package mutating func add(_ trace: RuleTrace) {
    for entry in trace.entries {
      switch entry.value {
      case .success(.bool(true)): counts[entry.range, default: Count()].isTrue += 1
      case .success(.bool(false)): counts[entry.range, default: Count()].isFalse += 1
      case .success: counts[entry.range, default: Count()].hasOtherValue += 1
      case .failure: counts[entry.range, default: Count()].hasFailed += 1
      }
    }
  }
}
