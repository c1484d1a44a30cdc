import TestSupport
import Testing

/// Runs a test that computes, or waits for a file, for long: on the thread of ``HeavyWork`` and not on those that the tests share.
struct HeavyTest: TestTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(HeavyWork.executor) { try await function() }
  }
}

extension Trait where Self == HeavyTest {
  static var heavyWork: Self { HeavyTest() }
}

@Suite("Tests that compute for long")
struct HeavyTestTests {
  @Test("run on the thread of HeavyWork", .heavyWork)
  func thread() {
    #expect(HeavyWork.isCurrent)
  }
}
