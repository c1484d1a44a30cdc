import HearthStore
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
    for position in 0..<count {
      // Other tests wait for the same threads.
      await Task.yield()
      do {
        let reached = try Simulation.run(
          seed: seed, steps: steps, disturbance: .init(position: position, length: 1, kind: kind))
        #expect(reached > position)
      } catch {
        Issue.record("\(error)")
      }
    }
  }

  @Test("failures may last", arguments: kinds)
  func lastingFailures(_ kind: StoreError.Kind) async {
    for seed in 1...60 as ClosedRange<UInt64> {
      await Task.yield()
      var generator = SeededGenerator(seed: seed)
      let disturbance = Simulation.Disturbance(
        position: Int.random(in: 0..<800, using: &generator), length: Int.random(in: 2...150, using: &generator),
        kind: kind)
      do {
        try Simulation.run(seed: seed, steps: 50, disturbance: disturbance)
      } catch {
        Issue.record("\(error)")
      }
    }
  }
}
