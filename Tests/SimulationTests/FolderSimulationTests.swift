import Foundation
import TestSupport
import Testing

/// Several processes on one cache folder: whatever happens to its files, to the processes and to their networks, every write counts
/// once, nobody waits for ever, and in the end everything is in step.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_FOLDER_SEEDS` sets how many there are, and
/// `HEARTH_SIMULATION_FIRST` with which they begin.
@Suite("Several processes on one cache folder in the simulation")
struct FolderSimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let shown = number("HEARTH_SIMULATION_SEED")

  private static func number(_ name: String) -> UInt64? { environment[name].flatMap(UInt64.init) }

  /// The first seeds of groups of fifty.
  private static var groups: [UInt64] {
    if let shown { return [shown] }
    let first = number("HEARTH_SIMULATION_FIRST") ?? 1
    return Array(stride(from: first, to: first + (number("HEARTH_FOLDER_SEEDS") ?? 400), by: 50))
  }

  @Test("whatever happens to the folder, every write counts once and all processes come to rest", arguments: groups)
  func contract(_ first: UInt64) async {
    let isShown = Self.shown != nil
    let failures = await HeavyWork.run {
      (isShown ? first...first : first...first + 49).compactMap { seed -> (any Error)? in
        do {
          if isShown { try FolderSimulation.show(seed: seed) } else { try FolderSimulation.run(seed: seed) }
          return nil
        } catch {
          return error
        }
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }
}
