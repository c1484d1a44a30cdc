/// The rules of a project, compiled once. A value can be used on several threads at the same time.
///
///     let rules = try RuleSet(source)
///     let decision = rules.evaluate(request) { path, _ in .found(fields) }
package struct RuleSet: Sendable {
  let contents: CompiledRules

  package var source: SourceText { contents.source }
  /// Issues that do not prevent the rules from being used.
  package var warnings: [RuleIssue] { contents.warnings }
  package var limits: RuleLimits { contents.limits }
  var program: Program { contents.program }

  /// - Throws: An error with all issues, if the text does not follow the language or exceeds a limit.
  package init(_ text: String, limits: RuleLimits = RuleLimits()) throws(RuleCompilationError) {
    let source = SourceText(text.utf8.count <= limits.sourceBytes ? text : "")
    var issues = IssueList(source, limit: limits.issues)
    guard text.utf8.count <= limits.sourceBytes else {
      issues.add(
        .error, "the rules have \(text.utf8.count) bytes; \(limits.sourceBytes) are allowed", at: SourceRange(0, 0),
        in: nil)
      throw RuleCompilationError(issues: issues.issues)
    }
    var parser = Parser(source, limits: limits)
    do {
      try parser.readFile()
    } catch {
      let rule = parser.openBlocks.last.flatMap { parser.tree.title(of: $0, in: source) }
      issues.add(.error, error.message, at: error.range, in: rule)
      throw RuleCompilationError(issues: issues.issues)
    }
    var checker = DeclarationChecker(tree: parser.tree, limits: limits, issues: issues)
    checker.check()
    var compiler = Compiler(parser.tree, limits: limits, issues: checker.issues)
    compiler.compile()
    guard !compiler.issues.hasErrors else { throw RuleCompilationError(issues: compiler.issues.issues) }
    contents = CompiledRules(source, warnings: compiler.issues.issues, limits: limits, compiler.program)
  }
}
