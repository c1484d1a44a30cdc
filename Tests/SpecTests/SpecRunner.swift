import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// A client on a real cache with mock streams, driven by its steps of one test.
final class SpecRunner {
  /// A call of a listener: with a snapshot, or with the error that ended it.
  struct Event {
    var query: Query
    var outcome: Result<ViewSnapshot, StatusError>
  }

  let stage: SpecStage
  private let name: String
  private var database: Database
  private(set) var store: LocalStore
  private(set) var engine: SyncEngine
  private(set) lazy var driver = EngineDriver(delegate: self)
  private(set) var watchRequestCount = 0
  private(set) var writeRequestCount = 0
  /// Another client has asked for the end of this one.
  private var mustEnd = false
  private var failure: (any Error)?

  private var failures = InjectedFailures()
  /// Transactions with these names fail.
  var failingTransactions: Set<String> {
    get { failures.transactions }
    set { failures.transactions = newValue }
  }
  var isNetworkEnabled = true
  private(set) var isShutdown = false
  var user: String?

  var listeners: [(query: Query, id: ListenerID)] = []
  private var queries: [ListenerID: Query] = [:]
  private var snapshotsInSyncListeners: [ListenerID] = []
  private var waits: Set<RequestID> = []
  private var keysOfWrites: [WriteID: DocumentKey] = [:]
  private var nextNumber = 1

  // The events since the last step.
  var events: [Event] = []
  var acknowledgedKeys: [DocumentKey] = []
  var rejectedKeys: [DocumentKey] = []
  var snapshotsInSyncCount = 0
  var pendingWritesCount = 0
  var sticky = SpecStickyExpectations()

  init(_ stage: SpecStage, name: String) throws {
    self.stage = stage
    self.name = name
    (database, store, engine) = try Self.open(stage, name, user: nil)
    injectFailures()
  }

  func run(_ step: JSON) throws {
    try carryOut(step)
    if let failure { throw failure }
    try check(step)
  }

  func checkEnd() throws {
    guard events.isEmpty else { throw SpecFailure("unexpected at the end: \(events.map(\.brief))") }
  }

  func shutDown() {
    isShutdown = true
    post(.shutdown)
    database.injectFailure = nil
    stage.hasEnded(name)
  }

  func close() {
    database.injectFailure = nil
    database.close()
  }

  private static func open(
    _ stage: SpecStage, _ name: String, user: String?
  ) throws -> (Database, LocalStore, SyncEngine) {
    let test = stage.test
    let isInMemory = test.mode == .memoryEager || test.mode == .memoryLeastRecentlyUsed
    let location = isInMemory ? Database.Location.memory : .file(path: stage.file)
    let database = try Database(location, options: .init(synchronous: .normal))
    let store = try LocalStore(
      database: database, databaseID: DatabaseID(projectID: "test-project"),
      garbageCollection: test.mode == .memoryEager ? .eager : .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user,
      newCacheID: "spec", locks: stage.locks(name))
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: test.maxConcurrentLimboResolutions, clientRefreshInterval: .seconds(4),
      jitter: { 0 })
    return (database, store, SyncEngine(localStore: store, configuration: configuration))
  }

  private func injectFailures() {
    database.injectFailure = { [unowned self] in failures.failure(at: $0) }
  }

  /// Ends the client and starts another for the same user: on the same file, or with an empty memory.
  func restart() throws {
    post(.shutdown)
    database.injectFailure = nil
    database.close()
    failingTransactions = []
    isNetworkEnabled = true
    driver = EngineDriver(delegate: self)
    (watchRequestCount, writeRequestCount) = (0, 0)
    listeners = []
    queries = [:]
    snapshotsInSyncListeners = []
    waits = []
    keysOfWrites = [:]
    sticky = SpecStickyExpectations()
    (database, store, engine) = try Self.open(stage, name, user: user)
    injectFailures()
    post(.start)
  }

  // MARK: - The client's loop

  func post(_ event: SyncEvent) {
    if isShutdown, case .othersChanged = event { return }
    driver.post(event)
  }

  private func record(_ id: ListenerID, _ outcome: Result<ViewSnapshot, StatusError>) {
    guard let query = queries[id] else { return fail("listener \(id) was never added") }
    events.append(Event(query: query, outcome: outcome))
  }

  private func number() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  // MARK: - What steps do

  func listen(to query: Query, _ options: ListenOptions) {
    let id = ListenerID(rawValue: number())
    queries[id] = query
    listeners.removeAll { $0.query == query }
    listeners.append((query, id))
    post(.listen(id, query, options))
  }

  func write(_ mutation: Mutation) {
    let id = WriteID(rawValue: number())
    keysOfWrites[id] = mutation.key
    if !failingTransactions.contains("Locally write mutations") {
      stage.unansweredWrites[user, default: []].append(mutation)
    }
    post(
      .writes([
        LocalWrite(
          id: id, mutations: [mutation], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: nil)
      ]))
  }

  func waitForPendingWrites() {
    let id = RequestID(rawValue: number())
    waits.insert(id)
    post(.request(id, .waitForPendingWrites))
  }

  func setNetwork(isEnabled: Bool) {
    isNetworkEnabled = isEnabled
    post(.request(RequestID(rawValue: number()), isEnabled ? .enableNetwork : .disableNetwork))
  }

  func setIndexes(_ definitions: [IndexDefinition]) {
    post(.request(RequestID(rawValue: number()), .setIndexes(definitions)))
  }

  /// A bundle that cannot be loaded is no failure of the step.
  func loadBundle(_ text: String) {
    let id = RequestID(rawValue: number())
    post(.bundleBytes(id, Array(text.utf8)))
    post(.bundleEnded(id, nil))
  }

  func addSnapshotsInSyncListener() {
    let id = ListenerID(rawValue: number())
    snapshotsInSyncListeners.append(id)
    post(.addSnapshotsInSyncListener(id))
  }

  func removeSnapshotsInSyncListener() throws {
    guard let id = snapshotsInSyncListeners.popLast() else { throw SpecFailure("there is no such listener") }
    post(.removeSnapshotsInSyncListener(id))
  }

  /// Lets time pass until a timer of that name has fired; nothing happens if there is none.
  func runTimers(until name: String) throws {
    // One of them may cancel another, or restart it.
    for timer in try driver.timers.fired(until: name) where driver.timers[timer.kind] == timer.due {
      driver.fire(timer.kind)
    }
  }

  /// Takes the oldest unanswered write and checks that the next request holds it and nothing else.
  ///
  /// - Parameter keepsInQueue: the client will not be able to use the answer, so that the write stays unanswered.
  func takeWrite(keepsInQueue: Bool) throws -> StreamID {
    guard let mutation = stage.unansweredWrites[user]?.first else { throw SpecFailure("the user has written nothing") }
    if !keepsInQueue { stage.unansweredWrites[user]?.removeFirst() }
    guard let stream = driver.streams.write else { throw SpecFailure("no write stream is open") }
    guard let request = driver.streams.takeBatch()?.mutations else {
      throw SpecFailure("no request waits on the write stream")
    }
    guard request == [mutation] else { throw SpecFailure("request \(request), expected \(mutation)") }
    return stream
  }

  func breakWatchStream(_ error: StatusError) throws {
    guard driver.breakWatchStream(error) else { throw SpecFailure("no watch stream is open") }
  }

  func breakWriteStream(_ error: StatusError) {
    driver.breakWriteStream(error)
  }

  func reject(_ targets: [TargetID]) throws {
    for id in targets where !driver.streams.drop(id) {
      throw SpecFailure("target \(id) is rejected but was not asked for")
    }
  }
}

// MARK: - What the client does

extension SpecRunner: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { failure = failure ?? SpecFailure(text) }

  func cameToRest() {
    if mustEnd, !isShutdown { shutDown() }
    // The first retry of the write stream comes without a pause, so that draining includes it.
    if driver.timers[.writeStreamConnectionBackoff] == driver.now { driver.fire(.writeStreamConnectionBackoff) }
  }

  func received(_ request: WatchRequest, on id: StreamID) {
    if id != driver.streams.watch { fail("request \(request) on a watch stream that is not open") }
    if case .addTarget = request { watchRequestCount += 1 }
  }
  func received(_ request: WriteRequest, on id: StreamID) {
    if id != driver.streams.write { fail("request \(request) on a write stream that is not open") }
    writeRequestCount += 1
  }
  var handshake: WriteResponse? { WriteResponse(streamToken: Array("write-stream-token-0".utf8)) }

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) { record(id, .success(snapshot)) }
  func ended(_ id: ListenerID, _ error: StatusError) {
    record(id, .failure(error))
    listeners.removeAll { $0.id == id }
  }
  func isInSync(_ id: ListenerID) { snapshotsInSyncCount += 1 }
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    guard let key = keysOfWrites.removeValue(forKey: id) else {
      return fail("\(id) is completed twice, or after its client has gone")
    }
    if error == nil { acknowledgedKeys.append(key) } else { rejectedKeys.append(key) }
  }
  func answered(_ id: RequestID, _ answer: EngineAnswer) { if waits.remove(id) != nil { pendingWritesCount += 1 } }
  func failed(_ id: RequestID, _ error: StatusError) { waits.remove(id) }

  func wakeOthers() { stage.wakeOthers(than: self) }
  func yieldCache() { mustEnd = true }
}
