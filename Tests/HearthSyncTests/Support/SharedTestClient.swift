import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Several engines on one file. Wake-ups, timers and ends come when the test says so.
final class SharedCache: @unchecked Sendable {
  let folder: String
  fileprivate let locks = CacheLocks()
  fileprivate let clock = DeviceClock()
  fileprivate var clients: [SharedTestClient] = []

  init() throws {
    folder = NSTemporaryDirectory() + "hearth-shared-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The primary client and another one.
  static func makePair(limits: BackgroundQueryLimits? = nil) throws -> (SharedCache, SharedTestClient, SharedTestClient)
  {
    let cache = try SharedCache()
    let a = try cache.client("a", limits: limits)
    let b = try cache.client("b", limits: limits)
    #expect(a.engine.isPrimary && !b.engine.isPrimary)
    return (cache, a, b)
  }

  var now: Duration { clock.now }
  var file: String { folder + "/cache.sqlite" }

  func client(
    _ name: String, limits: BackgroundQueryLimits? = nil, busyTimeout: Duration = .seconds(5),
    conflictRules: ConflictRules = ConflictRules(), backend: String = ""
  ) throws -> SharedTestClient {
    let client = try SharedTestClient(self, name, limits, busyTimeout, conflictRules, backend)
    clients.append(client)
    client.post(.start)
    deliver()
    return client
  }

  /// Executes a statement as another program would.
  func execute(_ sql: String) throws {
    let database = try Database(.file(path: file))
    defer { database.close() }
    try database.execute(sql)
  }

  func count(_ sql: String) throws -> Int64 {
    let database = try Database(.file(path: file))
    defer { database.close() }
    return try database.firstRow(sql) { try $0.int64(at: 0) } ?? -1
  }

  /// Gives the lease to a client although its holder has not given it back.
  func takeLease(for client: SharedTestClient) {
    locks.loseLease()
    client.fire(.clientMetadataRefresh)
  }

  /// Delivers wake-ups and the timers that are due, until nothing is left.
  func deliver() {
    for _ in 0..<100 {
      var isQuiet = true
      for client in clients where client.isRunning {
        if client.takeWakeUp() {
          isQuiet = false
          client.post(.othersChanged)
        }
        for kind in client.dueTimers {
          isQuiet = false
          client.fire(kind)
        }
      }
      if isQuiet { return }
    }
    Issue.record("the clients do not come to rest")
  }

  /// Lets time pass, with everything that becomes due.
  func wait(_ seconds: Int = 1) {
    for _ in 0..<seconds {
      clock.now += .seconds(1)
      deliver()
    }
  }

  fileprivate func wakeOthers(than client: SharedTestClient) {
    for other in clients where other !== client { other.isWoken = true }
  }
}

/// One of several clients of a cache, with a scripted backend.
final class SharedTestClient {
  private unowned let cache: SharedCache
  let name: String
  let database: Database
  let store: LocalStore
  let engine: SyncEngine
  /// False for a client whose process was stopped, or has ended.
  var isRunning = true
  fileprivate var isWoken = false
  private(set) lazy var driver = EngineDriver(delegate: self, clock: cache.clock)
  private var nextNumber = 1
  private var failures = InjectedFailures(transactionKind: .io)
  /// Transactions with these names fail.
  var failing: Set<String> {
    get { failures.transactions }
    set { failures.transactions = newValue }
  }
  /// Executed once at the start of the transaction of that name.
  var hooks: [String: () -> Void] = [:]

  /// The error with which each attempt to open a stream fails.
  var connectionError: StatusError?
  /// The error with which each watch stream ends after it was opened.
  var openedStreamError: StatusError?
  /// The error with which the backend answers each batch, which ends the stream.
  var writeError: StatusError?
  /// True if each target that is asked for is answered at once, as one without documents, and its removal, too.
  var answersTargets = false
  /// True if a write stream that was closed is still answered, until ``endParting()``.
  var answersLate = false
  private(set) var sentBatchCount = 0
  private(set) var snapshots: [ListenerID: [ViewSnapshot]] = [:]
  private(set) var errors: [ListenerID: StatusError] = [:]
  private(set) var writes: [WriteID: StatusError?] = [:]
  private(set) var answers: [RequestID: EngineAnswer] = [:]
  private(set) var failedRequests: [RequestID: StatusError] = [:]
  private(set) var warnings: [String] = []
  private(set) var questions: [ConflictID] = []
  private(set) var cancelledQuestions: [ConflictID] = []
  private(set) var backgroundQueryCount = 0

  init(
    _ cache: SharedCache, _ name: String, _ limits: BackgroundQueryLimits?, _ busyTimeout: Duration,
    _ conflictRules: ConflictRules, _ backend: String
  ) throws {
    self.cache = cache
    self.name = name
    database = try Database(.file(path: cache.file), options: .init(synchronous: .normal, busyTimeout: busyTimeout))
    store = try LocalStore(
      database: database, databaseID: TestClient.database, garbageCollection: .leastRecentlyUsed(thresholdBytes: 1),
      user: nil, newCacheID: "cache", locks: cache.locks.begin(name), backend: backend)
    engine = SyncEngine(
      localStore: store,
      configuration: SyncConfiguration(
        backgroundQueryLimits: limits, conflictRules: conflictRules, jitter: { 0 }))
    database.injectFailure = { [unowned self] point in
      guard case .transaction(let name) = point else { return nil }
      if let hook = hooks.removeValue(forKey: name) { hook() }
      return failures.failure(ofTransaction: name)
    }
  }

  deinit { database.close() }

  /// Ends the client without a word.
  func kill() {
    isRunning = false
    database.injectFailure = nil
    database.close()
    cache.locks.end(name)
  }

  /// Deletes the client's files, so that others take it for dead at their next look, until it has created them again.
  func whileTakenForDead(_ body: () -> Void) {
    cache.locks.end(name)
    body()
    cache.locks.resume(name)
  }

  func suspend() {
    post(.suspend)
    cache.locks.end(name)
    isRunning = false
  }

  func resume() {
    cache.locks.resume(name)
    isRunning = true
    post(.resume)
    cache.deliver()
  }

  // MARK: - The loop

  fileprivate func takeWakeUp() -> Bool {
    defer { isWoken = false }
    return isWoken
  }

  fileprivate var dueTimers: [TimerKind] {
    driver.timers.running.filter { $0.due <= cache.now }.map(\.kind).sorted { $0.rawValue < $1.rawValue }
  }

  func fire(_ kind: TimerKind) { driver.fireNow(kind) }

  func post(_ event: SyncEvent) { driver.post(event) }

  /// Answers the latest reading of documents for a conflict.
  func answerLookUp(_ documents: Document...) throws {
    guard let lookUp = driver.lookUps.popLast() else { throw TestFailure("\(name) reads no documents") }
    post(.lookedUp(lookUp.id, .success(documents)))
  }

  // MARK: - The user and the backend

  @discardableResult
  func listen(_ query: Query, _ options: ListenOptions = .everything) -> ListenerID {
    let id = ListenerID(rawValue: number())
    post(.listen(id, query, options))
    return id
  }

  @discardableResult
  func write(_ mutations: Mutation...) -> WriteID { write(batches: mutations.map { [$0] })[0] }

  /// Writes that wait together.
  @discardableResult
  func write(batches: [[Mutation]]) -> [WriteID] {
    let writes = batches.map { mutations in
      let number = number()
      return LocalWrite(
        id: WriteID(rawValue: number), mutations: mutations, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
        // Half of an identity must differ, as of one that is drawn at random: outcomes are kept under it.
        identity: BatchIdentity(high: 0, low: UInt64(name.utf8.first ?? 0) << 32 | UInt64(number)))
    }
    post(.writes(writes))
    return writes.map(\.id)
  }

  func request(_ request: EngineRequest) -> RequestID {
    let id = RequestID(rawValue: number())
    post(.request(id, request))
    return id
  }

  private func number() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func ids(_ listener: ListenerID) -> [String]? { snapshots[listener]?.last?.ids }

  func value(_ listener: ListenerID, _ id: String) -> Value? {
    guard let document = snapshots[listener]?.last?.documents.first(where: { $0.key.id == id }) else { return nil }
    return try? document.fields.decoded()["n"]
  }

  func send(_ message: WatchResponse) throws {
    guard driver.send(message) else { throw TestFailure("\(name) has no watch stream") }
  }

  func fill(_ target: TargetID, _ documents: [Document], at time: Int64) throws {
    try send(.targetChange(WatchTargetChange(state: .added, targetIDs: [target])))
    try put(documents, into: target)
    try send(
      .targetChange(WatchTargetChange(state: .current, targetIDs: [target], resumeToken: Array("token-\(time)".utf8))))
    try send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(time))))
  }

  /// The backend refuses the target.
  func refuse(_ target: TargetID) throws {
    _ = driver.streams.drop(target)
    let error = StatusError(code: .permissionDenied, message: "the rules forbid it")
    try send(.targetChange(WatchTargetChange(state: .removed, targetIDs: [target], cause: error)))
  }

  func put(_ documents: [Document], into target: TargetID) throws {
    for document in documents {
      try send(
        .documentChange(WatchDocumentChange(key: document.key, updatedTargetIDs: [target], document: document)))
    }
  }

  func commit(at time: Int64, transformResults: [Value] = []) throws {
    guard driver.answerWrite({ .success(response(to: $0, at: time, transformResults)) }) else {
      throw TestFailure("\(name) has sent no batch")
    }
  }

  /// Answers the first batch of the stream that was closed.
  func commitLate(at time: Int64) throws {
    guard driver.answerParting({ .success(response(to: $0, at: time)) }) else {
      throw TestFailure("\(name) waits for no answer")
    }
  }

  private func response(to batch: SentBatch, at time: Int64, _ transformResults: [Value] = []) -> WriteResponse {
    WriteResponse(
      committedAt: version(time),
      batch.mutations.map { _ in MutationResult(version: version(time), transformResults: transformResults) })
  }

  /// Ends the write stream with an error; the client opens another one.
  func breakWriteStream(_ error: StatusError = StatusError(code: .unavailable, message: "broken")) throws {
    guard driver.breakWriteStream(error) else { throw TestFailure("\(name) has no write stream") }
  }

  /// Ends the watch stream with an error, if there is one.
  func breakWatchStream(_ error: StatusError = StatusError(code: .unavailable, message: "broken")) {
    driver.breakWatchStream(error)
  }

  func endParting() {
    while driver.endParting() {}
  }

  func runQuery() throws {
    guard !queries.isEmpty else { throw TestFailure("\(name) runs no query in the background") }
    backgroundQueryCount += 1
    driver.runBackgroundQuery()
  }
}

// MARK: - What is open

extension SharedTestClient {
  var watchStream: StreamID? { driver.streams.watch }
  var writeStream: StreamID? { driver.streams.write }
  var watched: Set<TargetID> { Set(driver.streams.watched.keys) }
  var sentBatches: [[Mutation]] { driver.streams.batches.map(\.mutations) }
  var lookUps: [(id: LookUpID, keys: [DocumentKey])] { driver.lookUps }
  var queries: [BackgroundQueryJob] { driver.backgroundQueries }
}

// MARK: - What the engine does

extension SharedTestClient: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { Issue.record("\(name): \(text)") }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening {
    if let connectionError { return .fails(connectionError) }
    guard attempt.kind == .watch, let openedStreamError else { return .opens }
    return .opensAndFails(openedStreamError)
  }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { answersLate ? .later : .atOnce }
  func received(_ request: WatchRequest, on id: StreamID) {
    guard answersTargets else { return }
    let changes =
      switch request {
      case .addTarget(let request):
        [
          WatchTargetChange(state: .added, targetIDs: [request.targetID]),
          WatchTargetChange(state: .current, targetIDs: [request.targetID], resumeToken: [1]),
          WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(1)),
        ]
      case .removeTarget(let target): [WatchTargetChange(state: .removed, targetIDs: [target])]
      }
    for change in changes { post(.watchStreamMessage(id, .targetChange(change))) }
  }
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    sentBatchCount += 1
    guard let writeError else { return batch }
    driver.breakWriteStream(writeError)
    return nil
  }

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) { snapshots[id, default: []].append(snapshot) }
  func ended(_ id: ListenerID, _ error: StatusError) { errors[id] = error }
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) { writes[id] = .some(error) }
  func answered(_ id: RequestID, _ answer: EngineAnswer) { answers[id] = answer }
  func failed(_ id: RequestID, _ error: StatusError) { failedRequests[id] = error }
  func asked(_ id: ConflictID, _ conflict: DocumentConflict) { questions.append(id) }
  func cancelled(_ id: ConflictID) { cancelledQuestions.append(id) }
  func wakeOthers() { cache.wakeOthers(than: self) }
  func logged(_ level: LogLevel, _ text: String) {
    if level >= .warning { warnings.append(text) }
  }
}
