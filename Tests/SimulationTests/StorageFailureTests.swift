import HearthStore
import TestSupport
import Testing

/// SQLite may refuse any call: no process stops, and when it works again, everything is in sync again.
@Suite("Storage failures")
struct StorageFailureTests {
  private static let kinds: [StoreError.Kind] = [.full, .io, .readOnly, .unavailable, .corrupt]

  /// A short history, in which each statement and each commit fails once for each reason.
  @Test("each statement of a history may fail", arguments: kinds)
  func eachStatement(_ kind: StoreError.Kind) async throws {
    let seed: UInt64 = 3
    let steps = 28
    let count = try Simulation.run(seed: seed, steps: steps, disturbance: nil)
    #expect(count > 200)
    let failures = await HeavyWork.run {
      (0..<count).compactMap { position in
        Self.failure(seed: seed, steps: steps, .init(position: position, length: 1, kind: kind))
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  @Test("failures may last", arguments: Seeds.groups(.failing))
  func lastingFailures(_ group: Seeds.Group) async { await group.run() }

  private static func failure(seed: UInt64, steps: Int, _ disturbance: History.Disturbance) -> (any Error)? {
    do {
      let reached = try Simulation.run(seed: seed, steps: steps, disturbance: disturbance)
      guard reached > disturbance.position else {
        return Simulation.Failure(description: "statement \(disturbance.position) was not reached")
      }
      return nil
    } catch {
      return error
    }
  }
}
