internal import HearthCache
internal import HearthModel

extension SyncEngine {
  func watchStreamOpened(_ id: StreamID) {
    guard link.isOpening(watchStream: id) else { return }
    // Before the requests are sent: some lookups must wait, and are not among them.
    follow(views.streamBegins())
    follow(link.watchStreamOpened(id, confirmed: confirmedKeys))
  }

  func watchStreamReceived(_ message: WatchResponse, on id: StreamID) {
    emit(
      transfers.received(message) { id, query in
        if views.hasListener(id) { return .listens(to: views.targetID(of: query)) }
        return queryRuns.hasBackgroundListen(id) || held.holds(id) ? .waits : .ended
      })
    views.heard(of: message.namedTargets, now: now)
    let (actions, outcome) = link.received(message, on: id, confirmed: confirmedKeys)
    follow(actions)
    switch outcome {
    case .none: break
    case .snapshot(let version): snapshotReached(version)
    case .targetsRejected(let targets, let error): targetsRejected(targets, error)
    case .unreadable(let message): setAside(message, on: id)
    }
    follow(link.askOn(confirmed: confirmedKeys))
  }

  func watchStreamClosed(_ id: StreamID, _ error: StatusError?) {
    let faulty = link.faultyTarget(endOf: id, error)
    follow(link.watchStreamClosed(id, error))
    guard let faulty, let error else { return }
    let message = "The backend ends the stream each time that it is asked for this target: \(error.message)"
    targetsRejected([faulty], StatusError(code: error.code, message: message))
  }

  // MARK: - Snapshots

  private func snapshotReached(_ version: SnapshotVersion) {
    do {
      let seen = try localStore.lastRemoteSnapshotVersion()
      guard version >= seen else { return follow(link.ignoreSnapshot(at: version, seen: seen)) }
      let event = link.takeSnapshot(at: version, confirmed: confirmedKeys)
      try apply(event)
    } catch {
      goOffline(after: error, retrying: .probe(.snapshotFailure))
    }
  }

  private func apply(_ event: RemoteEvent) throws {
    // One transaction for documents and tokens. If it fails, nothing of the snapshot may be shown or taken over.
    let changes = try localStore.apply(event)
    retries.storageProven()
    membership.published.snapshotStored(event)
    // A result that is being computed may have been read before the snapshot was stored.
    queryRuns.noteTargets { event.targetChanges[$0] != nil || event.targetMismatches[$0] != nil }
    follow(link.snapshotStored(event, confirmed: confirmedKeys))
    refreshViews(changes, event: event)
    follow(views.endFreshReads(answeredBy: event))
  }

  // MARK: - Rejected targets

  /// Gives up the targets that a message is about which cannot be understood, and leaves the others on the stream.
  ///
  /// Without it the stream would have to be opened again, would bring the same message again, and no target would ever get
  /// beyond it.
  private func setAside(_ message: UnreadableWatchMessage, on id: StreamID) {
    guard message.isTargetChange else {
      let targets = message.targetIDs.filter { !link.awaitsAnswer($0) }
      return targetsRejected(targets, message.error, isWatchedByBackend: true)
    }
    targetsRejected(message.targetIDs, message.error)
    // It may have answered a request, so the number of outstanding answers is not known any more. A new stream begins with none.
    follow(link.breakWatchStream(id, message.error))
  }

  /// - Parameter isWatchedByBackend: True if the backend goes on with the targets unless it is asked not to.
  private func targetsRejected(_ ids: [TargetID], _ error: StatusError, isWatchedByBackend: Bool = false) {
    for id in ids where link.isWatched(id) {
      if isWatchedByBackend { follow(link.stopSending(id)) }
      if let key = views.limboDocument(of: id) {
        do {
          try limboRejected(id, key)
        } catch {
          // The target stays registered. It is sent, and refused, again.
          goOffline(after: error, retrying: .probe(.snapshotFailure))
          return
        }
      } else {
        let read = views.freshReads.listener(of: id)
        follow(link.forget(id, awaitingRemoval: isWatchedByBackend))
        if let read {
          follow(views.rejectRead(of: read, error))
        } else {
          rejectQueries(of: id, error)
        }
      }
    }
  }

  /// The backend refuses to say what became of a document in limbo: the cached copy is forgotten.
  private func limboRejected(_ id: TargetID, _ key: DocumentKey) throws {
    let changes = try localStore.apply(
      RemoteEvent(
        snapshotVersion: .none, documentUpdates: [key: .missing(key, version: .none)], limboDocumentChanges: [key]))
    follow(link.forget(id, awaitingRemoval: false))
    // Before the views change: a lookup that begins here may end in that step.
    follow(views.limboRejected(id))
    refreshViews(changes)
  }
}
