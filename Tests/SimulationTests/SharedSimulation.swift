import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One history of several clients on one cache file: engines with locks, wake-ups and a backend, driven by everything that can happen
/// to them in an order that a seed decides.
///
/// All of it runs in one thread. A process stops between two events, before a transaction (``interleave(with:)``), in the middle of one
/// (``stopInTransaction(_:)``), or permanently at any statement.
///
/// Each commit is compared with the one before by a reference that computes what the file and the views must be (``SharedReference``).
/// After each step each client must show one state of the file that is not older than the last notice that it has read, and the
/// outcome of each write is compared with a ledger.
final class SharedSimulation: RepeatableHistory {
  typealias Failure = Simulation.Failure

  static let databaseID = DatabaseID(projectID: "p")

  let seed: UInt64
  let history: SharedHistory
  var generator: HistoryGenerator
  var backend = SimulatedBackend()
  var ledger = WriteLedger()
  let locks = CacheLocks()
  let folder: URL
  private(set) var clients: [SharedClient] = []
  var backendKnowsLabels: Bool { history.backendKnowsLabels }
  private var isInterleaving = false
  /// True while a client is stopped in the middle of a transaction.
  private(set) var isTransactionStopped = false
  /// Another program that writes the file; nil if none does.
  var fileHolder: Database?
  /// True while nobody can write the file.
  var isFileHeld: Bool { isTransactionStopped || fileHolder != nil }
  /// True while the history comes to its end.
  var isSettling = false

  /// Reads the file, without a client.
  let reader: Database
  let readerStore: LocalStore
  /// The state that the file must hold and clients must show.
  var reference = SharedReference()
  /// The batches that were read.
  var batches: [BatchID: MutationBatch] = [:]
  /// The batches of each user that were given up although they may have been sent.
  var givenUp: [String?: [MutationBatch]] = [:]
  /// Some client has begun to clear securely, so that the outcomes in the file may lack the results of their commits.
  var erasesResults = false
  var lease = Lease()
  /// Everyone who ever had a number of the lease.
  var leaseHolders: [Int64: String] = [:]
  /// The resume tokens of targets, by their ids.
  var tokens: [Int64: Int64] = [:]
  /// The documents of each target that has a resume token, by its id.
  var resumableKeys: [Int64: Set<String>] = [:]
  /// The targets that the backend has refused at some time, with the number that was taken for the last refusal: listeners with higher ones began
  /// after it.
  var rejectedTargets: [Target: Int] = [:]

  private(set) var commitCount = 0
  private var lastCommits: [String: Int] = [:]
  /// The last write that each client has stored.
  var lastStoredNumbers: [String: Int] = [:]
  private var unobserved: Commit?
  private var numbersByLabel: [String: Int] = [:]
  private var lastNumber = 0
  private var lastClient = 0

  private(set) var trace: [String] = []
  let keepsTrace: Bool
  /// Prints the trace at once: an assertion may end the program.
  private let printsTrace: Bool
  private(set) var problem: Failure?

  init(seed: UInt64, keepsTrace: Bool, printsTrace: Bool) throws {
    self.seed = seed
    self.keepsTrace = keepsTrace
    self.printsTrace = printsTrace
    generator = HistoryGenerator(seed: seed)
    history = SharedHistory(seed: seed)
    folder = Self.newFolder()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    reader = try Database(.file(path: Self.file(in: folder)), options: .init(synchronous: .normal))
    readerStore = try LocalStore(
      database: reader, databaseID: Self.databaseID,
      garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: nil, newCacheID: "cache")
    for _ in 0..<history.clientCount { try beginClient() }
  }

  /// In memory where the system offers a folder for that: each durable commit would wait for the disk.
  static func newFolder() -> URL {
    let shared = "/dev/shm"
    let isUsable = FileManager.default.isWritableFile(atPath: shared)
    let parent = isUsable ? URL(fileURLWithPath: shared) : FileManager.default.temporaryDirectory
    return parent.appendingPathComponent("hearth-shared-\(UUID().uuidString)")
  }

  private static func file(in folder: URL) -> String { folder.appendingPathComponent("cache.sqlite").path }

  var file: String { Self.file(in: folder) }

  func close() {
    releaseFile()
    for client in clients { client.close() }
    reader.close()
    try? FileManager.default.removeItem(at: folder)
  }

  func note(_ text: @autoclosure () -> String) {
    if keepsTrace { keep(text()) }
  }

  private func keep(_ line: String) {
    if printsTrace { print(line) } else { trace.append(line) }
  }

  func note(_ action: SyncAction) {
    guard keepsTrace else { return }
    keep("  < \(action.brief)")
  }

  /// Something is as it must never be.
  func fail(_ text: String) {
    problem = problem ?? Failure(description: text)
  }

  func nextNumber() -> Int {
    lastNumber += 1
    let label = BatchLabel(cacheID: "cache", identity: BatchIdentity(high: 1, low: UInt64(lastNumber)))
    numbersByLabel[label.text] = lastNumber
    return lastNumber
  }

  /// The write with this label.
  func number(of label: String?, _ mutations: [Mutation]) -> Int? { label.flatMap { numbersByLabel[$0] } }

  /// The backend carries out a request of a client, or repeats what it answered before.
  func answer(_ request: SentBatch) -> WriteLedger.Answer {
    let (isNew, answer) = backend.commit(request.mutations, label: request.label)
    note("backend: write \(request.number) \(isNew ? "" : "again ")\(answer)")
    ledger.answered(request.number, answer, isNew: isNew, knowsLabels: backendKnowsLabels)
    return answer
  }

  // MARK: - Clients

  var awake: [SharedClient] { clients.filter { $0.life == .running && !$0.isStopping } }
  var living: [SharedClient] { clients.filter { $0.life != .ended } }

  func beginClient() throws { try beginClient(for: generator.pick(history.users)) }

  func beginClient(for user: String?) throws {
    let client = try newClient(for: user)
    client.post(.start)
  }

  func newClient(for user: String?) throws -> SharedClient {
    lastClient += 1
    let client = try SharedClient(in: self, name: "client-\(lastClient)", user: user)
    note("\(client.name) begins for \(client.user ?? "nobody")")
    clients.append(client)
    return client
  }

  /// The process of a client is gone.
  func bury(_ client: SharedClient) {
    note("\(client.name) dies")
    client.end()
  }

  func removeEndedClients() {
    clients.removeAll { $0.life == .ended }
  }

  func wakeOthers(than client: SharedClient) {
    let names = (try? client.store.otherClientNames()) ?? []
    for other in clients where other.life == .running && names.contains(other.name) {
      if isSettling || generator.chance(80) { other.isWoken = true }
    }
  }

  /// Lets another client act in the middle of an event, before a transaction begins.
  func interleave(with client: SharedClient) {
    guard !isInterleaving, !isSettling, generator.chance(history.interleaving) else { return }
    meanwhile(client, stepCount: 1)
  }

  /// A client is stopped in the middle of a transaction, and the others go on for a while.
  func stopInTransaction(_ client: SharedClient) {
    guard !isInterleaving, !isSettling else { return }
    note("  \(client.name) is stopped in a transaction")
    isTransactionStopped = true
    meanwhile(client, stepCount: Int.random(in: 1...6, using: &generator))
    isTransactionStopped = false
  }

  private func meanwhile(_ client: SharedClient, stepCount: Int) {
    isInterleaving = true
    note("  meanwhile:")
    for _ in 0..<stepCount {
      guard let other = awake.filter({ !$0.isBusy && $0 !== client }).randomElement(using: &generator) else { break }
      smallStep(of: other)
    }
    note("  back to \(client.name)")
    isInterleaving = false
  }

  // MARK: - The file

  func committed(_ transaction: String, by client: String) {
    commitCount += 1
    lastCommits[client] = commitCount
    unobserved = Commit(client: client, transaction: transaction)
  }

  func takeUnobserved() -> Commit? {
    defer { unobserved = nil }
    return unobserved
  }

  /// The commit whose changes the client's views surely have.
  func shownCommit(of client: SharedClient) -> Int { max(client.knownCommit, lastCommits[client.name] ?? 0) }

  func check() throws {
    if let problem { throw problem }
    if let problem = ledger.problem { throw Failure(description: problem) }
  }
}
