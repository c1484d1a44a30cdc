import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthSync

/// One history: devices, each with an engine on a real cache, and a backend, driven by everything that can happen to them in
/// an order that a seed decides.
///
/// After each step the views of each device are compared with a simple reference, and the outcome of each write with a ledger.
final class Simulation {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let seed: UInt64
  let history: History
  var generator: HistoryGenerator
  var backend = SimulatedBackend()
  var ledger = WriteLedger()
  private(set) var devices: [SimulatedDevice] = []
  /// The copies of devices' folders.
  private var copies: [SimulatedDevice.Copy] = []
  /// Holds the folders of the devices, if they have any.
  let folder: URL
  private var lastNumber = 0

  private(set) var trace: [String] = []
  /// All actions of the engines, except what they log; kept with the trace.
  private(set) var actions: [SyncAction] = []
  private let keepsTrace: Bool
  private(set) var problem: Failure?

  /// - Parameter history: nil for the one that belongs to the seed.
  /// - Parameter keepsTrace: descriptions of all events and actions are kept, which takes longer than all the rest.
  init(seed: UInt64, history: History? = nil, keepsTrace: Bool) throws {
    self.seed = seed
    self.keepsTrace = keepsTrace
    self.history = history ?? History(seed: seed)
    generator = HistoryGenerator(seed: seed)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-simulation-\(UUID().uuidString)")
    if self.history.isInFile {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    devices = [try SimulatedDevice(in: self, copy: nil)]
  }

  func close() {
    for device in devices { device.close() }
    try? FileManager.default.removeItem(at: folder)
  }

  /// Returns whether to check the invariants of a cache. Each check reads all of it; a history that fails runs again with all of them.
  func checksInvariants(at look: Int) -> Bool { keepsTrace || look.isMultiple(of: 8) }

  func note(_ text: @autoclosure () -> String) {
    if keepsTrace { trace.append(text()) }
  }

  func note(_ action: SyncAction) {
    guard keepsTrace else { return }
    if case .log = action { return }
    trace.append("  < \(action.brief)")
    actions.append(action)
  }

  /// Something is as it must never be.
  func fail(_ text: String) {
    problem = problem ?? Failure(description: text)
  }

  func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// The backend carries out a request of a device, or repeats what it answered before.
  func answer(_ request: SentBatch) -> WriteLedger.Answer {
    let (isNew, answer) = backend.commit(request.mutations, label: request.label)
    ledger.answered(request.number, answer, isNew: isNew, knowsLabels: history.backendKnowsLabels)
    return answer
  }

  func check() throws {
    if let problem { throw problem }
    if let problem = ledger.problem { throw Failure(description: problem) }
  }

  // MARK: - Folders

  /// A backup, or a snapshot of a running machine.
  func copyFolder(of device: SimulatedDevice) throws {
    copies.append(try device.copy())
    if copies.count > 3 { copies.removeFirst() }
  }

  /// The folder of a device becomes again what it was, or what another's was.
  func putBack(_ device: SimulatedDevice) throws {
    guard let copy = copies.randomElement(using: &generator) else { return }
    try device.replaceFolder(by: copy)
  }

  /// A copy begins to live on a machine of its own.
  func clone() throws {
    guard devices.count < 3, let copy = copies.randomElement(using: &generator) else { return }
    devices.append(try SimulatedDevice(in: self, copy: copy))
  }
}
