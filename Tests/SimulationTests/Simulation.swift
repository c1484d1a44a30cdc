import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One engine on a real cache, driven by everything that can happen to it in an order that a seed decides, and compared after
/// each step with what the simple reference says.
final class Simulation {
  /// How the cache is kept.
  enum Mode {
    /// Nothing is collected, so that every view can be foretold exactly.
    case exact
    /// As `exact`, in a file.
    case exactFile
    /// As `exactFile`, and every query runs beside the engine, for some steps.
    case exactBeside
    /// Documents that nobody needs go at once.
    case eager
    /// Old documents are collected now and then.
    case collected
    /// As `exact`, but statements and commits fail in places that the reference knows nothing of: only the end is compared.
    case disturbed
  }

  /// SQLite refuses statements and commits, from one of them on.
  struct Disturbance {
    /// How many statements and commits are carried out before.
    var position: Int
    /// How many fail then.
    var length: Int
    var kind: StoreError.Kind
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  struct ListenerState {
    var query: Query
    var options: ListenOptions
    var snapshot: ViewSnapshot?
  }

  let seed: UInt64
  let mode: Mode
  var generator: SeededGenerator
  var backend = SimulatedBackend()
  var reference = SimulationReference()
  private(set) var trace: [String] = []
  private let keepsTrace: Bool

  private let folder: String
  private var database: Database
  private(set) var store: LocalStore
  private(set) var engine: SyncEngine
  private var inbox: [SyncEvent] = []
  private(set) var now = Duration.zero
  private(set) var timers: [(kind: TimerKind, due: Duration)] = []
  var failingTransactions: Set<String> = []
  var disturbance: Disturbance?
  /// Statements and commits so far.
  private(set) var statementCount = 0
  private var isLooking = false
  /// Who is signed in, and so whose token the backend sees.
  var user: String?
  /// For whom the engine opens streams.
  private(set) var streamUser: String?
  /// How likely the user changes before a step, in percent, beside the changes that are steps themselves.
  var userChangeChance = 0
  var isNetworkEnabled = true

  private(set) var watchStream: StreamID?
  private(set) var writeStream: StreamID?
  /// Streams that were asked for and are neither open nor refused.
  private(set) var opening: [SyncEvent] = []
  private(set) var writeRequests: [(mutations: [Mutation], label: String?)] = []
  private var nextNumber = 1
  var listeners: [ListenerID: ListenerState] = [:]
  /// The writes of this run of the client whose callers wait.
  private(set) var openWrites: [WriteID] = []
  var openWaits: Set<RequestID> = []
  /// The answers that readers of the cache wait for.
  private var expectedAnswers: [RequestID: (query: Query, documents: [Document])] = [:]
  /// The queries beside the engine that have not ended.
  private(set) var besideQueries: [BesideQuery] = []

  /// Every user's queue as it was after the step before, and the answers that the backend has given to its batches.
  private var queues: [String?: [MutationBatch]] = [:]
  private var commits: [String: Result<SimulatedBackend.Commit, StatusError>] = [:]

  /// - Parameter keepsTrace: descriptions of all events and actions are kept, which takes longer than all the rest.
  /// - Parameter mode: nil for the one that belongs to the seed.
  init(seed: UInt64, mode: Mode? = nil, keepsTrace: Bool) throws {
    self.seed = seed
    self.keepsTrace = keepsTrace
    generator = SeededGenerator(seed: seed)
    self.mode =
      mode ?? (seed % 25 == 0 ? .exactFile : seed % 5 == 1 ? .eager : seed % 5 == 2 ? .collected : .exact)
    folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("hearth-simulation-\(UUID().uuidString)").path
    var location = Database.Location.memory
    if self.mode == .exactFile || self.mode == .exactBeside {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      location = .file(path: folder + "/cache.sqlite")
    }
    database = try Database(location, options: .init(synchronous: .normal))
    (store, engine) = try Self.open(database, self.mode, user: nil)
    injectFailures()
    post(.start)
  }

  func close() {
    for query in besideQueries { query.close() }
    database.injectFailure = nil
    database.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func open(_ database: Database, _ mode: Mode, user: String?) throws -> (LocalStore, SyncEngine) {
    let store = try LocalStore(
      database: database, databaseID: DatabaseID(projectID: "p"),
      garbageCollection: mode == .eager ? .eager : .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user,
      newCacheID: "cache")
    let detachment = DetachmentLimits(documentsOnLoop: -1, partsPerScan: 3)
    let configuration = SyncConfiguration(
      maxConcurrentLimboResolutions: 2, detachment: mode == .exactBeside ? detachment : nil, jitter: { 0 })
    return (store, SyncEngine(localStore: store, configuration: configuration))
  }

  private func injectFailures() {
    database.injectFailure = { [unowned self] point in
      if isLooking { return nil }
      guard case .transaction(let name) = point else { return disturb() }
      guard failingTransactions.contains(name) else { return nil }
      return StoreError(kind: .unavailable, message: "made to fail: \(name)")
    }
  }

  private func disturb() -> StoreError? {
    defer { statementCount += 1 }
    guard let disturbance,
      (disturbance.position..<disturbance.position + disturbance.length).contains(statementCount)
    else {
      return nil
    }
    return StoreError(kind: disturbance.kind, message: "statement \(statementCount) was made to fail")
  }

  /// Looks at the cache without a failure.
  private func looking<Result>(_ body: () throws -> Result) rethrows -> Result {
    isLooking = true
    defer { isLooking = false }
    return try body()
  }

  /// The process ends without a word and another begins on the same cache.
  func restart() throws {
    note("restart")
    failingTransactions = []
    isNetworkEnabled = true
    inbox = []
    timers = []
    opening = []
    listeners = [:]
    openWrites = []
    openWaits = []
    expectedAnswers = [:]
    for query in besideQueries { query.close() }
    besideQueries = []
    breakWatchStream(nil)
    breakWriteStream(nil)
    do {
      (store, engine) = try Self.open(database, mode, user: user)
    } catch  where mode == .disturbed {
      // The cache cannot be opened. The application tries again.
      (store, engine) = try looking { try Self.open(database, mode, user: user) }
    }
    streamUser = user
    post(.start)
  }

  func note(_ text: @autoclosure () -> String) {
    if keepsTrace { trace.append(text()) }
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) {
    inbox.append(event)
    while !inbox.isEmpty {
      let event = inbox.removeFirst()
      note("> \(event.brief)")
      for action in engine.handle(event, now: now) { carryOut(action) }
    }
  }

  private func carryOut(_ action: SyncAction) {
    if case .log = action {} else { note("  < \(action.brief)") }
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
      if writeStream == id { breakWriteStream(nil) }
    case .sendWatch(_, let request):
      reference.sent(request)
      backend.receive(request, &generator)
    case .sendWrite(let id, .handshake):
      inbox.append(.writeStreamMessage(id, WriteResponse(streamToken: [0], knowsBatchLabels: true)))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty {
        checkOwner(mutations)
        writeRequests.append((mutations, label))
      }
    case .startTimer(let kind, let delay):
      timers.removeAll { $0.kind == kind }
      timers.append((kind, now + delay))
    case .cancelTimer(let kind): timers.removeAll { $0.kind == kind }
    case .raiseSnapshot(let id, let snapshot): raised(id, snapshot)
    case .raiseError(let id, _): listeners[id] = nil
    case .completeWrite(let id, let error): completed(id, error)
    case .completeRequest(let id, _): openWaits.remove(id)
    case .queryRead(let id, let snapshot): answered(id, snapshot)
    case .readFailed(let id, let error): fail("request \(id.rawValue) was refused: \(error)")
    case .runBeside(let query): besideQueries.append(query)
    case .cancelBeside(let id): besideQueries.first { $0.id == id }?.cancel()
    default: break
    }
  }

  private(set) var problem: Failure?

  private func fail(_ text: String) {
    problem = problem ?? Failure(description: text)
  }

  /// The changes lead from the last snapshot to this one, and there is a reason to raise it.
  private func raised(_ id: ListenerID, _ snapshot: ViewSnapshot) {
    guard let listener = listeners[id] else { return fail("listener \(id) was not added or has ended") }
    let before = listener.snapshot
    var keys = before?.documents.map(\.key) ?? []
    for change in snapshot.changes {
      if let old = change.oldIndex {
        guard keys.indices.contains(old), keys[old] == change.document.key else {
          return fail("\(change.document.key) did not stand at \(old)")
        }
        keys.remove(at: old)
      }
      if let new = change.newIndex {
        guard new >= 0, new <= keys.count else { return fail("there is no place \(new)") }
        keys.insert(change.document.key, at: new)
      }
    }
    if keys != snapshot.documents.map(\.key) {
      fail("the changes of listener \(id) lead to \(keys), not to \(snapshot.documents.map(\.key))")
    }
    if let before, snapshot.changes.isEmpty, before.isFromCache == snapshot.isFromCache,
      before.hasPendingWrites == snapshot.hasPendingWrites
    {
      fail("listener \(id) was told nothing new")
    }
    listeners[id]?.snapshot = snapshot
  }

  private func completed(_ id: WriteID, _ error: StatusError?) {
    guard let index = openWrites.firstIndex(of: id) else { return fail("write \(id) was completed twice") }
    openWrites.remove(at: index)
  }

  // MARK: - Users

  func listen(to query: Query, _ options: ListenOptions) {
    let id = ListenerID(rawValue: nextNumber)
    nextNumber += 1
    listeners[id] = ListenerState(query: query, options: options)
    post(.listen(id, query, options))
  }

  func unlisten() {
    guard let id = listeners.keys.sorted(by: { $0.rawValue < $1.rawValue }).randomElement(using: &generator) else {
      return
    }
    listeners[id] = nil
    post(.unlisten(id))
  }

  func write(_ mutations: [Mutation]) {
    let id = WriteID(rawValue: nextNumber)
    nextNumber += 1
    openWrites.append(id)
    post(
      .write(
        id, mutations, localWriteTime: Self.mark(of: user),
        identity: BatchIdentity(high: seed, low: UInt64(id.rawValue))))
  }

  /// The local write time that tells whose write a batch is.
  private static func mark(of user: String?) -> Timestamp {
    Timestamp(seconds: Int64(user?.utf8.first ?? 1), nanoseconds: 0)
  }

  /// A batch goes out on a stream of the user who wrote it, and nobody else is signed in.
  private func checkOwner(_ mutations: [Mutation]) {
    let name = streamUser ?? "nobody"
    if streamUser != user { fail("a stream of \(name) is used while \(user ?? "nobody") is signed in") }
    let mark = Self.mark(of: streamUser)
    let owned = looking { (try? store.pendingBatches(of: .user(streamUser))) ?? [] }
    if !owned.contains(where: { $0.mutations == mutations && $0.localWriteTime == mark }) {
      fail("\(mutations) went out for \(name), who did not write it")
    }
  }

  func waitForPendingWrites() {
    let id = RequestID(rawValue: nextNumber)
    nextNumber += 1
    openWaits.insert(id)
    post(.waitForPendingWrites(id))
  }

  /// Runs a query on the cache, whose answer must hold these documents whenever it comes.
  func readCache(_ query: Query, expecting documents: [Document]) {
    let id = RequestID(rawValue: nextNumber)
    nextNumber += 1
    expectedAnswers[id] = (query, documents)
    post(.readQuery(id, query))
    if mode != .exactBeside, expectedAnswers[id] != nil { fail("the cache did not answer \(query)") }
  }

  private func answered(_ id: RequestID, _ snapshot: ViewSnapshot) {
    guard let expected = expectedAnswers.removeValue(forKey: id) else {
      return fail("request \(id.rawValue) was not made or has been answered")
    }
    do {
      try compare(
        Array(snapshot.documents), expected.documents, "the cache's answer to \(expected.query.canonicalID)")
    } catch {
      fail("\(error)")
    }
  }

  /// Runs one of the queries beside the engine to its end, which the engine hears of.
  func endBeside() {
    guard let index = besideQueries.indices.randomElement(using: &generator) else { return }
    let query = besideQueries.remove(at: index)
    // The last part first: the order must not matter.
    post(.besideEnded(query.id, query.run { count, body in (0..<count).reversed().forEach { body($0) } }))
  }

  // MARK: - Network and time

  /// Lets an attempt to open a stream succeed or fail.
  func answerOpening(succeeds: Bool) {
    guard !opening.isEmpty else { return }
    let event = opening.removeFirst()
    // There is no token of another user than the one who is signed in.
    let succeeds = succeeds && streamUser == user
    let error = StatusError(code: streamUser == user ? .unavailable : .aborted, message: "refused")
    switch event {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id }
      post(succeeds ? event : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds { writeStream = id }
      post(succeeds ? event : .writeStreamClosed(id, error))
    default: break
    }
  }

  /// - Parameter error: what the client hears; nil if it ended the stream itself.
  func breakWatchStream(_ error: StatusError?) {
    guard let id = watchStream else { return }
    watchStream = nil
    backend.closeWatchStream()
    reference.watchStreamClosed()
    if let error { post(.watchStreamClosed(id, error)) }
  }

  func breakWriteStream(_ error: StatusError?) {
    guard let id = writeStream else { return }
    writeStream = nil
    writeRequests = []
    if let error { post(.writeStreamClosed(id, error)) }
  }

  func deliverWatchMessage() {
    guard let id = watchStream, let message = backend.takeMessage() else { return }
    let canStore = failingTransactions.isDisjoint(with: ["Apply remote event", "Get last remote snapshot version"])
    reference.received(message, canStore: canStore)
    post(.watchStreamMessage(id, message))
  }

  /// The backend commits or refuses the oldest batch.
  ///
  /// - Parameter answerIsLost: the stream breaks before the answer reaches the client.
  func answerWrite(answerIsLost: Bool) {
    guard let id = writeStream, !writeRequests.isEmpty else { return }
    let request = writeRequests.removeFirst()
    let answer = backend.commit(request.mutations, label: request.label)
    guard let label = request.label else { return fail("a batch was sent without a label") }
    commits[label] = answer
    if answerIsLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    switch answer {
    case .success(let commit):
      post(
        .writeStreamMessage(
          id, WriteResponse(streamToken: [1], commitVersion: commit.version, results: commit.results)))
    case .failure(let error):
      breakWriteStream(error)
    }
  }

  func fireNextTimer() {
    guard let next = timers.min(by: { $0.due < $1.due }) else { return }
    timers.removeAll { $0.kind == next.kind }
    now = max(now, next.due)
    post(.timerFired(next.kind))
  }

  // MARK: - Checks

  /// Whether the reference foretells every view and answer.
  var isExact: Bool { [.exact, .exactFile, .exactBeside].contains(mode) }

  /// Compares the queue with what it was and what was answered, and the views with the reference.
  func check() throws {
    if let problem { throw problem }
    guard engine.outstandingWriteCount <= 10 else { throw Failure(description: "more than ten batches are under way") }
    guard engine.activeLimboDocuments.count <= 2 else { throw Failure(description: "more than two lookups are active") }
    if watchStream != nil || writeStream != nil, streamUser != user || store.user != user {
      let users = [streamUser, store.user, user].map { $0 ?? "nobody" }
      throw Failure(description: "users of the open stream, of the cache and of the token: \(users)")
    }
    for owner in [nil, "anna", "otto"] as [String?] {
      let pending = try looking { try store.pendingBatches(of: .user(owner)) }
      try checkQueue(pending, of: owner)
      queues[owner] = pending
    }
    guard isExact else { return }
    let pending = queues[store.user] ?? []
    for (id, listener) in listeners where !engine.isPreparing(id) && !reference.isCatchingUp(listener.query, pending) {
      let expected = reference.run(listener.query, pending)
      guard let snapshot = listener.snapshot else {
        if !expected.isEmpty, !listener.options.waitForSyncWhenOnline {
          throw Failure(description: "listener \(id.rawValue) was not told of \(expected.map(\.key))")
        }
        continue
      }
      try compare(Array(snapshot.documents), expected, "listener \(id.rawValue) \(listener.query.canonicalID)")
    }
  }

  private func checkQueue(_ pending: [MutationBatch], of owner: String?) throws {
    guard pending.allSatisfy({ $0.localWriteTime == Self.mark(of: owner) }) else {
      throw Failure(description: "the queue of \(owner ?? "nobody") holds another's writes: \(pending)")
    }
    let before = queues[owner] ?? []
    let left = before.prefix { batch in !pending.contains { $0.batchID == batch.batchID } }
    for batch in left {
      let label = batch.identity.map { BatchLabel(cacheID: store.cacheID, identity: $0).text }
      guard let answer = label.flatMap({ commits[$0] }) else {
        throw Failure(description: "batch \(batch.batchID) left the queue without an answer")
      }
      if case .success(let commit) = answer { reference.acknowledged(batch, commit) }
    }
    guard Array(before.dropFirst(left.count)) == Array(pending.prefix(before.count - left.count)) else {
      throw Failure(description: "the queue changed other than at its ends: \(before) became \(pending)")
    }
  }

  func compare(_ actual: [Document], _ expected: [Document], _ what: String) throws {
    guard actual.count == expected.count, zip(actual, expected).allSatisfy({ $0.hasSameData(as: $1) }) else {
      throw Failure(
        description: "\(what) shows \(actual.map(\.brief)), but must show \(expected.map(\.brief))")
    }
  }
}

extension Document {
  func hasSameData(as other: Document) -> Bool {
    key == other.key && (try? fields.decoded()) == (try? other.fields.decoded())
  }

  var brief: String {
    "\(key)@\(version.microseconds) \((try? fields.decoded()).map { "\($0.entries.map { "\($0.key)=\($0.value)" })" } ?? "?")"
  }
}

extension SyncEvent {
  var brief: String { "\(self)".replacing(/Hearth(Model|Sync|Cache)\./, with: "") }
}

extension SyncAction {
  var brief: String {
    switch self {
    case .raiseSnapshot(let id, let snapshot):
      "snapshot \(id.rawValue) \(snapshot.isFromCache ? "cache" : "server") \(snapshot.documents.map(\.brief))"
    default: "\(self)".replacing(/Hearth(Model|Sync|Cache)\./, with: "")
    }
  }
}
