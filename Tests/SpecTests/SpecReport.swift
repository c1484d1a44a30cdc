import Synchronization
import Testing

/// Counts the results of the corpus, and prints them in one line after the last test of the suite.
struct SpecReport: SuiteTrait, TestScoping {
  private struct Counts {
    var passed = 0
    var failed = 0
  }

  private static let counts = Mutex(Counts())

  static func record(passed: Bool) {
    counts.withLock { if passed { $0.passed += 1 } else { $0.failed += 1 } }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    let (passed, failed) = Self.counts.withLock { ($0.passed, $0.failed) }
    guard passed + failed > 0 || !SpecCorpus.shared.problems.isEmpty else { return }
    print("spec tests: \(passed) passed, \(failed) failed, \(SpecCorpus.shared.skippedCount) skipped")
  }
}
