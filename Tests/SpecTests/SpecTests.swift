import TestSupport
import Testing

/// Runs Google's language-neutral tests of the sync engine, and any others in the same format.
///
/// The format is that of the official SDKs' `spec_test` JSON files. Every test runs in each cache mode that it is meant
/// for. `HEARTH_SPEC_TESTS` names another folder of such files.
@Suite(SpecReport(), .enabled(if: SpecCorpus.isAvailable, "no folder shared/spec-tests beside the project"))
struct SpecTests {
  @Test("Every file of the corpus can be read")
  func everyFileOfTheCorpusCanBeRead() {
    #expect(SpecCorpus.shared.problems.isEmpty)
  }

  @Test("Corpus", arguments: SpecCorpus.shared.cases)
  func behavesLikeTheOfficialClients(_ test: SpecCase) {
    do {
      try SpecStage.run(test)
      SpecReport.record(test, passed: true)
    } catch {
      SpecReport.record(test, passed: false)
      Issue.record("\(test.testDescription): \(error)")
    }
  }

  /// One order is not another: nothing may stay behind from one run to the next.
  @Test("The results are the same in five other orders")
  func resultsDoNotDependOnTheOrder() async {
    let failures = await HeavyWork.run {
      (1...5 as ClosedRange<UInt64>).flatMap { seed in
        var generator = SeededGenerator(seed: seed)
        return SpecCorpus.shared.cases.shuffled(using: &generator).compactMap { test in
          do {
            try SpecStage.run(test)
            return nil
          } catch {
            return "\(test.testDescription), order \(seed): \(error)"
          }
        } as [String]
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }
}
