internal import HearthModel
internal import HearthStore

/// Batches that leave the outbox without an effect, and the consequences for later batches.
extension CacheOutbox {
  /// Part of ``LocalStore/withdraw(_:_:evenIfSent:_:of:at:)``. A refusal is no error of the transaction.
  func withdraw(
    _ batchID: BatchID, _ identity: BatchIdentity?, evenIfSent: Bool, _ error: StatusError, of owner: LocalStore.Owner,
    at time: Timestamp
  ) throws -> Result<DocumentMap, CacheError> {
    guard let user = try transactions.user.row(of: owner), let batch = try queue.batch(batchID, user: user),
      identity == nil || batch.identity == identity
    else {
      return .failure(.unknownBatch(batchID, user: transactions.user.name(of: owner)))
    }
    let mayBeSent = try batchID <= sentMarks.mark(of: user)
    guard evenIfSent || !mayBeSent else { return .failure(.batchMayBeSent(batchID)) }
    return .success(try drop(batch, error, hasEffect: mayBeSent, user: user, at: time))
  }

  /// Takes a batch out of the queue that the backend has refused or that the user does not want any more.
  ///
  /// - Parameter hasEffect: true if the backend may have committed it.
  func drop(
    _ batch: MutationBatch, _ error: StatusError, hasEffect: Bool = false, user: MutationQueue.UserRow,
    at time: Timestamp
  ) throws -> DocumentMap {
    let remote = try showAnew(batch.keys)
    let views = try bases.views(of: batch, user: user)
    try bases.willLeave(batch, user: user)
    try queue.remove(batch, user: user)
    try references.touchLeftByBatch(batch.keys.sorted())
    try bases.leave(batch.keys, without: batch.batchID, views: views, user: user)
    try noteOutcome(.failed(error), of: batch, at: time)
    try transactions.tell(.batchAnswered(batch.batchID, batch.identity, user: user, error))
    try transactions.tell(ofDocuments: batch.keys, user: user)
    if !hasEffect { try recalculateBaseValues(of: remote, behind: batch.batchID, user: user) }
    let changes = try localDocuments.recalculate(remote, user: user)
    let active = try transactions.user.row()
    return active == user ? changes : try localDocuments.localView(of: batch.keys, user: active)
  }

  /// Stores documents whose batch leaves the queue with a time of reading after the last snapshot.
  ///
  /// While the batch hid what the backend has, a query may have noted a result without such a document as free of documents in limbo. Queries
  /// that build on that result look only at documents that were read later.
  ///
  /// - Returns: The remote documents.
  @discardableResult
  func showAnew(_ keys: Set<DocumentKey>) throws -> DocumentMap {
    let readTime = try globals.timeAfterLastSnapshot()
    var remote = try localDocuments.remoteDocuments(for: keys)
    for (key, document) in remote.sorted(by: { $0.key < $1.key })
    where !document.isUnknown && document.readTime < readTime {
      var shown = document
      shown.readTime = readTime
      try documents.set(shown)
      remote[key] = shown
    }
    return remote
  }

  /// Brings the base values in the batches behind a removed one in line with what is now before them.
  ///
  /// Without it, a counter that was incremented on top of the removed write would go on showing that write. Only batches that have not
  /// been committed follow a removed one, because the backend takes them in order, so the remote documents hold none of them.
  func recalculateBaseValues(
    of remote: DocumentMap, behind batchID: BatchID, user: MutationQueue.UserRow
  ) throws {
    let pending = try queue.pendingBatchIDs(for: remote.keys.sorted(), user: user)
    guard pending.values.contains(where: { $0.contains { $0 > batchID } }) else { return }
    var view = remote.mapValues { LocalDocuments.Overlaid(document: $0, mask: .empty) }
    for next in Set(pending.values.joined()).sorted() {
      guard var batch = try queue.batch(next, user: user) else { continue }
      if next > batchID, batch.baseMutations.contains(where: { view[$0.key] != nil }) {
        let others = batch.baseMutations.filter { view[$0.key] == nil }
        let changed = others + (try baseMutations(of: batch.mutations.filter { view[$0.key] != nil }, in: view))
        if changed != batch.baseMutations {
          batch.baseMutations = changed
          try queue.replace(batch)
        }
      }
      try Self.apply(batch, to: &view)
    }
  }

  /// Documents as the pending batches before one show them.
  func view(
    of remote: DocumentMap, before batchID: BatchID, user: MutationQueue.UserRow
  ) throws -> [DocumentKey: LocalDocuments.Overlaid] {
    let pending = try queue.pendingBatchIDs(for: remote.keys.sorted(), user: user)
    var view = remote.mapValues { LocalDocuments.Overlaid(document: $0, mask: .empty) }
    for earlier in Set(pending.values.joined()).sorted() where earlier < batchID {
      if let batch = try queue.batch(earlier, user: user) { try Self.apply(batch, to: &view) }
    }
    return view
  }

  private static func apply(
    _ batch: MutationBatch, to view: inout [DocumentKey: LocalDocuments.Overlaid]
  ) throws {
    for (key, part) in batch.parts {
      guard var entry = view[key] else { continue }
      entry.mask = try part.applyToLocalView(&entry.document, mutatedFields: entry.mask)
      view[key] = entry
    }
  }

  // MARK: - Unreadable batches

  /// Takes the batches that cannot be read out of the queues of all users and keeps their bytes. Reads all queues.
  func setAsideUnreadableBatches() throws -> (batches: [UnreadableBatch], changes: DocumentMap) {
    let batches = try queue.unreadableBatches()
    var changes: DocumentMap = [:]
    for batch in batches { try queue.setAside(batch) }
    for (user, batches) in Dictionary(grouping: batches, by: \.user).sorted(by: { $0.key < $1.key }) {
      let keys = batches.reduce(into: Set<DocumentKey>()) { $0.formUnion($1.keys) }
      try references.touchLeftByBatch(keys.sorted())
      for batch in batches { try bases.leave(Set(batch.keys), without: batch.batchID, user: user) }
      let view = try localDocuments.recalculate(localDocuments.remoteDocuments(for: keys), user: user)
      try transactions.tell(ofDocuments: keys, user: user)
      for batch in batches {
        try transactions.tell(
          .batchAnswered(batch.batchID, nil, user: user, StatusError(code: .dataLoss, message: batch.reason)))
      }
      if try user == transactions.user.row() { changes = view }
    }
    return (batches, changes)
  }

  /// Puts batches that were set aside and can be read again back into their queues.
  func retryUnreadableBatches() throws {
    for (batch, user) in try queue.readableAgain() {
      try queue.database.update("DELETE FROM cache_unreadable_batches WHERE batch_id = ?", .integer(batch.batchID))
      // A lost write of a page brings back what was answered before.
      if let identity = batch.identity, try outcomes.outcome(of: identity) != nil { continue }
      try queue.insert(batch, user: user)
      try references.touchEnteredByBatch(batch.keys)
      _ = try localDocuments.recalculate(localDocuments.remoteDocuments(for: batch.keys), user: user)
    }
  }
}
