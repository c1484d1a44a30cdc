import Foundation
import TestSupport
import Testing

/// A history of several clients that a seed decides: it runs in groups, and a failure is run again for its trace.
protocol RepeatableHistory: SendableMetatype {
  /// - Parameters:
  ///   - keepsTrace: True to keep what happens.
  ///   - printsTrace: True to print it at once, because an assertion may end the program.
  init(seed: UInt64, keepsTrace: Bool, printsTrace: Bool) throws
  var trace: [String] { get }
  func run() throws
}

extension RepeatableHistory {
  private static var shown: UInt64? { number("HEARTH_SIMULATION_SEED") }

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
  }

  /// The first seeds of groups of fifty.
  ///
  /// - Parameter variable: The environment variable that sets how many seeds there are in place of `count`.
  static func groups(_ variable: String, count: UInt64) -> [UInt64] {
    if let shown { return [shown] }
    let first = number("HEARTH_SIMULATION_FIRST") ?? 1
    return Array(stride(from: first, to: first + (number(variable) ?? count), by: 50))
  }

  /// Runs the group of seeds that begins with this one, and records those that fail.
  static func runGroup(_ first: UInt64) async {
    let isShown = shown != nil
    let failures = await HeavyWork.run {
      (isShown ? first...first : first...first + 49).compactMap { seed -> (any Error)? in
        do {
          try isShown ? Self(seed: seed, keepsTrace: true, printsTrace: true).run() : run(seed: seed)
          return nil
        } catch {
          return error
        }
      }
    }
    for failure in failures { Issue.record("\(failure)") }
  }

  private static func run(seed: UInt64) throws {
    do {
      try Self(seed: seed, keepsTrace: false, printsTrace: false).run()
    } catch {
      let again = try Self(seed: seed, keepsTrace: true, printsTrace: false)
      let repeated = Result { try again.run() }
      let last = again.trace.suffix(12).map { String($0.prefix(300)) }.joined(separator: "\n  ")
      var text = "seed \(seed): \(error)\nHEARTH_SIMULATION_SEED=\(seed) shows it all; the end:\n  \(last)"
      if case .success = repeated {
        text += "\n(a second run did not fail: something in it depends on more than the seed)"
      }
      throw Simulation.Failure(description: text)
    }
  }
}
