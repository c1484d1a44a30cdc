internal import HearthCache
internal import HearthModel

/// Watches the backend: owns the watch stream, the targets on it, the causes that forbid the network, and the online state.
///
/// It reads and writes no storage. The engine tells it what to watch, and carries out the actions that each method returns, in order. On an
/// action `onlineStateChanged`, the engine also shows the new state to the views. Batches are sent by ``OutboxSender``.
///
/// | state | written by |
/// |---|---|
/// | `offlineCauses` | ``forbid(_:)``, ``allow(_:)``, ``rest(for:)`` |
/// | `online` | the network switch, and all events of the watch stream |
/// | `targets` | ``watch(_:confirmed:)``, ``unwatch(_:confirmed:)``, ``forget(_:awaitingRemoval:)``, ``snapshotStored(_:confirmed:)`` |
/// | `watchStream`, `aggregator` | events of the watch stream; an aggregator lives as long as its stream |
struct BackendLink {
  private let configuration: SyncConfiguration
  private let databaseID: DatabaseID
  private let numbers: StreamNumbers

  /// Monotonic time of the event being handled.
  private var now: Duration = .zero
  private var offlineCauses: Set<OfflineCause> = [.notStarted]
  private var online: OnlineStateMachine

  /// The targets that the backend is, or will be, asked for.
  private var targets: [TargetID: TargetData] = [:]
  private var watchStream: WatchStream
  private var aggregator = WatchChangeAggregator()
  private var faultyTargets = FaultyTargetSearch()
  /// The error with which the last watch stream ended; nil once the backend has answered.
  private(set) var lastWatchError: StatusError?

  init(configuration: SyncConfiguration, numbers: StreamNumbers, databaseID: DatabaseID) {
    self.configuration = configuration
    self.numbers = numbers
    self.databaseID = databaseID
    online = OnlineStateMachine(timeout: configuration.onlineStateTimeout)
    watchStream = WatchStream(configuration: configuration)
  }

  // MARK: - State

  var onlineState: OnlineState { online.state }
  /// True if calls to the backend make sense. A client without streams makes its calls itself.
  var isNetworkUsable: Bool { offlineCauses.isSubset(of: [.secondary]) }
  /// True if the watch stream may be open.
  var canWatch: Bool { offlineCauses.isSubset(of: [.outboxFailure]) }
  /// True if the watch stream may be open once this client has the lease.
  var canWatchAsPrimary: Bool { offlineCauses.isSubset(of: [.outboxFailure, .secondary]) }
  /// True if there may be new batches to send.
  var canWrite: Bool { offlineCauses.isSubset(of: [.snapshotFailure]) }
  /// True if the watch stream is neither open nor about to be.
  var isStopped: Bool { !watchStream.isStarted }

  func isForbidden(for cause: OfflineCause) -> Bool { offlineCauses.contains(cause) }

  /// Takes the time of the next event.
  mutating func advance(to now: Duration) {
    self.now = now
  }

  func assertInvariants() {
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

  /// Closes the watch stream.
  mutating func stopWatching() -> [SyncAction] {
    aggregator = WatchChangeAggregator()
    return watchStream.stop()
  }

  /// Opens the watch stream without a pause, if there is a use for it and nothing forbids it.
  mutating func resumeWatching() -> [SyncAction] {
    guard canWatch else { return [] }
    watchStream.inhibitBackoff()
    if shouldStartWatchStream { return startWatchStream() }
    return watchStream.isStarted ? [] : setOnlineState(.unknown)
  }

  mutating func setOnlineState(_ state: OnlineState) -> [SyncAction] {
    changeOnlineState { $0.set(state) }
  }

  /// A timer fired that the watch stream or the online state asked for.
  mutating func timerFired(_ kind: TimerKind, confirmed: ConfirmedKeys) -> [SyncAction] {
    switch kind {
    case .listenStreamIdle:
      return watchStreamIdle()
    case .listenStreamConnectionBackoff:
      return watchStream.backoffTimerFired(now: now, nextID: numbers.next)
    case .onlineStateTimeout:
      let (isWaiting, isBehind) = (awaitsResults, watchStream.isBehind)
      return askOn(without: faultyTargets.timePassed(), confirmed)
        + changeOnlineState { $0.timerFired(isWaiting: isWaiting, isBehind: isBehind) }
    case .writeStreamIdle, .writeStreamConnectionBackoff, .asyncQueueRetry, .lruGarbageCollection, .indexBackfill,
      .clientMetadataRefresh, .conflictRetry, .ownWritesTimeout, .answerTimeout:
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

  /// Ends the pause before the next attempt to open the watch stream.
  mutating func retryNow() -> [SyncAction] {
    guard watchStream.isPausing else { return [] }
    let actions = watchStream.stop()
    watchStream.inhibitBackoff()
    return actions + (shouldStartWatchStream ? startWatchStream() : [])
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
    // A new stream begins without outstanding answers.
    if watchStream.isOpen, aggregator.isUncertain(target.targetID) { return stopWatching() + resumeWatching() }
    let request = watchStream.isOpen && faultyTargets.added(target.targetID) ? sendAdd(target, confirmed) : []
    // A read on a stream that was started before has a right to an answer in time as well.
    return request + (watchStream.isStarted ? changeOnlineState { $0.requestSent() } : [])
  }

  mutating func unwatch(_ target: TargetID, confirmed: ConfirmedKeys) -> [SyncAction] {
    guard targets.removeValue(forKey: target) != nil else { return [] }
    let wasAskedFor = faultyTargets.removed(target)
    if watchStream.isOpen {
      // It may be the one that others wait for, and may come again before any message does.
      return (wasAskedFor ? stopSending(target) : []) + askOn(confirmed: confirmed)
        + (targets.isEmpty ? watchStream.markIdle() : [])
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

  /// Forgets a target that the backend no longer knows, or has been asked to remove.
  mutating func forget(_ target: TargetID, awaitingRemoval: Bool) -> [SyncAction] {
    assert(targets[target] != nil, "Target \(target) is forgotten, which is not watched.")
    targets[target] = nil
    _ = faultyTargets.removed(target)
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
    for target in faultyTargets.opened(targets.keys).compactMap({ targets[$0] }) {
      actions += sendAdd(target, confirmed)
    }
    guard targets.isEmpty else { return actions }
    actions += watchStream.markIdle()
    // The backend was reached while no target was wanted: the next read may wait for its answer.
    if online.state == .offline { actions += setOnlineState(.unknown) }
    return actions
  }

  /// The backend ends a stream.
  ///
  /// - Returns: The target that must be given up because the backend ends the stream each time that it is asked for it.
  mutating func faultyTarget(endOf id: StreamID, _ error: StatusError?) -> TargetID? {
    guard watchStream.messageReceived(id) else { return nil }
    let unanswered = Set(targets.keys.filter { !aggregator.isInSync($0) })
    return faultyTargets.ended(error, unanswered: unanswered, hasAnswered: unanswered.count < targets.count)
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
        for id in change.targetIDs where targets[id] == nil { aggregator.refusedUnwatched(id) }
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

  /// Asks for the next one of the targets that are asked for one by one.
  mutating func askOn(confirmed: ConfirmedKeys) -> [SyncAction] {
    var actions: [SyncAction] = []
    while watchStream.isOpen,
      let next = faultyTargets.next(isAnswered: { targets[$0] == nil || aggregator.isInSync($0) })
    {
      if let target = targets[next] { actions += sendAdd(target, confirmed) }
    }
    return actions
  }

  /// Asks for a target although the one before has no answer.
  private mutating func askOn(without next: TargetID?, _ confirmed: ConfirmedKeys) -> [SyncAction] {
    guard watchStream.isOpen, let target = next.flatMap({ targets[$0] }) else { return [] }
    return sendAdd(target, confirmed)
  }

  /// Leaves a snapshot alone that is older than one seen before: everything gathered so far stays for the next.
  ///
  /// A backend that was restored or replaced may send such snapshots only. Its targets never get their results; the timer of the online
  /// state ends the reads that wait for them.
  mutating func ignoreSnapshot(at version: SnapshotVersion, seen: SnapshotVersion) -> [SyncAction] {
    guard watchStream.noteSnapshot(isBehind: true) else { return [] }
    let message =
      "The backend's snapshot of \(version) is older than that of \(seen), which the cache has seen. Until the backend "
      + "sends newer ones, listeners get no changes, and reads are answered from the cache."
    return [.log(.warning, message)]
  }

  /// Takes everything gathered so far as one event for the cache.
  mutating func takeSnapshot(at version: SnapshotVersion, confirmed: ConfirmedKeys) -> RemoteEvent {
    _ = watchStream.noteSnapshot(isBehind: false)
    return aggregator.makeRemoteEvent(at: version, source: watchedTargets(confirmed))
  }

  /// Takes over what the stored snapshot says of targets, and asks again for those that do not agree with the backend's count.
  mutating func snapshotStored(_ event: RemoteEvent, confirmed: ConfirmedKeys) -> [SyncAction] {
    // Only now: a token must never be ahead of the data.
    for (id, change) in event.targetChanges {
      if let target = targets[id] { targets[id] = target.after(change, at: event.snapshotVersion) }
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
    // A read may begin to wait for one of them at any time, and asks for no target then.
    return actions + (awaitsResults ? changeOnlineState { $0.resultsMissing() } : [])
  }

  /// The known state of the connection to the backend.
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

  func reach(_ writing: OutboxSender.Reach) -> Reach {
    if targets.isEmpty, !writing.isNeeded { return .notNeeded }
    let watches = targets.isEmpty || watchStream.isOpen && online.state == .online
    if watches, writing.isReached { return .reached }
    // While the storage fails, the client counts as offline without an attempt to watch.
    return online.state == .offline && canWatch || writing.isOutOfReach ? .outOfReach : .connecting
  }

  /// The monotonic time at which the open watch stream was opened; nil while none is open.
  var watchStreamOpenedAt: Duration? { watchStream.openedAt }

  /// True if the backend has answered every target that it should be asked for.
  var watchesInSync: Bool {
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
    let request = TargetRequest(target) { confirmed(of: target.targetID).count }
    let resumes = !request.resumeToken.isEmpty || request.readTime != nil
    aggregator.requestSent(
      target.targetID, isWhole: !resumes,
      expecting: resumes && target.snapshotVersion > .none
        ? confirmed.versions(after: target.snapshotVersion, in: target.targetID) : [:])
    return watchStream.send(.addTarget(request))
  }

  private mutating func startWatchStream() -> [SyncAction] {
    aggregator = WatchChangeAggregator()
    let start = watchStream.start(now: now, jitter: configuration.jitter, nextID: numbers.next)
    return start + changeOnlineState { $0.streamStarted() }
  }

  private mutating func watchStreamIdle() -> [SyncAction] {
    guard let closing = watchStream.idleTimerFired() else { return [] }
    aggregator = WatchChangeAggregator()
    return closing + setOnlineState(.unknown)
  }
}
