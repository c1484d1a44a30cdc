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
  private(set) var backend = SpecBackend()
  private(set) var timers = SpecTimers()
  private var inbox: [SyncEvent] = []
  private var isDraining = false
  /// Another client has asked for the end of this one.
  private var mustEnd = false
  private var failure: (any Error)?

  /// Transactions with these names fail.
  var failingTransactions: Set<String> = []
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
    database.injectFailure = { [unowned self] point in
      guard case .transaction(let name) = point, failingTransactions.contains(name) else { return nil }
      return StoreError(kind: .unavailable, message: "\"\(name)\" fails because the test says so")
    }
  }

  /// Ends the client and starts another for the same user: on the same file, or with an empty memory.
  func restart() throws {
    post(.shutdown)
    database.injectFailure = nil
    database.close()
    failingTransactions = []
    isNetworkEnabled = true
    backend = SpecBackend()
    timers = SpecTimers()
    inbox = []
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
    inbox.append(event)
    guard !isDraining else { return }
    isDraining = true
    while !inbox.isEmpty {
      for action in engine.handle(inbox.removeFirst(), now: timers.now) { carryOut(action) }
    }
    isDraining = false
    if mustEnd, !isShutdown { shutDown() }
    // The first retry of the write stream comes without a pause, so that draining includes it.
    if let retry = try? timers.fired(until: "write_stream_connection_backoff").last, retry.time == timers.now,
      timers.take(retry)
    {
      post(.timerFired(retry.kind))
    }
  }

  private func carryOut(_ action: SyncAction) {
    do {
      if let heard = try backend.carryOut(action) {
        inbox += heard
        return
      }
    } catch {
      failure = failure ?? error
      return
    }
    switch action {
    case .startTimer(let kind, let delay): timers.start(kind, after: delay)
    case .cancelTimer(let kind): timers.cancel(kind)
    case .raiseSnapshot(let id, let snapshot): record(id, .success(snapshot))
    case .raiseError(let id, let error):
      record(id, .failure(error))
      listeners.removeAll { $0.id == id }
    case .snapshotsInSync: snapshotsInSyncCount += 1
    case .completeWrite(let id, let error):
      guard let key = keysOfWrites.removeValue(forKey: id) else {
        failure = failure ?? SpecFailure("\(id) is completed twice, or after its client has gone")
        return
      }
      if error == nil { acknowledgedKeys.append(key) } else { rejectedKeys.append(key) }
    case .answer(let id, _): if waits.remove(id) != nil { pendingWritesCount += 1 }
    case .requestFailed(let id, _): waits.remove(id)
    case .wakeOthers: stage.wakeOthers(than: self)
    case .closeCache, .yieldCache: mustEnd = true
    default: break
    }
  }

  private func record(_ id: ListenerID, _ outcome: Result<ViewSnapshot, StatusError>) {
    guard let query = queries[id] else {
      failure = failure ?? SpecFailure("listener \(id) was never added")
      return
    }
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
    for timer in try timers.fired(until: name) where timers.take(timer) { post(.timerFired(timer.kind)) }
  }

  /// Takes the oldest unanswered write and checks that the next request holds it and nothing else.
  ///
  /// - Parameter keepsInQueue: the client will not be able to use the answer, so that the write stays unanswered.
  func takeWrite(keepsInQueue: Bool) throws -> StreamID {
    guard let mutation = stage.unansweredWrites[user]?.first else { throw SpecFailure("the user has written nothing") }
    if !keepsInQueue { stage.unansweredWrites[user]?.removeFirst() }
    guard let stream = backend.writeStream else { throw SpecFailure("no write stream is open") }
    let request = try backend.takeWriteRequest()
    guard request == [mutation] else { throw SpecFailure("request \(request), expected \(mutation)") }
    return stream
  }

  func breakWatchStream(_ error: StatusError) throws {
    guard let stream = backend.watchStream else { throw SpecFailure("no watch stream is open") }
    backend.breakWatchStream()
    post(.watchStreamClosed(stream, error))
  }

  func breakWriteStream(_ stream: StreamID, _ error: StatusError) {
    backend.breakWriteStream()
    post(.writeStreamClosed(stream, error))
  }

  func reject(_ targets: [TargetID]) throws {
    for id in targets { try backend.reject(id) }
  }
}
