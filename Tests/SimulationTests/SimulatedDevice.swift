import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// One engine on a real cache, and the people and the network around it.
final class SimulatedDevice {
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

  private(set) lazy var driver = EngineDriver(delegate: self)
  var failures = InjectedFailures()
  private var isLooking = false

  /// The signed-in user, whose token the backend sees.
  var user: String?
  var isNetworkEnabled = true

  var watch = SimulatedWatch()
  /// The answers that this run of the client has heard.
  var heard: [Int: WriteLedger.Answer] = [:]
  var watchAttempts = WatchAttempts()

  var listeners: [ListenerID: SimulatedListener] = [:]
  var openWaits: Set<RequestID> = []
  /// Listeners that ended through no fault of theirs, and that the application adds again.
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
    if let disturbance = world.history.disturbance {
      failures.statements = disturbance.position..<disturbance.position + disturbance.length
      failures.statementKind = disturbance.kind
    }
    if let copy, let folder { try FileManager.default.copyItem(at: copy.folder, to: folder) }
    client = try Self.open(folder, world.history, user: nil) { _ in }
    if let copy { remember(copy) }
    world.note("\(name) begins")
    injectFailures(into: client.database)
    post(.start)
  }

  /// Ends the process.
  func close() {
    driver.engineEnded()
    client.database.injectFailure = nil
    client.database.close()
    client.cache?.close()
  }

  // MARK: - Failures

  func injectFailures(into database: Database) {
    database.injectFailure = { [unowned self] point in
      if isLooking { return nil }
      if point == .commit { hasCommitted = true }
      let failure = failures.failure(at: point)
      // Streams that are opened or closed because of it begin without a pause.
      if failure != nil { watchAttempts.mayBeginAtOnce() }
      return failure
    }
  }

  /// Looks at the cache without a failure.
  func looking<Result>(_ body: () throws -> Result) rethrows -> Result {
    isLooking = true
    defer { isLooking = false }
    return try body()
  }

  func fail(_ text: String) { world.fail("\(name): \(text)") }

  func post(_ event: SyncEvent) { driver.post(event) }
}

// MARK: - What the engine does

extension SimulatedDevice: DrivenClient {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] {
    world.note("> \(name) \(event.brief)")
    return engine.handle(event, now: now)
  }
  func willCarryOut(_ action: SyncAction) -> Bool {
    world.note(action)
    return true
  }
  func didHandle(_ event: SyncEvent) { reopenIfNeeded() }

  func answer(to attempt: StreamTable.Attempt) -> StreamOpening {
    if attempt.kind == .watch, let problem = watchAttempts.begins(at: now) { fail(problem) }
    return .waits
  }
  func watchStreamEnded() {
    watch = SimulatedWatch()
    reference.watchStreamClosed()
  }
  func closedWatchStream(_ id: StreamID) { watchAttempts.mayBeginAtOnce() }
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd {
    if case .watchStreamMessage = driver.event { fail("a message on the watch stream ended the write stream") }
    return wasOpen ? .later : .silently
  }
  func received(_ request: WatchRequest, on id: StreamID) {
    reference.sent(request)
    watch.receive(request, world.backend, &world.generator)
  }
  var handshake: WriteResponse? {
    WriteResponse(streamToken: [0], knowsBatchLabels: world.history.backendKnowsLabels)
  }
  func cancelled(_ timer: TimerKind) {
    if timer == .listenStreamConnectionBackoff { watchAttempts.mayBeginAtOnce() }
  }

  func answered(_ id: RequestID, _ answer: EngineAnswer) {
    switch answer {
    case .snapshot(let snapshot): answered(id, snapshot)
    case .document(let document): answered(id, document)
    case .done: openWaits.remove(id)
    default: break
    }
  }
  func failed(_ id: RequestID, _ error: StatusError) { if openWaits.remove(id) == nil { refused(id, error) } }
}

/// Without the names of modules. A regular expression would be compiled again for each event.
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
