package import HearthRules

/// Properties of all rules and all requests.
package enum RuleProperties {
  package typealias Evaluation = (_ isTraced: Bool, @escaping (LookedUpDocument) -> DocumentLookup) -> RuleDecision

  /// A property that does not hold.
  package struct Breach: Error, CustomStringConvertible {
    package let description: String
  }

  /// A decision without its trace.
  private struct Outcome: Equatable, CustomStringConvertible {
    let description: String

    init(_ decision: RuleDecision) {
      let refusals = decision.refusals.map { "\($0.line) \($0.rule) \($0.failure.map(String.init) ?? "false")" }
      description =
        "\(decision.answer) \(refusals) \(decision.documents) \(decision.expressionCount)"
    }
  }

  /// Evaluates a request of one document.
  package static func check(
    _ rules: RuleSet, _ request: RuleRequest, _ documents: GeneratedDocuments
  ) throws(Breach) {
    try check(documents, limits: rules.limits) { rules.evaluate(request, isTraced: $0, lookUp: $1) }
  }

  /// Evaluates a query.
  package static func check(
    _ rules: RuleSet, _ query: RuleQuery, auth: RuleValue, _ documents: GeneratedDocuments
  ) throws(Breach) {
    try check(documents, limits: rules.limits) {
      rules.evaluate(query, auth: auth, time: RuleSources.time, isTraced: $0, lookUp: $1)
    }
  }

  /// - Parameter evaluate: Evaluates with a way to look documents up.
  private static func check(
    _ documents: GeneratedDocuments, limits: RuleLimits, _ evaluate: Evaluation
  ) throws(Breach) {
    let first = evaluate(false) { documents.lookUp($0) }
    let second = evaluate(false) { documents.lookUp($0) }
    guard Outcome(first) == Outcome(second) else {
      throw Breach(description: "decided as \(Outcome(first)), and then as \(Outcome(second))")
    }
    let traced = evaluate(true) { documents.lookUp($0) }
    guard Outcome(first) == Outcome(traced), traced.trace != nil || traced.expressionCount == 0 else {
      throw Breach(description: "decided as \(Outcome(first)), and with a trace as \(Outcome(traced))")
    }
    try checkPieces(first, documents, limits: limits, evaluate)
  }

  /// A decision names the documents that it lacks, and is none that they could change.
  private static func checkPieces(
    _ first: RuleDecision, _ documents: GeneratedDocuments, limits: RuleLimits, _ evaluate: Evaluation
  ) throws(Breach) {
    if case .needsDocuments(let wanted) = first.answer {
      for document in wanted {
        guard case .notRead = documents.lookUp(document) else {
          throw Breach(description: "wants \(document), which it has")
        }
      }
      guard !wanted.isEmpty else { throw Breach(description: "wants no document") }
    }
    let complete = evaluate(false) { documents.lookUp($0, isComplete: true) }
    switch (first.answer, complete.answer) {
    case (_, .needsDocuments): throw Breach(description: "wants documents that it has: \(Outcome(complete))")
    case (.denied, .allowed), (.allowed, .denied):
      guard !isAtLimit(complete, limits) else { return }
      throw Breach(description: "decided as \(Outcome(first)), and with all documents as \(Outcome(complete))")
    default: return
    }
  }

  /// True if an evaluation may have ended because of a limit: with more documents it comes to expressions that it did not reach before.
  private static func isAtLimit(_ decision: RuleDecision, _ limits: RuleLimits) -> Bool {
    decision.documents.count >= limits.documents || decision.refusals.count >= RuleDecision.largestRefusalCount
      || decision.refusals.contains { $0.failure?.isFinal ?? false }
  }

  /// True if rules may look at a part of the request that a query and a request for its document do not have in common.
  static func looksAtRequest(_ source: String) -> Bool {
    ["request.auth", "request.method", "request.time"].reduce(source) { $0.replacing($1, with: "") }.contains("request")
  }

  /// A query that is allowed returns no document that the caller may not list.
  ///
  /// - Parameter source: The rules. Rules that look at the query itself, or at the path of the request, are left out (``looksAtRequest(_:)``).
  /// - Returns: True if the query is allowed, so that something was compared.
  @discardableResult
  package static func checkSoundness(
    _ rules: RuleSet, source: String, _ query: RuleQuery, returning document: RuleMap, auth: RuleValue,
    _ documents: GeneratedDocuments
  ) throws(Breach) -> Bool {
    guard !looksAtRequest(source) else { return false }
    let lookUp = { (name: LookedUpDocument) in documents.lookUp(name, isComplete: true) }
    guard rules.evaluate(query, auth: auth, time: RuleSources.time, lookUp: lookUp).isAllowed else { return false }
    let request = RuleRequest(
      .list, path: query.parent + [query.collection, "x"], auth: auth, time: RuleSources.time, document: document)
    let decision = rules.evaluate(request, lookUp: lookUp)
    guard decision.isAllowed || isAtLimit(decision, rules.limits) else {
      throw Breach(
        description:
          "the query \(query) is allowed, and its document \(document) is not: \(Outcome(decision))\n\(source)")
    }
    return true
  }
}
