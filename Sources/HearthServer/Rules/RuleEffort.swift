internal import HearthRules
internal import Synchronization

/// The effort of all decisions on a request, which may be made in several steps.
final class RuleEffort: Sendable {
  /// In units of `RuleResourceLimits/work`. Each decision alone may take half of it.
  static let maximum = 64 << 20
  /// An expression takes as long as so many units of work.
  static let ofExpression = 64

  private let spent = Atomic(0)

  static func of(_ decision: RuleDecision) -> Int { decision.workDone + decision.expressionCount * ofExpression }

  /// Returns false if it is more than the maximum by now.
  func spend(_ effort: Int) -> Bool {
    // The sum of 64-bit numbers of so few bytes each does not overflow before the request is refused.
    spent.add(effort, ordering: .relaxed).newValue <= Self.maximum
  }
}
