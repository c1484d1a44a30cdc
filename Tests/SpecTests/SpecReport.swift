import Synchronization
import Testing

/// Counts the results of the corpus, and prints them in one line after the last test of the suite.
struct SpecReport: SuiteTrait, TestScoping {
  private struct Counts {
    var passed = 0
    var failed = 0
  }

  /// The counts of tests with one client, and of tests with several on one cache.
  private static let counts = Mutex((single: Counts(), shared: Counts()))

  static func record(_ test: SpecCase, passed: Bool) {
    counts.withLock { counts in
      let place = test.mode == .shared ? \(single: Counts, shared: Counts).shared : \.single
      if passed { counts[keyPath: place].passed += 1 } else { counts[keyPath: place].failed += 1 }
    }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    let (single, shared) = Self.counts.withLock { ($0.single, $0.shared) }
    guard single.passed + single.failed + shared.passed + shared.failed > 0 || !SpecCorpus.shared.problems.isEmpty
    else { return }
    let skipped = SpecCorpus.shared.skippedCount
    print("spec tests: \(single.passed) passed, \(single.failed) failed" + (skipped > 0 ? ", \(skipped) skipped" : ""))
    print("multi-client spec tests: \(shared.passed) passed, \(shared.failed) failed")
  }
}
