internal import HearthModel

/// Decides which of a view's snapshots one listener gets to see.
///
/// | state | snapshot of the view | online state changes |
/// |---|---|---|
/// | waiting, nothing seen | raised as the first one if it says enough, else kept | kept |
/// | waiting, snapshot kept | raised as the first one if it says enough, else kept | the kept one is raised if it now says enough |
/// | raised | raised if the listener asked for this kind of change | kept |
///
/// A first snapshot "says enough" when it agrees with the backend; when the listener wants nothing but the cache; or,
/// unless the listener prefers to wait for the backend, when it has documents or a complete result is remembered. While
/// the client is offline every snapshot says enough.
struct QueryListener {
  private enum State {
    case waiting(ViewSnapshot?)
    case raised(hadPendingWrites: Bool)
  }

  let id: ListenerID
  let options: ListenOptions
  private var onlineState: OnlineState
  private var state = State.waiting(nil)

  init(id: ListenerID, options: ListenOptions, onlineState: OnlineState) {
    self.id = id
    self.options = options
    self.onlineState = onlineState
  }

  var listensToBackend: Bool { options.source == .default }

  /// The view changed. Returns what the listener is to be shown, `nil` for nothing.
  mutating func viewChanged(_ viewSnapshot: ViewSnapshot) -> ViewSnapshot? {
    let snapshot =
      options.includeDocumentMetadataChanges ? viewSnapshot : viewSnapshot.withoutMetadataChanges()
    switch state {
    case .waiting:
      state = .waiting(snapshot)
      return raiseFirstIfReady()
    case .raised(let hadPendingWrites):
      state = .raised(hadPendingWrites: snapshot.hasPendingWrites)
      if !snapshot.changes.isEmpty { return snapshot }
      let metadataChanged = snapshot.syncStateChanged || snapshot.hasPendingWrites != hadPendingWrites
      return metadataChanged && options.includeQueryMetadataChanges ? snapshot : nil
    }
  }

  /// The online state changed. Returns the first snapshot if it was waiting for this.
  mutating func onlineStateChanged(_ onlineState: OnlineState) -> ViewSnapshot? {
    self.onlineState = onlineState
    return raiseFirstIfReady()
  }

  private mutating func raiseFirstIfReady() -> ViewSnapshot? {
    guard case .waiting(let kept) = state, let kept, saysEnough(kept) else { return nil }
    state = .raised(hadPendingWrites: kept.hasPendingWrites)
    return kept.asFirstSnapshot(excludingMetadataChanges: kept.excludesMetadataChanges)
  }

  private func saysEnough(_ snapshot: ViewSnapshot) -> Bool {
    if !snapshot.isFromCache || !listensToBackend || onlineState == .offline { return true }
    if options.waitForSyncWhenOnline { return false }
    return !snapshot.documents.isEmpty || snapshot.hasCachedResults
  }
}
