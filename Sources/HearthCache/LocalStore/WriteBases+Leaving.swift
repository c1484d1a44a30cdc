internal import HearthModel
internal import HearthStore

/// Batches that leave the queue without an effect: the authors of those behind them have seen theirs.
extension WriteBases {
  /// Notes what the authors of the batches behind one saw, before it leaves the queue without an effect.
  func willLeave(_ batch: MutationBatch, user: MutationQueue.UserRow) throws {
    guard try !table.isEmpty else { return }
    for key in batch.keys.sorted() {
      guard let base = try table.base(of: key, user: user),
        let pending = try queue.pendingBatchIDs(for: [key], user: user)[key],
        let index = pending.firstIndex(of: batch.batchID), index + 1 < pending.count
      else { continue }
      try keepViews(of: key, behind: index, in: pending, base, user: user)
      try noteChange(of: key, behind: batch.batchID, user: user)
    }
  }

  /// - Parameter index: The index of the batch that leaves, among the pending ones of the document.
  private func keepViews(
    of key: DocumentKey, behind index: Int, in pending: [BatchID], _ base: BaseDocument, user: MutationQueue.UserRow
  ) throws {
    var state = PendingState(base)
    // Without the batch that leaves.
    var left = state
    // True if a batch has no effect now, and has one without that batch.
    var comesIntoEffect = false
    for (place, batchID) in pending.enumerated() {
      var batch = try readableBatch(batchID, user: user)
      let view = batch?.views[key]
      let hasOwnBase = state.begin(view, at: place, base)
      if place == index { left = state }
      if place > index {
        // Nothing changes for this batch and those behind it.
        if hasOwnBase { return }
        let isNext =
          place == index + 1 && view?.shown == nil && PendingState.isKnown(state.shown)
          && !state.shown.isConfirmed(by: left.made)
        if isNext || comesIntoEffect, batch?.keepsBases == true {
          var changed = view ?? AuthorView(nil, remoteVersion: nil)
          if comesIntoEffect { (changed.document, changed.isApart) = (AuthorView.stored(state.shown), true) }
          if isNext { changed.shown = AuthorView.stored(state.shown) }
          batch?.views[key] = changed
          if let batch { try queue.replace(batch) }
        }
        // This batch is compared, and so are those behind it if that changes it.
        if comesIntoEffect { return }
      }
      let part = batch?.parts[key]
      let effects = try state.apply(part)
      guard place > index else { continue }
      let next = try place + 1 < pending.count ? readableBatch(pending[place + 1], user: user) : nil
      let seen = next?.views[key]?.shown == nil ? effects.made.union(effects.shown) : effects.made
      comesIntoEffect = !(try left.apply(part).made.isSubset(of: seen))
    }
  }

  /// The result of pending batches has changed: it is not what is shown.
  func noteChange(of key: DocumentKey, behind batchID: BatchID, user: MutationQueue.UserRow) throws {
    guard let last = try queue.lastPendingBatchID(for: key, user: user), last > batchID,
      var batch = try readableBatch(last, user: user), batch.keepsBases
    else { return }
    if let view = batch.views[key], view.remoteVersion == nil { return }
    batch.views[key, default: AuthorView(nil, remoteVersion: nil)].remoteVersion = nil
    try queue.replace(batch)
  }

  /// Brings bases up to date after a batch has left the queue without an effect.
  ///
  /// - Parameter views: The views of its author.
  func leave(
    _ keys: Set<DocumentKey>, without batchID: BatchID, views: [DocumentKey: AuthorView] = [:],
    user: MutationQueue.UserRow
  ) throws {
    guard try !table.isEmpty else { return }
    for key in keys.sorted() {
      if let view = views[key], view.document != nil { try inherit(view, of: key, behind: batchID, user: user) }
      try advanceBase(of: key, without: batchID, user: user) { _ in }
    }
  }

  /// A batch has left the queue: the one behind it is based on what the one that left was, without it.
  private func inherit(
    _ view: AuthorView, of key: DocumentKey, behind batchID: BatchID, user: MutationQueue.UserRow
  ) throws {
    guard let next = try queue.pendingBatchIDs(for: [key], user: user)[key]?.first(where: { $0 > batchID }),
      var batch = try readableBatch(next, user: user), batch.keepsBases, batch.views[key]?.document == nil
    else { return }
    var inherited = view
    inherited.shown = batch.views[key]?.shown
    if let own = batch.views[key] { inherited.remoteVersion = own.remoteVersion }
    batch.views[key] = inherited
    try queue.replace(batch)
  }

  /// The author of the first pending batch of a document behind a resolved or committed one saw this, if that is not noted yet.
  func keepShown(_ shown: Document, behind batchID: BatchID, user: MutationQueue.UserRow) throws {
    guard let next = try queue.firstPendingBatchIDs(2, for: shown.key, user: user).first(where: { $0 > batchID }),
      var batch = try readableBatch(next, user: user), batch.keepsBases, batch.views[shown.key]?.shown == nil
    else { return }
    var view = batch.views[shown.key] ?? AuthorView(nil, remoteVersion: nil)
    view.shown = AuthorView.stored(shown)
    batch.views[shown.key] = view
    try queue.replace(batch)
  }
}
