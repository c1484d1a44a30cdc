import HearthRules
import RulesSupport
import Synchronization
import Testing

@Suite("Documents that are decoded when rules look at them")
struct DeferredDocumentTests {
  /// Evaluates a get of a document, and counts how often its fields were asked for.
  private static func decide(_ condition: String) throws -> (isAllowed: Bool, count: Int) {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if \(condition); }"))
    let count = Mutex(0)
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: RuleSources.auth, time: RuleSources.time
    ) {
      count.withLock { $0 += 1 }
      return RuleMap(["a": .int(1)])
    }
    let decisions = (0..<3).map { _ in rules.evaluate(request, lookUp: RuleSources.lookUp).isAllowed }
    #expect(Set(decisions).count == 1)
    return (decisions[0], count.withLock { $0 })
  }

  @Test("a condition that does not come to the document leaves it alone, and all others ask for it once")
  func count() throws {
    #expect(try Self.decide("request.auth.uid == 'alice'") == (true, 0))
    #expect(try Self.decide("id == 'x' || resource.data.a == 2") == (true, 0))
    #expect(try Self.decide("id == 'x' && resource.data.a == 1") == (true, 1))
    #expect(try Self.decide("resource.data.a == 1 && resource.data.a == 2") == (false, 1))
  }
}
