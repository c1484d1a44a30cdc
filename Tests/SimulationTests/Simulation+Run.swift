import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension Simulation {
  /// The number of steps of a history by default.
  static let stepCount = 50

  /// Runs a seed; one that fails is run again for its trace.
  static func run(seed: UInt64) throws {
    do {
      try Simulation(seed: seed, keepsTrace: false).run(stepCount)
    } catch {
      let again = try Simulation(seed: seed, keepsTrace: true)
      let repeated = Result { try again.run(stepCount) }
      let last = again.trace.suffix(12).map { String($0.prefix(300)) }.joined(separator: "\n  ")
      var text =
        "seed \(seed) (\(again.history)): \(error)\nHEARTH_SIMULATION_SEED=\(seed) shows it all; the end:\n  \(last)"
      if case .success = repeated {
        text += "\n(a second run did not fail: something in it depends on more than the seed)"
      }
      throw Failure(description: text)
    }
  }

  /// Runs one seed and prints what happens.
  static func show(seed: UInt64) throws {
    let simulation = try Simulation(seed: seed, keepsTrace: true)
    print("seed \(seed): \(simulation.history)")
    defer { for line in simulation.trace { print(line) } }
    try simulation.run(stepCount)
  }

  /// All actions of a seed, except what is logged.
  static func actions(seed: UInt64) throws -> [SyncAction] {
    let simulation = try Simulation(seed: seed, keepsTrace: true)
    try simulation.run(stepCount)
    return simulation.actions
  }

  /// Runs a seed's steps with this disturbance, or none, and nothing else that is special.
  ///
  /// - Returns: The number of statements and commits.
  static func run(seed: UInt64, steps: Int, disturbance: History.Disturbance?) throws -> Int {
    var history = History(seed: seed, kind: .failing)
    history.disturbance = disturbance
    let simulation = try Simulation(seed: seed, history: history, keepsTrace: false)
    do {
      try simulation.run(steps)
    } catch {
      throw Failure(description: "seed \(seed), \(disturbance.map { "\($0)" } ?? "undisturbed"): \(error)")
    }
    return simulation.devices[0].failures.statementCount
  }

  private func run(_ steps: Int) throws {
    defer { close() }
    for _ in 0..<steps { try step() }
    try settle()
  }

  /// Everything works again and is delivered: then the queues are empty, and the views are what the backend has.
  private func settle() throws {
    if !backend.poisoned.isEmpty {
      // Messages that cannot be understood do not affect the other listeners.
      for device in devices {
        device.calm()
        try device.drain()
        try device.checkListeners()
      }
      backend.poisoned = []
    }
    for device in devices { try device.settle() }
    if history.isDamaged, ledger.isMissingWrites {
      // Damage that SQLite does not report is found at the next start.
      for device in devices {
        try device.restart()
        try device.settle()
      }
    }
    // Delivers the writes that other devices have made since.
    for device in devices {
      try device.drain()
      try device.checkEnd()
    }
    ledger.checkEnd()
    try check()
  }
}
