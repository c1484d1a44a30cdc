extension RuleSet {
  /// Decides a request for one document.
  ///
  /// - Parameters:
  ///   - isTraced: True to get the values of all expressions, which takes several times as long.
  ///   - lookUp: Returns a document for `get`, `exists` and the like. It is called again for the same document.
  package func evaluate(
    _ request: RuleRequest, isTraced: Bool = false, lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) -> RuleDecision {
    let machine = Machine(program, limits: limits, request: request, isTraced: isTraced, lookUp: lookUp)
    var evaluation = Evaluation(source, machine: machine)
    evaluation.run(Program.Permission.Target(names: request.path.map { Optional($0) }))
    return evaluation.decision
  }

  /// Decides a query: it is allowed if the rules allow every document that it could return, by its filters alone.
  ///
  /// Each disjunct of the filters is decided for itself, with limits of its own for expressions. They share the bound of work.
  /// - Parameters: As for ``evaluate(_:isTraced:lookUp:)``.
  package func evaluate(
    _ query: RuleQuery, auth: RuleValue, time: RuleTimestamp, isTraced: Bool = false,
    lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) -> RuleDecision {
    var result = RuleDecision()
    guard let parts = query.parts, !parts.isEmpty else { return result }
    var unread: [LookedUpDocument] = []
    result.answer = .allowed
    for part in parts {
      let request = RuleRequest(part, auth: auth, time: time)
      var machine = Machine(program, limits: limits, request: request, isTraced: isTraced, lookUp: lookUp)
      machine.documents = result.documents
      machine.workDone = result.workDone
      var evaluation = Evaluation(source, machine: machine)
      evaluation.run(part.target)
      let decision = evaluation.decision
      result.documents = decision.documents
      result.usesTime = result.usesTime || decision.usesTime
      result.refusals = Array((result.refusals + decision.refusals).prefix(RuleDecision.largestRefusalCount))
      result.expressionCount += decision.expressionCount
      result.workDone = decision.workDone
      if let trace = decision.trace { result.trace = RuleTrace(rules: (result.trace?.rules ?? []) + trace.rules) }
      switch decision.answer {
      case .allowed: continue
      case .needsDocuments(let documents): unread += documents.filter { !unread.contains($0) }
      case .denied:
        result.answer = .denied
        return result
      }
    }
    if !unread.isEmpty { result.answer = .needsDocuments(unread) }
    return result
  }
}
