import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One client of a conflict simulation: an engine on a cache that outlives it, and the network around it.
final class ConflictClient {
  typealias Request = (identity: BatchIdentity?, mutations: [Mutation], label: String?)

  unowned let world: ConflictSimulation
  let number: Int
  let device: ConflictDevice
  private var process: ConflictDevice.Process
  private var release: ConflictHistory.Release
  var store: LocalStore { process.store }
  var engine: SyncEngine { process.engine }

  private var inbox: [SyncEvent] = []
  private(set) var now = Duration.zero
  private var timers: [(kind: TimerKind, due: Duration)] = []
  private var lastIdentity: UInt64 = 0
  private var lastNumber = 0
  private(set) var isNetworkEnabled = true
  private var user: String?
  /// True if a wake-up waits to be delivered.
  var isWoken = false

  var watch = SimulatedWatch()
  var watchStream: StreamID?
  var writeStream: StreamID?
  var opening: [SyncEvent] = []
  var requests: [Request] = []
  var partingStreams: [StreamID] = []
  var lookUps: [(id: LookUpID, keys: [DocumentKey])] = []
  private(set) var questions: [(id: ConflictID, conflict: DocumentConflict)] = []
  /// The edits whose writes have not ended in this run of the client.
  private var open: [WriteID: BatchIdentity] = [:]

  static let query = Query(path: ConflictHistory.collection)

  init(in world: ConflictSimulation, number: Int, on device: ConflictDevice) throws {
    self.world = world
    self.number = number
    self.device = device
    release = world.nextRelease()
    process = try device.begin(release, user: nil)
    begin()
  }

  private func begin() {
    post(.start)
    if number != world.history.deafClient {
      post(.listen(ListenerID(rawValue: 1), Self.query, ListenOptions()))
    }
  }

  /// The process ends without a word, and another begins on the same cache.
  ///
  /// - Parameters:
  ///   - between: Happens while no process runs.
  ///   - check: Looks at what the new process begins with.
  func restart(after between: () throws -> Void = {}, check: () throws -> Void = {}) throws {
    world.note("client \(number) restarts")
    device.end(process)
    forgetEngine()
    open = [:]
    isNetworkEnabled = true
    try between()
    release = world.nextRelease()
    process = try device.begin(release, user: user)
    try check()
    begin()
  }

  /// Forgets everything that ends with the engine.
  private func forgetEngine() {
    (inbox, timers, opening, requests, lookUps, questions, partingStreams) = ([], [], [], [], [], [], [])
    (watchStream, writeStream, isWoken) = (nil, nil, false)
    watch = SimulatedWatch()
  }

  /// Opens the cache anew if its store asks for that, as a running client does.
  private func reopenIfNeeded() throws {
    var count = 0
    while let cause = store.reopening {
      world.note("client \(number) opens its cache anew: \(cause.reason)")
      count += 1
      guard count < 5 else { return world.fail("client \(number) opens its cache again and again: \(cause.reason)") }
      let handover = engine.handOver()
      if case .fileIsDamaged(let reason) = cause { try process.cache?.markDamaged(reason) }
      device.end(process)
      forgetEngine()
      process = try device.begin(release, user: user)
      engine.takeOver(handover, reason: cause.reason)
      begin()
    }
  }

  func close() { device.end(process) }

  /// True while the backend or the application is asked about a conflict.
  var isComparing: Bool { !lookUps.isEmpty || !questions.isEmpty }

  // MARK: - The application

  func view(of key: DocumentKey) throws -> Document {
    if let document = try? store.readDocument(key) { return document }
    // A read that meets the damage lets the client repair it.
    post(.request(RequestID(rawValue: 0), .readDocument(key)))
    return try store.readDocument(key)
  }

  func write(_ mutations: [Mutation], _ edit: ConflictSimulation.Edit) {
    lastNumber += 1
    lastIdentity += 1
    let id = WriteID(rawValue: lastNumber)
    let identity = BatchIdentity(high: 0, low: UInt64(number) << 16 | lastIdentity)
    open[id] = identity
    world.wrote(identity, mutations, edit)
    let write = LocalWrite(
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
    guard try withdraw(batch, evenIfSent: evenIfSent) else { return }
    // Who takes back the creation of a document does not want another one deleted.
    for deletion in waiting where deletion.batchID > batch.batchID {
      guard deletion.mutations.contains(where: { $0.operation == .delete && batch.keys.contains($0.key) }) else {
        continue
      }
      _ = try withdraw(deletion, evenIfSent: true)
    }
  }

  /// - Returns: True if the batch has left the outbox.
  private func withdraw(_ batch: MutationBatch, evenIfSent: Bool) throws -> Bool {
    post(.request(RequestID(rawValue: 0), .withdraw(batch.batchID, evenIfSent: evenIfSent)))
    if try store.pendingBatches().contains(where: { $0.batchID == batch.batchID }) { return false }
    if let identity = batch.identity { world.wasWithdrawn(identity, evenIfSent: evenIfSent) }
    return true
  }

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

  /// The batches of both users.
  func allPendingBatches() throws -> [MutationBatch] {
    try [nil, "other"].flatMap { try store.pendingBatches(of: .user($0)) }
  }

  // MARK: - Timers

  func fireNextTimer() -> Bool {
    let due = timers.filter { $0.kind != .lruGarbageCollection }.min { $0.due < $1.due }
    guard let due else { return false }
    fire(due.kind)
    return true
  }

  func fire(_ kind: TimerKind) {
    guard let timer = timers.first(where: { $0.kind == kind }) else { return }
    timers.removeAll { $0.kind == kind }
    now = max(now, timer.due)
    post(.timerFired(kind))
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) {
    inbox.append(event)
    while !inbox.isEmpty {
      let event = inbox.removeFirst()
      world.note("> client \(number) \(event.brief)")
      let wasPrimary = engine.isPrimary
      let actions = engine.handle(event, now: now)
      if wasPrimary, !engine.isPrimary { checkQuestions(atEndOfTurn: actions) }
      for action in actions {
        world.note("  < \(action.brief)")
        carryOut(action)
      }
      do {
        try reopenIfNeeded()
      } catch {
        world.fail("client \(number) cannot open its cache anew: \(error)")
      }
    }
  }

  /// A question to a person outlives a turn of the lease.
  private func checkQuestions(atEndOfTurn actions: [SyncAction]) {
    let waiting = Set(((try? allPendingBatches()) ?? []).map(\.batchID))
    for case .cancelQuestion(let id) in actions {
      guard let question = questions.first(where: { $0.id == id }), waiting.contains(question.conflict.batchID) else {
        continue
      }
      world.fail("client \(number) takes back a question about \(question.conflict.remote.key) at the end of its turn")
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
      let response = WriteResponse(streamToken: [0], knowsBatchLabels: world.history.backendKnowsLabels)
      inbox.append(.writeStreamMessage(id, response))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty { send(mutations, label) }
    case .startTimer(let kind, let delay):
      timers.removeAll { $0.kind == kind }
      timers.append((kind, now + delay))
    case .cancelTimer(let kind): timers.removeAll { $0.kind == kind }
    case .completeWrite(let id, let error):
      guard let identity = open.removeValue(forKey: id) else {
        return world.fail("client \(number) was told twice what became of write \(id.rawValue)")
      }
      world.ended(identity, error)
    case .lookUp(let id, let keys): lookUps.append((id, keys))
    case .askResolver(let id, let conflict):
      if questions.contains(where: { $0.conflict == conflict }) {
        world.fail("client \(number) asks twice about \(conflict.remote.key)")
      }
      questions.append((id, conflict))
    case .cancelQuestion(let id): questions.removeAll { $0.id == id }
    case .wakeOthers: world.wakeOthers(than: self)
    default: break
    }
  }

  private func send(_ mutations: [Mutation], _ label: String?) {
    let identity = label.flatMap(BatchLabel.init(parsing:))?.identity
    if (label != nil) != world.history.backendKnowsLabels { world.fail("a request has the label \(label ?? "none")") }
    if let identity { world.ledger.sent(identity, mutations) }
    requests.append((identity, mutations, label))
  }

  // MARK: - The end

  func checkEnd() throws {
    for user in [nil, "other"] {
      for rejected in try store.rejectedBatches(of: user) {
        if let identity = rejected.batch.identity { world.ended(identity, rejected.error) }
      }
    }
    let left = try allPendingBatches()
    if !left.isEmpty { world.fail("client \(number) still has \(left.map(\.batchID)) in its outbox") }
    if !open.isEmpty { world.fail("client \(number) has not heard what became of \(open.values)") }
    guard number != world.history.deafClient else { return }
    let local = try store.read(Self.query).documents
    let remote = world.backend.run(Self.query)
    if local.map(\.key) != remote.map(\.key) || zip(local, remote).contains(where: { !$0.hasSameContents(as: $1) }) {
      world.fail("client \(number) shows \(local.map(\.brief)), the backend has \(remote.map(\.brief))")
    }
  }
}
