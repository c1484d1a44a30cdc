internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Targets

  /// Asks the backend for a target, now or as soon as the stream is open.
  func watch(_ target: TargetData) {
    guard watchTargets[target.targetID] == nil else { return }
    watchTargets[target.targetID] = target
    if shouldStartWatchStream {
      startWatchStream()
      return
    }
    if watchStream.isOpen { sendAdd(target) }
    // A read on a stream that was started before has a right to an answer in time as well.
    if watchStream.isStarted { emit(online.requestSent()) }
  }

  func unwatch(_ target: TargetID) {
    guard watchTargets.removeValue(forKey: target) != nil else { return }
    if watchStream.isOpen {
      sendRemove(target)
      if watchTargets.isEmpty { emit(watchStream.markIdle()) }
    } else if watchTargets.isEmpty, canWatch {
      // An attempt that failed before stays known until the next one is over, so that the next read need not wait for it.
      emit(online.lastTargetRemoved())
    }
  }

  /// Whether the backend still owes a target that it was asked for on the open stream.
  var awaitsResults: Bool {
    watchStream.isOpen && watchTargets.keys.contains { !aggregator.isInSync($0) }
  }

  private func sendAdd(_ target: TargetData) {
    aggregator.requestSent(target.targetID)
    let hasToken = !target.resumeToken.isEmpty
    let readTime = hasToken || target.snapshotVersion == .none ? nil : target.snapshotVersion
    let resumes = hasToken || readTime != nil
    emit(
      watchStream.send(
        .addTarget(
          TargetRequest(
            targetID: target.targetID, target: target.target, purpose: target.purpose,
            resumeToken: target.resumeToken, readTime: readTime,
            expectedCount: resumes ? confirmedKeys(of: target.targetID).count : nil))))
  }

  private func sendRemove(_ target: TargetID) {
    aggregator.requestSent(target)
    emit(watchStream.send(.removeTarget(target)))
  }

  // MARK: - The stream

  var shouldStartWatchStream: Bool { canWatch && !watchStream.isStarted && !watchTargets.isEmpty }

  func startWatchStream() {
    aggregator = WatchChangeAggregator()
    emit(watchStream.start(now: now, jitter: configuration.jitter, nextID: nextStreamID))
    emit(online.streamStarted())
  }

  func stopWatchStream() {
    emit(watchStream.stop())
    aggregator = WatchChangeAggregator()
  }

  func watchStreamOpened(_ id: StreamID) {
    guard watchStream.opened(id, now: now) else { return }
    for (_, target) in watchTargets.sorted(by: { $0.key < $1.key }) { sendAdd(target) }
    if watchTargets.isEmpty {
      emit(watchStream.markIdle())
      // The backend was reached while nobody listened: the next read may wait for its answer.
      if online.state == .offline { setOnlineState(.unknown) }
    }
  }

  func watchStreamClosed(_ id: StreamID, _ error: StatusError?) {
    guard let closing = watchStream.closed(id, error: error, now: now) else { return }
    emit(closing)
    log(.debug, "Watch stream closed: \(error?.description ?? "without an error")")
    aggregator = WatchChangeAggregator()
    if shouldStartWatchStream {
      emit(online.streamFailed(error))
      startWatchStream()
    } else {
      // No target is left, so no attempt is under way that could say more.
      setOnlineState(.unknown)
    }
  }

  func watchStreamIdle() {
    guard let closing = watchStream.idleTimerFired() else { return }
    emit(closing)
    aggregator = WatchChangeAggregator()
    setOnlineState(.unknown)
  }

  func watchStreamReceived(_ message: WatchResponse, on id: StreamID) {
    guard watchStream.messageReceived(id) else { return }
    emit(online.messageReceived())
    switch message {
    case .targetChange(let change):
      if change.state == .removed, let cause = change.cause {
        targetsRejected(change.targetIDs, cause)
        return
      }
      aggregator.handle(change, source: self)
      // Only a message for no target in particular speaks for all of them.
      if change.state == .noChange, change.targetIDs.isEmpty, change.readTime > .none {
        watchStream.snapshotReceived()
        snapshotReached(change.readTime)
      }
    case .documentChange(let change):
      aggregator.handle(change, source: self)
    case .existenceFilter(let filter):
      aggregator.handle(filter, source: self)
    case .unreadable(let message):
      setAside(message, on: id)
    }
  }

  // MARK: - Snapshots

  private func snapshotReached(_ version: SnapshotVersion) {
    do {
      // An older one than seen before: what has been gathered stays for the next.
      guard version >= (try localStore.lastRemoteSnapshotVersion()) else { return }
      try apply(aggregator.makeRemoteEvent(at: version, source: self))
    } catch {
      goOffline(after: error, retrying: .probe(.snapshotFailure))
    }
  }

  private func apply(_ event: RemoteEvent) throws {
    let changes = try localStore.apply(event)
    retries.storageProven()
    beside.noteTargets { event.targetChanges[$0] != nil || event.targetMismatches[$0] != nil }
    // Only now: a token must never be ahead of the data.
    for (id, change) in event.targetChanges where !change.resumeToken.isEmpty {
      guard let target = watchTargets[id] else { continue }
      watchTargets[id] = target.with(resumeToken: change.resumeToken, snapshotVersion: event.snapshotVersion)
    }
    for (id, purpose) in event.targetMismatches.sorted(by: { $0.key < $1.key }) { requery(id, purpose) }
    for (id, change) in event.targetChanges {
      guard let key = limbo.resolution(of: id)?.key else { continue }
      if change.added.contains(key) || change.modified.contains(key) {
        limbo.received(id, holdsDocument: true)
      } else if change.removed.contains(key) {
        limbo.received(id, holdsDocument: false)
      }
    }
    refreshViews(changes, event: event)
  }

  /// Asks for a target's whole result again because the client's does not agree with the backend's count.
  private func requery(_ id: TargetID, _ purpose: TargetPurpose) {
    guard let target = watchTargets[id] else { return }
    let fresh = target.with(resumeToken: [], snapshotVersion: .none)
    watchTargets[id] = fresh
    sendRemove(id)
    // The purpose is only for this request; a later one after a reconnect is an ordinary listen.
    sendAdd(fresh.with(purpose: purpose))
  }

  // MARK: - Rejected targets

  /// Gives up the targets that a message is about which cannot be understood, and leaves the others on the stream.
  ///
  /// Without it the stream would have to be opened again, would bring the same message again, and no target would ever get
  /// beyond it.
  private func setAside(_ message: UnreadableWatchMessage, on id: StreamID) {
    guard message.isTargetChange else {
      let targets = message.targetIDs.filter { !aggregator.awaitsAnswer($0) }
      return targetsRejected(targets, message.error, isWatchedByBackend: true)
    }
    targetsRejected(message.targetIDs, message.error)
    // It may have answered a request, so the number of outstanding answers is not known any more. A new stream begins with none.
    guard watchStream.isOpen else { return }
    emit(.closeWatchStream(id))
    watchStreamClosed(id, message.error)
  }

  /// - Parameter isWatchedByBackend: The backend goes on with the targets unless it is told.
  private func targetsRejected(_ ids: [TargetID], _ error: StatusError, isWatchedByBackend: Bool = false) {
    for id in ids where watchTargets[id] != nil {
      if isWatchedByBackend { sendRemove(id) }
      if let key = limbo.resolution(of: id)?.key {
        do {
          try limboRejected(id, key)
        } catch {
          // The target stays registered. It is sent, and refused, again.
          goOffline(after: error, retrying: .probe(.snapshotFailure))
          return
        }
      } else {
        forgetTarget(id, awaitingRemoval: isWatchedByBackend)
        rejectQueries(of: id, error)
      }
    }
  }

  /// The backend refuses to say what became of a document in limbo: the cached copy is forgotten.
  private func limboRejected(_ id: TargetID, _ key: DocumentKey) throws {
    let changes = try localStore.apply(
      RemoteEvent(
        snapshotVersion: .none, documentUpdates: [key: .missing(key, version: .none)], limboDocumentChanges: [key]))
    forgetTarget(id)
    let freed = limbo.rejected(id)
    refreshViews(changes)
    resolveLimbo(freed)
  }

  /// The backend knows nothing of the target any more, or will say so.
  private func forgetTarget(_ id: TargetID, awaitingRemoval: Bool = false) {
    watchTargets[id] = nil
    if !awaitingRemoval { aggregator.remove(id) }
    if watchTargets.isEmpty { emit(watchStream.markIdle()) }
  }
}

extension SyncEngine: WatchTargetSource {
  func name(of key: DocumentKey) -> String {
    localStore.databaseID.name(of: key)
  }

  func listenedTarget(_ targetID: TargetID) -> TargetData? {
    watchTargets[targetID]
  }

  func isListened(_ targetID: TargetID) -> Bool {
    watchTargets.index(forKey: targetID) != nil
  }

  func confirmedKeys(of targetID: TargetID) -> Set<DocumentKey> {
    if let resolution = limbo.resolution(of: targetID) {
      return resolution.hasReceivedDocument ? [resolution.key] : []
    }
    var keys: Set<DocumentKey>?
    for query in queries.queries(of: targetID) {
      keys = keys?.union(query.view.syncedKeys) ?? query.view.syncedKeys
    }
    return keys ?? []
  }
}
