import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One of several processes with a cache folder: an engine, and around it what the loop of a running client does.
///
/// The states and their changes are those of `ClientLoop`; where that waits, the process waits for its next ``tick()``.
final class FolderProcess {
  enum State {
    /// Another process has the folder or the file.
    case waiting(attempts: Int)
    case running
    /// The cache must be reopened, and another process still has the folder.
    case reopening(SyncHandover, Reopening)
    /// The folder was given back, because another process wants it for itself.
    case yielding(attempts: Int)
    /// The folder was given back, because the system suspends the process.
    case asleep
    /// The wait for the folder was given up: each call tries once.
    case locked
    case ended
  }

  /// A call of the application.
  enum Call {
    case writes([LocalWrite])
    case user(String?)

    var writes: [LocalWrite] { if case .writes(let writes) = self { writes } else { [] } }
  }

  /// The open folder and what uses it.
  struct Client {
    var cache: OpenedCache
    var store: LocalStore
    var engine: SyncEngine
    /// The number of times that a process had had the folder for itself when it was opened.
    var takingCount: Int
    /// The file that was opened.
    var file: FileIdentity?
  }

  unowned let world: FolderSimulation
  let name: String
  var state = State.waiting(attempts: 0)
  var client: Client?
  let endRequest = EndRequest()
  private var openingCount = 0
  /// The number of times that the cache was reopened because of damage.
  var reopeningCount = 0

  /// The signed-in user.
  var user: String?
  /// The user of the last call that was carried out.
  var appliedUser: String?
  var heldCalls: [Call] = []
  /// The queries that the application wants to listen to.
  var wanted: [Int: (query: Query, options: ListenOptions)] = [:]
  var listeners: [Int: SimulatedListener] = [:]

  /// True if the system has stopped the process; its locks stay.
  var isStopped = false
  /// True if the process was stopped in the middle of a transaction.
  var isInTransaction = false
  /// True if others may have taken the process for dead at some time.
  var wasAway = false
  var isWoken = false
  var isBusy = false
  private(set) lazy var driver = EngineDriver(delegate: self, clock: world.clock)
  var wasAskedToYield = false

  /// Statements and commits so far.
  var statementCount = 0
  /// The process ends at this statement, or after so many actions of an event.
  var deathStatement: Int?
  var deathAction: Int?
  var isDying = false

  var isOnline = true
  var watch = SimulatedWatch()
  var watchRequestCount = 0
  var lastSnapshot: SharedClient.SnapshotState?

  init(in world: FolderSimulation, name: String, user: String?) {
    self.world = world
    self.name = name
    self.user = user
    appliedUser = user
  }

  func fail(_ text: String) { world.fail("\(name): \(text)") }

  var isRunning: Bool { if case .running = state { true } else { false } }
  var isEnded: Bool { if case .ended = state { true } else { false } }

  // MARK: - The folder

  /// Opens the folder as a client does that begins, or goes on with a cache that is reopened.
  func openFolder(as user: String?) throws {
    openingCount += 1
    let options = CacheFile.Options(
      database: Database.Options(synchronous: .normal, busyTimeout: .zero), sharing: .shared,
      clientName: "\(name)-\(openingCount)", endRequest: endRequest)
    defer { world.lookAtFile() }
    let (cache, store) = try CacheFile.openStore(
      folder: world.folder.path, databaseID: FolderSimulation.databaseID, options: options,
      report: { world.report("\(name): \($0)") }
    ) { database, files in
      database.injectFailure = { [unowned self] in failure(at: $0) }
      let store = try LocalStore(
        database: database, databaseID: FolderSimulation.databaseID,
        garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user,
        newCacheID: "cache \(world.nextNumber())", locks: files)
      store.noticeLimits = world.history.noticeLimits
      store.repaired = { [unowned self] in world.report($0) }
      return store
    }
    endRequest.withdraw()
    world.opened(by: self)
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2, leaseTurn: .seconds(2), offlineLeaseTurn: .seconds(3),
      futileTurnPause: .seconds(10), jitter: { 0 })
    client = Client(
      cache: cache, store: store, engine: SyncEngine(localStore: store, configuration: configuration),
      takingCount: world.takingCount, file: FileIdentity(path: world.file))
    driver.streamUser = user
    appliedUser = user
  }

  private func failure(at point: Database.FailurePoint) -> StoreError? {
    if isDying { return StoreError(kind: .io, message: "the process has ended") }
    if case .transaction = point {
      if let client, client.cache.database.isInTransaction { return nil }
      if client != nil { world.interleave(with: self) }
      return nil
    }
    statementCount += 1
    guard let deathStatement, statementCount >= deathStatement else { return nil }
    world.note("  \(name) ends at \(point)")
    isDying = true
    return StoreError(kind: .io, message: "the process ends")
  }

  /// Closes the folder, and forgets everything that ends with the client.
  func closeFolder() {
    client?.cache.database.injectFailure = nil
    client?.cache.close()
    forgetClient()
  }

  func forgetClient() {
    client = nil
    driver.processEnded()
    (lastSnapshot, watch) = (nil, SimulatedWatch())
    listeners = [:]
    wasAskedToYield = false
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) { driver.post(event) }

  func handleInbox() {
    guard !isBusy, !isStopped else { return }
    isBusy = true
    repeat {
      // Opening the folder may have found something, too.
      if isRunning, !isDying { giveWayIfNeeded() }
      reopenIfNeeded()
      if isRunning, !isDying { _ = driver.handleNext() }
    } while isRunning && !isDying && (!driver.inbox.isEmpty || mustGoOn)
    isBusy = false
    if isDying { kill() }
  }

  /// True if the client must be ended, given back or reopened.
  private var mustGoOn: Bool {
    client.map { wasAskedToYield || $0.store.ending != nil || $0.store.reopening != nil } ?? false
  }

  // MARK: - Answers

  /// The caller hears that the write is not saved.
  func notSaved(_ number: Int) {
    world.note("  \(name): write \(number) is not saved")
    if world.numbersInFile().contains(number) { fail("write \(number) is not saved for its caller, and in the file") }
    world.ledger.told(number, .notSaved)
  }

  // MARK: - The application

  func listen(to query: Query, _ options: ListenOptions) {
    let id = world.nextNumber()
    wanted[id] = (query, options)
    listenToMissing()
  }

  func unlisten() {
    guard let id = wanted.keys.sorted().randomElement(using: &world.generator) else { return }
    wanted[id] = nil
    if listeners.removeValue(forKey: id) != nil { post(.unlisten(ListenerID(rawValue: id))) }
  }

  /// Listens again where a listener has ended.
  func listenToMissing() {
    guard isRunning else { return }
    for (id, listener) in wanted.sorted(by: { $0.key < $1.key }) where listeners[id] == nil {
      listeners[id] = SimulatedListener(query: listener.query, options: listener.options)
      driver.enqueue(.listen(ListenerID(rawValue: id), listener.query, listener.options))
    }
    handleInbox()
  }

  func write(_ batches: [[Mutation]]) {
    call(
      .writes(
        batches.map { mutations in
          let number = world.nextNumber()
          world.ledger.wrote(number, mutations, by: user, name)
          world.note("\(name) makes write \(number) for \(user ?? "nobody")")
          return LocalWrite(
            id: WriteID(rawValue: number), mutations: mutations,
            localWriteTime: Timestamp(seconds: 1, nanoseconds: Int32(number)),
            identity: FolderLedger.identity(number), keepsOutcome: number.isMultiple(of: 3))
        }))
  }

  func changeUser(to user: String?) {
    self.user = user
    call(.user(user))
  }

  private func call(_ call: Call) {
    if case .locked = state { tryOnce() }
    switch state {
    case .running:
      driver.enqueue(event(of: call))
      handleInbox()
    case .waiting, .reopening, .yielding, .asleep: heldCalls.append(call)
    case .locked: refuse(call)
    // A process that is gone says nothing.
    case .ended: if !isDying { refuse(call) }
    }
  }

  func event(of call: Call) -> SyncEvent {
    switch call {
    case .writes(let writes): return .writes(writes)
    case .user(let user):
      appliedUser = user
      return .changeUser(user)
    }
  }

  func refuse(_ call: Call) {
    switch call {
    case .writes(let writes): for write in writes { notSaved(write.id.rawValue) }
    case .user(let user): appliedUser = user
    }
  }
}
