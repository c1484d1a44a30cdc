import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension Simulation {
  /// Something happens to one of the devices, or at the backend.
  func step() throws {
    let device = devices.count == 1 ? devices[0] : generator.pick(devices)
    if history.userChangeChance > 0, generator.chance(history.userChangeChance) { changeUser(of: device) }
    if history.kind == .copies, generator.chance(12) {
      try copyStep(device)
    } else if history.kind == .poison, generator.chance(12) {
      poisonStep()
    } else if history.isDamaged, generator.chance(8) {
      try device.damage()
    } else {
      try ordinaryStep(device)
    }
    try device.check()
    try check()
  }

  private func ordinaryStep(_ device: SimulatedDevice) throws {
    if !device.parting.isEmpty, generator.chance(30), device.answerParting(ends: generator.chance(30)) { return }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<12: device.listen(to: generator.query(), generator.options())
    case 12..<16: device.unlisten()
    case 16..<30: device.write((0..<(generator.chance(20) ? 3 : 1)).map { _ in generator.mutations() })
    case 30..<32: device.waitForPendingWrites()
    case 32..<34: changeUser(of: device)
    case 34..<36: device.switchNetwork(on: generator.chance(60))
    case 36..<37: if history.kind != .eager { try device.restart() }
    case 37..<39: failStorage(of: device)
    case 39..<42: try device.checkCacheRead(generator.query(), generator.pick(HistoryGenerator.keys))
    case 42..<50: _ = backend.commit(generator.mutations(), label: nil)
    case 50..<53: breakSomething(of: device)
    case 53..<60: device.answerOpening(succeeds: generator.chance(85))
    case 60..<66: device.answerWrite(answerIsLost: generator.chance(15))
    case 66..<70: device.sendSnapshot()
    case 70..<72: device.sendChanges()
    case 72..<75: device.fireNextTimer()
    case 76..<84 where history.kind == .background: device.endBackgroundQuery()
    case 75..<76: if history.kind == .collected { device.collectGarbage() }
    default: for _ in 0..<Int.random(in: 1...4, using: &generator) { device.deliverWatchMessage() }
    }
  }

  private func copyStep(_ device: SimulatedDevice) throws {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0, 1: try copyFolder(of: device)
    case 2: try putBack(device)
    default: try clone()
    }
  }

  private func poisonStep() {
    let key = generator.pick(HistoryGenerator.keys)
    if generator.chance(60) { backend.poisoned.insert(key) } else { backend.poisoned = [] }
    note("poisoned: \(backend.poisoned.sorted())")
  }

  private func changeUser(of device: SimulatedDevice) {
    device.changeUser(to: generator.pick(SimulatedDevice.users))
  }

  private func breakSomething(of device: SimulatedDevice) {
    let code = generator.pick([StatusCode.unavailable, .internal, .resourceExhausted, .unauthenticated, .aborted])
    let error = StatusError(code: code, message: "broken")
    if generator.chance(50) { device.breakWatchStream(error) } else { device.driver.breakWriteStream(error) }
  }

  private func failStorage(of device: SimulatedDevice) {
    let names = [
      "Allocate target", "Release target", "Locally write mutations", "notifyLocalViewChanges", "Acknowledge batch",
      "Reject batch", "Get last remote snapshot version", "Apply remote event", "Handle user change", "Repair cache",
    ]
    device.failures.transactions = generator.chance(60) ? [] : [generator.pick(names), generator.pick(names)]
    note("failing: \(device.failures.transactions.sorted())")
  }
}
