internal import HearthModel
internal import HearthStore

/// The writes of all users: the pending ones, the refused ones, and the outcomes of the others.
///
/// It keeps nothing in memory but its settings. Methods without a transaction of their own run inside one.
package final class CacheOutbox {
  let transactions: CacheTransactions
  let bases: WriteBases
  let documents: DocumentStore
  let globals: CacheGlobals
  let queue: MutationQueue
  let overlays: OverlayTable
  let localDocuments: LocalDocuments
  let sentMarks: SentMarks
  let outcomes: OutcomeTable
  let rejected: RejectedBatchTable
  let resolved: ResolvedConflictTable
  /// The refused batches that are kept.
  var rejectedLimits = RejectedBatchLimits()

  init(_ transactions: CacheTransactions) {
    self.transactions = transactions
    let tables = transactions.tables
    bases = WriteBases(in: tables)
    documents = tables.documents
    globals = tables.globals
    queue = tables.queue
    overlays = tables.overlays
    localDocuments = tables.localDocuments
    sentMarks = tables.sentMarks
    outcomes = tables.outcomes
    rejected = tables.rejected
    resolved = tables.resolved
  }

  var references: DocumentReferences { transactions.references }

  // MARK: - Writing

  /// Queues a write of a user.
  ///
  /// - Parameter keepsFormer: True to return the documents before it as well.
  func enqueue(
    _ write: LocalWrite, user: MutationQueue.UserRow, name: String?, keepsFormer: Bool = false
  ) throws -> LocalStore.StoredWrite {
    let mutations =
      try write.resubmits.map { try takeRejected($0, write.resubmitsIdentity, user: user, name: name) }
      ?? write.mutations
    guard !mutations.isEmpty else { throw CacheError.emptyBatch }
    // The view before the write: base values are taken from it, and the batch is applied on top of it, so that a write
    // costs the same however many batches are pending.
    let remote = try localDocuments.remoteDocuments(for: Set(mutations.map(\.key)))
    let view = try localDocuments.overlaid(remote, user: user)
    let keepsBases = bases.areKept(by: mutations)
    let kept =
      keepsBases
      ? try bases.keep(of: mutations, remote: remote, view: view, seen: write.seen, user: user)
      : MutationQueue.KeptBases()
    let batch = try queue.append(
      mutations, baseMutations: baseMutations(of: mutations, in: view), localWriteTime: write.localWriteTime,
      identity: write.identity, keepsOutcome: write.keepsOutcome, keepsBases: keepsBases, kept, user: user)
    // After the batch is queued, because the mark says that the document has a pending batch.
    try references.touchEnteredByBatch(batch.keys)
    let changes = try localDocuments.apply(batch, to: view, remote: remote, user: user)
    try transactions.tell(.batchQueued(batch.batchID, user: user))
    try transactions.tell(ofDocuments: changes.keys, user: user)
    return LocalStore.StoredWrite(
      batch: batch, changes: changes, former: keepsFormer ? view.mapValues(\.document) : [:])
  }

  /// The values of fields with transforms that are not idempotent (an increment) in the local view at the time of the
  /// write, as patches that are applied before it. Without them a later remote change would be counted twice.
  func baseMutations(of mutations: [Mutation], in view: [DocumentKey: LocalDocuments.Overlaid]) throws
    -> [Mutation]
  {
    try mutations.compactMap { mutation in
      guard let document = view[mutation.key]?.document, let base = try mutation.baseValues(for: document) else {
        return nil
      }
      let mask = FieldMask(mutation.transforms.map(\.path).filter { base[$0] != nil })
      return Mutation(
        key: mutation.key, operation: .patch(EncodedFields(base), mask: mask), precondition: .exists(true))
    }
  }

  /// Takes a refused batch out of the list, in the transaction that queues its mutations again.
  private func takeRejected(
    _ batchID: BatchID, _ identity: BatchIdentity?, user: MutationQueue.UserRow, name: String?
  ) throws -> [Mutation] {
    guard let kept = try rejected.batch(batchID, user: user), try rejected.remove(batchID, identity, user: user) else {
      throw CacheError.unknownRejectedBatch(batchID, user: name)
    }
    try transactions.tell(.outbox)
    return kept.batch.mutations
  }

  // MARK: - Answers of the backend

  /// Part of ``LocalStore/acknowledge(_:of:isOwn:needsLease:at:)``.
  func acknowledge(
    _ result: MutationBatchResult, of owner: LocalStore.Owner, isOwn: Bool, at time: Timestamp
  ) throws -> DocumentMap {
    let batch = result.batch
    let user = try userHolding(batch, owner)
    var remote = try localDocuments.remoteDocuments(for: batch.keys)
    let versions = result.documentVersions
    var outcome = RemovedBatch(batch: batch, storedParts: try storedParts(of: batch, user: user), user: user)
    let parts = result.parts
    let readTime = try globals.timeAfterLastSnapshot()
    for (key, part) in parts.sorted(by: { $0.key < $1.key }) {
      guard let before = remote[key] else { continue }
      guard before.version < versions[key] ?? result.commitVersion else {
        outcome.overtaken[key] = before
        continue
      }
      var after = before
      try part.batch.applyToRemoteDocument(&after, result: part)
      guard !after.isUnknown else { continue }
      after.readTime = max(result.commitVersion, readTime)
      try documents.set(after)
      remote[key] = after
      outcome.changes[key] = (before, after)
    }
    // The reference goes before the mark of use is set, and both before the overlays are calculated without the batch.
    let views = try bases.views(of: batch, user: user)
    try queue.remove(batch, user: user)
    try bases.advance(parts, of: batch, views: views, user: user)
    try references.touchLeftByBatch(batch.keys.sorted())
    // The parts of a batch that a conflict has changed are not those that the application wrote.
    let kept = WriteOutcome.committed(result.commitVersion, batch.isResolved ? [] : result.results)
    try noteOutcome(kept, of: batch, isOwn: isOwn, at: time)
    try transactions.tell(.batchAnswered(batch.batchID, batch.identity, user: user, nil))
    try transactions.tell(ofDocuments: batch.keys)
    return try localView(after: outcome, remote: remote)
  }

  /// A batch that has left the queue, and the effect of its answer on the remote documents.
  private struct RemovedBatch {
    var batch: MutationBatch
    /// The parts of the batch for its documents as the overlays have been made from them.
    var storedParts: [DocumentKey: MutationBatch]
    var user: MutationQueue.UserRow
    var changes: [DocumentKey: (before: Document, after: Document)] = [:]
    /// The remote documents that the watch stream has brought before the answer.
    var overtaken: DocumentMap = [:]
  }

  /// The parts of a batch that is about to leave the queue, as it stands there. Since it was sent, it may have got other base values: a batch
  /// before it has been refused or taken back.
  ///
  /// - Returns: Nothing if its row cannot be read.
  private func storedParts(
    of batch: MutationBatch, user: MutationQueue.UserRow
  ) throws -> [DocumentKey: MutationBatch] {
    guard !batch.baseMutations.isEmpty else { return batch.parts }
    do {
      return try queue.batch(batch.batchID, user: user)?.parts ?? [:]
    } catch CacheError.unreadableBatch {
      return [:]
    }
  }

  /// Brings the overlays up to date after a batch has left the queue, and returns the view of its documents.
  ///
  /// An overlay that the answer leaves right stays. So a counter that was incremented a thousand times offline does not
  /// replay the rest of its writes at each of a thousand answers, also if the watch stream is ahead of them.
  private func localView(after removed: RemovedBatch, remote: DocumentMap) throws -> DocumentMap {
    var view: DocumentMap = [:]
    var successors: [BatchID: [DocumentKey: MutationBatch]] = [:]
    let steps = removed.changes.merging(removed.overtaken.mapValues { ($0, $0) }) { changed, _ in changed }
    for (key, change) in steps.sorted(by: { $0.key < $1.key }) {
      guard let next = try queue.firstPendingBatchID(for: key, user: removed.user), next > removed.batch.batchID,
        let parts = try successors[next] ?? queue.batch(next, user: removed.user)?.parts
      else { continue }
      successors[next] = parts
      guard let part = removed.storedParts[key], let successor = parts[key],
        let state = try localDocuments.stateOfUnaffected(
          from: change.before, to: change.after, by: part, then: successor)
      else { continue }
      let entry = try localDocuments.overlaid(change.after, user: removed.user)
      // The first answer ends what was kept: a transform that the backend has carried out must not stay in it. A document that the answer does
      // not change must be the one beneath the overlay, which only an exact one shows.
      guard entry.state != .kept, entry.state == .exact || removed.overtaken[key] == nil else { continue }
      if entry.state == .exact, state == .wide { try overlays.setState(.wide, of: key, user: removed.user) }
      view[key] = entry.document
    }
    let recalculated = try localDocuments.recalculate(remote.filter { view[$0.key] == nil }, user: removed.user)
    let others = LocalDocuments.Owned(
      keys: try localDocuments.owners(of: removed.changes.keys.sorted(), exceptFor: removed.user),
      before: removed.changes.mapValues(\.before))
    _ = try localDocuments.remoteDocumentsChanged(removed.changes.mapValues(\.after), from: others, user: nil)
    let active = try transactions.user.row()
    if active != removed.user { return try localDocuments.localView(of: removed.batch.keys, user: active) }
    return view.merging(recalculated) { _, new in new }
  }

  /// Moves a batch from the queue to the list of rejected ones.
  func keepRejected(
    _ batch: MutationBatch, _ error: StatusError, user: MutationQueue.UserRow, at time: Timestamp
  ) throws -> DocumentMap {
    var refused = batch
    refused.views = [:]
    let kept = RejectedBatch(batch: refused, error: error, rejectedAt: time)
    try rejected.insert(kept, user: user, within: rejectedLimits, globals)
    return try drop(batch, error, user: user, at: time)
  }

  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch.
  func userHolding(_ batch: MutationBatch, _ owner: LocalStore.Owner) throws -> MutationQueue.UserRow {
    guard let user = try transactions.user.row(of: owner), try queue.holds(batch.batchID, batch.identity, of: user)
    else {
      throw CacheError.unknownBatch(batch.batchID, user: transactions.user.name(of: owner))
    }
    return user
  }

  /// Keeps the outcome of a batch of another client, too. Notices are for those that are there, and stay as long as these need them: a client
  /// that is suspended, or whose files were deleted, counts as dead sooner or later, and looks for the outcome when it goes on.
  ///
  /// - Parameter isOwn: False if another client may wait for the answer.
  func noteOutcome(_ outcome: WriteOutcome, of batch: MutationBatch, isOwn: Bool = false, at time: Timestamp) throws {
    let isBrief = !batch.keepsOutcome
    guard !isBrief || !isOwn && transactions.sharing.isShared, let identity = batch.identity else { return }
    try outcomes.insert(outcome, for: identity, at: time, isBrief: isBrief, globals)
  }
}
