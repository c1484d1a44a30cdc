import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One of several processes with a cache folder: an engine, and around it what the loop of a running client does.
///
/// The states and their changes are those of `ClientLoop`; where that waits, the process waits for its next ``tick()``.
final class FolderProcess {
  typealias Request = SimulatedDevice.Request

  enum State {
    /// Another process has the folder or the file.
    case waiting(attempts: Int)
    case running
    /// The cache must be opened anew, and another process still has the folder.
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
    /// The number of times that somebody had had the folder for itself when it was opened.
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
  /// The number of times that the cache was opened anew because of damage.
  var reopeningCount = 0

  /// The signed-in user.
  var user: String?
  /// The user of the last call that was carried out.
  var appliedUser: String?
  /// The user for whom the engine opens streams.
  var streamUser: String?
  var heldCalls: [Call] = []
  /// What the application wants to listen to.
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
  var inbox: [SyncEvent] = []
  /// The event that is being handled.
  var event: SyncEvent?
  var mustEnd = false
  var wasAskedToYield = false
  var timers: [(kind: TimerKind, due: Duration)] = []

  /// Statements and commits so far.
  var statementCount = 0
  /// The process ends at this statement, or after so many actions of an event.
  var deathStatement: Int?
  var deathAction: Int?
  var isDying = false

  var isOnline = true
  var watch = SimulatedWatch()
  var watchStream: StreamID?
  var watchRequestCount = 0
  var lastSnapshot: SharedClient.SnapshotState?
  var writeStream: StreamID?
  /// Streams that were asked for and are neither open nor refused.
  var opening: [SyncEvent] = []
  var writeRequests: [Request] = []
  /// The write streams that the client has closed, oldest first, with the batches that the backend may still answer there.
  var parting: [(id: StreamID, requests: [Request])] = []

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

  /// Opens the folder as a client does that begins, or goes on with a cache that is opened anew.
  func openFolder(as user: String?) throws {
    openingCount += 1
    let options = CacheFile.Options(
      database: Database.Options(synchronous: .normal, busyTimeout: .zero), sharing: .shared,
      clientName: "\(name)-\(openingCount)", endRequest: endRequest)
    defer { world.lookAtFile() }
    let (cache, store) = try CacheFile.openStore(
      folder: world.folder.path, databaseID: FolderSimulation.databaseID, options: options
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
    world.opened(cache.recovery, by: self)
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2, leaseTurn: .seconds(2), offlineLeaseTurn: .seconds(3),
      futileTurnPause: .seconds(10), jitter: { 0 })
    client = Client(
      cache: cache, store: store, engine: SyncEngine(localStore: store, configuration: configuration),
      takingCount: world.takingCount, file: FileIdentity(path: world.file))
    streamUser = user
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
    (inbox, opening, writeRequests, parting, timers) = ([], [], [], [], [])
    (watchStream, writeStream, lastSnapshot, watch) = (nil, nil, nil, SimulatedWatch())
    listeners = [:]
    (mustEnd, wasAskedToYield) = (false, false)
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) {
    inbox.append(event)
    handleInbox()
  }

  func handleInbox() {
    guard !isBusy, !isStopped else { return }
    isBusy = true
    repeat {
      // Opening the folder may have found something, too.
      if isRunning, !isDying { giveWayIfNeeded() }
      reopenIfNeeded()
      if isRunning, !isDying, !inbox.isEmpty { run(inbox.removeFirst()) }
    } while isRunning && !isDying && (!inbox.isEmpty || mustGoOn)
    isBusy = false
    if isDying { kill() }
  }

  /// True if the client must be ended, given back or opened anew.
  private var mustGoOn: Bool {
    client.map { mustEnd || wasAskedToYield || $0.store.ending != nil || $0.store.reopening != nil } ?? false
  }

  func run(_ event: SyncEvent) {
    guard let client else { return }
    world.note("> \(name) \(event.brief)")
    self.event = event
    for action in client.engine.handle(event, now: world.now) {
      if isDying { return }
      if let left = deathAction {
        deathAction = left - 1
        if left == 0 { isDying = true }
      }
      carryOut(action)
    }
  }

  private func carryOut(_ action: SyncAction) {
    if case .log = action {} else { world.note("  < \(action.brief)") }
    switch action {
    case .switchUser(let user):
      if watchStream != nil || writeStream != nil || !opening.isEmpty { fail("the user changes under a stream") }
      streamUser = user
    case .openWatchStream(let id): opening.append(.watchStreamOpened(id))
    case .openWriteStream(let id): opening.append(.writeStreamOpened(id))
    case .closeWatchStream(let id):
      opening.removeAll { if case .watchStreamOpened(id) = $0 { true } else { false } }
      if watchStream == id { breakWatchStream(nil) }
    case .closeWriteStream(let id):
      opening.removeAll { if case .writeStreamOpened(id) = $0 { true } else { false } }
      if writeStream == id {
        parting.append((id, writeRequests))
        breakWriteStream(nil)
      }
    case .sendWatch(_, let request):
      watchRequestCount += 1
      watch.receive(request, world.backend, &world.generator)
    case .sendWrite(let id, .handshake):
      inbox.append(.writeStreamMessage(id, WriteResponse(streamToken: [0], knowsBatchLabels: true)))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty { sent(mutations, label) }
    case .startTimer(let kind, let delay):
      timers.removeAll { $0.kind == kind }
      timers.append((kind, world.now + delay))
    case .cancelTimer(let kind): timers.removeAll { $0.kind == kind }
    case .raiseSnapshot(let id, let snapshot):
      if let problem = listeners[id.rawValue]?.take(snapshot) { fail("listener \(id.rawValue): \(problem)") }
    case .raiseError(let id, let error): listenerEnded(id.rawValue, error)
    case .completeWrite(let id, let error): completed(id.rawValue, error)
    case .writeSaved(let id): world.ledger.saved(id.rawValue)
    case .wakeOthers: wakeOthers()
    case .closeCache: mustEnd = true
    case .yieldCache: wasAskedToYield = true
    default: break
    }
  }

  private func wakeOthers() {
    let names = (try? client?.store.otherClientNames()) ?? []
    for process in world.living where process.client.map({ names.contains($0.cache.client?.name ?? "") }) ?? false {
      if world.isSettling || world.generator.chance(80) { process.isWoken = true }
    }
  }

  // MARK: - Answers

  private func completed(_ number: Int, _ error: StatusError?) {
    guard let error else { return world.ledger.told(number, .committed) }
    switch error.code {
    case .dataLoss where !error.message.hasPrefix("Failed to persist"):
      world.ledger.told(number, .lost, error.message)
    case .unknown:
      if !wasAway, world.ledger.writes[number]?.loss == nil { fail("nothing is known of write \(number): \(error)") }
      world.ledger.told(number, .unknown)
    default:
      if world.ledger.writes[number]?.answer != nil { return world.ledger.told(number, .refused, "\(error)") }
      if world.damageCount == 0, client?.store.ending == nil { fail("write \(number) was not saved: \(error)") }
      notSaved(number)
    }
  }

  /// The caller hears that the write is not saved.
  func notSaved(_ number: Int) {
    world.note("  \(name): write \(number) is not saved")
    if world.numbersInFile().contains(number) { fail("write \(number) is not saved for its caller, and in the file") }
    world.ledger.told(number, .notSaved)
  }

  private func listenerEnded(_ id: Int, _ error: StatusError) {
    guard listeners.removeValue(forKey: id) != nil else { return fail("listener \(id) has ended before") }
    guard world.damageCount == 0, client?.store.reopening == nil, client?.store.ending == nil else { return }
    fail("listener \(id) ended: \(error)")
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
      inbox.append(.listen(ListenerID(rawValue: id), listener.query, listener.options))
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
      inbox.append(event(of: call))
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
