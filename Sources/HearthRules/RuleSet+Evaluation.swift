extension RuleSet {
  /// Decides a request for one document.
  ///
  /// - Parameters:
  ///   - isTraced: True to get the values of all expressions, which takes several times as long.
  ///   - lookUp: Returns a document for `get`, `exists` and the like. It is called again for the same document.
  package func evaluate(
    _ request: RuleRequest, isTraced: Bool = false, lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) -> RuleDecision {
    var evaluation = Evaluation(Machine(contents, request: request, isTraced: isTraced, lookUp: lookUp))
    evaluation.run(Program.Permission.Target(names: request.path))
    return evaluation.decision
  }

  /// Decides a query: it is allowed if the rules allow every document that it could return, by its filters alone.
  ///
  /// Each disjunct of the filters is decided for itself, with limits of its own for expressions. They share the bound of work. One that names a
  /// document, and is not allowed by the filters, is decided by the contents of the document.
  /// - Parameters: As for ``evaluate(_:isTraced:lookUp:)``.
  package func evaluate(
    _ query: RuleQuery, auth: RuleValue, time: RuleTimestamp, isTraced: Bool = false,
    lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) -> RuleDecision {
    var result = RuleDecision()
    guard let parts = query.parts, !parts.isEmpty else { return result }
    var unread: [LookedUpDocument] = []
    result.answer = .allowed
    func decide(_ part: RuleQuery.Part, _ document: RuleMap?) -> RuleDecision.Answer {
      let request = RuleRequest(part, document: document, auth: auth, time: time)
      var machine = Machine(contents, request: request, isTraced: isTraced, lookUp: lookUp)
      machine.documents = result.documents
      machine.workDone = result.workDone
      var evaluation = Evaluation(machine)
      evaluation.run(part.target)
      result.add(evaluation.decision)
      return evaluation.decision.answer
    }
    for part in parts {
      var answer = decide(part, nil)
      // What the filters leave open of a document that they name, its contents may decide.
      if answer == .denied, let document = part.document {
        let name = LookedUpDocument(path: document, isAfterwards: false)
        result.named.append(name)
        switch lookUp(name) {
        case .found(let fields): answer = decide(part, fields)
        case .notRead: answer = .needsDocuments([name])
        case .missing, .removed: break
        }
      }
      switch answer {
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

extension RuleDecision {
  /// Adds another evaluation for the same request, without its answer.
  fileprivate mutating func add(_ other: RuleDecision) {
    documents = other.documents
    usesTime = usesTime || other.usesTime
    refusals = Array((refusals + other.refusals).prefix(Self.largestRefusalCount))
    expressionCount += other.expressionCount
    workDone = other.workDone
    if let trace = other.trace { self.trace = RuleTrace(rules: (self.trace?.rules ?? []) + trace.rules) }
  }
}
