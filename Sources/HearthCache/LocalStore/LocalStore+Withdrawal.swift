package import HearthModel
internal import HearthStore

extension LocalStore {
  /// Takes a batch out of the queue that the user does not want any more.
  ///
  /// Batches behind it start from what is left: base values of increments are calculated anew. Not behind a batch that may have been
  /// committed, because the documents of the backend may then hold it and batches behind it.
  ///
  /// - Parameters:
  ///   - identity: that of the batch that is meant, which another one with the number does not have; nil to go by the number alone.
  ///   - evenIfSent: true for a batch that may have reached the backend. It is not sent again; whether it is committed stays open.
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch, `CacheError.batchMayBeSent`.
  package func withdraw(
    _ batchID: BatchID, _ identity: BatchIdentity? = nil, evenIfSent: Bool, _ error: StatusError,
    of owner: Owner = .activeUser, at time: Timestamp
  ) throws -> DocumentMap {
    // A refusal does not fail the transaction: what that has read of other clients' changes stays read.
    let result: Result<DocumentMap, CacheError> = try transaction("Withdraw batch", synchronous: .full) {
      guard let user = try row(of: owner), let batch = try queue.batch(batchID, user: user),
        identity == nil || batch.identity == identity
      else {
        return .failure(.unknownBatch(batchID, user: name(of: owner)))
      }
      let mayBeSent = try batchID <= sentMarks.mark(of: user)
      guard evenIfSent || !mayBeSent else { return .failure(.batchMayBeSent(batchID)) }
      return .success(try drop(batch, error, hasEffect: mayBeSent, user: user, at: time))
    }
    return try result.get()
  }

  /// Takes a batch out of the queue that the backend has refused or that the user does not want any more.
  ///
  /// - Parameter hasEffect: true if the backend may have committed it.
  func drop(
    _ batch: MutationBatch, _ error: StatusError, hasEffect: Bool = false, user: MutationQueue.UserRow,
    at time: Timestamp
  ) throws -> DocumentMap {
    let remote = try localDocuments.remoteDocuments(for: batch.keys)
    try queue.remove(batch, user: user)
    try touchLeftByBatch(batch.keys.sorted())
    try leaveBases(of: batch.keys, without: batch.batchID, user: user)
    try noteOutcome(.failed(error), of: batch, at: time)
    try tell(.batchAnswered(batch.batchID, user: user, error))
    try tell(ofDocuments: batch.keys, user: user)
    if !hasEffect { try recalculateBaseValues(of: remote, behind: batch.batchID, user: user) }
    let changes = try localDocuments.recalculate(remote, user: user)
    let active = try userRow()
    return active == user ? changes : try localDocuments.localView(of: batch.keys, user: active)
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
}
