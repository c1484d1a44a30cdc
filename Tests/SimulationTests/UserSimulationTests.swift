import HearthStore
import TestSupport
import Testing

/// Users who sign in and out at any step, while any statement fails: every batch goes out for the user who wrote it, on a stream
/// that was opened for that user and with that user's token. The simulation checks that at every send.
@Suite("Users in the simulation")
struct UserSimulationTests {
  private static let kinds: [StoreError.Kind] = [.full, .io, .unavailable, .corrupt]

  @Test("batches of one user never go out for another, whatever fails meanwhile", arguments: kinds)
  func changes(_ kind: StoreError.Kind) async {
    let failures = await HeavyWork.run {
      (1...150 as ClosedRange<UInt64>).compactMap { seed -> (any Error)? in
        var generator = SeededGenerator(seed: seed)
        let position = Int.random(in: 0..<800, using: &generator)
        let length = Int.random(in: 1...150, using: &generator)
        do {
          try Simulation.run(
            seed: seed, steps: 60, disturbance: .init(position: position, length: length, kind: kind),
            userChangeChance: 15)
          return nil
        } catch {
          return error
        }
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }
}
