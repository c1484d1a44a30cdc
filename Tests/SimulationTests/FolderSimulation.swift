import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One history of several processes on one cache folder: its files, its locks, and whatever people, disks and other releases do to it.
///
/// `SharedSimulation` has several engines on one file that stays, and looks at every commit. Here each process opens the folder as a
/// running client does, and reopens it, waits for it, releases it and ends in the same way (``FolderProcess``). The ledger
/// (``FolderLedger``) decides what may become of each write. All of it runs in one thread, and time passes only from timer to timer.
final class FolderSimulation: RepeatableHistory {
  typealias Failure = Simulation.Failure

  static let databaseID = DatabaseID(projectID: "p")
  /// Two users, nobody, and credentials of an application's own.
  static let users: [String?] = ["anna", "otto", nil, OutboxOwner.application("sync").name]

  let seed: UInt64
  let history: FolderHistory
  var generator: HistoryGenerator
  var backend = SimulatedBackend()
  var ledger = FolderLedger()
  /// Holds the folder of the cache, and copies of it.
  let home: URL
  var folder: URL { home.appendingPathComponent("cache") }
  var file: String { folder.appendingPathComponent("cache.sqlite").path }
  var processes: [FolderProcess] = []
  /// Monotonic time.
  let clock = DeviceClock()
  var now: Duration {
    get { clock.now }
    set { clock.now = newValue }
  }
  private var lastNumber = 0

  // The changes that were made to the folder.
  var copies: [FolderCopy] = []
  /// The file of the cache when it was looked at last.
  var knownFile: FileIdentity?
  /// The number of pages of that file that were damaged.
  var damageCount = 0
  /// True if the damage may have taken everything that is in that file.
  var isAllInDoubt = false
  /// The number of times that another one had the folder for itself.
  var takingCount = 0
  /// True while the file is that of a newer release.
  var isMigrated = false
  /// True while the tables are those of an earlier release.
  var isOutdated = false
  /// A process that wants to clear the cache, or a newer release that wants to migrate it.
  var taking: FolderTaking?
  /// The reports of what was lost in a damaged file.
  var reports: [String] = []
  var isSettling = false
  private var isInterleaving = false

  private(set) var trace: [String] = []
  private let keepsTrace: Bool
  private let printsTrace: Bool
  private(set) var problem: Failure?

  init(seed: UInt64, keepsTrace: Bool, printsTrace: Bool) throws {
    self.seed = seed
    self.keepsTrace = keepsTrace
    self.printsTrace = printsTrace
    generator = HistoryGenerator(seed: seed)
    history = FolderHistory(seed: seed)
    // In memory where the system offers a folder for that: each durable commit would wait for the disk.
    let shared = "/dev/shm"
    let isUsable = FileManager.default.isWritableFile(atPath: shared)
    let parent = isUsable ? URL(fileURLWithPath: shared) : FileManager.default.temporaryDirectory
    home = parent.appendingPathComponent("hearth-folder-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
  }

  func close() {
    taking?.end()
    for process in processes { process.kill() }
    try? FileManager.default.removeItem(at: home)
  }

  func note(_ text: @autoclosure () -> String) {
    guard keepsTrace else { return }
    let line = text()
    if printsTrace { print(line) } else { trace.append(line) }
  }

  /// Something is as it must never be.
  func fail(_ text: String) { problem = problem ?? Failure(description: text) }

  func check() throws {
    if let problem { throw problem }
    if let problem = ledger.problem { throw Failure(description: problem) }
  }

  func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Folders that histories make at the same moment differ in their names only, which decide nothing.
  var living: [FolderProcess] { processes.filter { !$0.isEnded } }
  /// The processes that can act.
  var awake: [FolderProcess] { living.filter { !$0.isStopped && !$0.isBusy } }

  @discardableResult
  func beginProcess(_ user: String? = nil, isAnyUser: Bool = true) -> FolderProcess {
    let user = isAnyUser ? generator.pick(Self.users) : user
    let process = FolderProcess(in: self, name: "process-\(nextNumber())", user: user)
    note("\(process.name) begins for \(user ?? "nobody")")
    processes.append(process)
    process.begin()
    return process
  }

  /// The backend carries out a request, or repeats what it answered before.
  func answer(_ request: SentBatch) -> FolderLedger.Answer {
    // The identity alone names the batch.
    let (isNew, answer) = backend.commit(request.mutations, label: request.label.map { String($0.suffix(32)) })
    note("backend: write \(request.number) \(isNew ? "" : "again ")\(answer)")
    ledger.answered(request.number, answer, isNew: isNew)
    return answer
  }

  /// Lets another process act in the middle of an event, before a transaction begins.
  func interleave(with process: FolderProcess) {
    guard !isInterleaving, !isSettling, generator.chance(history.interleaving) else { return }
    guard let other = awake.filter({ $0 !== process }).randomElement(using: &generator) else { return }
    isInterleaving = true
    note("  meanwhile:")
    smallStep(of: other)
    note("  back to \(process.name)")
    isInterleaving = false
  }

  /// Wakes all processes, as by a touch of their files.
  func wakeAll() {
    for process in living { process.isWoken = true }
  }
}
