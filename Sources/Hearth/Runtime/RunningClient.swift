internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthPlan
internal import HearthStore
internal import HearthSync
internal import HearthTransport

/// An open cache with its engine, streams, timers and callers: feeds the sync engine with events and carries out its actions.
///
/// ``ClientLoop`` makes, suspends, replaces and ends it. Confined to the runtime's queue like everything it owns. Nothing here blocks
/// except the cache's own file access.
final class RunningClient {
  /// A message from the streams, timers and queries of a client to itself.
  enum Message: Sendable {
    case stream(SyncEvent)
    case backgroundQueryEnded(BackgroundQueryID, Result<BackgroundQueryResult, any Error>)
    /// A background reading has ended. `answer` completes its request, if that still waits.
    case backgroundReadingEnded(RequestID, failure: (any Error)?, answer: @Sendable () -> Void)
    /// Time to read the next page of a list of pending writes.
    case continueListing(RequestID)
    /// Time to read the outbox for its observers, or the next page of it.
    case readOutbox
    /// Time to read the status for its observers.
    case readStatus
    case timerFired(TimerKind, generation: Int)
    /// Another process that shares the cache has news.
    case othersChanged
    /// The process that had the streams for all has ended.
    case leaseEnded
  }

  let queue: DispatchQueue
  let post: @Sendable (Message) -> Void
  let cache: OpenCache
  let engine: SyncEngine
  var clock: ContinuousClock { .continuous }
  private let startInstant: ContinuousClock.Instant
  private var streams: StreamCarrier
  private(set) var timers: TimerSet
  private var backgroundQueries: BackgroundQueries
  private var conflictQuestions: ConflictQuestions
  /// Nil for a cache that no other process can share.
  private var wakeUps: ClientWakeUps?
  /// Asked of this client by other processes that use the cache.
  /// The cache must be given back for a while.
  private var mustYield = false

  private var listeners: [ListenerID: (listener: Listener<SnapshotEvent>, isOneShot: Bool)] = [:]
  /// Written here and in RunningClient+Reopening.swift, like the next two.
  var syncListeners: [ListenerID: Listener<Void>] = [:]
  var writes: [WriteID: WriteCompletion] = [:]
  /// The operations that have begun and are not completed.
  var requests: [RequestID: ClientRequest] = [:]
  /// The operations that the client begins at its start, because a damaged cache has refused them. Written in
  /// RunningClient+Reopening.swift.
  var takenOverRequests: [RequestID: ClientRequest] = [:]
  /// Written in OutboxReading.swift.
  var listings: [RequestID: OutboxListing] = [:]
  /// Written in OutboxReading.swift.
  var outbox = OutboxObservation()
  /// Written in StatusReading.swift.
  var status = StatusObservation()
  /// Written in StatusReading.swift.
  var inStepTimes = InSyncTimes()
  /// Written in OutboxReading.swift.
  var saveAttemptsRest: ContinuousClock.Instant?
  /// Written in OutboxReading.swift.
  var outboxReading: (listing: OutboxListing, began: ContinuousClock.Instant)?
  /// The requests for receipts, with the names under which they would hear of the end of their writes.
  private var receiptRequests: [RequestID: WriteID] = [:]
  /// Events that follow from the actions being carried out, such as the end of a one-time read.
  private var followUps: [SyncEvent] = []
  private var end = End.none

  let configuration: ClientConfiguration
  let lostWrites: LostWrites

  /// - Parameters:
  ///   - queue: The queue that calls every method.
  ///   - lostWrites: Gets the writes that nobody hears of.
  ///   - former: The client that this one replaces, after its cache was reopened.
  init(
    _ configuration: ClientConfiguration, on queue: DispatchQueue, _ lostWrites: LostWrites = LostWrites(),
    continuing former: Remainder? = nil, post: @escaping @Sendable (Message) -> Void
  ) throws {
    self.configuration = configuration
    self.lostWrites = lostWrites
    self.queue = queue
    self.post = post
    let user = former.map { RequestUser(name: $0.handover.user) } ?? configuration.credentials.initialUser
    cache = try OpenCache(configuration, userID: user.name)
    engine = SyncEngine(
      localStore: cache.localStore,
      configuration: SyncConfiguration(
        backgroundQueryLimits: configuration.backgroundQueryLimits,
        undeliverableWrites: configuration.outbox.undeliverableWrites, conflictRules: configuration.conflicts.rules,
        backoff: configuration.backoff,
        jitter: configuration.jitter))
    cache.localStore.rejectedBatchLimits = configuration.outbox.rejectedBatchLimits
    startInstant = .now
    streams = StreamCarrier(configuration, post: post)
    streams.user = user
    timers = TimerSet(post: post)
    backgroundQueries = BackgroundQueries(queue: configuration.backgroundQueue, post: post)
    conflictQuestions = ConflictQuestions(configuration.conflicts, post: post)
    wakeUps = cache.client.flatMap { ClientWakeUps($0, post: post) }
    if let former { takeOver(former) }
  }

  func start() {
    run(.start)
    for (id, request) in takenOverRequests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      begin(request, id)
    }
    takenOverRequests = [:]
  }

  private func begin(_ request: ClientRequest, _ id: RequestID) {
    requests[id] = request
    request.begin(self, id)
  }

  // MARK: - Calls and messages

  func handle(_ call: ClientCall) {
    switch call {
    case .writes(let writes):
      write(writes)
    case .listen(let listener, let query, let options, let isOneShot):
      if !isOneShot { configuration.instruments.metrics?.listenerStarted() }
      listeners[listener.id] = (listener, isOneShot)
      run(.listen(listener.id, query, options))
    case .unlisten(let id):
      guard listeners.removeValue(forKey: id) != nil else { return }
      run(.unlisten(id))
    case .abandonRead(let id):
      if listeners[id] != nil { run(.abandonRead(id)) }
    case .listenForSync(let listener):
      syncListeners[listener.id] = listener
      run(.addSnapshotsInSyncListener(listener.id))
    case .unlistenForSync(let id):
      guard syncListeners.removeValue(forKey: id) != nil else { return }
      run(.removeSnapshotsInSyncListener(id))
    case .observeOutbox(let listener):
      outbox.listeners[listener.id] = listener
      run(.observeOutbox(true))
      readOutboxSoon()
    case .unobserveOutbox(let id):
      guard outbox.listeners.removeValue(forKey: id) != nil, outbox.listeners.isEmpty else { return }
      run(.observeOutbox(false))
    case .observeStatus(let listener):
      observeStatus(listener)
    case .unobserveStatus(let id):
      unobserveStatus(id)
    case .request(let id, let request):
      begin(request, id)
    case .bundleBytes(let id, let bytes, let taken):
      // A bundle whose end was reported would start again with what comes after that.
      if requests[id] != nil {
        configuration.instruments.handle(.bundleBytes(id, bytes)) { run(.bundleBytes(id, bytes)) }
      }
      taken(requests[id] != nil)
    case .bundleEnded(let id, let error):
      if requests[id] != nil { run(.bundleEnded(id, error)) }
    case .setIndexAutoCreation(let isEnabled):
      run(.setIndexAutoCreation(isEnabled))
    case .changeUser(let user):
      run(.changeUser(user))
    }
  }

  func handle(_ message: Message) {
    guard !isEnded else { return }
    defer { finishStop() }
    switch message {
    case .stream(let event):
      configuration.instruments.handle(event) { run(event) }
      if case .watchStreamMessage(let id, _) = event { streams.watchMessageHandled(on: id) }
    case .backgroundQueryEnded(let id, let result):
      backgroundQueries.ended(id)
      if case .failure(let error) = result { cache.localStore.noteDamage(error) }
      run(.backgroundQueryEnded(id, result))
    case .backgroundReadingEnded(let id, let failure, let answer):
      let wasInterrupted = backgroundQueries.ended(id)
      if let failure {
        cache.localStore.noteDamage(failure)
        if wasInterrupted, let request = requests[id] { return request.begin(self, id) }
      }
      complete(id, answer)
    case .continueListing(let id):
      continueListing(id)
    case .readOutbox:
      readOutbox()
    case .readStatus:
      readStatus()
    case .timerFired(let kind, let generation):
      guard timers.takeFired(kind, generation: generation) else { return }
      if kind == .clientMetadataRefresh {
        makeMissingFiles()
        lookForDamage()
        wakeUps?.watchLease(!engine.isPrimary, isAgain: true, cache.client)
      }
      configuration.instruments.handle(.timerFired(kind)) { run(.timerFired(kind)) }
    case .othersChanged:
      lookForDamage()
      run(.othersChanged)
    case .leaseEnded:
      run(.timerFired(.clientMetadataRefresh))
    }
  }

  private func endWakeUps() {
    wakeUps?.end()
    wakeUps = nil
  }

  /// Another process may have found the file damaged and wait for this one to close it, or the files may have been deleted.
  private func lookForDamage() {
    do {
      try cache.localStore.lookForFiles()
      if let damage = cache.markedDamage { cache.localStore.noteDamagedFile(damage) }
    } catch {
      // The cache is reopened.
    }
  }

  private func makeMissingFiles() {
    do {
      guard let client = cache.client, try client.makeMissing() else { return }
      endWakeUps()
      wakeUps = ClientWakeUps(client, post: post)
    } catch {
      HearthLog.log(.warning, "The deleted files of this client could not be created again: \(error)")
    }
  }

  private func wakeOthers() {
    do {
      cache.client?.wake(try cache.localStore.otherClientNames())
    } catch {
      // They look for news by themselves before long.
      HearthLog.debug("Other processes were not woken: \(error)")
    }
  }

  private func write(_ calls: [WriteCall]) {
    // Before the engine runs: it may answer a write in the same call, for example when the cache cannot store it.
    for call in calls {
      if let completion = call.completion { writes[call.write.id] = completion }
    }
    var random = SystemRandomNumberGenerator()
    run(
      .writes(
        calls.map { call in
          var write = call.write
          if write.identity == nil { write.identity = .random(using: &random) }
          return write
        }))
  }

  // MARK: - Requests

  /// - Parameter inMemory: The answer of a client whose cache is in memory; nil if the engine answers there too.
  func ask(_ request: EngineRequest, _ id: RequestID, inMemory: EngineAnswer?) {
    if let inMemory, !cache.isPersistent { return answer(id, .success(inMemory)) }
    run(.request(id, request))
  }

  func listIndexes(_ id: RequestID, _ completion: @escaping @Sendable (Result<[IndexListing], NSError>) -> Void) {
    let store = cache.localStore
    read(
      id, completion, inBackground: { try store.indexes.backgroundListings() }, onLoop: { try store.indexes.listings() }
    )
  }

  func measureCache(_ id: RequestID, _ completion: @escaping @Sendable (Result<CacheSizes, NSError>) -> Void) {
    let store = cache.localStore
    read(id, completion, inBackground: { try store.backgroundSizes() }, onLoop: { try store.sizes() })
  }

  func explain(
    _ query: HearthModel.Query, _ id: RequestID,
    _ completion: @escaping @Sendable (Result<QueryExecution, NSError>) -> Void
  ) {
    let store = cache.localStore
    let (clock, startInstant) = (clock, clock.now)
    let elapsed = { @Sendable in clock.now - startInstant }
    let documentsOnLoop = configuration.backgroundQueryLimits.documentsOnLoop
    read(
      id, completion,
      inBackground: {
        try store.queries.backgroundExplanation(of: query, documentsOnLoop: documentsOnLoop, clock: elapsed)
      },
      onLoop: { try store.queries.explain(query, clock: elapsed) })
  }

  /// Runs a reading that may take long in the background, where that is possible.
  private func read<Answer: Sendable>(
    _ id: RequestID, _ completion: @escaping @Sendable (Result<Answer, NSError>) -> Void,
    inBackground: () throws -> BackgroundReading<Answer>?, onLoop: () throws -> Answer
  ) {
    let finish = { @Sendable (result: Result<Answer, any Error>) in
      completion(result.mapError { NSError.firestore($0) })
    }
    do {
      guard backgroundQueries.takesReadings, let reading = try inBackground() else {
        let result = Result { try onLoop() }
        return complete(id) { finish(result) }
      }
      backgroundQueries.start(reading, for: id, answer: finish)
    } catch {
      complete(id) { finish(.failure(error)) }
    }
  }

  // MARK: - The outbox

  /// Answers with what one reading of the cache says.
  func read<Answer: Sendable>(
    _ id: RequestID, _ completion: @escaping @Sendable (Result<Answer, NSError>) -> Void,
    _ body: (LocalStore, _ user: String?) throws -> Answer
  ) {
    finish(id, Result { try body(cache.localStore, engine.signedInUser) }, completion)
  }

  /// Completes a request with a result of the cache, unless the cache was found damaged and the request must start again in the next one.
  func finish<Answer: Sendable>(
    _ id: RequestID, _ result: Result<Answer, any Error>, _ completion: (Result<Answer, NSError>) -> Void
  ) {
    if case .failure(let error) = result, isTakenOver(id, error) { return }
    complete(id) { completion(result.mapError { NSError.firestore($0) }) }
  }

  /// Looks up a write by its receipt; if it still waits, `follower` hears of its end.
  func followReceipt(
    _ id: RequestID, _ identity: BatchIdentity, _ write: WriteID, _ follower: WriteCompletion
  ) {
    writes[write] = follower
    receiptRequests[id] = write
    run(.request(id, .readFate(identity, write)))
  }

  /// The outcome of a write whose completion was reported.
  private func outcome(of identity: BatchIdentity, _ error: StatusError?) -> Result<WriteOutcome, NSError> {
    // The stored outcome counts: another process may have heard the answer, and this one only that its notice was lost.
    if case .ended(let outcome)? = try? cache.localStore.outbox.fate(of: identity) { return .success(outcome) }
    return error.map { .failure(.firestore($0)) } ?? .success(.committed(.none, []))
  }

  /// Ends a write that is not stored, as far as is known.
  func writeNotSaved(_ id: WriteID, _ error: StatusError) {
    if writes[id]?.hasCaller != true { lostWrites.add(unheard: 1) }
    completeWrite(id, error)
  }

  func completeWrite(_ id: WriteID, _ error: StatusError?) {
    guard let write = writes.removeValue(forKey: id) else { return }
    if let receipt = write.receipt { receipt.ended(outcome(of: receipt.identity, error)) }
    write.finish(error.map(NSError.firestore))
  }

  func callBackend(_ call: BackendCall, _ id: RequestID) {
    // The call itself completes the request, also when the client ends before it.
    complete(id) {
      let isWorthTrying = engine.isNetworkUsable && !(call.failsWhenOffline && engine.isOffline)
      if isWorthTrying { streams.call(call) } else { call.fail(.notAnsweredByServer) }
    }
  }

  private func answer(_ id: RequestID, _ result: Result<EngineAnswer, StatusError>) {
    if let write = receiptRequests.removeValue(forKey: id) {
      if case .success(.fate(.pending)) = result {} else { writes[write] = nil }
    }
    requests.removeValue(forKey: id)?.answer(result)
  }

  /// Runs the completion of a request that still waits.
  func complete(_ id: RequestID, _ completion: () -> Void) {
    if requests.removeValue(forKey: id) != nil { completion() }
  }

  // MARK: - Ends

  private enum End {
    case none
    /// Nothing more is sent. The client ends when the backend has answered what was sent, or that takes too long.
    case awaitingAnswers(@Sendable (NSError?) -> Void)
    case reached
  }

  var isEnded: Bool {
    if case .reached = end { return true }
    return false
  }

  /// Ends everything; waiting tasks get an error. Completions of writes are called only if the writes could not be stored, or are answered now.
  ///
  /// The next client sends a batch again that was sent and is not answered, and a backend without labels would commit it twice. So this client
  /// accepts the answers that come before the write stream has ended, as after a change of the user. The transport ends it within a second.
  ///
  /// - Parameter completion: Called once from any thread when everything is closed, with an error if there are writes that could not be
  ///   saved.
  func stop(_ completion: @escaping @Sendable (NSError?) -> Void) {
    run(.stopSending)
    for (_, entry) in listeners { entry.listener.endSilently() }
    for (_, listener) in syncListeners { listener.remove() }
    for (_, request) in requests { request.fail(.terminated) }
    listeners = [:]
    syncListeners = [:]
    requests = [:]
    listings = [:]
    outbox.end(.failure(.terminated))
    status.end(.failure(.terminated))
    end = .awaitingAnswers(completion)
    finishStop()
  }

  /// Closes everything if the client is being stopped and no answer is missing, or none can be stored.
  ///
  /// - Parameter isUrgent: True to wait for no answer.
  func finishStop(isUrgent: Bool = false) {
    guard case .awaitingAnswers(let completion) = end else { return }
    let canStoreAnswers = reopening == nil && endingError == nil && !mustYield
    guard isUrgent || !canStoreAnswers || !engine.awaitsAnswers else { return }
    end = .reached
    run(.shutdown)
    refuseUnsavedWrites()
    timers.cancelAll()
    let place = cache.isPersistent ? AbandonedWrites.Place.disk : .memory
    AbandonedWrites(reason: .terminated, place: place, unsaved: []).end(writes, lostWrites)
    writes = [:]
    // Also those that an answer has raised since.
    conflictQuestions.cancelAll()
    endBackgroundReadings()
    endWakeUps()
    cache.close()
    let error = lostWrites.takeAll()
    streams.shutdown { completion(error) }
  }

  /// Ends the writes that are not stored and will not be.
  private func refuseUnsavedWrites() {
    let ids = engine.heldWriteIDs
    guard !ids.isEmpty else { return }
    let error = StatusError.notSaved(writeCount: ids.count)
    HearthLog.error("\(error.message)")
    lostWrites.add(ids, writes, because: StatusError.fileIsHeld)
    for id in ids { writes.removeValue(forKey: id)?.refuse(.firestore(error)) }
  }

  // MARK: - A suspended process

  /// Releases the cache's folder. The client must not be used until ``resume()`` has returned.
  ///
  /// Background queries are cancelled, as they hold locks on the file of their own, and run again afterwards.
  func suspend() {
    backgroundQueries.cancelForSuspension()
    run(.suspend)
    endWakeUps()
    cache.suspend()
  }

  /// Goes on with the folder. The client must be ended if that fails, unless it is tried again.
  ///
  /// - Returns: False when another process had the folder for itself in between.
  /// - Throws: As `OpenedCache.resume()`.
  func resume() throws -> Bool {
    guard try cache.resume() else { return false }
    wakeUps = cache.client.flatMap { ClientWakeUps($0, post: post) }
    // Another one may have recovered the file, or waits for this one to close it. Then nothing is read from it any more.
    lookForDamage()
    if reopening == nil { run(.resume) }
    return true
  }

  /// True if the process that has the folder of the suspended client for itself has changed nothing in it yet.
  var isFolderUnchanged: Bool { cache.isFolderUnchanged }

  /// The error of a client whose folder another process has used while it was suspended.
  static let folderWasUsed = StoreError(
    kind: .unavailable,
    message: "Another process used the cache folder while this one was suspended. Listen and read again.")

  /// True while another process wants the cache for itself: to delete it, to take it over or to migrate it.
  var isCacheWanted: Bool { cache.isWantedByOther }

  /// Returns true, once, if another process has asked for the cache and still wants it.
  func takeRequestToYield() -> Bool {
    defer { mustYield = false }
    return mustYield && isCacheWanted
  }

  /// The error with which the client must end: a newer release has migrated the cache, or others use it with another backend. Nil while the
  /// client may go on.
  var endingError: NSError? { cache.localStore.ending.map { .firestore(opening: $0) } }

  /// The error of everything after another process has deleted the cache or taken it over.
  static var cacheWasTaken: NSError {
    .firestore(
      .failedPrecondition,
      "Another process has cleared the cache or taken it over. Terminate this client, and use a new Firestore object.")
  }

  /// Closes the cache that this client must not use any more, and ends everything with an error.
  func giveWay(_ error: NSError) {
    run(.shutdown)
    end(error)
  }

  /// Ends everything with an error, and leaves the cache as it is, which this client cannot read any more. Writes that are not stored yet
  /// are refused. Listeners for "snapshots in sync" stay with the loop, which adds them to the next client.
  func end(_ error: NSError) {
    AbandonedWrites(reason: error, place: .outOfReach, unsaved: Set(engine.heldWriteIDs)).end(writes, lostWrites)
    close(failing: error)
  }

  /// Ends the readings outside the loop. No other connection of this client has the cache's file open when this returns.
  func endBackgroundReadings() { backgroundQueries.closeAll() }

  /// Ends listeners and requests with the error, and closes everything. The caller ends writes and sync listeners.
  func close(failing error: NSError) {
    timers.cancelAll()
    for (_, entry) in listeners { entry.listener.deliver(.failure(error)) }
    for (_, request) in requests { request.fail(error) }
    (listeners, syncListeners, writes, requests, listings) = ([:], [:], [:], [:], [:])
    outbox.end(.failure(error))
    status.end(.failure(error))
    conflictQuestions.cancelAll()
    endBackgroundReadings()
    endWakeUps()
    cache.close()
    streams.shutdown {}
  }

  // MARK: - Events and actions

  func run(_ event: SyncEvent) {
    queue.assertIsCurrent()
    if case .conflictAnswered(let id, _) = event { conflictQuestions.answered(id) }
    followUps.append(event)
    while !followUps.isEmpty {
      for action in engine.handle(followUps.removeFirst(), now: clock.now - startInstant, wallTime: .now()) {
        carryOut(action)
      }
    }
    wakeUps?.watchLease(!engine.isPrimary, cache.client)
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id): streams.openWatch(id)
    case .sendWatch(let id, let request): streams.send(request, on: id)
    case .closeWatchStream(let id): streams.closeWatch(id)
    case .openWriteStream(let id): streams.openWrite(id)
    case .sendWrite(let id, let request): streams.send(request, on: id)
    case .closeWriteStream(let id): streams.closeWrite(id)
    case .switchUser(let user): streams.user = RequestUser(name: user)
    case .dropConnection: streams.dropConnection()
    case .startTimer(let kind, let duration):
      timers.start(kind, after: duration)
      if kind.isAttempt { readStatusSoon() }
    case .cancelTimer(let kind): timers.cancel(kind)
    case .invalidateCredentials: streams.invalidateCredentials()
    case .wakeOthers: wakeOthers()
    case .yieldCache: mustYield = true
    case .runBackgroundQuery(let query): backgroundQueries.start(query)
    case .cancelBackgroundQuery(let id): backgroundQueries.cancel(id)
    case .lookUp(let id, let keys): streams.lookUp(id, keys)
    case .askResolver(let id, let conflict): conflictQuestions.ask(id, conflict)
    case .cancelQuestion(let id): conflictQuestions.cancel(id)
    case .conflictsResolved(let reports): configuration.instruments.metrics?.resolved(reports)
    case .onlineStateChanged(let state): HearthLog.debug("Online state: \(state)")
    case .log(let level, let text): HearthLog.log(level, text)
    case .raiseSnapshot(let id, let snapshot): raise(id, snapshot)
    case .raiseError(let id, let error): raise(id, error)
    case .snapshotsInSync(let id): syncListeners[id]?.deliver(())
    case .documentsReceived(let id, let count): listeners[id]?.listener.received?(count)
    case .writeSaved(let id): writes[id]?.receipt?.saved()
    case .outboxChanged: readOutboxSoon()
    case .statusChanged: readStatusSoon()
    case .writeNotSaved(let id, let error): writeNotSaved(id, error)
    case .completeWrite(let id, let error): completeWrite(id, error)
    case .answer(let id, let result): answer(id, .success(result))
    case .requestFailed(let id, let error): if !isTakenOver(id, error) { answer(id, .failure(error)) }
    case .bundleProgress(let id, let progress): requests[id]?.progress(progress)
    }
  }

  private func raise(_ id: ListenerID, _ snapshot: ViewSnapshot) {
    guard let (listener, isOneShot) = listeners[id] else { return }
    if isOneShot {
      listeners[id] = nil
      followUps.append(.unlisten(id))
    }
    var snapshot = snapshot
    if isOneShot, !snapshot.isAnswered { snapshot.obstacle = engine.connectionObstacle }
    listener.deliver(.success(snapshot))
  }

  private func raise(_ id: ListenerID, _ error: StatusError) {
    listeners.removeValue(forKey: id)?.listener.deliver(.failure(.firestore(error)))
  }
}
