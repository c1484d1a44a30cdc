internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore
internal import HearthSync
internal import HearthTransport

/// A client whose cache is open: feeds the sync engine with events and carries out its actions.
///
/// Confined to the runtime's queue like everything it owns. Nothing here blocks except the cache's own file access.
final class RunningClient {
  private let post: @Sendable (ClientLoop.Message) -> Void
  private let cache: OpenCache
  private let engine: SyncEngine
  private let clock = ContinuousClock()
  private let startInstant: ContinuousClock.Instant
  private var streams: StreamCarrier
  private var timers: TimerSet
  private var backgroundQueries: BackgroundQueries

  private var listeners: [ListenerID: (listener: Listener<SnapshotEvent>, isOneShot: Bool)] = [:]
  private var syncListeners: [ListenerID: Listener<Void>] = [:]
  private var writes: [WriteID: WriteCompletion] = [:]
  private var requests: [RequestID: ClientLoop.Request] = [:]
  private var listings: [RequestID: OutboxListing] = [:]
  /// Events that follow from the actions being carried out, such as the end of a one-time read.
  private var followUps: [SyncEvent] = []

  let configuration: ClientConfiguration

  /// - Parameter former: the client that this one replaces, after its cache was reopened.
  init(
    _ configuration: ClientConfiguration, continuing former: Remainder? = nil,
    post: @escaping @Sendable (ClientLoop.Message) -> Void
  ) throws {
    self.configuration = configuration
    self.post = post
    let user = former.map { RequestUser($0.handover.user) } ?? RequestUser(configuration.credentials.initialUserID)
    cache = try OpenCache(configuration, userID: user.id)
    engine = SyncEngine(
      localStore: cache.localStore,
      configuration: SyncConfiguration(
        backgroundQueryLimits: configuration.backgroundQueryLimits, backoff: configuration.backoff,
        jitter: { Double.random(in: -0.5...0.5) }))
    startInstant = clock.now
    streams = StreamCarrier(configuration, post: post)
    streams.user = user
    timers = TimerSet(post: post)
    backgroundQueries = BackgroundQueries(queue: configuration.backgroundQueue, post: post)
    if let former { takeOver(former) }
  }

  func start() {
    run(.start)
  }

  func write(_ localWrites: [PendingLocalWrite]) {
    // Before the engine runs: it may answer a write in the same call, for example when the cache cannot store it.
    for write in localWrites {
      if let completion = write.completion { writes[write.id] = completion }
    }
    var random = SystemRandomNumberGenerator()
    run(
      .writes(
        localWrites.map {
          SyncWrite(
            id: $0.id, mutations: $0.mutations, localWriteTime: $0.localWriteTime,
            identity: .random(using: &random))
        }))
  }

  func handle(_ message: ClientLoop.Message) {
    switch message {
    case .listen(let listener, let query, let options, let isOneShot):
      listeners[listener.id] = (listener, isOneShot)
      run(.listen(listener.id, query, options))
    case .unlisten(let id):
      guard listeners.removeValue(forKey: id) != nil else { return }
      run(.unlisten(id))
    case .listenForSync(let listener):
      syncListeners[listener.id] = listener
      run(.addSnapshotsInSyncListener(listener.id))
    case .unlistenForSync(let id):
      guard syncListeners.removeValue(forKey: id) != nil else { return }
      run(.removeSnapshotsInSyncListener(id))
    case .request(let id, let request):
      start(request, id)
    case .setIndexAutoCreation(let isEnabled):
      run(.setIndexAutoCreation(isEnabled))
    case .bundleBytes(let id, let bytes, let taken):
      run(.bundleBytes(id, bytes))
      taken(requests[id] != nil)
    case .bundleEnded(let id, let error):
      run(.bundleEnded(id, error))
    case .stream(let event):
      run(event)
      if case .watchStreamMessage(let id, _) = event { streams.watchMessageHandled(on: id) }
    case .backgroundQueryEnded(let id, let result):
      backgroundQueries.ended(id)
      if case .failure(let error) = result { cache.localStore.noteDamage(error) }
      run(.backgroundQueryEnded(id, result))
    case .backgroundReadingEnded(let id, let failure, let answer):
      backgroundQueries.ended(id)
      if let failure { cache.localStore.noteDamage(failure) }
      if requests.removeValue(forKey: id) != nil { answer() }
    case .continueListing(let id):
      continueListing(id)
    case .timerFired(let kind, let generation):
      guard timers.takeFired(kind, generation: generation) else { return }
      run(.timerFired(kind))
    case .start, .openAgain, .suspend, .resume, .stop, .write, .fromClient:
      break
    }
  }

  private func start(_ request: ClientLoop.Request, _ id: RequestID) {
    switch request {
    case .pendingWrites(let completion):
      do {
        listings[id] = try OutboxListing(of: engine.signedInUser, in: cache.localStore)
        requests[id] = request
        continueListing(id)
      } catch {
        completion(.failure(.firestore(error)))
      }
    case .listIndexes, .explain:
      read(request, id)
    case .setIndexes(_, let completion) where !cache.isPersistent:
      completion(nil)
    case .callBackend(let call):
      if engine.isNetworkUsable { streams.call(call) } else { call.fail(.notAnsweredByServer) }
    default:
      requests[id] = request
      startInEngine(request, id)
    }
  }

  private func startInEngine(_ request: ClientLoop.Request, _ id: RequestID) {
    switch request {
    case .readDocument(let key, _): run(.readDocument(id, key))
    case .readQuery(let query, _): run(.readQuery(id, query))
    case .aggregate(let query, let aggregations, _): run(.readAggregation(id, query, aggregations))
    case .setNetwork(let isEnabled, _): run(isEnabled ? .enableNetwork(id) : .disableNetwork(id))
    case .waitForPendingWrites: run(.waitForPendingWrites(id))
    case .readNamedQuery(let name, _): run(.readNamedQuery(id, name))
    case .setIndexes(let definitions, _): run(.setIndexes(id, definitions))
    case .deleteAllIndexes: run(.deleteAllIndexes(id))
    case .loadBundle, .pendingWrites, .callBackend, .listIndexes, .explain: break
    }
  }

  /// Reads the next page of a list of pending writes. The others follow after the waiting messages.
  private func continueListing(_ id: RequestID) {
    guard case .pendingWrites(let completion)? = requests[id], listings[id] != nil else {
      listings[id] = nil
      return
    }
    let result = Result { try listings[id]?.advance(cache.localStore) }.mapError { NSError.firestore($0) }
    if case .success(nil) = result { return post(.continueListing(id)) }
    requests[id] = nil
    listings[id] = nil
    completion(result.map { $0 ?? [] })
  }

  /// Runs a reading that may take long in the background, where that is possible.
  private func read(_ request: ClientLoop.Request, _ id: RequestID) {
    let store = cache.localStore
    switch request {
    case .listIndexes(let completion):
      read(
        request, id, completion, inBackground: { try store.backgroundIndexListings() },
        onLoop: { try store.indexListings() })
    case .explain(let query, let completion):
      let (clock, startInstant) = (clock, clock.now)
      let elapsed = { @Sendable in clock.now - startInstant }
      let documentsOnLoop = configuration.backgroundQueryLimits.documentsOnLoop
      read(
        request, id, completion,
        inBackground: { try store.backgroundExplanation(of: query, documentsOnLoop: documentsOnLoop, clock: elapsed) },
        onLoop: { try store.explain(query, clock: elapsed) })
    default: break
    }
  }

  private func read<Answer: Sendable>(
    _ request: ClientLoop.Request, _ id: RequestID, _ completion: @escaping @Sendable (Result<Answer, NSError>) -> Void,
    inBackground: () throws -> BackgroundReading<Answer>?, onLoop: () throws -> Answer
  ) {
    let finish = { @Sendable (result: Result<Answer, any Error>) in
      completion(result.mapError { NSError.firestore($0) })
    }
    do {
      guard backgroundQueries.takesReadings, let reading = try inBackground() else {
        return finish(Result { try onLoop() })
      }
      requests[id] = request
      backgroundQueries.start(reading, for: id, answer: finish)
    } catch {
      finish(.failure(error))
    }
  }

  /// Ends everything; waiting tasks get an error, completions of writes are never called.
  func stop(_ completion: @escaping @Sendable () -> Void) {
    run(.shutdown)
    timers.cancelAll()
    for (_, entry) in listeners { entry.listener.endSilently() }
    for (_, listener) in syncListeners { listener.silence() }
    for (_, write) in writes { write.abandon() }
    for (_, request) in requests { request.fail(.terminated) }
    listeners = [:]
    syncListeners = [:]
    writes = [:]
    requests = [:]
    listings = [:]
    backgroundQueries.closeAll()
    cache.close()
    streams.shutdown(completion)
  }

  // MARK: - Reopening the cache

  /// The parts of a client that its successor takes over when the cache is reopened.
  struct Remainder {
    var reason: String
    fileprivate var handover: SyncHandover
    fileprivate var writes: [WriteID: WriteCompletion]
    fileprivate var syncListeners: [ListenerID: Listener<Void>]

    /// Ends the parts when there is no successor.
    func abandon() {
      for (_, listener) in syncListeners { listener.silence() }
      for (_, write) in writes { write.abandon() }
    }
  }

  /// The reason to reopen the cache; nil while it can be used.
  var reopening: Reopening? { cache.localStore.reopening }

  /// Closes the cache so that it can be reopened. Listeners and requests end with `dataLoss`; writes keep waiting for their answers.
  func endForReopening(_ cause: Reopening) -> Remainder {
    let remainder = Remainder(
      reason: cause.reason, handover: engine.handOver(), writes: writes,
      syncListeners: syncListeners)
    cache.markDamage()
    let error = NSError.firestore(
      .dataLoss, "The cache was damaged and has been opened anew. Listen or read again. (\(cause.reason))")
    close(failing: error)
    return remainder
  }

  private func takeOver(_ former: Remainder) {
    writes = former.writes
    syncListeners = former.syncListeners
    engine.takeOver(former.handover, reason: former.reason)
    for id in syncListeners.keys.sorted(by: { $0.rawValue < $1.rawValue }) { run(.addSnapshotsInSyncListener(id)) }
  }

  // MARK: - A suspended process

  /// Releases the cache's folder. The client must not be used until ``resume()`` has returned.
  ///
  /// Background queries end with an error, as they hold locks on the file of their own.
  func suspend() {
    backgroundQueries.cancelAll()
    cache.suspend()
  }

  /// - Throws: When another process has, or had, the folder. The client must then be ended.
  func resume() throws {
    guard try !cache.resume() else { return }
    throw StoreError(
      kind: .unavailable,
      message: "Another process used the cache folder while this one was suspended. Listen and read again.")
  }

  /// Ends everything with an error, and leaves the cache as it is. Writes stay in the outbox.
  func end(_ error: NSError) {
    for (_, listener) in syncListeners { listener.silence() }
    for (_, write) in writes { write.abandon() }
    close(failing: error)
  }

  /// Ends listeners and requests with the error, and closes everything. The caller ends writes and sync listeners.
  private func close(failing error: NSError) {
    timers.cancelAll()
    for (_, entry) in listeners { entry.listener.deliver(.failure(error)) }
    for (_, request) in requests { request.fail(error) }
    (listeners, syncListeners, writes, requests, listings) = ([:], [:], [:], [:], [:])
    backgroundQueries.closeAll()
    cache.close()
    streams.shutdown {}
  }

  // MARK: - Events and actions

  private func run(_ event: SyncEvent) {
    followUps.append(event)
    while !followUps.isEmpty {
      for action in engine.handle(followUps.removeFirst(), now: clock.now - startInstant) {
        carryOut(action)
      }
    }
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id): streams.openWatch(id)
    case .sendWatch(let id, let request): streams.send(request, on: id)
    case .closeWatchStream(let id): streams.closeWatch(id)
    case .openWriteStream(let id): streams.openWrite(id)
    case .sendWrite(let id, let request): streams.send(request, on: id)
    case .closeWriteStream(let id): streams.closeWrite(id)
    case .switchUser(let userID): streams.user = RequestUser(userID)
    case .dropConnection: streams.dropConnection()
    case .startTimer(let kind, let duration): timers.start(kind, after: duration)
    case .cancelTimer(let kind): timers.cancel(kind)
    case .invalidateCredentials: streams.invalidateCredentials()
    case .runBackgroundQuery(let query): backgroundQueries.start(query)
    case .cancelBackgroundQuery(let id): backgroundQueries.cancel(id)
    case .onlineStateChanged(let state): HearthLog.debug("Online state: \(state)")
    case .log(let level, let text): HearthLog.log(level, text)
    case .raiseSnapshot(let id, let snapshot): raise(id, snapshot)
    case .raiseError(let id, let error): raise(id, error)
    case .snapshotsInSync(let id): syncListeners[id]?.deliver(())
    case .completeWrite(let id, let error): writes.removeValue(forKey: id)?.finish(error.map(NSError.firestore))
    case .completeRequest, .documentRead, .queryRead, .aggregationRead, .namedQueryRead, .readFailed:
      answer(action)
    case .bundleProgress(let id, let progress):
      if case .loadBundle(let observer)? = requests[id] { observer.progress(progress) }
    }
  }

  private func raise(_ id: ListenerID, _ snapshot: ViewSnapshot) {
    guard let (listener, isOneShot) = listeners[id] else { return }
    if isOneShot {
      listeners[id] = nil
      followUps.append(.unlisten(id))
    }
    listener.deliver(.success(snapshot))
  }

  private func raise(_ id: ListenerID, _ error: StatusError) {
    listeners.removeValue(forKey: id)?.listener.deliver(.failure(.firestore(error)))
  }

  private func answer(_ action: SyncAction) {
    switch action {
    case .completeRequest(let id, let error):
      switch requests.removeValue(forKey: id) {
      case .setNetwork(_, let completion)?, .waitForPendingWrites(let completion)?, .setIndexes(_, let completion)?,
        .deleteAllIndexes(let completion)?:
        completion(error.map(NSError.firestore))
      case .loadBundle(let observer)?:
        observer.completion(error.map(NSError.firestore))
      case let request?:
        request.fail(error.map(NSError.firestore) ?? .firestore(.internal, "The request ended without an answer."))
      case nil:
        break
      }
    case .documentRead(let id, let document):
      if case .readDocument(_, let completion)? = requests.removeValue(forKey: id) { completion(.success(document)) }
    case .queryRead(let id, let snapshot):
      if case .readQuery(_, let completion)? = requests.removeValue(forKey: id) { completion(.success(snapshot)) }
    case .aggregationRead(let id, let values):
      if case .aggregate(_, _, let completion)? = requests.removeValue(forKey: id) { completion(.success(values)) }
    case .namedQueryRead(let id, let query):
      if case .readNamedQuery(_, let completion)? = requests.removeValue(forKey: id) { completion(.success(query)) }
    case .readFailed(let id, let error):
      requests.removeValue(forKey: id)?.fail(.firestore(error))
    default:
      break
    }
  }
}
