import Foundation
import HearthModel
import TestSupport
import Testing

/// Two clients edit the same documents offline: under rules that keep both sides, no edit is lost.
///
/// `HEARTH_CONFLICT_SEEDS` sets how many histories there are, and `HEARTH_SIMULATION_FIRST` the first one; a failure shows its history.
@Suite("Conflict simulation")
struct ConflictSimulationTests {
  private static var groups: [UInt64] {
    func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
    let first = number("HEARTH_SIMULATION_FIRST") ?? 0
    return Array(stride(from: first, to: first + (number("HEARTH_CONFLICT_SEEDS") ?? 1000), by: 100))
  }

  @Test("no edit is lost under a rule for conflicts", arguments: groups)
  func noEditIsLost(_ first: UInt64) async {
    let failures = await HeavyWork.run {
      (first..<first + 100).compactMap { seed in
        Result { try ConflictSimulation.run(seed: seed) }.failureText
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  @Test("without a rule edits are lost, so that the simulation shows what a rule is worth")
  func editsAreLostWithoutARule() async {
    let count = await HeavyWork.run {
      // Not the static function: a history that fails is no news here, and need not be run again for its trace.
      (UInt64(0)..<60).count { (try? ConflictSimulation(seed: $0, rules: ConflictRules()).run()) == nil }
    }
    #expect(count > 10)
  }
}

extension Result where Failure == any Error {
  fileprivate var failureText: String? {
    if case .failure(let error) = self { "\(error)" } else { nil }
  }
}
