internal import HearthCache
internal import HearthModel

/// Talks to the backend: owns both streams, what is watched and sent on them, and the online state.
///
/// It reads and writes no storage. The engine tells it what to watch and which batches to send, and carries out the actions
/// that each method returns, in order. An action `onlineStateChanged` is also the sign to show the new state to the views.
///
/// | state | written by |
/// |---|---|
/// | `offlineCauses` | ``forbid(_:)``, ``allow(_:)``, ``rest(for:)``, ``closeStreams(for:)`` |
/// | `online` | the network switch, and all that happens to the watch stream |
/// | `targets` | ``watch(_:confirmed:)``, ``unwatch(_:)``, ``forget(_:awaitingRemoval:)``, ``snapshotStored(_:)`` |
/// | `watchStream`, `aggregator` | events of the watch stream; an aggregator lives as long as its stream |
/// | `pipeline` | events of the write stream, ``add(_:)`` |
struct BackendLink {
  private let configuration: SyncConfiguration
  private let databaseID: DatabaseID

  /// Monotonic time of the event being handled.
  private var now: Duration = .zero
  private var lastStreamID = 0
  private var offlineCauses: Set<OfflineCause> = [.notStarted]
  private var online: OnlineStateMachine

  /// The targets that the backend is, or will be, asked for.
  private var targets: [TargetID: TargetData] = [:]
  private var watchStream: WatchStream
  private var aggregator = WatchChangeAggregator()
  /// The error with which the last watch stream ended; nil once the backend has answered.
  private(set) var lastWatchError: StatusError?

  private var pipeline: WritePipeline

  init(configuration: SyncConfiguration, databaseID: DatabaseID, cacheID: String, user: String?) {
    self.configuration = configuration
    self.databaseID = databaseID
    online = OnlineStateMachine(timeout: configuration.onlineStateTimeout)
    watchStream = WatchStream(configuration: configuration)
    pipeline = WritePipeline(configuration: configuration, cacheID: cacheID, user: user)
  }

  // MARK: - State

  var onlineState: OnlineState { online.state }
  /// True if calls to the backend make sense. A client without streams makes its calls itself.
  var isNetworkUsable: Bool { offlineCauses.isSubset(of: [.secondary]) }
  /// True if the watch stream may be open.
  var canWatch: Bool { offlineCauses.isSubset(of: [.outboxFailure]) }
  /// True if batches may be sent that were not sent before.
  var canWrite: Bool { offlineCauses.isSubset(of: [.snapshotFailure]) }
  /// The number of batches that are sent, or about to be, and not answered.
  var outstandingWriteCount: Int { pipeline.batches.count }

  func isForbidden(for cause: OfflineCause) -> Bool { offlineCauses.contains(cause) }

  /// Takes the time of the next event.
  mutating func advance(to now: Duration) {
    self.now = now
  }

  /// The cache shows this user's outbox from now on. Comes while no stream is open.
  mutating func serve(_ user: String?) {
    assert(!watchStream.isStarted && !pipeline.stream.isStarted, "The user changes under a stream.")
    pipeline.serve(user)
  }

  func assertInvariants() {
    pipeline.assertInvariants()
    assert(canWatch || !watchStream.isStarted, "The watch stream is started in spite of \(offlineCauses).")
  }

  // MARK: - The network

  /// Notes a cause, before the start or before the streams are closed.
  mutating func forbid(_ cause: OfflineCause) {
    offlineCauses.insert(cause)
  }

  /// Removes a cause.
  ///
  /// - Returns: True if it was there.
  mutating func allow(_ cause: OfflineCause) -> Bool {
    offlineCauses.remove(cause) != nil
  }

  /// Closes what must not be open for a cause that came from the storage. The write stream stays open with the batches that
  /// were sent: see ``SyncEngine/goOffline(after:retrying:)``.
  mutating func rest(for cause: OfflineCause?) -> [SyncAction] {
    if let cause { offlineCauses.insert(cause) }
    guard !canWatch else { return [] }
    return stopWatching() + setOnlineState(.offline)
  }

  mutating func closeStreams() -> [SyncAction] {
    stopWatching() + pipeline.stop()
  }

  /// Closes the streams, which are to be opened again soon, for other credentials or on another connection.
  mutating func closeStreams(for cause: OfflineCause) -> [SyncAction] {
    let usedNetwork = canWatch
    offlineCauses.insert(cause)
    return closeStreams() + (usedNetwork ? setOnlineState(.unknown) : [])
  }

  /// Opens the watch stream without a pause, if there is a use for it and nothing forbids it.
  mutating func resumeWatching() -> [SyncAction] {
    guard canWatch else { return [] }
    watchStream.inhibitBackoff()
    if shouldStartWatchStream { return startWatchStream() }
    return watchStream.isStarted ? [] : setOnlineState(.unknown)
  }

  /// Lets the next start of the write stream be without a pause.
  mutating func resumeWriting() {
    if canWrite { pipeline.inhibitBackoff() }
  }

  mutating func setOnlineState(_ state: OnlineState) -> [SyncAction] {
    changeOnlineState { $0.set(state) }
  }

  /// A timer fired that a stream or the online state asked for.
  mutating func timerFired(_ kind: TimerKind) -> [SyncAction] {
    switch kind {
    case .listenStreamIdle:
      return watchStreamIdle()
    case .listenStreamConnectionBackoff:
      return opening { $0.watchStream.backoffTimerFired(now: $0.now, nextID: $1) }
    case .writeStreamIdle:
      return pipeline.idleTimerFired()
    case .writeStreamConnectionBackoff:
      return opening { $0.pipeline.backoffTimerFired(now: $0.now, nextID: $1) }
    case .onlineStateTimeout:
      let isWaiting = awaitsResults
      return changeOnlineState { $0.timerFired(isWaiting: isWaiting) }
    case .asyncQueueRetry, .lruGarbageCollection, .indexBackfill, .clientMetadataRefresh, .conflictRetry:
      assertionFailure("The timer \(kind) is none of the link's.")
      return []
    }
  }

  private mutating func changeOnlineState(
    _ change: (inout OnlineStateMachine) -> [OnlineStateMachine.Action]
  ) -> [SyncAction] {
    let timeout = configuration.onlineStateTimeout
    return change(&online).map { $0.syncAction(timeout: timeout) }
  }

  /// Does something that may open a stream, under the next number.
  private mutating func opening(_ body: (inout BackendLink, () -> StreamID) -> [SyncAction]) -> [SyncAction] {
    var last = lastStreamID
    let actions = body(&self) {
      last += 1
      return StreamID(rawValue: last)
    }
    lastStreamID = last
    return actions
  }
}

// MARK: - Watching

extension BackendLink {
  func isWatched(_ target: TargetID) -> Bool { targets[target] != nil }

  /// The target as the backend would be asked for it now; nil if it is not watched.
  func request(for target: TargetID) -> TargetData? { targets[target] }

  /// True if what comes for the target belongs to an earlier listen, because answers to requests are outstanding.
  func awaitsAnswer(_ target: TargetID) -> Bool { aggregator.awaitsAnswer(target) }

  /// Asks the backend for a target, now or as soon as the stream is open.
  mutating func watch(_ target: TargetData, confirmed: ConfirmedKeys) -> [SyncAction] {
    guard targets[target.targetID] == nil else { return [] }
    targets[target.targetID] = target
    if shouldStartWatchStream { return startWatchStream() }
    let request = watchStream.isOpen ? sendAdd(target, confirmed) : []
    // A read on a stream that was started before has a right to an answer in time as well.
    return request + (watchStream.isStarted ? changeOnlineState { $0.requestSent() } : [])
  }

  mutating func unwatch(_ target: TargetID) -> [SyncAction] {
    guard targets.removeValue(forKey: target) != nil else { return [] }
    if watchStream.isOpen {
      return stopSending(target) + (targets.isEmpty ? watchStream.markIdle() : [])
    }
    // An attempt that failed before stays known until the next one is over, so that the next read need not wait for it.
    return targets.isEmpty && canWatch ? changeOnlineState { $0.lastTargetRemoved() } : []
  }

  /// Lets the backend stop sending a target; what it sent before its answer does not count.
  mutating func stopSending(_ target: TargetID) -> [SyncAction] {
    assert(watchStream.isOpen, "Target \(target) is removed on a stream that is not open, so no answer would come.")
    aggregator.requestSent(target)
    return watchStream.send(.removeTarget(target))
  }

  /// Forgets a target of which the backend knows nothing any more, or will say so.
  mutating func forget(_ target: TargetID, awaitingRemoval: Bool) -> [SyncAction] {
    assert(targets[target] != nil, "Target \(target) is forgotten, which is not watched.")
    targets[target] = nil
    if !awaitingRemoval { aggregator.remove(target) }
    return targets.isEmpty ? watchStream.markIdle() : []
  }

  /// Forgets all targets, because another client talks to the backend from now on. Comes while no stream is open.
  mutating func forgetAllTargets() {
    assert(!watchStream.isStarted, "Targets are forgotten under a stream.")
    targets = [:]
  }

  /// True if it is the current stream, which does not count as open yet.
  func isOpening(watchStream id: StreamID) -> Bool { watchStream.isOpening(id) }

  mutating func watchStreamOpened(_ id: StreamID, confirmed: ConfirmedKeys) -> [SyncAction] {
    guard watchStream.opened(id, now: now) else { return [] }
    var actions: [SyncAction] = []
    for (_, target) in targets.sorted(by: { $0.key < $1.key }) { actions += sendAdd(target, confirmed) }
    guard targets.isEmpty else { return actions }
    actions += watchStream.markIdle()
    // The backend was reached while no target was wanted: the next read may wait for its answer.
    if online.state == .offline { actions += setOnlineState(.unknown) }
    return actions
  }

  mutating func watchStreamClosed(_ id: StreamID, _ error: StatusError?) -> [SyncAction] {
    guard var result = watchStream.closed(id, error: error, now: now) else { return [] }
    result.append(.log(.debug, "Watch stream closed: \(error?.description ?? "without an error")"))
    aggregator = WatchChangeAggregator()
    lastWatchError = error
    // Without a target no attempt is under way that could say more.
    guard shouldStartWatchStream else { return result + setOnlineState(.unknown) }
    result += changeOnlineState { $0.streamFailed(error) }
    return result + startWatchStream()
  }

  /// Closes the open stream as if the backend had ended it.
  mutating func breakWatchStream(_ id: StreamID, _ error: StatusError) -> [SyncAction] {
    guard watchStream.isOpen else { return [] }
    return [.closeWatchStream(id)] + watchStreamClosed(id, error)
  }

  mutating func received(
    _ message: WatchResponse, on id: StreamID, confirmed: ConfirmedKeys
  ) -> (actions: [SyncAction], outcome: WatchOutcome) {
    guard watchStream.messageReceived(id) else { return ([], .none) }
    lastWatchError = nil
    let actions = changeOnlineState { $0.messageReceived() }
    let source = watchedTargets(confirmed)
    switch message {
    case .targetChange(let change):
      if change.state == .removed, let cause = change.cause {
        return (actions, .targetsRejected(change.targetIDs, cause))
      }
      aggregator.handle(change, source: source)
      // Only a message for no target in particular speaks for all of them.
      if change.state == .noChange, change.targetIDs.isEmpty, change.readTime > .none {
        watchStream.snapshotReceived()
        return (actions, .snapshot(change.readTime))
      }
    case .documentChange(let change):
      aggregator.handle(change, source: source)
    case .existenceFilter(let filter):
      aggregator.handle(filter, source: source)
    case .unreadable(let message):
      return (actions, .unreadable(message))
    }
    return (actions, .none)
  }

  /// Takes everything gathered so far as one event, which is to be stored.
  mutating func takeSnapshot(at version: SnapshotVersion, confirmed: ConfirmedKeys) -> RemoteEvent {
    aggregator.makeRemoteEvent(at: version, source: watchedTargets(confirmed))
  }

  /// Takes over what the stored snapshot says of targets, and asks again for those that do not agree with the backend's count.
  mutating func snapshotStored(_ event: RemoteEvent, confirmed: ConfirmedKeys) -> [SyncAction] {
    // Only now: a token must never be ahead of the data.
    for (id, change) in event.targetChanges where !change.resumeToken.isEmpty {
      guard let target = targets[id] else { continue }
      targets[id] = target.with(resumeToken: change.resumeToken, snapshotVersion: event.snapshotVersion)
    }
    var actions: [SyncAction] = []
    for (id, purpose) in event.targetMismatches.sorted(by: { $0.key < $1.key }) {
      guard let target = targets[id] else { continue }
      let fresh = target.with(resumeToken: [], snapshotVersion: .none)
      targets[id] = fresh
      actions += stopSending(id)
      // The purpose is only for this request; a later one after a reconnect is an ordinary listen.
      actions += sendAdd(fresh.with(purpose: purpose), confirmed)
    }
    return actions
  }

  /// What is known of the way to the backend.
  enum Reach {
    /// The backend has said something on the streams that are needed. A write that it refuses for a while is such an answer.
    case reached
    /// The last attempt to open a stream that is needed has failed, or nothing was heard for too long.
    case outOfReach
    /// It is not known yet.
    case connecting
    /// Nothing waits for the backend.
    case notNeeded
  }

  var reach: Reach {
    let isWriting = pipeline.stream.isReady
    if targets.isEmpty, pipeline.batches.isEmpty, !isWriting { return .notNeeded }
    let watches = targets.isEmpty || watchStream.isOpen && online.state == .online
    if watches, isWriting || pipeline.batches.isEmpty || pipeline.isRefusedForNow { return .reached }
    return online.state == .offline || failsToWrite && !pipeline.cameThrough ? .outOfReach : .connecting
  }

  /// The monotonic time at which the open watch stream was opened; nil while none is open.
  var watchStreamOpenedAt: Duration? { watchStream.openedAt }

  /// True if the backend has answered every target that it should be asked for.
  var watchesInStep: Bool {
    guard canWatch else { return false }
    return targets.isEmpty || watchStream.isOpen && online.state == .online && !awaitsResults
  }

  private var shouldStartWatchStream: Bool { canWatch && !watchStream.isStarted && !targets.isEmpty }

  /// True if the backend still owes a target that it was asked for on the open stream.
  private var awaitsResults: Bool {
    watchStream.isOpen && targets.keys.contains { !aggregator.isInSync($0) }
  }

  private func watchedTargets(_ confirmed: ConfirmedKeys) -> WatchedTargets {
    WatchedTargets(targets: targets, confirmed: confirmed, databaseID: databaseID)
  }

  private mutating func sendAdd(_ target: TargetData, _ confirmed: ConfirmedKeys) -> [SyncAction] {
    assert(watchStream.isOpen, "Target \(target.targetID) is asked for on a stream that is not open.")
    aggregator.requestSent(target.targetID)
    let request = TargetRequest(target) { confirmed(of: target.targetID).count }
    return watchStream.send(.addTarget(request))
  }

  private mutating func startWatchStream() -> [SyncAction] {
    aggregator = WatchChangeAggregator()
    let start = opening {
      $0.watchStream.start(now: $0.now, jitter: $0.configuration.jitter, nextID: $1)
    }
    return start + changeOnlineState { $0.streamStarted() }
  }

  private mutating func stopWatching() -> [SyncAction] {
    aggregator = WatchChangeAggregator()
    return watchStream.stop()
  }

  private mutating func watchStreamIdle() -> [SyncAction] {
    guard let closing = watchStream.idleTimerFired() else { return [] }
    aggregator = WatchChangeAggregator()
    return closing + setOnlineState(.unknown)
  }
}

// MARK: - Writing

extension BackendLink {
  /// True if batches may be sent that were not sent before; those that wait on a closed stream for an answer come first.
  var maySendBatches: Bool { canWrite && !pipeline.awaitsLateAnswers }
  /// True if batches of the user may still be answered on a stream that was closed.
  var awaitsLateAnswers: Bool { pipeline.awaitsLateAnswers }
  /// True if batches were sent that the backend may have committed and has not answered.
  var awaitsAnswers: Bool { pipeline.awaitsAnswers }
  /// True if a batch that is put on its way is sent at once.
  var sendsAtOnce: Bool { pipeline.stream.isReady }
  /// True during the pause before the next attempt to open the write stream.
  var isPausingWrites: Bool { pipeline.stream.isPausing }
  /// The error with which the last write stream ended; nil once a batch was answered.
  var lastWriteError: StatusError? { pipeline.lastError }
  /// True if the last attempt to send batches has failed and the next one has not come through: in the pause before it, and during it.
  var failsToWrite: Bool { pipeline.failsToWrite }
  /// True if every batch of the outbox was sent and answered, as far as that was looked for.
  var hasNothingToSend: Bool { pipeline.batches.isEmpty && pipeline.reachesEndOfOutbox && !pipeline.awaitsLateAnswers }
  var batchesAtBackend: Set<BatchID> { pipeline.batchesAtBackend }
  /// The user whose outbox is sent.
  var user: String? { pipeline.user }
  var hasRoomForBatch: Bool { pipeline.hasRoom }
  /// True if every batch of the outbox is on its way, as far as that was looked for.
  var reachesEndOfOutbox: Bool { pipeline.reachesEndOfOutbox }
  /// The last batch on its way; `unknownBatchID` if there is none.
  var lastBatchID: BatchID { pipeline.batches.last?.batchID ?? unknownBatchID }

  /// Puts a batch that was just stored at the end of the outbox on its way, if all before it are on theirs.
  mutating func offer(_ batch: MutationBatch) -> [SyncAction] {
    // It is on its way already if news of other clients' batches had the outbox read before.
    guard batch.batchID > lastBatchID else { return [] }
    guard maySendBatches, pipeline.hasRoom, pipeline.reachesEndOfOutbox else {
      pipeline.outboxHasGrown()
      return []
    }
    return add(batch)
  }

  /// Another client has put batches into the outbox.
  mutating func outboxHasGrown() {
    pipeline.outboxHasGrown()
  }

  /// Another client has stored the answer to a batch.
  mutating func answeredElsewhere(_ batchID: BatchID) {
    pipeline.answeredElsewhere(batchID)
  }

  /// Takes the batches that were not answered off their way, after the stream has ended.
  mutating func takeBackBatches() {
    pipeline.takeBackBatches()
  }

  /// True if a batch on its way writes one of the documents.
  func isWriting(any keys: Set<DocumentKey>) -> Bool {
    pipeline.batches.contains { $0.mutations.contains { keys.contains($0.key) } }
  }

  /// The outbox holds no batch behind the last one on its way.
  mutating func endOfOutboxReached() {
    pipeline.endOfOutboxReached()
  }

  /// Puts a batch on its way behind the others, and sends it if the stream is ready.
  mutating func add(_ batch: MutationBatch) -> [SyncAction] {
    assert(maySendBatches && pipeline.hasRoom, "Batch \(batch.batchID) is added in spite of \(offlineCauses).")
    return pipeline.append(batch)
  }

  /// Opens the stream for the batches on their way; an unused one is closed after a while.
  mutating func batchesAdded() -> [SyncAction] {
    pipeline.batches.isEmpty ? pipeline.markIdle() : startWriteStreamIfNeeded()
  }

  /// The last batch that the answer to a handshake lets go out; nil if the stream does not wait for one.
  func batchWaitingForHandshake(on id: StreamID) -> BatchID? {
    pipeline.stream.awaitingHandshakeID == id ? pipeline.batches.last?.batchID : nil
  }

  /// Ends the pauses before the next attempts to open the streams.
  mutating func retryNow() -> [SyncAction] {
    var actions = pipeline.endPause() + startWriteStreamIfNeeded()
    guard watchStream.isPausing else { return actions }
    actions += watchStream.stop()
    watchStream.inhibitBackoff()
    return actions + (shouldStartWatchStream ? startWatchStream() : [])
  }

  mutating func startWriteStreamIfNeeded() -> [SyncAction] {
    guard canWrite, !pipeline.stream.isStarted, !pipeline.batches.isEmpty else { return [] }
    return opening {
      $0.pipeline.start(now: $0.now, jitter: $0.configuration.jitter, nextID: $1)
    }
  }

  mutating func writeStreamOpened(_ id: StreamID) -> [SyncAction] {
    pipeline.opened(id, now: now)
  }

  mutating func received(
    _ response: WriteResponse, on id: StreamID
  ) -> (actions: [SyncAction], answered: WritePipeline.Answered?) {
    pipeline.received(response, on: id)
  }

  mutating func writeStreamClosed(
    _ id: StreamID, _ error: StatusError?
  ) -> (actions: [SyncAction], end: WritePipeline.StreamEnd) {
    pipeline.closed(id, error, now: now)
  }
}
