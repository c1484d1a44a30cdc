import Foundation
import TestSupport
import Testing

/// Several clients on one cache file: whatever they, the backend and the storage do, in whatever order, and wherever one of them stops
/// or ends, all show what ``SharedReference`` computes, every write counts once, and in the end everything is in step.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_SHARED_SEEDS` sets how many there are, and
/// `HEARTH_SIMULATION_FIRST` with which they begin.
@Suite("Several clients in the simulation")
struct SharedSimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let shown = number("HEARTH_SIMULATION_SEED")

  private static func number(_ name: String) -> UInt64? { environment[name].flatMap(UInt64.init) }

  /// The first seeds of groups of fifty.
  private static var groups: [UInt64] {
    if let shown { return [shown] }
    let first = number("HEARTH_SIMULATION_FIRST") ?? 1
    return Array(stride(from: first, to: first + (number("HEARTH_SHARED_SEEDS") ?? 1000), by: 50))
  }

  @Test("any sequence of events leaves all clients in step", arguments: groups)
  func contract(_ first: UInt64) async {
    let isShown = Self.shown != nil
    let failures = await HeavyWork.run {
      (isShown ? first...first : first...first + 49).compactMap { seed -> (any Error)? in
        do {
          if isShown { try SharedSimulation.show(seed: seed) } else { try SharedSimulation.run(seed: seed) }
          return nil
        } catch {
          return error
        }
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }
}
