import HearthRules
import RulesSupport
import Testing

/// Without a trace, the machine takes some steps at once. With one, it takes each by itself.
@Suite("Steps that are taken at once")
struct CombinedStepsTests {
  private static let conditions = [
    "request.auth.uid == 'alice' && request.time > timestamp.date(2000, 1, 1)",
    "request.resource.data.a == resource.data.a",
    "request.resource.data.size() == 10 && request.resource.id == id && request.method == 'update'",
    "resource.id == id && resource.__name__[3] == 'd' && request.path[4] == 'one' && request.inTransaction",
    "resource.data.keys().hasAll(['a', 's', 'm']) && ['x', 'y'].toSet().hasOnly(['y', 'x', 'z'])",
    "f(resource.data, request.auth.token)", "f(resource.data.m, request) || request.missing == 1",
    "resource.missing == 1 || request.resource.missing == 1 || request.query.limit == 1", "[1, 2, 3][[0, 1][1]] == 2",
    "(request.auth.uid == 'x' ? [1, 2] : [3, 4]) == [3, 4]",
    "f(request.resource, resource) || request.time == request.time",
  ]

  private static func decision(
    on condition: String, _ method: RuleMethod, limits: RuleLimits, isTraced: Bool, hasDocument: Bool
  ) throws -> String {
    let function = "function f(a, b) { let c = a.m; return c.k == 2 && b.role == 'admin' || a.n == null; }"
    let source = RuleSources.file("\(function) match /d/{id} { allow read, write: if \(condition); }")
    let document = hasDocument ? RuleSources.document : nil
    let request = RuleRequest(
      method, path: RuleSources.root + ["d", "one"], auth: RuleSources.auth, time: RuleSources.time, document: document,
      changed: document)
    let decision = try RuleSet(source, limits: limits).evaluate(request, isTraced: isTraced) { _ in .missing }
    let failures = decision.refusals.map { $0.failure?.description ?? "false" }
    return "\(decision.answer) \(failures) \(decision.usesTime) \(decision.expressionCount) \(decision.workDone)"
  }

  @Test("they count, fail and reach limits as each by itself", arguments: conditions)
  func equivalence(condition: String) throws {
    var limits = [RuleLimits()]
    for count in 0..<24 {
      var fewExpressions = RuleLimits()
      fewExpressions.expressions = count
      var shallow = RuleLimits()
      shallow.resources.valueDepth = count / 4
      shallow.resources.work = 16 * count
      var light = RuleLimits()
      light.resources.valueWeight = count
      limits += [fewExpressions, shallow, light]
    }
    for limits in limits {
      for method in [RuleMethod.get, .create, .update, .delete] {
        for hasDocument in [true, false] {
          let decisions = try [false, true].map {
            try Self.decision(on: condition, method, limits: limits, isTraced: $0, hasDocument: hasDocument)
          }
          #expect(decisions[0] == decisions[1], "\(method), \(limits)")
        }
      }
    }
  }

  @Test("a long list of constants is searched with an index of one evaluation only")
  func longLists() throws {
    let list = "[\((0..<80).map(String.init).joined(separator: ","))]"
    let body = "function f(l) { return 7 in l && 8 in l && 9 in l; } match /c/{id} { allow get: if f(\(list)); }"
    let rules = try RuleSet(RuleSources.file(body))
    let work = (0..<3).map { _ in RuleSources.decide(rules, get: "c/x").workDone }
    #expect(Set(work).count == 1)
  }
}
