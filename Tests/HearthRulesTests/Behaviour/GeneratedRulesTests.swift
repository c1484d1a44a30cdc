import HearthRules
import RulesSupport
import TestSupport
import Testing

/// `scripts/fuzz` checks the same properties with more and stranger rules.
@Suite("Generated rules and requests")
struct GeneratedRulesTests {
  @Test("properties of decisions hold for generated rules, requests and queries", arguments: SeededGenerator.seeds(4))
  func properties(_ seed: UInt64) throws {
    var files = RuleFileGenerator(choices: SeededGenerator(seed: seed))
    var accepted = 0
    var allowedQueries = 0
    for number in 0..<300 {
      let source = files.file()
      guard let rules = try? RuleSet(source) else { continue }
      accepted += 1
      var requests = RuleRequestGenerator(choices: SeededGenerator(seed: seed &* 1_000 &+ UInt64(number)))
      let documents = requests.documents()
      for _ in 0..<3 {
        try RuleProperties.check(rules, requests.request(), documents)
        try RuleProperties.check(rules, requests.query(), auth: requests.auth(), documents)
        let (query, document) = requests.queryWithDocument()
        let isAllowed = try RuleProperties.checkSoundness(
          rules, source: source, query, returning: document, auth: requests.auth(), documents)
        if isAllowed { allowedQueries += 1 }
      }
    }
    #expect(accepted > 200)
    #expect(allowedQueries > 20)
  }
}
