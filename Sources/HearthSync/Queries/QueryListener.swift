internal import HearthModel

/// Decides which snapshots of a view one listener receives.
///
/// | state | snapshot of the view | online state changes |
/// |---|---|---|
/// | waiting, nothing seen | raised as the first one if it is sufficient, else kept | kept |
/// | waiting, snapshot kept | raised as the first one if it is sufficient, else kept | the kept one is raised if it is now sufficient |
/// | raised | raised if the listener asked for this kind of change | kept |
///
/// A first snapshot is sufficient in these cases: the listener only uses the cache; the snapshot agrees with the backend, has documents, or
/// a complete result is remembered; or, if the listener prefers to wait for the backend, the backend has answered for everything in it.
/// While the listener waits for a fresh answer no snapshot is sufficient. While the client is offline every snapshot is sufficient.
struct QueryListener {
  private enum State {
    case waiting(ViewSnapshot?)
    /// `hadPendingWrites` is that of the view's last snapshot, `wasFromCache` that of the last one that the listener was shown.
    case raised(hadPendingWrites: Bool, wasFromCache: Bool)
  }

  let id: ListenerID
  let options: ListenOptions
  private var onlineState: OnlineState
  private var state = State.waiting(nil)
  /// True until the backend has answered a request of the listener's own.
  private var awaitsFreshAnswer: Bool

  init(id: ListenerID, options: ListenOptions, onlineState: OnlineState, awaitsFreshAnswer: Bool = false) {
    self.id = id
    self.options = options
    self.onlineState = onlineState
    self.awaitsFreshAnswer = awaitsFreshAnswer
  }

  /// True for a read that has not been shown anything, because the backend has not answered for everything.
  var awaitsAnswer: Bool {
    if case .waiting = state { options.waitForSyncWhenOnline } else { false }
  }

  var listensToBackend: Bool { options.source == .default }

  /// The view changed. Returns the snapshot for the listener; `nil` for none.
  ///
  /// - Parameter isWatched: True if the view is watched at the backend.
  mutating func viewChanged(_ viewSnapshot: ViewSnapshot, isWatched: Bool = true) -> ViewSnapshot? {
    if options.leavesOutAcknowledgements, !isWatched, viewSnapshot.onlyEndsPendingMarks { return nil }
    let snapshot =
      options.includeDocumentMetadataChanges ? viewSnapshot : viewSnapshot.withoutMetadataChanges()
    switch state {
    case .waiting:
      state = .waiting(snapshot)
      return raiseFirstIfReady()
    case .raised(let hadPendingWrites, let wasFromCache):
      // A view that nobody watches any more agrees with nobody, which is not shown; then it may come back to what was shown.
      let syncStateChanged = snapshot.syncStateChanged && snapshot.isFromCache != wasFromCache
      let metadataChanged = syncStateChanged || snapshot.hasPendingWrites != hadPendingWrites
      let isRaised = !snapshot.changes.isEmpty || metadataChanged && options.includeQueryMetadataChanges
      state = .raised(
        hadPendingWrites: snapshot.hasPendingWrites, wasFromCache: isRaised ? snapshot.isFromCache : wasFromCache)
      return isRaised ? snapshot : nil
    }
  }

  /// The backend has answered for everything in the view. Returns the first snapshot if it was waiting for this.
  mutating func viewAnswered(_ viewSnapshot: ViewSnapshot) -> ViewSnapshot? {
    if case .waiting = state { viewChanged(viewSnapshot) } else { nil }
  }

  /// The online state changed. Returns the first snapshot if it was waiting for this.
  mutating func onlineStateChanged(_ onlineState: OnlineState) -> ViewSnapshot? {
    self.onlineState = onlineState
    if awaitsFreshAnswer, onlineState == .offline, case .waiting(var kept?) = state {
      // It was answered before the listener asked.
      kept.isAnswered = false
      state = .waiting(kept)
    }
    return raiseFirstIfReady()
  }

  /// The backend has answered. Returns the first snapshot if it was waiting for this.
  mutating func freshAnswerCame() -> ViewSnapshot? {
    awaitsFreshAnswer = false
    return raiseFirstIfReady()
  }

  /// The backend is asked no more. Returns the first snapshot if it was waiting for an answer: as what it is, one from the cache.
  mutating func freshAnswerWasGivenUp() -> ViewSnapshot? {
    awaitsFreshAnswer = false
    guard case .waiting(var kept?) = state else { return nil }
    (kept.isFromCache, kept.isAnswered) = (true, false)
    state = .raised(hadPendingWrites: kept.hasPendingWrites, wasFromCache: kept.isFromCache)
    return kept.asFirstSnapshot(excludingMetadataChanges: kept.excludesMetadataChanges)
  }

  private mutating func raiseFirstIfReady() -> ViewSnapshot? {
    guard case .waiting(var kept?) = state, saysEnough(kept) else { return nil }
    // The client is offline. A result that is not the backend's because of a pending write then counts as from the cache.
    if options.waitForSyncWhenOnline, !kept.isAnswered { kept.isFromCache = true }
    state = .raised(hadPendingWrites: kept.hasPendingWrites, wasFromCache: kept.isFromCache)
    return kept.asFirstSnapshot(excludingMetadataChanges: kept.excludesMetadataChanges)
  }

  private func saysEnough(_ snapshot: ViewSnapshot) -> Bool {
    // A confirmation from before the client went offline is no answer; the view's next snapshot says that it is from the cache.
    if awaitsFreshAnswer, onlineState != .offline || !snapshot.isFromCache { return false }
    if onlineState == .offline { return true }
    if !listensToBackend { return true }
    if options.waitForSyncWhenOnline { return snapshot.isAnswered }
    return !snapshot.isFromCache || !snapshot.documents.isEmpty || snapshot.hasCachedResults
  }
}

extension ViewSnapshot {
  /// True if nothing has changed but that writes of some documents are not pending any more.
  fileprivate var onlyEndsPendingMarks: Bool {
    !changes.isEmpty && changes.allSatisfy { $0.kind == .metadata && !$0.document.hasLocalMutations }
  }
}
