import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import Testing

/// A client on a real cache with a scripted backend: the test speaks for the users, the clock and the server.
///
/// The backend opens streams and answers handshakes at once; everything else it does when the test says so. What the
/// client tells its users is written to `told`, in order.
final class TestClient {
  private let folder: String
  private let isDurable: Bool
  /// They count from the next start.
  var conflictRules: ConflictRules
  private var database: Database
  private(set) var engine: SyncEngine
  private var inbox: [SyncEvent] = []
  private var isDraining = false
  private var nextNumber = 1

  var now = Duration.zero
  private(set) var timers: [TimerKind: Duration] = [:]
  /// Transactions with these names fail.
  var failing: Set<String> = []
  /// The error with which they fail.
  var failureKind: StoreError.Kind = .unavailable
  /// True if an attempt to open a stream succeeds at once.
  var isReachable = true
  /// True if the backend announces that it knows the labels of batches.
  var knowsBatchLabels = true
  /// True if attempts to open a stream neither succeed nor fail.
  var isBlackHole = false
  /// True if the backend still answers on a write stream that the client has closed, until the test ends the stream.
  var answersLate = false
  /// The write streams that were closed and have not ended, oldest first, with the batches that have no answer.
  private(set) var parting: [(id: StreamID, batches: [[Mutation]])] = []
  private(set) var droppedConnections = 0

  private(set) var watchStream: StreamID?
  private(set) var writeStream: StreamID?
  /// The targets that the backend was asked to watch and not asked to forget, on the stream that is open.
  private(set) var watched: [TargetID: TargetRequest] = [:]
  /// The requests to add targets since the client was made, in order.
  private(set) var addRequests: [TargetRequest] = []
  /// The batches sent on the open write stream that have no answer.
  private(set) var sentBatches: [[Mutation]] = []
  private(set) var sentLabels: [String] = []
  /// The number of batches that were sent on all write streams.
  private(set) var sentBatchCount = 0
  private(set) var openedStreams = 0

  private(set) var told: [String] = []
  private(set) var snapshots: [ListenerID: [ViewSnapshot]] = [:]
  private(set) var errors: [ListenerID: StatusError] = [:]
  private(set) var logs: [(LogLevel, String)] = []
  /// The answers to reads and their failures, and the progress of bundles.
  private(set) var answers: [SyncAction] = []
  private var reads: Set<RequestID> = []
  private static let networkSwitch = RequestID(rawValue: -1)
  private var isNetworkSwitched = false
  /// The queries that run in the background, in the order in which it asked for them.
  private(set) var backgroundQueries: [BackgroundQueryJob] = []
  var user: String?
  /// For whom streams are opened.
  private(set) var streamUser: String?

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
    database.close()
    inbox = []
    timers = [:]
    streamsGone()
    failing = []
    snapshots = [:]
    told = []
    streamUser = user
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
    database.injectFailure = { [unowned self] point in
      guard case .transaction(let name) = point, failing.contains(name) else { return nil }
      return StoreError(kind: failureKind, message: "made to fail: \(name)")
    }
  }

  /// Changes the cache's file behind the client's back.
  func execute(_ sql: String) throws { try database.execute(sql) }

  // MARK: - The loop

  func post(_ event: SyncEvent) {
    inbox.append(event)
    guard !isDraining else { return }
    isDraining = true
    while !inbox.isEmpty {
      for action in engine.handle(inbox.removeFirst(), now: now) { carryOut(action) }
    }
    isDraining = false
  }

  /// The documents that the engine wants to read, and the questions to the application.
  var lookUps: [(id: LookUpID, keys: [DocumentKey])] = []
  var questions: [(id: ConflictID, conflict: DocumentConflict)] = []

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .switchUser(let user): streamUser = user
    case .openWatchStream(let id):
      openedStreams += 1
      watchStream = id
      if isBlackHole { return }
      inbox.append(isReachable ? .watchStreamOpened(id) : .watchStreamClosed(id, error(.unavailable)))
    case .closeWatchStream:
      watchStream = nil
      watched = [:]
    case .sendWatch(_, .addTarget(let request)):
      watched[request.targetID] = request
      addRequests.append(request)
    case .sendWatch(_, .removeTarget(let id)):
      watched[id] = nil
    case .openWriteStream(let id):
      openedStreams += 1
      writeStream = id
      if isBlackHole { return }
      inbox.append(isReachable ? .writeStreamOpened(id) : .writeStreamClosed(id, error(.unavailable)))
    case .closeWriteStream(let id):
      if answersLate { parting.append((id, sentBatches)) } else { inbox.append(.writeStreamClosed(id, nil)) }
      writeStream = nil
      sentBatches = []
    case .sendWrite(let id, .handshake):
      inbox.append(.writeStreamMessage(id, WriteResponse(streamToken: [0], knowsBatchLabels: knowsBatchLabels)))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty {
        sentBatches.append(mutations)
        sentBatchCount += 1
      }
      if let label { sentLabels.append(label) }
    case .dropConnection: droppedConnections += 1
    case .wakeOthers, .closeCache, .yieldCache: told.append("\(action)")
    case .startTimer(let kind, let delay): timers[kind] = now + delay
    case .cancelTimer(let kind): timers[kind] = nil
    case .raiseSnapshot(let id, let snapshot):
      snapshots[id, default: []].append(snapshot)
      told.append("listener \(id.rawValue): \(snapshot.summary)")
    case .raiseError(let id, let error):
      errors[id] = error
      told.append("listener \(id.rawValue): error \(error.code)")
    case .snapshotsInSync(let id): told.append("in sync \(id.rawValue)")
    case .documentsReceived(let id, let count): told.append("listener \(id.rawValue): \(count) received")
    case .writeSaved(let id): told.append("write \(id.rawValue): saved")
    case .outboxChanged: told.append("outbox")
    case .statusChanged: told.append("status")
    case .completeWrite(let id, let error):
      told.append("write \(id.rawValue): \(error.map { "\($0.code)" } ?? "OK")")
    case .answer(Self.networkSwitch, .done): isNetworkSwitched = true
    case .answer(let id, .done): told.append("request \(id.rawValue): OK")
    case .requestFailed(let id, let error) where !reads.contains(id):
      told.append("request \(id.rawValue): \(error.code)")
    case .answer, .requestFailed, .bundleProgress, .invalidateCredentials: answers.append(action)
    case .lookUp(let id, let keys): lookUps.append((id, keys))
    case .askResolver(let id, let conflict): questions.append((id, conflict))
    case .cancelQuestion(let id): questions.removeAll { $0.id == id }
    case .runBackgroundQuery(let query): backgroundQueries.append(query)
    case .cancelBackgroundQuery(let id): backgroundQueries.first { $0.id == id }?.cancel()
    case .onlineStateChanged: break
    case .log(let level, let message): logs.append((level, message))
    }
  }

  /// Lets time pass until the timer is due, and fires it.
  func fire(_ kind: TimerKind) throws {
    guard let due = timers.removeValue(forKey: kind) else { throw TestFailure("timer \(kind) does not run") }
    now = max(now, due)
    post(.timerFired(kind))
  }

  /// Runs the first of the queries in the background to its end, its parts one after the other, and tells the engine.
  func runBackgroundQuery() throws {
    guard !backgroundQueries.isEmpty else { throw TestFailure("no query runs in the background") }
    let query = backgroundQueries.removeFirst()
    post(.backgroundQueryEnded(query.id, query.run { count, body in (0..<count).forEach { body($0) } }))
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
    case .withdraw, .retryNow, .discardRejected, .waitForPendingWrites, .setIndexes, .deleteAllIndexes, .enableNetwork,
      .disableNetwork, .pin, .unpin:
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

  // MARK: - The backend on the watch stream

  func send(_ message: WatchResponse) throws {
    guard let watchStream else { throw TestFailure("no watch stream is open") }
    post(.watchStreamMessage(watchStream, message))
  }

  private func change(
    _ state: WatchTargetChange.State, _ targets: [TargetID], token: String = "", at time: Int64 = 0,
    cause: StatusError? = nil
  ) throws {
    try send(
      .targetChange(
        WatchTargetChange(
          state: state, targetIDs: targets, resumeToken: Array(token.utf8), readTime: version(time), cause: cause)))
  }

  func acknowledge(_ targets: TargetID...) throws { try change(.added, targets) }
  func acknowledgeRemoval(_ targets: TargetID...) throws { try change(.removed, targets) }
  func reset(_ targets: TargetID...) throws { try change(.reset, targets) }

  func reject(_ target: TargetID, _ code: StatusCode) throws {
    watched[target] = nil
    try change(.removed, [target], cause: error(code))
  }

  func put(_ documents: Document..., into targets: TargetID...) throws {
    for document in documents {
      try send(
        .documentChange(WatchDocumentChange(key: document.key, updatedTargetIDs: targets, document: document)))
    }
  }

  func take(_ path: String, outOf targets: TargetID..., as state: Document? = nil) throws {
    try send(.documentChange(WatchDocumentChange(key: key(path), removedTargetIDs: targets, document: state)))
  }

  func count(_ count: Int, in target: TargetID, names: BloomFilterData? = nil) throws {
    try send(.existenceFilter(WatchExistenceFilter(targetID: target, count: count, unchangedNames: names)))
  }

  func current(_ targets: TargetID..., token: String) throws { try change(.current, targets, token: token) }

  func snapshot(_ time: Int64, token: String = "") throws { try change(.noChange, [], token: token, at: time) }

  /// Answers a new listen completely.
  func fill(_ target: TargetID, _ documents: [Document], at time: Int64) throws {
    try acknowledge(target)
    for document in documents { try put(document, into: target) }
    try current(target, token: "token-\(time)")
    try snapshot(time)
  }

  func breakWatchStream(_ code: StatusCode = .unavailable) throws {
    guard let id = watchStream else { throw TestFailure("no watch stream is open") }
    watchStream = nil
    watched = [:]
    post(.watchStreamClosed(id, error(code)))
  }

  // MARK: - The backend on the write stream

  /// Commits the first batch that has no answer.
  ///
  /// - Parameter transformResults: The results of the transforms of each mutation.
  func commit(at time: Int64, transformResults: [[Value]] = []) throws {
    guard let writeStream, !sentBatches.isEmpty else { throw TestFailure("no batch was sent") }
    answer(sentBatches.removeFirst(), on: writeStream, at: time, transformResults)
  }

  private func answer(_ batch: [Mutation], on id: StreamID, at time: Int64, _ transformResults: [[Value]] = []) {
    post(
      .writeStreamMessage(
        id,
        WriteResponse(
          streamToken: [1], commitVersion: version(time),
          results: batch.indices.map { index in
            MutationResult(
              version: version(time),
              transformResults: transformResults.indices.contains(index) ? transformResults[index] : [])
          })))
  }

  /// Commits the first batch that has no answer on the oldest of the closed write streams.
  func commitLate(at time: Int64) throws {
    guard let first = parting.first, !first.batches.isEmpty else { throw TestFailure("no stream owes an answer") }
    answer(parting[0].batches.removeFirst(), on: first.id, at: time)
  }

  /// Ends the oldest of the closed write streams.
  func endParting() throws {
    guard !parting.isEmpty else { throw TestFailure("no write stream was closed") }
    post(.writeStreamClosed(parting.removeFirst().id, nil))
  }

  /// Refuses the first batch that has no answer, which ends the stream.
  func refuseWrite(_ code: StatusCode) throws {
    guard let id = writeStream else { throw TestFailure("no write stream is open") }
    writeStream = nil
    sentBatches = []
    post(.writeStreamClosed(id, error(code)))
  }

  private func streamsGone() {
    watchStream = nil
    writeStream = nil
    parting = []
    watched = [:]
    sentBatches = []
    sentLabels = []
    addRequests = []
  }
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
