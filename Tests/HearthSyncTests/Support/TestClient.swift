import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import Testing

/// A client on a real cache with a scripted backend: the test speaks for the users, the clock and the server.
///
/// The backend opens streams and answers handshakes at once; everything else it does when the test says so. The client's messages to its
/// users are written to `told`, in order.
final class TestClient {
  private let folder: String
  private let isDurable: Bool
  /// They count from the next start.
  var conflictRules: ConflictRules
  private var database: Database
  private(set) var engine: SyncEngine
  private(set) lazy var driver = EngineDriver(delegate: self)
  private var nextNumber = 1

  private var failures = InjectedFailures()
  /// Transactions with these names fail.
  var failing: Set<String> {
    get { failures.transactions }
    set { failures.transactions = newValue }
  }
  /// The error with which they fail.
  var failureKind: StoreError.Kind {
    get { failures.transactionKind }
    set { failures.transactionKind = newValue }
  }
  /// True if an attempt to open a stream succeeds at once.
  var isReachable = true
  /// True if the backend announces that it knows the labels of batches.
  var knowsBatchLabels = true
  /// True if attempts to open a stream neither succeed nor fail.
  var isBlackHole = false
  /// True if the backend still answers on a write stream that the client has closed, until the test ends the stream.
  var answersLate = false
  private(set) var droppedConnections = 0

  /// The requests to add targets since the client was made, in order.
  private(set) var addRequests: [TargetRequest] = []
  private(set) var sentLabels: [String] = []
  /// The number of batches that were sent on all write streams.
  private(set) var sentBatchCount = 0
  private(set) var openedStreams = 0

  private(set) var told: [String] = []
  private(set) var snapshots: [ListenerID: [ViewSnapshot]] = [:]
  private(set) var errors: [ListenerID: StatusError] = [:]
  private(set) var logs: [(LogLevel, String)] = []
  private(set) var resolvedConflicts: [ConflictReport] = []
  /// Returns true if the answer to a request has come, or its failure, as kept in ``answers``.
  func hasEnded(_ request: RequestID) -> Bool {
    answers.contains { action in
      switch action {
      case .answer(request, _), .requestFailed(request, _): true
      default: false
      }
    } || told.contains { $0.hasPrefix("request \(request.rawValue):") }
  }

  /// The answers to reads and their failures, and the progress of bundles.
  private(set) var answers: [SyncAction] = []
  private var reads: Set<RequestID> = []
  private static let networkSwitch = RequestID(rawValue: -1)
  private var isNetworkSwitched = false
  var user: String?

  static let database = DatabaseID(projectID: "test-project")
  private static let durableCollection = GarbageCollection.leastRecentlyUsed(thresholdBytes: 100 << 20)

  /// - Parameter thresholdBytes: above which the cache is collected, -1 for never; nil for eager collection in memory
  ///   and 100 MiB in a file.
  init(
    durable: Bool = false, maxConcurrentLimboResolutions: Int = 100, thresholdBytes: Int64? = nil,
    backgroundQueryLimits: BackgroundQueryLimits? = nil, undeliverableWrites: UndeliverableWritePolicy? = nil,
    conflictRules: ConflictRules = ConflictRules()
  ) throws {
    isDurable = durable
    self.conflictRules = conflictRules
    folder = NSTemporaryDirectory() + "hearth-sync-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    (database, engine) = try Self.open(
      durable ? .file(path: folder + "/cache") : .memory,
      thresholdBytes.map { .leastRecentlyUsed(thresholdBytes: $0) } ?? (durable ? Self.durableCollection : .eager),
      limit: maxConcurrentLimboResolutions, backgroundQueryLimits: backgroundQueryLimits,
      undeliverableWrites: undeliverableWrites, conflictRules: conflictRules)
    injectFailures()
    post(.start)
  }

  deinit {
    database.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func open(
    _ location: Database.Location, _ garbageCollection: GarbageCollection, limit: Int,
    backgroundQueryLimits: BackgroundQueryLimits? = nil, undeliverableWrites: UndeliverableWritePolicy? = nil,
    conflictRules: ConflictRules = ConflictRules(), user: String? = nil
  ) throws -> (Database, SyncEngine) {
    let database = try Database(location, options: .init(synchronous: .normal))
    let store = try LocalStore(
      database: database, databaseID: Self.database, garbageCollection: garbageCollection, user: user,
      newCacheID: "cache")
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: limit, backgroundQueryLimits: backgroundQueryLimits,
      undeliverableWrites: undeliverableWrites, conflictRules: conflictRules, jitter: { 0 })
    return (database, SyncEngine(localStore: store, configuration: configuration))
  }

  /// Ends the client without a word, like the end of its process, and starts another on the same cache.
  func restart() throws {
    driver.processEnded()
    driver.streamUser = user
    database.close()
    failing = []
    (snapshots, told, addRequests, sentLabels) = ([:], [], [], [])
    (database, engine) = try Self.open(
      .file(path: folder + "/cache"), Self.durableCollection, limit: 100, conflictRules: conflictRules, user: user)
    injectFailures()
    post(.start)
  }

  /// Ends the client, damages its file so that only the outbox can be saved, and starts another client on what was saved.
  func restartSalvaged() throws {
    try database.execute("DROP TABLE cache_targets")
    database.close()
    let salvage = folder + "/salvage"
    try FileManager.default.createDirectory(atPath: salvage, withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: folder + "/cache", toPath: salvage + "/cache.sqlite")
    let cache = try CacheFile.open(folder: salvage, databaseID: Self.database)
    if cache.recovery == nil { throw TestFailure("the file was not recovered") }
    cache.close()
    try FileManager.default.moveItem(atPath: salvage + "/cache.sqlite", toPath: folder + "/cache")
    try FileManager.default.removeItem(atPath: salvage)
    try restart()
  }

  private func injectFailures() {
    database.injectFailure = { [unowned self] in failures.failure(at: $0) }
  }

  /// Changes the cache's file behind the client's back.
  func execute(_ sql: String) throws { try database.execute(sql) }

  // MARK: - The loop

  func post(_ event: SyncEvent) { driver.post(event) }

  /// Lets time pass until the timer is due, and fires it.
  func fire(_ kind: TimerKind) throws {
    guard driver.fire(kind) else { throw TestFailure("timer \(kind) does not run") }
  }

  /// Runs the first of the queries in the background to its end, its parts one after the other, and tells the engine.
  func runBackgroundQuery() throws {
    guard !backgroundQueries.isEmpty else { throw TestFailure("no query runs in the background") }
    driver.runBackgroundQuery()
  }

  /// Returns the lines of `told` since the last call.
  func takeTold() -> [String] {
    defer { told = [] }
    return told
  }

  // MARK: - Users

  @discardableResult
  func listen(_ query: Query, _ options: ListenOptions = .everything) -> ListenerID {
    let id = ListenerID(rawValue: nextNumber)
    nextNumber += 1
    post(.listen(id, query, options))
    return id
  }

  @discardableResult
  func write(_ mutations: Mutation...) -> WriteID { write(batches: [mutations])[0] }

  /// Makes writes that wait together.
  @discardableResult
  func write(batches: [[Mutation]]) -> [WriteID] {
    let writes = batches.map { mutations in
      let id = WriteID(rawValue: nextNumber)
      nextNumber += 1
      return LocalWrite(
        id: id, mutations: mutations, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
        identity: BatchIdentity(high: 0, low: UInt64(id.rawValue)))
    }
    post(.writes(writes))
    return writes.map(\.id)
  }

  /// A name that no request or bundle has had.
  func newRequestID() -> RequestID {
    defer { nextNumber += 1 }
    return RequestID(rawValue: nextNumber)
  }

  @discardableResult
  func request(_ request: EngineRequest) -> RequestID {
    let id = newRequestID()
    switch request {
    case .readDocument, .readQuery, .readAggregation, .readPendingWrites, .readNamedQuery: reads.insert(id)
    case .readFate, .clear, .readPinnedQueries: reads.insert(id)
    case .withdraw, .retryNow, .discardRejected, .discardResolvedConflicts, .waitForPendingWrites, .setIndexes,
      .deleteAllIndexes, .enableNetwork, .disableNetwork, .pin, .unpin:
      break
    }
    post(.request(id, request))
    return id
  }

  /// Switches the network, which is answered at once. The answer is not written to `told`.
  func setNetwork(isEnabled: Bool) {
    isNetworkSwitched = false
    post(.request(Self.networkSwitch, isEnabled ? .enableNetwork : .disableNetwork))
    if !isNetworkSwitched { Issue.record("switching the network was not answered") }
  }

  func changeUser(_ user: String?) {
    self.user = user
    post(.changeUser(user))
  }
}

// MARK: - What is open

extension TestClient {
  var now: Duration {
    get { driver.clock.now }
    set { driver.clock.now = newValue }
  }
  var timers: [TimerKind: Duration] {
    Dictionary(uniqueKeysWithValues: driver.timers.running.map { ($0.kind, $0.due) })
  }
  var watchStream: StreamID? { driver.streams.watch }
  var writeStream: StreamID? { driver.streams.write }
  /// For whom streams are opened.
  var streamUser: String? { driver.streamUser }
  /// The targets that the backend was asked to watch and not asked to forget, on the stream that is open.
  var watched: [TargetID: TargetRequest] { driver.streams.watched }
  /// The batches sent on the open write stream that have no answer.
  var sentBatches: [[Mutation]] { driver.streams.batches.map(\.mutations) }
  /// The write streams that were closed and have not ended, oldest first, with the batches that have no answer.
  var parting: [(id: StreamID, batches: [[Mutation]])] {
    driver.streams.parting.map { ($0.id, $0.batches.map(\.mutations)) }
  }
  /// The documents that the engine wants to read, and the questions to the application.
  var lookUps: [(id: LookUpID, keys: [DocumentKey])] {
    get { driver.lookUps }
    set { driver.lookUps = newValue }
  }
  var questions: [(id: ConflictID, conflict: DocumentConflict)] {
    get { driver.questions }
    set { driver.questions = newValue }
  }
  /// The queries that run in the background, in the order in which it asked for them.
  var backgroundQueries: [BackgroundQueryJob] { driver.backgroundQueries }
}

// MARK: - What the engine does

extension TestClient: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { Issue.record("\(text)") }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening {
    openedStreams += 1
    if isBlackHole { return .waits }
    return isReachable ? .opens : .fails(error(.unavailable))
  }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { answersLate ? .later : .atOnce }
  func received(_ request: WatchRequest, on id: StreamID) {
    if case .addTarget(let target) = request { addRequests.append(target) }
  }
  var handshake: WriteResponse? { WriteResponse(streamToken: [0], knowsBatchLabels: knowsBatchLabels) }
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    sentBatchCount += 1
    if let label = batch.label { sentLabels.append(label) }
    return batch
  }
  func droppedConnection() { droppedConnections += 1 }
  func invalidatedCredentials() { answers.append(.invalidateCredentials) }

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) {
    snapshots[id, default: []].append(snapshot)
    told.append("listener \(id.rawValue): \(snapshot.summary)")
  }
  func ended(_ id: ListenerID, _ error: StatusError) {
    errors[id] = error
    told.append("listener \(id.rawValue): error \(error.code)")
  }
  func isInSync(_ id: ListenerID) { told.append("in sync \(id.rawValue)") }
  func received(_ count: Int, for id: ListenerID) { told.append("listener \(id.rawValue): \(count) received") }
  func saved(_ id: WriteID) { told.append("write \(id.rawValue): saved") }
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    told.append("write \(id.rawValue): \(error.map { "\($0.code)" } ?? "OK")")
  }
  func answered(_ id: RequestID, _ answer: EngineAnswer) {
    switch (id, answer) {
    case (Self.networkSwitch, .done): isNetworkSwitched = true
    case (_, .done): told.append("request \(id.rawValue): OK")
    default: answers.append(.answer(id, answer))
    }
  }
  func failed(_ id: RequestID, _ error: StatusError) {
    if reads.contains(id) {
      answers.append(.requestFailed(id, error))
    } else {
      told.append("request \(id.rawValue): \(error.code)")
    }
  }
  func progressed(_ id: RequestID, _ progress: BundleProgress) { answers.append(.bundleProgress(id, progress)) }
  func outboxChanged() { told.append("outbox") }
  func statusChanged() { told.append("status") }
  func resolved(_ conflicts: [ConflictReport]) { resolvedConflicts += conflicts }
  func logged(_ level: LogLevel, _ text: String) { logs.append((level, text)) }

  func wakeOthers() { told.append("wakeOthers") }
  func yieldCache() { told.append("yieldCache") }
}

struct TestFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

extension ListenOptions {
  static let everything = ListenOptions(includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true)
  static let get = ListenOptions(
    includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true, waitForSyncWhenOnline: true)
}
