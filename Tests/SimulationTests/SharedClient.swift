import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One of several clients of a cache file, and its user and network.
final class SharedClient {
  enum Life {
    case running
    /// Suspended: no event reaches it.
    case asleep
    case ended
  }

  unowned let world: SharedSimulation
  let name: String
  let database: Database
  let store: LocalStore
  let engine: SyncEngine
  /// The device's time of an event: the number of the event.
  private var wallTime = Timestamp.epoch

  var life = Life.running
  /// True while it sends nothing more and hears its last answers, before it is shut down.
  private(set) var isStopping = false
  /// True if others may have taken the client for dead at some time.
  var wasTakenForDead = false
  /// The writes whose answers a former engine may have missed, because something failed when it read the notices for the last time.
  var unsureWrites: Set<WriteID> = []
  /// True if a wake-up waits to be delivered.
  var isWoken = false
  private(set) lazy var driver = EngineDriver(delegate: self, streamUser: user)

  // Failures.
  /// The running outermost transaction.
  private var transaction = ""
  /// True if a statement or a transaction was made to fail in the event that is being handled, for another reason than that the file is held.
  private var wasMadeToFail = false
  /// True if something was made to fail in the event that is being handled.
  private(set) var hasFailed = false
  /// The number of statements and transactions that were made to fail so far.
  private(set) var failureCount = 0
  /// True if something failed between two events; its consequences come with the next one.
  private var hasFailedBetweenEvents = false
  /// The process is stopped at the first statement in a transaction from this one on, and goes on later.
  var stopStatement: Int?
  var failingTransactions: Set<String> = []
  /// Statements and commits so far.
  var statementCount = 0
  var failingStatements = 0..<0
  var failureKind = StoreError.Kind.io
  /// The process ends at this statement, or after so many actions of an event.
  var deathStatement: Int?
  var deathAction: Int?
  private(set) var isDying = false
  /// True once an event has shown that the process has ended. It may have ended between two events.
  private var isGone = false
  /// The commit of the simulation that the client's latest transaction surely saw, and the latest one of its last event.
  private var seenCommit = 0
  private(set) var knownCommit = 0

  /// The signed-in user, whose token the backend sees.
  var user: String?
  var isNetworkEnabled = true
  /// False while the network of the process leads nowhere.
  var canConnect = true
  /// True if attempts to open a stream there end late, and not at once.
  var isSilent = false

  var watch = SimulatedWatch()
  var watchRequestCount = 0
  var lastSnapshot: SnapshotState?
  /// The writes whose answers the client has heard.
  var heard: Set<Int> = []
  /// True if the client had the streams before the event that is being handled.
  private(set) var wasPrimary = false
  private var leaseNumber: Int64?
  /// The last batch that went out on the open write stream.
  var lastSentBatchID: BatchID = -1

  /// The batches that the user asked to cancel, with true for a cancellation even if sent.
  var withdrawals: [BatchID: Bool] = [:]
  var listeners: [ListenerID: SimulatedListener] = [:]
  var openWaits: Set<RequestID> = []
  /// The writes that must be answered before a wait for pending writes ends.
  var awaited: [RequestID: [Int]] = [:]
  /// The reads of the cache that were not answered, with the answers that are right.
  var reads: [RequestID: Read] = [:]
  /// Clearings of the cache that are not at their end.
  var clearings: [ClearingRun] = []

  /// The number of snapshots that listeners were given.
  private(set) var snapshotCount = 0
  /// The state that was found in order when the views were last compared.
  var lastMark: Mark?

  struct Mark: Equatable {
    var oldest: Int
    var newest: Int
    var snapshots: Int
    var user: String?
  }

  init(in world: SharedSimulation, name: String, user: String?) throws {
    self.world = world
    self.name = name
    self.user = user
    database = try Database(.file(path: world.file), options: .init(synchronous: .normal, busyTimeout: .zero))
    store = try LocalStore(
      database: database, databaseID: SharedSimulation.databaseID,
      garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user, newCacheID: "cache",
      locks: world.locks.begin(name))
    store.noticeLimits = world.history.noticeLimits
    engine = SyncEngine(localStore: store, configuration: world.history.configuration)
    world.committed("Join cache", by: name)
    database.injectFailure = { [unowned self] in failure(at: $0) }
  }

  func fail(_ text: String) { world.fail("\(name): \(text)") }

  // MARK: - Failures

  private func failure(at point: Database.FailurePoint) -> StoreError? {
    if isDying { return StoreError(kind: .io, message: "the process has ended") }
    if case .transaction(let name) = point {
      if failingTransactions.contains(name) { return failed(.unavailable, "made to fail: \(name)") }
      guard !database.isInTransaction else { return nil }
      world.observe()
      world.interleave(with: self)
      transaction = name
      // While another process holds the write lock, the transaction may not begin.
      if !world.isFileHeld { seenCommit = world.commitCount }
      return nil
    }
    statementCount += 1
    if let stopStatement, statementCount >= stopStatement, database.isInTransaction {
      self.stopStatement = nil
      world.stopInTransaction(self)
    }
    if let deathStatement, statementCount >= deathStatement {
      world.note("  \(name) ends at \(point)")
      isDying = true
      return StoreError(kind: .io, message: "the process ends")
    }
    if failingStatements.contains(statementCount) {
      return failed(failureKind, "statement \(statementCount) was made to fail")
    }
    if point == .commit { world.willCommit(transaction, of: self) }
    return nil
  }

  private func failed(_ kind: StoreError.Kind, _ message: String) -> StoreError {
    seenCommit = -1
    failureCount += 1
    hasFailed = true
    wasMadeToFail = true
    if !isBusy { hasFailedBetweenEvents = true }
    world.note("  \(name): \(message)")
    return StoreError(kind: kind, message: message)
  }

  var isFailing: Bool { !failingTransactions.isEmpty || failingStatements.upperBound > statementCount }

  func calm() {
    failingTransactions = []
    failingStatements = 0..<0
    stopStatement = nil
    deathStatement = nil
    deathAction = nil
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) { driver.post(event) }

  /// True while an event is being handled.
  var isBusy: Bool { driver.isDraining }

  /// With the lease a client forgets the answers that it could not store.
  private func noteLease() {
    if store.leaseNumber != leaseNumber { heard = [] }
    leaseNumber = store.leaseNumber
  }

  // MARK: - The user

  func listen(to query: Query, _ options: ListenOptions) {
    let id = ListenerID(rawValue: world.nextNumber())
    listeners[id] = SimulatedListener(query: query, options: options)
    post(.listen(id, query, options))
  }

  func unlisten() {
    let ids = listeners.keys.sorted { $0.rawValue < $1.rawValue }
    guard let id = ids.randomElement(using: &world.generator) else { return }
    unlisten(id)
  }

  private func unlisten(_ id: ListenerID) {
    listeners[id] = nil
    post(.unlisten(id))
  }

  /// Ends all listeners to what the backend has.
  func unlistenToBackend() {
    for (id, listener) in listeners.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where listener.options.source == .default {
      unlisten(id)
    }
  }

  func write(_ batches: [[Mutation]]) {
    let writes = batches.map { mutations in
      let number = world.nextNumber()
      let identity = BatchIdentity(high: 1, low: UInt64(number))
      world.ledger.wrote(number, mutations, identity, by: user)
      let keepsOutcome = number.isMultiple(of: 3)
      if keepsOutcome { world.ledger.hasReceipt(number) }
      return LocalWrite(
        id: WriteID(rawValue: number), mutations: mutations,
        localWriteTime: Timestamp(seconds: SimulatedDevice.seconds(of: user), nanoseconds: Int32(number)),
        identity: identity, keepsOutcome: keepsOutcome)
    }
    post(.writes(writes))
  }

  func request(_ request: EngineRequest) {
    let id = RequestID(rawValue: world.nextNumber())
    openWaits.insert(id)
    if case .waitForPendingWrites = request {
      awaited[id] = driver.openWrites.map(\.rawValue).filter { world.ledger.owner(of: $0) == user }
    }
    post(.request(id, request))
  }

  func changeUser(to user: String?) {
    self.user = user
    post(.changeUser(user))
  }

  func switchNetwork(on isOn: Bool) {
    isNetworkEnabled = isOn
    request(isOn ? .enableNetwork : .disableNetwork)
  }

  // MARK: - Life

  func suspend() {
    post(.suspend)
    guard life == .running else { return }
    life = .asleep
    world.locks.end(name)
    wasTakenForDead = true
  }

  func resume() {
    guard life == .asleep else { return }
    life = .running
    world.locks.resume(name)
    post(.resume)
  }

  /// Sends nothing more; the client is shut down when it has its answers, or before.
  func stopSending() {
    isStopping = true
    post(.stopSending)
  }

  /// Ends the client in good order.
  func shutDown() {
    post(.shutdown)
    // Those that are not in the file are reported as not saved.
    world.checkHeldWrites(of: self)
    end()
  }

  func close() {
    driver.engineEnded()
    database.injectFailure = nil
    database.close()
  }

  /// The process is gone.
  func end() {
    guard life != .ended else { return }
    life = .ended
    close()
    world.locks.end(name)
    // Those that its process could not store before its end.
    let stored = Set(world.history.users.flatMap(world.outbox).map(\.number))
    for write in driver.openWrites where !stored.contains(write.rawValue) { world.ledger.mayBeLost(write.rawValue) }
  }
}

// MARK: - What the engine does

extension SharedClient: DrivenClient {
  var takesEvents: Bool { life != .ended && !isGone }

  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] {
    world.note("> \(name) \(event.brief)")
    hasFailed = world.isFileHeld || hasFailedBetweenEvents
    hasFailedBetweenEvents = false
    wasMadeToFail = false
    wallTime = Timestamp(seconds: wallTime.seconds + 1, nanoseconds: 0)
    let actions = engine.handle(event, now: now, wallTime: wallTime)
    world.observe()
    if actions.contains(where: \.saysThatNothingWasFound) { seenCommit = -1 }
    knownCommit = seenCommit
    isGone = isDying
    return actions
  }
  func willCarryOut(_ action: SyncAction) -> Bool {
    if !isDying, let left = deathAction {
      if left == 0 { isDying = true } else { deathAction = left - 1 }
    }
    isGone = isDying
    if !isGone { world.note(action) }
    return !isGone
  }
  func didHandle(_ event: SyncEvent) {
    isGone = isDying
    if isGone { return }
    noteLease()
    wasPrimary = engine.isPrimary
    if let reason = store.ending { fail("the client must end: \(reason)") }
    if engine.lastInSync == wallTime, !engine.heldWriteIDs.isEmpty { fail("it is in sync with writes in memory") }
  }

  func cameToRest() {
    if isDying, life != .ended { world.bury(self) }
  }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening { .waits }
  func watchStreamEnded() { watch = SimulatedWatch() }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { wasOpen ? .later : .silently }
  func received(_ request: WatchRequest, on id: StreamID) {
    watchRequestCount += 1
    watch.receive(request, world.backend, &world.generator)
  }
  var handshake: WriteResponse? { WriteResponse(streamToken: [0], knowsBatchLabels: world.backendKnowsLabels) }

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) {
    snapshotCount += 1
    if listeners[id] == nil { return fail("listener \(id.rawValue) was not added or has ended") }
    if let problem = listeners[id]?.take(snapshot) { fail("listener \(id.rawValue): \(problem)") }
  }
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    guard wasOpen else { return fail("write \(id.rawValue) was completed twice") }
    // A client that was taken for dead may have missed the answer, and so may one whose notices could not be read.
    if error?.code == .unknown, wasTakenForDead || unsureWrites.contains(id) { return }
    let isRefused = if case .writes(let writes) = driver.event { writes.contains { $0.id == id } } else { false }
    if isRefused, let error, world.isFileHeld, !isFailing, !wasMadeToFail, error.code != .notFound {
      fail("write \(id.rawValue) did not wait for the file: \(error)")
    }
    world.ledger.completed(id.rawValue, error, isRefused: isRefused)
  }

  func wakeOthers() { world.wakeOthers(than: self) }
  func yieldCache() { fail("the client was told to end") }
}
