import HearthStore
import TestSupport
import Testing

/// Whatever SQLite refuses, and wherever: nobody is stopped, and when it works again everything comes into step.
@Suite("Storage failures")
struct StorageFailureTests {
  private static let kinds: [StoreError.Kind] = [.full, .io, .readOnly, .unavailable, .corrupt]

  /// A short history, in which each statement and each commit fails once for each reason.
  @Test("each statement of a history may fail", arguments: kinds)
  func eachStatement(_ kind: StoreError.Kind) async throws {
    let seed: UInt64 = 3
    let steps = 24
    let count = try Simulation.run(seed: seed, steps: steps, disturbance: nil)
    #expect(count > 200)
    let failures = await HeavyWork.run {
      (0..<count).compactMap { position in
        Self.failure(seed: seed, steps: steps, .init(position: position, length: 1, kind: kind))
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  @Test("failures may last", arguments: kinds)
  func lastingFailures(_ kind: StoreError.Kind) async {
    let failures = await HeavyWork.run {
      (1...60 as ClosedRange<UInt64>).compactMap { seed in
        var generator = SeededGenerator(seed: seed)
        let position = Int.random(in: 0..<800, using: &generator)
        let length = Int.random(in: 2...150, using: &generator)
        return Self.failure(seed: seed, steps: 50, .init(position: position, length: length, kind: kind))
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  private static func failure(seed: UInt64, steps: Int, _ disturbance: Simulation.Disturbance) -> (any Error)? {
    do {
      let reached = try Simulation.run(seed: seed, steps: steps, disturbance: disturbance)
      guard disturbance.length > 1 || reached > disturbance.position else {
        return Simulation.Failure(description: "statement \(disturbance.position) was not reached")
      }
      return nil
    } catch {
      return error
    }
  }
}
