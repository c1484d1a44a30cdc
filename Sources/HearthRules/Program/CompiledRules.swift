/// Compiled rules with their source and limits, as one reference: they are passed along with each request.
final class CompiledRules: Sendable {
  let source: SourceText
  let warnings: [RuleIssue]
  let limits: RuleLimits
  let program: Program

  init(_ source: SourceText, warnings: [RuleIssue], limits: RuleLimits, _ program: Program) {
    (self.source, self.warnings, self.limits, self.program) = (source, warnings, limits, program)
  }
}
