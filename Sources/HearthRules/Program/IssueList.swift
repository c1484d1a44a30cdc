/// The issues of a file in the order in which they are found, up to a limit.
struct IssueList {
  let source: SourceText
  let limit: Int
  private(set) var issues: [RuleIssue] = []
  private(set) var hasErrors = false

  init(_ source: SourceText, limit: Int) {
    self.source = source
    self.limit = limit
  }

  mutating func add(_ severity: RuleIssue.Severity, _ message: String, at range: SourceRange, in rule: String?) {
    if severity == .error { hasErrors = true }
    guard issues.count < limit else { return }
    issues.append(source.issue(severity, message, at: range, in: rule))
  }
}
