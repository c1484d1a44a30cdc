import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One client of a conflict simulation: an engine on a cache that outlives it, and the network around it.
final class ConflictClient {
  unowned let world: ConflictSimulation
  let number: Int
  private let database: Database
  private(set) var store: LocalStore
  private var engine: SyncEngine

  private var inbox: [SyncEvent] = []
  private(set) var now = Duration.zero
  private var timers: [(kind: TimerKind, due: Duration)] = []
  private var lastIdentity: UInt64 = 0
  private var lastNumber = 0
  private(set) var isNetworkEnabled = true
  private var user: String?

  private var watch = SimulatedWatch()
  private var watchStream: StreamID?
  private var writeStream: StreamID?
  private var opening: [SyncEvent] = []
  private var requests: [(mutations: [Mutation], label: String?)] = []
  private var partingStreams: [StreamID] = []
  private var lookUps: [(id: LookUpID, keys: [DocumentKey])] = []
  private(set) var questions: [(id: ConflictID, conflict: DocumentConflict)] = []
  /// The edits whose writes have not ended in this run of the client.
  private var open: [WriteID: ConflictSimulation.Edit] = [:]
  private var edits: [BatchIdentity: ConflictSimulation.Edit] = [:]

  static let query = Query(path: ResourcePath(["c"]))

  init(in world: ConflictSimulation, number: Int) throws {
    self.world = world
    self.number = number
    database = try Database(.memory, options: .init(synchronous: .normal))
    (store, engine) = try Self.open(database, world.rules, user: nil)
    begin()
  }

  private static func open(
    _ database: Database, _ rules: ConflictRules, user: String?
  ) throws -> (LocalStore, SyncEngine) {
    let store = try LocalStore(
      database: database, databaseID: DatabaseID(projectID: "p"),
      garbageCollection: .leastRecentlyUsed(thresholdBytes: 100 << 20), user: user, newCacheID: "cache")
    let configuration = SyncConfiguration(conflictRules: rules, jitter: { 0 })
    return (store, SyncEngine(localStore: store, configuration: configuration))
  }

  private func begin() {
    post(.start)
    if number != world.deafClient {
      post(.listen(ListenerID(rawValue: 1), Self.query, ListenOptions()))
    }
  }

  /// The process ends without a word, and another begins on the same cache.
  func restart() throws {
    (inbox, timers, opening, requests, lookUps, questions, partingStreams) = ([], [], [], [], [], [], [])
    (watchStream, writeStream) = (nil, nil)
    watch = SimulatedWatch()
    open = [:]
    isNetworkEnabled = true
    (store, engine) = try Self.open(database, world.rules, user: user)
    begin()
  }

  // MARK: - The application

  func view(of key: DocumentKey) throws -> Document { try store.readDocument(key) }

  func write(_ mutations: [Mutation], _ edit: ConflictSimulation.Edit) {
    lastNumber += 1
    lastIdentity += 1
    let id = WriteID(rawValue: lastNumber)
    open[id] = edit
    let identity = BatchIdentity(high: 0, low: UInt64(number) << 16 | lastIdentity)
    edits[identity] = edit
    let write = SyncWrite(
      id: id, mutations: mutations, localWriteTime: Timestamp(seconds: 10_000 + Int64(lastIdentity), nanoseconds: 0),
      identity: identity)
    post(.writes([write]))
  }

  func switchNetwork(on isOn: Bool) {
    isNetworkEnabled = isOn
    post(.request(RequestID(rawValue: 0), isOn ? .enableNetwork : .disableNetwork))
  }

  /// The user changes their mind about one of the waiting writes.
  func withdrawOne(evenIfSent: Bool) throws {
    let waiting = try store.pendingBatches()
    guard !waiting.isEmpty else { return }
    let batch = world.generator.pick(waiting)
    post(.request(RequestID(rawValue: 0), .withdraw(batch.batchID, evenIfSent: evenIfSent)))
    if try store.pendingBatches().contains(where: { $0.batchID == batch.batchID }) { return }
    if let edit = edit(of: batch) { world.wasWithdrawn(edit) }
    // Who takes back the creation of a document does not want another one deleted.
    for deletion in waiting where deletion.batchID > batch.batchID {
      guard deletion.mutations.contains(where: { $0.operation == .delete && batch.keys.contains($0.key) }) else {
        continue
      }
      post(.request(RequestID(rawValue: 0), .withdraw(deletion.batchID, evenIfSent: true)))
    }
  }

  private func edit(of batch: MutationBatch) -> ConflictSimulation.Edit? { batch.identity.flatMap { edits[$0] } }

  /// Another user signs in, or the first one again.
  func changeUser() {
    user = user == nil ? "other" : nil
    post(.changeUser(user))
  }

  func retryNow() { post(.request(RequestID(rawValue: 0), .retryNow)) }

  func answerQuestion(_ answer: Result<ConflictAnswer, StatusError>) {
    guard !questions.isEmpty else { return }
    post(.conflictAnswered(questions.removeFirst().id, answer))
  }

  // MARK: - The network

  /// Lets one thing happen that the client waits for.
  ///
  /// - Returns: false if it waits for nothing but timers and its application.
  func advance(succeeds: Bool = true) -> Bool {
    if !opening.isEmpty {
      answerOpening(succeeds: succeeds)
    } else if let stream = partingStreams.first {
      partingStreams.removeFirst()
      post(.writeStreamClosed(stream, nil))
    } else if !lookUps.isEmpty {
      answerLookUp(succeeds: succeeds)
    } else if writeStream != nil, !requests.isEmpty {
      answerWrite(isLost: !succeeds)
    } else if watchStream != nil, let message = watch.takeMessage() {
      if case .response(let response) = message, let id = watchStream { post(.watchStreamMessage(id, response)) }
    } else {
      return false
    }
    return true
  }

  private func answerOpening(succeeds: Bool) {
    let error = StatusError(code: .unavailable, message: "refused")
    switch opening.removeFirst() {
    case .watchStreamOpened(let id):
      if succeeds { watchStream = id }
      post(succeeds ? .watchStreamOpened(id) : .watchStreamClosed(id, error))
    case .writeStreamOpened(let id):
      if succeeds { writeStream = id }
      post(succeeds ? .writeStreamOpened(id) : .writeStreamClosed(id, error))
    default: break
    }
  }

  private func answerLookUp(succeeds: Bool) {
    let (id, keys) = lookUps.removeFirst()
    guard succeeds, isNetworkEnabled else {
      return post(.lookedUp(id, .failure(StatusError(code: .unavailable, message: "no connection"))))
    }
    let time = SnapshotVersion(microseconds: world.backend.now)
    let documents = keys.map { key in
      let document = world.backend.document(key)
      return document.isFound ? document : Document.missing(key, version: time, readTime: time)
    }
    post(.lookedUp(id, .success(documents)))
  }

  private func answerWrite(isLost: Bool) {
    guard let id = writeStream else { return }
    let request = requests.removeFirst()
    if isLost, world.generator.chance(30) { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    let (_, answer) = world.backend.commit(request.mutations, label: request.label)
    if isLost { return breakWriteStream(StatusError(code: .unavailable, message: "lost")) }
    switch answer {
    case .success(let commit):
      post(
        .writeStreamMessage(
          id, WriteResponse(streamToken: [1], commitVersion: commit.version, results: commit.results)))
    case .failure(let error): breakWriteStream(error)
    }
  }

  private func breakWriteStream(_ error: StatusError) {
    guard let id = writeStream else { return }
    writeStream = nil
    requests = []
    post(.writeStreamClosed(id, error))
  }

  func breakStreams() {
    breakWriteStream(StatusError(code: .unavailable, message: "broken"))
    guard let id = watchStream else { return }
    watchStream = nil
    watch = SimulatedWatch()
    post(.watchStreamClosed(id, StatusError(code: .unavailable, message: "broken")))
  }

  /// True if the listener hears of what changes.
  var isInTouch: Bool { number == world.deafClient || watchStream != nil }

  func sendSnapshot() {
    if watchStream != nil { watch.sendSnapshot(world.backend, &world.generator) }
  }

  func fireNextTimer() -> Bool {
    let due = timers.filter { $0.kind != .lruGarbageCollection }.min { $0.due < $1.due }
    guard let due else { return false }
    timers.removeAll { $0.kind == due.kind }
    now = max(now, due.due)
    post(.timerFired(due.kind))
    return true
  }

  // MARK: - The loop

  private func post(_ event: SyncEvent) {
    inbox.append(event)
    while !inbox.isEmpty {
      let event = inbox.removeFirst()
      world.note("> client \(number) \(event.brief)")
      for action in engine.handle(event, now: now) {
        world.note("  < \(action.brief)")
        carryOut(action)
      }
    }
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id): opening.append(.watchStreamOpened(id))
    case .openWriteStream(let id): opening.append(.writeStreamOpened(id))
    case .closeWatchStream(let id):
      opening.removeAll { if case .watchStreamOpened(id) = $0 { true } else { false } }
      if watchStream == id { (watchStream, watch) = (nil, SimulatedWatch()) }
    case .closeWriteStream(let id):
      opening.removeAll { if case .writeStreamOpened(id) = $0 { true } else { false } }
      if writeStream == id { (writeStream, requests) = (nil, []) }
      partingStreams.append(id)
    case .sendWatch(_, let request): watch.receive(request, world.backend, &world.generator)
    case .sendWrite(let id, .handshake):
      let response = WriteResponse(streamToken: [0], knowsBatchLabels: world.backendKnowsLabels)
      inbox.append(.writeStreamMessage(id, response))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty { requests.append((mutations, label)) }
    case .startTimer(let kind, let delay):
      timers.removeAll { $0.kind == kind }
      timers.append((kind, now + delay))
    case .cancelTimer(let kind): timers.removeAll { $0.kind == kind }
    case .completeWrite(let id, let error):
      if let edit = open.removeValue(forKey: id) { world.ended(edit, error) }
    case .lookUp(let id, let keys): lookUps.append((id, keys))
    case .askResolver(let id, let conflict): questions.append((id, conflict))
    case .cancelQuestion(let id): questions.removeAll { $0.id == id }
    default: break
    }
  }

  func checkEnd() throws {
    for user in [nil, "other"] {
      for rejected in try store.rejectedBatches(of: user) {
        if let edit = edit(of: rejected.batch) { world.ended(edit, rejected.error) }
      }
    }
    for user in [nil, "other"] {
      let left = try store.pendingBatches(of: .user(user))
      if !left.isEmpty {
        world.fail("client \(number) still has \(left.map(\.batchID)) in the outbox of \(user ?? "nobody")")
      }
    }
    if !open.isEmpty { world.fail("client \(number) has not heard what became of \(open.values.map(\.tokens))") }
    guard number != world.deafClient else { return }
    let local = try store.read(Self.query).documents
    let remote = world.backend.run(Self.query)
    if local.map(\.key) != remote.map(\.key) || zip(local, remote).contains(where: { !$0.hasSameContents(as: $1) }) {
      world.fail("client \(number) shows \(local.map(\.brief)), the backend has \(remote.map(\.brief))")
    }
  }
}
