import Foundation
import TestSupport
import Testing

/// The histories that are run. Each seed is one, and decides its kind.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_SIMULATION_SEEDS` sets how many there
/// are in all, `HEARTH_SIMULATION_FIRST` with which they begin.
enum Seeds {
  private static let environment = ProcessInfo.processInfo.environment
  private static let shown = number("HEARTH_SIMULATION_SEED")
  private static let first = number("HEARTH_SIMULATION_FIRST") ?? 1
  private static let count = number("HEARTH_SIMULATION_SEEDS") ?? 2000

  private static func number(_ name: String) -> UInt64? { environment[name].flatMap(UInt64.init) }

  /// The seeds that one test case runs.
  struct Group: CustomTestStringConvertible {
    var seeds: [UInt64]

    var testDescription: String { "\(seeds.count) of the seeds \(seeds.first ?? 0) to \(seeds.last ?? 0)" }

    /// Runs the histories, and records those that fail.
    func run() async {
      let failures = await HeavyWork.run { seeds.compactMap(failure) }
      for failure in failures { Issue.record("\(failure)") }
    }
  }

  /// The seeds of these kinds.
  static func groups(_ kinds: History.Kind...) -> [Group] {
    let all = shown.map { $0...$0 } ?? first...(first + max(count, 1) - 1)
    let seeds = all.filter { kinds.contains(History.Kind(seed: $0)) }
    return stride(from: 0, to: seeds.count, by: 100).map { start in
      Group(seeds: Array(seeds[start..<min(start + 100, seeds.count)]))
    }
  }

  private static func failure(ofSeed seed: UInt64) -> (any Error)? {
    do {
      if shown == nil { try Simulation.run(seed: seed) } else { try Simulation.show(seed: seed) }
      return nil
    } catch {
      return error
    }
  }
}
