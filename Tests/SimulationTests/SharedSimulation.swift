import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One history of several clients on one cache file: engines with locks, wake-ups and a backend, driven by everything that can happen
/// to them in an order that a seed decides.
///
/// All of it runs in one thread, so a process stops between two events, between two transactions of an event (others act meanwhile,
/// see ``interleave(with:)``), or permanently at any statement; never in the middle of a transaction that goes on later.
///
/// After each step the views of each client that has read all notices are compared with the file, as a reader without any state
/// sees it, and the outcome of each write with a ledger.
final class SharedSimulation {
  typealias Failure = Simulation.Failure

  static let databaseID = DatabaseID(projectID: "p")

  let seed: UInt64
  var generator: SeededGenerator
  var backend = SimulatedBackend()
  var ledger = WriteLedger()
  let locks = SharedLocks()
  let folder: URL
  private(set) var clients: [SharedClient] = []
  /// A backend that knows no labels commits a batch again whose answer was lost.
  let backendKnowsLabels: Bool
  let noticeLimits: LocalStore.NoticeLimits
  /// The probability, in percent, that another client acts before a transaction.
  private let interleaving: Int
  private var isInterleaving = false
  /// True while the history comes to its end.
  var isSettling = false

  /// Reads the file for each user, without a client.
  private var readers: [String?: LocalStore] = [:]
  private var readerDatabases: [Database] = []
  /// The targets of all queries that were listened to.
  var targets: Set<Target> = []
  /// The resume tokens of targets after the step before, by their numbers.
  var tokens: [TargetID: Int64] = [:]
  /// Every user's outbox after the step before.
  var outboxes: [String?: [MutationBatch]] = [:]

  private(set) var commitCount = 0
  private var lastCommits: [String: Int] = [:]
  private var numbersByLabel: [String: Int] = [:]
  private var lastNumber = 0
  private var lastClient = 0

  private(set) var trace: [String] = []
  private let keepsTrace: Bool
  /// Prints the trace at once: an assertion may end the program.
  private let printsTrace: Bool
  private(set) var problem: Failure?

  init(seed: UInt64, keepsTrace: Bool, printsTrace: Bool = false) throws {
    self.seed = seed
    self.keepsTrace = keepsTrace
    self.printsTrace = printsTrace
    generator = SeededGenerator(seed: seed)
    // Not the generator of the steps.
    var choices = SeededGenerator(seed: ~seed)
    backendKnowsLabels = choices.chance(70)
    interleaving = choices.pick([0, 0, 2, 10])
    noticeLimits = choices.pick([
      .init(), .init(betweenMarks: 8, waiting: 1 << 20), .init(betweenMarks: 4, waiting: 12),
    ])
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-shared-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for _ in 0..<Int.random(in: 2...4, using: &choices) { try beginClient() }
    for user in SharedClient.users {
      let database = try Database(.file(path: file), options: .init(synchronous: .normal))
      readerDatabases.append(database)
      readers[user] = try LocalStore(
        database: database, databaseID: Self.databaseID,
        garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user, newCacheID: "cache")
    }
  }

  var file: String { folder.appendingPathComponent("cache.sqlite").path }

  func close() {
    for client in clients { client.database.close() }
    for database in readerDatabases { database.close() }
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
  func answer(_ request: SharedClient.Request) -> WriteLedger.Answer {
    let (isNew, answer) = backend.commit(request.mutations, label: request.label)
    note("backend: write \(request.number) \(isNew ? "" : "again ")\(answer)")
    ledger.answered(request.number, answer, isNew: isNew, knowsLabels: backendKnowsLabels)
    return answer
  }

  // MARK: - Clients

  var awake: [SharedClient] { clients.filter { $0.life == .running } }
  var living: [SharedClient] { clients.filter { $0.life != .ended } }

  func beginClient() throws {
    lastClient += 1
    let client = try SharedClient(in: self, name: "client-\(lastClient)", user: generator.pick(SharedClient.users))
    note("\(client.name) begins for \(client.user ?? "nobody")")
    clients.append(client)
    client.post(.start)
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
    guard !isInterleaving, !isSettling, interleaving > 0, generator.chance(interleaving) else { return }
    guard let other = awake.filter({ !$0.isBusy && $0 !== client }).randomElement(using: &generator) else { return }
    isInterleaving = true
    note("  meanwhile:")
    smallStep(of: other)
    note("  back to \(client.name)")
    isInterleaving = false
  }

  func withoutInterleaving(_ body: () -> Void) {
    let before = isInterleaving
    isInterleaving = true
    body()
    isInterleaving = before
  }

  // MARK: - The file

  func committed(by client: String) {
    commitCount += 1
    lastCommits[client] = commitCount
  }

  /// True if other clients have committed nothing since.
  func isUpToDate(_ client: SharedClient) -> Bool {
    lastCommits.allSatisfy { $0.key == client.name || $0.value <= client.knownCommit }
  }

  func reader(of user: String?) throws -> LocalStore {
    guard let reader = readers[user] else { throw Failure(description: "no reader of \(user ?? "nobody")") }
    return reader
  }

  func outbox(of user: String?) -> [MutationBatch] {
    do { return try reader(of: user).pendingBatches() } catch {
      fail("the outbox of \(user ?? "nobody") cannot be read: \(error)")
      return []
    }
  }

  /// The number of the lease and the name of its holder, as the file has them.
  var lease: (number: Int64, holder: String?) {
    let sql = """
      SELECT lease_number, (SELECT name FROM cache_clients WHERE client_id = lease_holder) FROM cache_sharing
      """
    let row = try? readerDatabases[0].firstRow(sql) { row in
      (try row.int64(at: 0), row.isNull(at: 1) ? nil : try row.string(at: 1))
    }
    return row ?? (0, nil)
  }

  /// The targets whose views at the holder of the lease agree with the backend, as the file has them.
  var currentTargets: [Int64] {
    var targets: [Int64] = []
    try? readerDatabases[0].forEachRow("SELECT target_id FROM cache_current_targets ORDER BY target_id") {
      targets.append(try $0.int64(at: 0))
      return true
    }
    return targets
  }

  /// Changes with the file.
  func fileVersion() throws -> Int64 { try readerDatabases[0].dataVersion }

  func check() throws {
    if let problem { throw problem }
    if let problem = ledger.problem { throw Failure(description: problem) }
  }
}
