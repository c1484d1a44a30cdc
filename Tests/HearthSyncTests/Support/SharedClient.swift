import Foundation
import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Several engines on one file. Wake-ups, timers and ends come when the test says so.
final class SharedCache: @unchecked Sendable {
  let folder: String
  fileprivate var livingNames: Set<String> = []
  fileprivate var leaseHolder: String?
  fileprivate var clients: [SharedClient] = []
  private(set) var now = Duration.zero

  init() throws {
    folder = NSTemporaryDirectory() + "hearth-shared-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The primary client and another one.
  static func makePair(limits: BackgroundQueryLimits? = nil) throws -> (SharedCache, SharedClient, SharedClient) {
    let cache = try SharedCache()
    let a = try cache.client("a", limits: limits)
    let b = try cache.client("b", limits: limits)
    #expect(a.engine.isPrimary && !b.engine.isPrimary)
    return (cache, a, b)
  }

  var file: String { folder + "/cache.sqlite" }

  func client(
    _ name: String, limits: BackgroundQueryLimits? = nil, busyTimeout: Duration = .seconds(5),
    conflictRules: ConflictRules = ConflictRules()
  ) throws -> SharedClient {
    let client = try SharedClient(self, name, limits, busyTimeout, conflictRules)
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
  func takeLease(for client: SharedClient) {
    leaseHolder = nil
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
      now += .seconds(1)
      deliver()
    }
  }

  fileprivate func wakeOthers(than client: SharedClient) {
    for other in clients where other !== client { other.isWoken = true }
  }

  fileprivate final class Locks: ClientLocks {
    private unowned let cache: SharedCache
    let name: String

    init(_ cache: SharedCache, _ name: String) {
      (self.cache, self.name) = (cache, name)
      cache.livingNames.insert(name)
    }

    func isAlive(_ name: String) -> Bool { cache.livingNames.contains(name) }

    func acquireLease() -> Bool {
      if let holder = cache.leaseHolder, holder != name { return false }
      cache.leaseHolder = name
      return true
    }

    var leaseIsFree: Bool { cache.leaseHolder == nil }

    func releaseLease() {
      if cache.leaseHolder == name { cache.leaseHolder = nil }
    }
  }
}

/// One of several clients of a cache, with a scripted backend.
final class SharedClient {
  private unowned let cache: SharedCache
  let name: String
  let database: Database
  let store: LocalStore
  let engine: SyncEngine
  /// False for a client whose process was stopped, or has ended.
  var isRunning = true
  fileprivate var isWoken = false
  private var inbox: [SyncEvent] = []
  private var isDraining = false
  private var nextNumber = 1
  private var timers: [TimerKind: Duration] = [:]
  /// Transactions with these names fail.
  var failing: Set<String> = []
  /// Executed once at the begin of the transaction of that name.
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
  private var parting: [(id: StreamID, batches: [[Mutation]])] = []
  private(set) var watchStream: StreamID?
  private(set) var writeStream: StreamID?
  private(set) var watched: Set<TargetID> = []
  private(set) var sentBatches: [[Mutation]] = []
  private(set) var sentBatchCount = 0
  private(set) var snapshots: [ListenerID: [ViewSnapshot]] = [:]
  private(set) var errors: [ListenerID: StatusError] = [:]
  private(set) var writes: [WriteID: StatusError?] = [:]
  private(set) var answers: [RequestID: EngineAnswer] = [:]
  private(set) var failedRequests: [RequestID: StatusError] = [:]
  private(set) var warnings: [String] = []
  private(set) var queries: [BackgroundQueryJob] = []
  private(set) var lookUps: [(id: LookUpID, keys: [DocumentKey])] = []
  private(set) var questions: [ConflictID] = []
  private(set) var cancelledQuestions: [ConflictID] = []
  private(set) var backgroundQueryCount = 0

  init(
    _ cache: SharedCache, _ name: String, _ limits: BackgroundQueryLimits?, _ busyTimeout: Duration,
    _ conflictRules: ConflictRules
  ) throws {
    self.cache = cache
    self.name = name
    database = try Database(.file(path: cache.file), options: .init(synchronous: .normal, busyTimeout: busyTimeout))
    store = try LocalStore(
      database: database, databaseID: TestClient.database, garbageCollection: .leastRecentlyUsed(thresholdBytes: 1),
      user: nil, newCacheID: "cache", locks: SharedCache.Locks(cache, name))
    engine = SyncEngine(
      localStore: store,
      configuration: SyncConfiguration(
        backgroundQueryLimits: limits, conflictRules: conflictRules, jitter: { 0 }))
    database.injectFailure = { [unowned self] point in
      guard case .transaction(let name) = point else { return nil }
      if let hook = hooks.removeValue(forKey: name) { hook() }
      return failing.contains(name) ? StoreError(kind: .io, message: "made to fail: \(name)") : nil
    }
  }

  deinit { database.close() }

  /// Ends the client without a word.
  func kill() {
    isRunning = false
    database.injectFailure = nil
    database.close()
    cache.livingNames.remove(name)
    if cache.leaseHolder == name { cache.leaseHolder = nil }
  }

  func suspend() {
    post(.suspend)
    cache.livingNames.remove(name)
    isRunning = false
  }

  func resume() {
    cache.livingNames.insert(name)
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
    timers.filter { $0.value <= cache.now }.keys.sorted { $0.rawValue < $1.rawValue }
  }

  func fire(_ kind: TimerKind) {
    guard timers.removeValue(forKey: kind) != nil else { return }
    post(.timerFired(kind))
  }

  func post(_ event: SyncEvent) {
    inbox.append(event)
    guard !isDraining else { return }
    isDraining = true
    while !inbox.isEmpty {
      for action in engine.handle(inbox.removeFirst(), now: cache.now) { carryOut(action) }
    }
    isDraining = false
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id) where connectionError != nil:
      inbox.append(.watchStreamClosed(id, connectionError))
    case .openWriteStream(let id) where connectionError != nil:
      inbox.append(.writeStreamClosed(id, connectionError))
    case .openWatchStream(let id):
      inbox.append(.watchStreamOpened(id))
      if let openedStreamError { return inbox.append(.watchStreamClosed(id, openedStreamError)) }
      watchStream = id
    case .closeWatchStream: (watchStream, watched) = (nil, [])
    case .sendWatch(let id, .addTarget(let request)):
      watched.insert(request.targetID)
      if answersTargets { answer(request.targetID, on: id) }
    case .sendWatch(let id, .removeTarget(let target)):
      watched.remove(target)
      guard answersTargets else { return }
      let removal = WatchTargetChange(state: .removed, targetIDs: [target])
      inbox.append(.watchStreamMessage(id, .targetChange(removal)))
    case .openWriteStream(let id):
      writeStream = id
      inbox.append(.writeStreamOpened(id))
    case .closeWriteStream(let id):
      if answersLate { parting.append((id, sentBatches)) } else { inbox.append(.writeStreamClosed(id, nil)) }
      (writeStream, sentBatches) = (nil, [])
    case .sendWrite(let id, .handshake): inbox.append(.writeStreamMessage(id, WriteResponse(streamToken: [0])))
    case .sendWrite(let id, .writes(let mutations, _, _)):
      guard !mutations.isEmpty else { return }
      sentBatchCount += 1
      if let writeError {
        writeStream = nil
        return inbox.append(.writeStreamClosed(id, writeError))
      }
      sentBatches.append(mutations)
    case .startTimer(let kind, let delay): timers[kind] = cache.now + delay
    case .cancelTimer(let kind): timers[kind] = nil
    case .raiseSnapshot(let id, let snapshot): snapshots[id, default: []].append(snapshot)
    case .raiseError(let id, let error): errors[id] = error
    case .completeWrite(let id, let error): writes[id] = .some(error)
    case .answer(let id, let answer): answers[id] = answer
    case .requestFailed(let id, let error): failedRequests[id] = error
    case .runBackgroundQuery(let query): queries.append(query)
    case .lookUp(let id, let keys): lookUps.append((id, keys))
    case .askResolver(let id, _): questions.append(id)
    case .cancelQuestion(let id): cancelledQuestions.append(id)
    case .wakeOthers: cache.wakeOthers(than: self)
    case .log(.warning, let text), .log(.error, let text): warnings.append(text)
    default: break
    }
  }

  private func answer(_ target: TargetID, on stream: StreamID) {
    inbox += [
      WatchTargetChange(state: .added, targetIDs: [target]),
      WatchTargetChange(state: .current, targetIDs: [target], resumeToken: [1]),
      WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(1)),
    ].map { .watchStreamMessage(stream, .targetChange($0)) }
  }

  /// Answers the latest reading of documents for a conflict.
  func answerLookUp(_ documents: Document...) throws {
    guard let lookUp = lookUps.popLast() else { throw TestFailure("\(name) reads no documents") }
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
        identity: BatchIdentity(high: UInt64(name.utf8.first ?? 0), low: UInt64(number)))
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
    guard let watchStream else { throw TestFailure("\(name) has no watch stream") }
    post(.watchStreamMessage(watchStream, message))
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
    watched.remove(target)
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
    guard let writeStream, !sentBatches.isEmpty else { throw TestFailure("\(name) has sent no batch") }
    answer(sentBatches.removeFirst(), on: writeStream, at: time, transformResults)
  }

  /// Answers the first batch of the stream that was closed.
  func commitLate(at time: Int64) throws {
    guard let first = parting.first, !first.batches.isEmpty else { throw TestFailure("\(name) waits for no answer") }
    answer(parting[0].batches.removeFirst(), on: first.id, at: time)
  }

  /// Ends the write stream with an error; the client opens another one.
  func breakWriteStream(_ error: StatusError = StatusError(code: .unavailable, message: "broken")) throws {
    guard let id = writeStream else { throw TestFailure("\(name) has no write stream") }
    (writeStream, sentBatches) = (nil, [])
    post(.writeStreamClosed(id, error))
  }

  /// Ends the watch stream with an error, if there is one.
  func breakWatchStream(_ error: StatusError = StatusError(code: .unavailable, message: "broken")) {
    guard let id = watchStream else { return }
    (watchStream, watched) = (nil, [])
    post(.watchStreamClosed(id, error))
  }

  func endParting() {
    for stream in parting { post(.writeStreamClosed(stream.id, nil)) }
    parting = []
  }

  private func answer(
    _ batch: [Mutation], on stream: StreamID, at time: Int64, _ transformResults: [Value] = []
  ) {
    post(
      .writeStreamMessage(
        stream,
        WriteResponse(
          streamToken: [1], commitVersion: version(time),
          results: batch.map { _ in MutationResult(version: version(time), transformResults: transformResults) })))
  }

  func runQuery() throws {
    guard !queries.isEmpty else { throw TestFailure("\(name) runs no query in the background") }
    let query = queries.removeFirst()
    backgroundQueryCount += 1
    post(.backgroundQueryEnded(query.id, query.run { count, body in (0..<count).forEach { body($0) } }))
  }
}
