import EngineHarness
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One client of a conflict simulation: an engine on a cache that outlives it, and the network around it.
final class ConflictClient {
  unowned let world: ConflictSimulation
  let number: Int
  let device: ConflictDevice
  private var process: ConflictDevice.Process
  private var release: ConflictHistory.Release
  var store: LocalStore { process.store }
  var engine: SyncEngine { process.engine }

  private(set) lazy var driver = EngineDriver(delegate: self)
  private var lastIdentity: UInt64 = 0
  private var lastNumber = 0
  private(set) var isNetworkEnabled = true
  private var user: String?
  /// True if a wake-up waits to be delivered.
  var isWoken = false

  var watch = SimulatedWatch()
  /// The edits whose writes have not ended in this run of the client.
  private var open: [WriteID: BatchIdentity] = [:]
  /// The edits as batches.
  private var written: [WriteID: MutationBatch] = [:]

  /// Longer than the list of retries gets: it has most kinds of operations once (there are about 20), and the answers that could not be stored,
  /// which are no more than the batches on their way.
  private static let longestRetryList = 50
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
    if number != world.history.deafClient { listen() }
  }

  private func listen() { post(.listen(ListenerID(rawValue: 1), Self.query, ListenOptions())) }

  /// The process ends without a word, and another begins on the same cache.
  ///
  /// - Parameters:
  ///   - between: Happens while no process runs.
  ///   - check: Looks at what the new process begins with.
  func restart(after between: () throws -> Void = {}, check: () throws -> Void = {}) throws {
    world.note("client \(number) restarts")
    // What waits in memory would end with the process.
    try device.free()
    storeHeldWrites()
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

  /// The process sleeps for a while, and the others go on.
  func sleep(while others: () throws -> Void) throws {
    world.note("client \(number) is suspended")
    post(.suspend)
    device.suspend(process)
    try others()
    world.note("client \(number) goes on")
    device.resume(process)
    post(.resume)
  }

  /// Forgets everything that ends with the engine.
  private func forgetEngine() {
    driver.processEnded()
    isWoken = false
    watch = SimulatedWatch()
  }

  /// Reopens the cache if its store asks for that, as a running client does.
  private func reopenIfNeeded() throws {
    var count = 0
    while let cause = store.reopening {
      world.note("client \(number) reopens its cache: \(cause.reason)")
      count += 1
      guard count < 5 else { return world.fail("client \(number) opens its cache again and again: \(cause.reason)") }
      let handover = engine.handOver()
      if case .fileIsDamaged(let reason) = cause { try process.cache?.markDamaged(reason) }
      device.end(process)
      forgetEngine()
      process = try device.begin(release, user: user)
      engine.takeOver(handover, reason: cause.reason)
      driver.handle(.start)
      if number != world.history.deafClient { listen() }
    }
  }

  func close() { device.end(process) }

  /// True while the backend or the application is asked about a conflict.
  var isComparing: Bool { !driver.lookUps.isEmpty || !questions.isEmpty }

  var questions: [(id: ConflictID, conflict: DocumentConflict)] { driver.questions }

  // MARK: - The application

  /// With the writes that wait in memory: their author knows them.
  func view(of key: DocumentKey) throws -> Document {
    var document = try storedView(of: key)
    for id in engine.heldWriteIDs {
      _ = try written[id]?.applyToLocalView(&document, mutatedFields: .empty)
    }
    return document
  }

  private func storedView(of key: DocumentKey) throws -> Document {
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
    written[id] = MutationBatch(batchID: 0, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0), mutations: mutations)
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
    // A user who takes back the creation of a document does not want another one deleted.
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
    post(.conflictAnswered(driver.questions.removeFirst().id, answer))
  }

  /// The batches of both users.
  func allPendingBatches() throws -> [MutationBatch] {
    try [nil, "other"].flatMap { try store.pendingBatches(of: .user($0)) }
  }

  // MARK: - Timers

  /// Stores what waits in memory for the file, which is free.
  ///
  /// Each time the timer of retries fires, the first operation of their list is tried. It leaves the list, or goes behind the others. So the
  /// writes have their turn after as many times as the list is long, or with the first operation that stores something: before them there may
  /// be some that only read, such as a probe, or views that are read again.
  func storeHeldWrites() {
    var turns = Self.longestRetryList
    while !engine.heldWriteIDs.isEmpty, turns > 0, fireRetries() { turns -= 1 }
    if !engine.heldWriteIDs.isEmpty { world.fail("client \(number) does not store what waits for the file") }
  }

  func fireNextTimer() -> Bool {
    guard let next = timers.next(where: { $0 != .lruGarbageCollection }) else { return false }
    fire(next.kind)
    return true
  }

  func fire(_ kind: TimerKind) { driver.fire(kind) }

  /// Tries the first of the operations that wait for the timer of retries, if it is set.
  @discardableResult
  func fireRetries() -> Bool {
    guard timers.next(where: { $0 == .asyncQueueRetry }) != nil else { return false }
    fire(.asyncQueueRetry)
    return true
  }

  // MARK: - The loop

  func post(_ event: SyncEvent) { driver.post(event) }

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

  // MARK: - The end

  func checkEnd() throws {
    for user in [nil, "other"] {
      for rejected in try store.outbox.rejectedBatches(of: user) {
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

// MARK: - What the engine does

extension ConflictClient: DrivenClient {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] {
    world.note("> client \(number) \(event.brief)")
    let wasPrimary = engine.isPrimary
    let actions = engine.handle(event, now: now)
    if wasPrimary, !engine.isPrimary { checkQuestions(atEndOfTurn: actions) }
    return actions
  }
  func willCarryOut(_ action: SyncAction) -> Bool {
    world.note("  < \(action.brief)")
    return true
  }
  func didHandle(_ event: SyncEvent) {
    do {
      try reopenIfNeeded()
    } catch {
      world.fail("client \(number) cannot reopen its cache: \(error)")
    }
  }
  func fail(_ text: String) { world.fail("client \(number): \(text)") }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening { .waits }
  func watchStreamEnded() { watch = SimulatedWatch() }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { .later }
  func received(_ request: WatchRequest, on id: StreamID) {
    watch.receive(request, world.backend, &world.generator)
  }
  var handshake: WriteResponse? {
    WriteResponse(streamToken: [0], knowsBatchLabels: world.history.backendKnowsLabels)
  }
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? {
    if (batch.label != nil) != world.history.backendKnowsLabels {
      world.fail("a request has the label \(batch.label ?? "none")")
    }
    if let identity = batch.identity { world.ledger.sent(identity, batch.mutations) }
    return batch
  }

  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {
    guard let identity = open.removeValue(forKey: id) else {
      return world.fail("client \(number) was told twice what became of write \(id.rawValue)")
    }
    world.ended(identity, error)
  }
  func asked(_ id: ConflictID, _ conflict: DocumentConflict) {
    if questions.contains(where: { $0.conflict == conflict }) {
      world.fail("client \(number) asks twice about \(conflict.remote.key)")
    }
  }
  func wakeOthers() { world.wakeOthers(than: self) }
}

extension SentBatch {
  var identity: BatchIdentity? { label.flatMap(BatchLabel.init(parsing:))?.identity }
}
