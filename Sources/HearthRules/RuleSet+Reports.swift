extension RuleSet {
  /// An empty count of the values of these rules' expressions.
  package var emptyCoverage: RuleCoverage { RuleCoverage(program) }

  /// The expressions of a rule that was evaluated, with their values: each before its parts, and the call of a function before the
  /// expressions in the function. Literals are left out.
  ///
  /// - Parameter rule: A rule in the trace of an evaluation of these rules.
  package func explain(_ rule: RuleTrace.Rule) -> [ExplainedExpression] {
    TraceTree(rule.entries, of: program).lines
  }

  /// The innermost expression that failed, if the condition of a rule has no value because of it.
  ///
  /// - Parameter rule: As for ``explain(_:)``.
  package func cause(of rule: RuleTrace.Rule) -> SourceRange? {
    guard case .failure(let failure) = rule.outcome else { return nil }
    let entry = rule.entries.first { entry in
      if case .failure(failure) = entry.outcome { true } else { false }
    }
    return entry.map { program.expressions[Int($0.node)].range }
  }
}
