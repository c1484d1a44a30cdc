import HearthRules
import RulesSupport
import TestSupport
import Testing

/// Maps keep their fields in order if they are few or come so, and have an index otherwise.
@Suite("Maps in order and with an index")
struct MapOrderTests {
  @Test("differences, keys and look-ups do not depend on the order in which fields come", arguments: 0..<20)
  func order(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 0...40, using: &random)
    func fields(_ chance: Int) -> [(key: String, value: RuleValue)] {
      (0..<count).filter { _ in random.below(100) < chance }.map { number in
        (key: "a name \(number * 7 % 40)\(number % 3 == 0 ? "" : "\u{e9}")", value: .int(Int64(random.below(2))))
      }
    }
    let (before, after) = (fields(70), fields(70))
    let condition = """
      debug(resource.data.keys()) == 1 || debug(resource.data.values()) == 1
        || debug(request.resource.data.diff(resource.data).affectedKeys()) == 1
        || debug(request.resource.data.diff(resource.data).unchangedKeys()) == 1
        || debug(resource.data['a name 7\u{e9}']) == 2 || debug(resource.data == request.resource.data) == 1
      """
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow update: if \(condition); }"))
    func text(_ decision: RuleDecision) -> [String] {
      (decision.trace?.rules ?? []).flatMap { rule in
        rules.explain(rule).map { line in
          switch line.outcome {
          case .success(let value)?: value.text(limit: 10_000)
          case .failure(let failure)?: "\(failure)"
          case nil: "none"
          }
        }
      }
    }
    func decide(_ before: [(key: String, value: RuleValue)], _ after: [(key: String, value: RuleValue)]) -> [String] {
      let request = RuleRequest(
        .update, path: RuleSources.root + ["c", "x"], auth: .null, time: RuleSources.time,
        document: RuleMap(pairs: before), changed: RuleMap(pairs: after))
      return text(rules.evaluate(request, isTraced: true) { _ in .missing })
    }
    func inOrder(_ fields: [(key: String, value: RuleValue)]) -> [(key: String, value: RuleValue)] {
      fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
    let expected = decide(inOrder(before), inOrder(after))
    #expect(!expected.isEmpty)
    #expect(decide(before.shuffled(using: &random), after.shuffled(using: &random)) == expected)
    #expect(decide(before.reversed(), inOrder(after)) == expected)
  }
}
