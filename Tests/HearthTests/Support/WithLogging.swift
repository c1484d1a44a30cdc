import Hearth
import Testing

/// Switches logging on while a test, or each test of a suite, runs. The level is one for the process, so these tests take turns.
///
/// A suite as a whole takes no turn: while its tests wait to be run at all, those of others would wait until their time is over.
struct WithLogging: TestTrait, SuiteTrait, TestScoping {
  private static let turns = Turns()

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    await Self.turns.take()
    Firestore.enableLogging(true)
    let result: Result<Void, any Error>
    do {
      result = .success(try await function())
    } catch {
      result = .failure(error)
    }
    Firestore.enableLogging(false)
    await Self.turns.giveBack()
    try result.get()
  }
}

extension Trait where Self == WithLogging {
  static var withLogging: Self { WithLogging() }
}

private actor Turns {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func giveBack() {
    guard !waiting.isEmpty else {
      isTaken = false
      return
    }
    waiting.removeFirst().resume()
  }
}
