/// A defect of a rules file, with its place.
package struct RuleIssue: Hashable, Sendable {
  package enum Severity: String, Sendable {
    /// The rules are refused.
    case error
    /// The rules are taken. What the warning names fails when it is evaluated, or has no effect.
    case warning
  }

  package let severity: Severity
  /// From 1 on. The column counts Unicode scalars.
  package let line: Int
  package let column: Int
  /// The part of the file that the message is about.
  package let range: SourceRange
  /// The line of the file, shortened.
  package let text: String
  /// The match or function around the place, such as `match /users/{user}`.
  package let rule: String?
  package let message: String
}

extension RuleIssue: CustomStringConvertible {
  package var description: String {
    "\(line):\(column): \(severity.rawValue): \(message)" + (rule.map { " (in \($0))" } ?? "") + "\n  \(text)"
  }
}

/// A rules file that is refused, with all issues that were found.
package struct RuleCompilationError: Error, Sendable, CustomStringConvertible {
  package let issues: [RuleIssue]

  package var description: String { issues.map(\.description).joined(separator: "\n") }
}
