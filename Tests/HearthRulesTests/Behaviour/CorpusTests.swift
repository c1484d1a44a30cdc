import RulesSupport
import Testing

/// The corpora hold what Google's emulator has answered; `RuleDifferentialTests` asks it again.
@Suite("Verdicts of Google's emulator")
struct CorpusTests {
  @Test("more than 1,200 expressions hold, do not hold, fail and are refused as in the emulator, but for those marked")
  func expressions() {
    #expect(RuleCorpus.expressions.count > 1200)
    for example in RuleCorpus.expressions {
      #expect(RuleSources.verdict(on: example.text) == example.verdict.ours, "\(example)")
    }
  }

  @Test("declarations allow and deny the same paths")
  func declarations() {
    #expect(RuleCorpus.declarations.count > 190)
    for example in RuleCorpus.declarations {
      #expect(RuleSources.verdict(onFile: RuleSources.file(example.text)) == example.verdict.ours, "\(example)")
    }
  }

  @Test("whole files allow and deny the same paths")
  func wholeFiles() {
    #expect(RuleCorpus.wholeFiles.count > 40)
    for example in RuleCorpus.wholeFiles {
      #expect(RuleSources.verdict(onFile: example.text) == example.verdict.ours, "\(example)")
    }
  }

  @Test("queries are decided as recorded")
  func queries() {
    #expect(RuleQueryCorpus.all.count > 700)
    for example in RuleQueryCorpus.all {
      #expect(
        RuleSources.verdict(on: example) == example.verdict.ours,
        "\(example.condition) with \(String(describing: example.filter))")
    }
  }

  @Test(
    "what differs from the emulator is the list of decision 31",
    arguments: [
      "[1,2].toSet() is set", "math.isInfinite(1.0)", "bool('true')", "bool(true)",
      "({'b':1,'a':2}.values()) == [(1), (2)]",
      "latlng.value(0.0,0.0) == latlng.value(-0.0,0.0)",
      "(timestamp.value('2020-02-30T00:00:00Z')) == timestamp.value('2020-03-01T00:00:00Z')",
    ])
  func knownDifferences(_ expression: String) {
    let different = RuleCorpus.expressions.filter { $0.verdict.emulator != $0.verdict.ours }
    #expect(different.contains { $0.text == expression })
    #expect(different.count == 7)
  }
}
