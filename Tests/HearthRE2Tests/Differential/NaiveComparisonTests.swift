import TestSupport
import Testing

@testable import HearthRE2

/// Generated expressions, whose meaning a naive matcher knows.
@Suite("Comparison with a naive matcher")
struct NaiveComparisonTests {
  /// Texts of up to five scalars. Longer ones rarely lead anywhere else, and the naive matcher is exponential.
  private static let texts: [[Character]] = {
    var texts: [[Character]] = [[]]
    var longest = texts
    for _ in 0..<5 {
      longest = longest.flatMap { text in ["a", "b", "-"].map { text + [$0] } }
      texts += longest
    }
    return texts
  }()

  @Test(
    "the first match and its groups are those of trying one way after the other", arguments: SeededGenerator.seeds(10))
  func firstMatch(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      var groups = 0
      let naive = NaiveExpression.generated(&random, depth: 3, groups: &groups, repeatsEmpty: false)
      let expression = try RegularExpression(naive.pattern)
      for _ in 0..<30 {
        let text = random.element(Self.texts)
        let wanted = (0...text.count).lazy.compactMap { start in
          naive.match(text, at: start) { _ in true }.map { (start, $0) }
        }.first
        let ranges = wanted.map { start, match in
          [start..<match.end] + (0..<groups).map { match.groups[$0 + 1] }
        }
        let found = expression.firstMatch(in: String(text))?.ranges
        #expect(found == ranges, "`\(naive.pattern)` in \"\(String(text))\", seed \(seed)")
      }
    }
  }

  @Test("a text matches as a whole, or contains a match, if any way leads there", arguments: SeededGenerator.seeds(10))
  func wholeAndContains(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      var groups = 0
      let naive = NaiveExpression.generated(&random, depth: 3, groups: &groups, repeatsEmpty: true)
      let expression = try RegularExpression(naive.pattern)
      for _ in 0..<30 {
        let text = random.element(Self.texts)
        let isWhole = naive.match(text, at: 0) { $0.end == text.count } != nil
        let contains = (0...text.count).contains { naive.match(text, at: $0) { _ in true } != nil }
        #expect(expression.matches(String(text)) == isWhole, "`\(naive.pattern)`, \"\(String(text))\", seed \(seed)")
        #expect(expression.contains(String(text)) == contains, "`\(naive.pattern)`, \"\(String(text))\", seed \(seed)")
      }
    }
  }
}
