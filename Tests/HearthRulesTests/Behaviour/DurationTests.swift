import HearthRules
import RulesSupport
import Testing

@Suite("Long durations")
struct DurationTests {
  /// The verdicts of Google's emulator.
  @Test(
    "a duration has 10,000 years at most, and one made of milliseconds 292",
    arguments: [
      ("duration.value(9223372036854, 'ms') is duration", true),
      ("duration.value(9223372036855, 'ms') is duration", false),
      ("duration.value(-9223372036854, 'ms') is duration", true),
      ("duration.value(-9223372036855, 'ms') is duration", false),
      ("duration.value(timestamp.date(1,1,1).toMillis(), 'ms') is map || true", true),
      ("!(duration.value(timestamp.date(1,1,1).toMillis(), 'ms') is map)", false),
      ("duration.value(10000000000, 's') is duration", true), ("duration.value(-62135596800, 's') is duration", true),
      ("duration.value(315576000000, 's') is duration", true), ("duration.value(315576000001, 's') is duration", false),
    ])
  func longest(condition: String, isAllowed: Bool) throws {
    let rules = try RuleSet(RuleSources.file("match /c/{id} { allow get: if \(condition); }"))
    #expect(RuleSources.decide(rules, get: "c/x").isAllowed == isAllowed)
  }
}
