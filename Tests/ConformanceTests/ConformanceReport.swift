import Synchronization
import Testing

/// Counts what became of the cases, and prints the sum when the suite has ended.
struct ConformanceReport: SuiteTrait, TestScoping {
  enum Outcome: Sendable {
    case passed, failed, leftOut
  }

  private static let counts = Mutex<[Outcome: Int]>([:])

  static func record(_ outcome: Outcome) {
    counts.withLock { $0[outcome, default: 0] += 1 }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    let counts = Self.counts.withLock { $0 }
    print(
      """
      conformance: \(counts[.passed, default: 0]) passed, \(counts[.failed, default: 0]) failed, \
      \(counts[.leftOut, default: 0]) left out
      """)
  }
}
