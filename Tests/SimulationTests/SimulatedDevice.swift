import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One engine on a real cache, and the people and the network around it.
final class SimulatedDevice {
  /// A batch on its way to the backend.
  struct Request {
    /// Which write it is.
    var number: Int
    var mutations: [Mutation]
    var label: String?
  }

  /// The names that writes get come from a generator, whose state a copy of a running machine has as well.
  struct IdentitySource {
    var stream: UInt64
    var last: UInt64 = 0

    mutating func next() -> BatchIdentity {
      last += 1
      // Each half tells it from all others, as those that are drawn at random.
      return BatchIdentity(high: stream, low: stream << 32 | last)
    }
  }

  static let users: [String?] = [nil, "anna", "otto"]

  unowned let world: Simulation
  let name: String
  /// Nil for a cache in memory.
  let folder: URL?
  var identities: IdentitySource

  var client: OpenClient
  var store: LocalStore { client.store }
  var engine: SyncEngine { client.engine }
  var reference = SimulationReference()

  private var inbox: [SyncEvent] = []
  /// The event that is being handled.
  var event: SyncEvent?
  var now = Duration.zero
  var timers: [(kind: TimerKind, due: Duration)] = []
  var failingTransactions: Set<String> = []
  var disturbance: History.Disturbance?
  /// Statements and commits so far.
  var statementCount = 0
  private var isLooking = false

  /// The signed-in user, whose token the backend sees.
  var user: String?
  /// The user for whom the engine opens streams.
  var streamUser: String?
  var isNetworkEnabled = true

  var watch = SimulatedWatch()
  var watchStream: StreamID?
  var writeStream: StreamID?
  /// Streams that were asked for and are neither open nor refused.
  var opening: [SyncEvent] = []
  var writeRequests: [Request] = []
  /// The write streams that the client has closed, oldest first, with the batches that the backend may still answer there.
  var parting: [(id: StreamID, requests: [Request])] = []
  /// The answers that this run of the client has heard.
  var heard: [Int: WriteLedger.Answer] = [:]
  var watchAttempts = WatchAttempts()

  var listeners: [ListenerID: SimulatedListener] = [:]
  /// The writes of this run of the client whose callers wait.
  var openWrites: [WriteID] = []
  var openWaits: Set<RequestID> = []
  /// Those that ended through no fault of theirs, and that the application adds anew.
  var listenersToRepeat: [(query: Query, options: ListenOptions)] = []
  /// The answers that readers of the cache wait for.
  var expectedAnswers: [RequestID: (query: Query, documents: [Document])] = [:]
  /// Something says no more whose the writes are; the running client knows its own user, and does not look.
  var hasDamagedUsers = false
  /// The tables that say whose a batch is, as far as they were damaged.
  var damagedOwners: Set<String> = []
  /// True if an overlay may have a damaged key, so that no read finds it.
  var hasMisplacedOverlays = false
  /// Pages of the file were damaged, and it has not been replaced since.
  var hasDamagedPages = false
  /// The number of times that the cache was reopened in a running process.
  var reopeningCount = 0
  /// The queries in the background that have not ended.
  var backgroundQueries: [BackgroundQueryJob] = []

  /// Every user's queue as it was after the step before.
  var queues: [String?: [MutationBatch]] = [:]
  /// True if a transaction was committed since.
  var hasCommitted = true
  /// The number of looks at what was committed.
  var lookCount = 0

  /// - Parameter copy: the folder that the device begins with; nil for an empty one.
  init(in world: Simulation, copy: Copy?) throws {
    self.world = world
    let number = world.nextNumber()
    name = "device \(number)"
    identities = IdentitySource(stream: UInt64(number))
    folder = world.history.isInFile ? world.folder.appendingPathComponent("\(number)") : nil
    disturbance = world.history.disturbance
    if let copy, let folder { try FileManager.default.copyItem(at: copy.folder, to: folder) }
    client = try Self.open(folder, world.history, user: nil) { _ in }
    if let copy { remember(copy) }
    world.note("\(name) begins")
    injectFailures(into: client.database)
    post(.start)
  }

  /// Ends the process.
  func close() {
    for query in backgroundQueries { query.close() }
    backgroundQueries = []
    client.database.injectFailure = nil
    client.database.close()
    client.cache?.close()
  }

  // MARK: - Failures

  func injectFailures(into database: Database) {
    database.injectFailure = { [unowned self] point in
      if isLooking { return nil }
      if point == .commit { hasCommitted = true }
      let failure = failure(at: point)
      // Streams that are opened or closed because of it begin without a pause.
      if failure != nil { watchAttempts.mayBeginAtOnce() }
      return failure
    }
  }

  private func failure(at point: Database.FailurePoint) -> StoreError? {
    guard case .transaction(let name) = point else { return disturb() }
    guard failingTransactions.contains(name) else { return nil }
    return StoreError(kind: .unavailable, message: "made to fail: \(name)")
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
  func looking<Result>(_ body: () throws -> Result) rethrows -> Result {
    isLooking = true
    defer { isLooking = false }
    return try body()
  }

  func fail(_ text: String) { world.fail("\(name): \(text)") }

  // MARK: - The loop

  func post(_ event: SyncEvent) {
    inbox.append(event)
    while !inbox.isEmpty {
      let event = inbox.removeFirst()
      world.note("> \(name) \(event.brief)")
      self.event = event
      for action in engine.handle(event, now: now) { carryOut(action) }
      reopenIfNeeded()
    }
  }

  /// Drops the events that were not handled, as the end of the process does.
  func clearInbox() { inbox = [] }

  private func carryOut(_ action: SyncAction) {
    world.note(action)
    switch action {
    case .switchUser(let user):
      if watchStream != nil || writeStream != nil || !opening.isEmpty { fail("the user changes under a stream") }
      streamUser = user
    case .openWatchStream(let id):
      if let problem = watchAttempts.begins(at: now) { fail(problem) }
      opening.append(.watchStreamOpened(id))
    case .openWriteStream(let id): opening.append(.writeStreamOpened(id))
    case .closeWatchStream(let id):
      opening.removeAll { if case .watchStreamOpened(id) = $0 { true } else { false } }
      if watchStream == id { breakWatchStream(nil) }
      watchAttempts.mayBeginAtOnce()
    case .closeWriteStream(let id):
      if case .watchStreamMessage = event { fail("a message on the watch stream ended the write stream") }
      opening.removeAll { if case .writeStreamOpened(id) = $0 { true } else { false } }
      if writeStream == id {
        parting.append((id, writeRequests))
        breakWriteStream(nil)
      }
    case .sendWatch(_, let request):
      reference.sent(request)
      watch.receive(request, world.backend, &world.generator)
    case .sendWrite(let id, .handshake):
      let knowsLabels = world.history.backendKnowsLabels
      inbox.append(.writeStreamMessage(id, WriteResponse(streamToken: [0], knowsBatchLabels: knowsLabels)))
    case .sendWrite(_, .writes(let mutations, _, let label)):
      if !mutations.isEmpty { sent(mutations, label) }
    case .startTimer(let kind, let delay):
      timers.removeAll { $0.kind == kind }
      timers.append((kind, now + delay))
    case .cancelTimer(let kind):
      timers.removeAll { $0.kind == kind }
      if kind == .listenStreamConnectionBackoff { watchAttempts.mayBeginAtOnce() }
    case .raiseSnapshot(let id, let snapshot): raised(id, snapshot)
    case .raiseError(let id, let error): listenerEnded(id, error)
    case .completeWrite(let id, let error): completed(id, error)
    case .answer(let id, .snapshot(let snapshot)): answered(id, snapshot)
    case .answer(let id, .document(let document)): answered(id, document)
    case .answer(let id, .done): openWaits.remove(id)
    case .requestFailed(let id, let error): if openWaits.remove(id) == nil { refused(id, error) }
    case .runBackgroundQuery(let query): backgroundQueries.append(query)
    case .cancelBackgroundQuery(let id): backgroundQueries.first { $0.id == id }?.cancel()
    default: break
    }
  }
}

/// Without the names of modules. A regular expression would be compiled for each event anew.
private func withoutModules(_ text: String) -> String {
  guard text.contains("Hearth") else { return text }
  return ["HearthModel.", "HearthSync.", "HearthCache."].reduce(text) { $0.replacingOccurrences(of: $1, with: "") }
}

extension SyncEvent {
  var brief: String { withoutModules("\(self)") }
}

extension SyncAction {
  var brief: String {
    switch self {
    case .raiseSnapshot(let id, let snapshot):
      "snapshot \(id.rawValue) \(snapshot.isFromCache ? "cache" : "server") \(snapshot.documents.map(\.brief))"
    default: withoutModules("\(self)")
    }
  }
}
