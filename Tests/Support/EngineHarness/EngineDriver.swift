package import HearthModel
package import HearthSync

/// Drives one engine: hands it events one after the other, carries out the actions that it returns, and remembers what is open.
///
/// The one interpreter of ``SyncAction`` outside the client: a new action is understood here, and what tests want to know of it is a new
/// method of ``EngineDriverDelegate``. Everything happens on the caller's thread, and nothing happens unless a test says so: time passes
/// with ``fire(_:)``, and the network answers with the methods of `EngineDriver+Network`.
package final class EngineDriver {
  unowned let delegate: any EngineDriverDelegate
  package let clock: DeviceClock
  package internal(set) var timers = DeviceTimers()
  package var streams = StreamTable()
  /// The user for whom streams are opened.
  package var streamUser: String?

  /// The events that wait, in order.
  package private(set) var inbox: [SyncEvent] = []
  /// The event that is being handled, or was handled last.
  package private(set) var event: SyncEvent?
  package private(set) var isDraining = false

  /// The writes whose callers wait.
  package var openWrites: [WriteID] = []
  /// The documents that the engine wants to read, and the questions to the application.
  package var lookUps: [(id: LookUpID, keys: [DocumentKey])] = []
  package var questions: [(id: ConflictID, conflict: DocumentConflict)] = []
  /// The queries in the background that have not ended, in the order in which they were asked for.
  package private(set) var backgroundQueries: [BackgroundQueryJob] = []

  /// - Parameter clock: the time of the device; one of its own by default.
  package init(delegate: any EngineDriverDelegate, clock: DeviceClock = DeviceClock(), streamUser: String? = nil) {
    self.delegate = delegate
    self.clock = clock
    self.streamUser = streamUser
  }

  package var now: Duration { clock.now }

  // MARK: - The loop

  /// Lets the event happen, and all that follow from it at once. While another one is being handled, it waits for its turn.
  package func post(_ event: SyncEvent) {
    enqueue(event)
    delegate.drain(self)
  }

  /// Handles all events that wait.
  package func drain() {
    guard !isDraining else { return }
    isDraining = true
    while delegate.takesEvents, handleNext() {}
    isDraining = false
    delegate.cameToRest()
  }

  /// Lets the event wait for the next turn of a loop.
  package func enqueue(_ event: SyncEvent) {
    switch event {
    case .writes(let writes): openWrites += writes.map(\.id)
    case .watchStreamClosed(let id, _): endWatchStream(id)
    case .writeStreamClosed(let id, _): if streams.write == id { streams.endWrite() }
    default: break
    }
    inbox.append(event)
  }

  private func endWatchStream(_ id: StreamID) {
    guard streams.watch == id else { return }
    streams.endWatch()
    delegate.watchStreamEnded()
  }

  /// - Returns: false if no event waits.
  package func handleNext() -> Bool {
    guard !inbox.isEmpty else { return false }
    handle(inbox.removeFirst())
    return true
  }

  /// Handles an event before those that wait.
  package func handle(_ event: SyncEvent) {
    self.event = event
    for action in delegate.handle(event, at: now) {
      guard delegate.willCarryOut(action) else { return }
      carryOut(action)
    }
    delegate.didHandle(event)
  }

  func takeBackgroundQuery(at index: Int) -> BackgroundQueryJob { backgroundQueries.remove(at: index) }

  /// The engine is gone, and with it everything but the callers of writes.
  package func engineEnded() {
    for query in backgroundQueries { query.close() }
    (inbox, lookUps, questions, backgroundQueries) = ([], [], [], [])
    timers = DeviceTimers()
    let hadWatchStream = streams.watch != nil
    streams = StreamTable()
    if hadWatchStream { delegate.watchStreamEnded() }
  }

  /// The process is gone, and with it all who wait.
  package func processEnded() {
    engineEnded()
    openWrites = []
  }

  // MARK: - Actions

  private func end(_ write: WriteID, _ error: StatusError?) {
    let index = openWrites.firstIndex(of: write)
    if let index { openWrites.remove(at: index) }
    delegate.completed(write, error, wasOpen: index != nil)
  }

  private func carryOut(_ action: SyncAction) {
    switch action {
    case .openWatchStream(let id): open(StreamTable.Attempt(kind: .watch, id: id))
    case .openWriteStream(let id): open(StreamTable.Attempt(kind: .write, id: id))
    case .closeWatchStream(let id): closeWatchStream(id)
    case .closeWriteStream(let id): closeWriteStream(id)
    case .sendWatch(let id, let request):
      streams.receive(request)
      delegate.received(request, on: id)
    case .sendWrite(let id, let request): send(request, on: id)
    case .switchUser(let user):
      if !streams.isEmpty { delegate.fail("the user changes under a stream") }
      streamUser = user
      delegate.switchedUser()
    case .dropConnection: delegate.droppedConnection()
    case .invalidateCredentials: delegate.invalidatedCredentials()
    case .startTimer(let kind, let delay): timers.start(kind, at: now + delay)
    case .cancelTimer(let kind):
      timers.cancel(kind)
      delegate.cancelled(kind)
    case .lookUp(let id, let keys): lookUps.append((id, keys))
    case .runBackgroundQuery(let query): backgroundQueries.append(query)
    case .cancelBackgroundQuery(let id): backgroundQueries.first { $0.id == id }?.cancel()
    case .askResolver(let id, let conflict):
      delegate.asked(id, conflict)
      questions.append((id, conflict))
    case .cancelQuestion(let id):
      delegate.cancelled(id)
      questions.removeAll { $0.id == id }
    case .conflictsResolved(let reports): delegate.resolved(reports)
    case .raiseSnapshot(let id, let snapshot): delegate.raised(snapshot, for: id)
    case .raiseError(let id, let error): delegate.ended(id, error)
    case .snapshotsInSync(let id): delegate.isInSync(id)
    case .documentsReceived(let id, let count): delegate.received(count, for: id)
    case .writeSaved(let id): delegate.saved(id)
    case .completeWrite(let id, let error): end(id, error)
    case .writeNotSaved(let id, let error): end(id, error)
    case .answer(let id, let answer): delegate.answered(id, answer)
    case .requestFailed(let id, let error): delegate.failed(id, error)
    case .bundleProgress(let id, let progress): delegate.progressed(id, progress)
    case .outboxChanged: delegate.outboxChanged()
    case .statusChanged: delegate.statusChanged()
    case .onlineStateChanged(let state): delegate.onlineStateChanged(state)
    case .log(let level, let text): delegate.logged(level, text)
    case .wakeOthers: delegate.wakeOthers()
    case .yieldCache: delegate.yieldCache()
    }
  }

  private func open(_ attempt: StreamTable.Attempt) {
    if streams.hasStream(attempt.kind) { delegate.fail("a second \(attempt.kind) stream is opened") }
    streams.ask(attempt)
    switch delegate.answer(to: attempt) {
    case .opens: enqueue(endOpening(attempt, with: nil))
    case .fails(let error): enqueue(endOpening(attempt, with: error))
    case .opensAndFails(let error):
      enqueue(endOpening(attempt, with: nil))
      enqueue(attempt.closed(error))
    case .waits: break
    }
  }

  /// - Returns: The event that reports it to the engine.
  func endOpening(_ attempt: StreamTable.Attempt, with error: StatusError?) -> SyncEvent {
    streams.takeOpening(attempt)
    if error == nil { streams.open(attempt) }
    return error.map(attempt.closed) ?? attempt.opened
  }

  private func closeWatchStream(_ id: StreamID) {
    streams.takeOpening(StreamTable.Attempt(kind: .watch, id: id))
    endWatchStream(id)
    delegate.closedWatchStream(id)
  }

  private func closeWriteStream(_ id: StreamID) {
    streams.takeOpening(StreamTable.Attempt(kind: .write, id: id))
    let wasOpen = streams.write == id
    let end = delegate.closedWriteStream(id, wasOpen: wasOpen)
    let unanswered = wasOpen ? streams.batches : []
    if wasOpen { streams.endWrite() }
    switch end {
    case .atOnce: enqueue(.writeStreamClosed(id, nil))
    case .later: streams.park(id, unanswered)
    case .silently: break
    }
  }

  private func send(_ request: WriteRequest, on id: StreamID) {
    delegate.received(request, on: id)
    switch request {
    case .handshake:
      if let answer = delegate.handshake { enqueue(.writeStreamMessage(id, answer)) }
    case .writes(let mutations, _, let label):
      // Without mutations it is the farewell of a stream that is closed in good order.
      guard !mutations.isEmpty, let batch = delegate.sent(SentBatch(mutations, label: label), on: id) else { return }
      streams.append(batch)
    }
  }
}
