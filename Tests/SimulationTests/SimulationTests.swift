import Foundation
import TestSupport
import Testing

/// The randomised contract: whatever users, backend, network and storage do, and in whatever order, views show the documents that
/// the backend has delivered with the pending writes on top, and in the end everything is in step.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_SIMULATION_SEEDS` sets how many there are.
@Suite("Simulation")
struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["HEARTH_SIMULATION_SEEDS"].flatMap(UInt64.init) ?? 2000
  private static let groupSize: UInt64 = 100

  private static let shownSeed = environment["HEARTH_SIMULATION_SEED"].flatMap(UInt64.init)
  private static let steps = 50

  private static let groups: [ClosedRange<UInt64>] =
    shownSeed.map { [$0...$0] }
    ?? stride(from: 1, through: count, by: UInt64.Stride(groupSize)).map { $0...min($0 + groupSize - 1, count) }

  @Test("any sequence of events leaves the client in step", arguments: groups)
  func contract(_ seeds: ClosedRange<UInt64>) async {
    let failures = await HeavyWork.run { seeds.compactMap(Self.failure) }
    for failure in failures { Issue.record("\(failure)") }
  }

  @Test("queries that run beside the engine show what they would have shown on it")
  func beside() async {
    let failures = await HeavyWork.run {
      (1...max(Self.count / 10, 1)).compactMap { seed in
        Result { try Simulation.run(seed: seed, steps: Self.steps, mode: .exactBeside) }.failure
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  private static func failure(ofSeed seed: UInt64) -> (any Error)? {
    do {
      if shownSeed == nil {
        try Simulation.run(seed: seed, steps: steps)
      } else {
        try Simulation.show(seed: seed, steps: steps)
      }
      return nil
    } catch {
      return error
    }
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
