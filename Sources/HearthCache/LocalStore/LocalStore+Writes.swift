package import HearthModel
internal import HearthStore

extension LocalStore {
  /// A write that was queued.
  package struct StoredWrite: Sendable {
    package var batch: MutationBatch
    /// The documents that it changes, as its owner's local view has them after it.
    package var changes: DocumentMap
    /// The same documents before it; empty unless they were asked for.
    package var former: DocumentMap = [:]
  }

  /// The user whose outbox an operation is about.
  package enum Owner: Sendable {
    /// The user whose outbox the local view shows.
    case activeUser
    /// This user, active or not; nil when no user is signed in.
    case user(String?)
  }

  // MARK: - Writing

  /// Queues a write and returns its batch id and the documents it changes, as its owner's local view now has them.
  package func write(
    _ mutations: [Mutation], localWriteTime: Timestamp, identity: BatchIdentity? = nil, of owner: Owner = .activeUser
  ) throws -> (batchID: BatchID, changes: DocumentMap) {
    try transaction("Locally write mutations", synchronous: .full) {
      let stored = try enqueue(
        LocalWrite(mutations: mutations, localWriteTime: localWriteTime, identity: identity),
        user: rowForWriting(of: owner), name: name(of: owner))
      return (stored.batch.batchID, stored.changes)
    }
  }

  /// Queues several writes in one commit, in order: all of them or none.
  ///
  /// - Parameters:
  ///   - areDelayed: True if they have waited for the file: their author has seen an earlier view than the one that they are stored over.
  ///   - keepsFormer: True to return the documents before each write as well.
  /// - Returns: The batches as they were stored, each with the documents that it changes.
  package func write(
    many writes: [LocalWrite], of owner: Owner = .activeUser, areDelayed: Bool = false, keepsFormer: Bool = false
  ) throws -> [StoredWrite] {
    try transaction("Locally write mutations", synchronous: .full) {
      let user = try rowForWriting(of: owner)
      return try writes.map {
        try enqueue($0, user: user, name: name(of: owner), isDelayed: areDelayed, keepsFormer: keepsFormer)
      }
    }
  }

  private func enqueue(
    _ write: LocalWrite, user: MutationQueue.UserRow, name: String?, isDelayed: Bool = false, keepsFormer: Bool = false
  ) throws -> StoredWrite {
    let mutations =
      try write.resubmits.map { try takeRejected($0, write.resubmitsIdentity, user: user, name: name) }
      ?? write.mutations
    guard !mutations.isEmpty else { throw CacheError.emptyBatch }
    // The view before the write: base values are taken from it, and the batch is applied on top of it, so that a write
    // costs the same however many batches are pending.
    let remote = try localDocuments.remoteDocuments(for: Set(mutations.map(\.key)))
    let view = try localDocuments.overlaid(remote, user: user)
    let keepsBases = !conflictRules.isEmpty && mutations.contains { conflictRules.policy(for: $0.key) != nil }
    let guards =
      keepsBases
      ? try keepBases(of: mutations, remote: remote, view: view, isDelayed: isDelayed, user: user) : nil
    let batch = try queue.append(
      mutations, baseMutations: baseMutations(of: mutations, in: view), localWriteTime: write.localWriteTime,
      identity: write.identity, keepsOutcome: write.keepsOutcome, keepsBases: keepsBases, guards: guards, user: user)
    // After the batch is queued, because the mark says that the document has a pending batch.
    if !isEager {
      for key in batch.keys.sorted() { try uses.markUseByBatch(of: key, sequenceNumber: sequenceNumber()) }
    }
    let changes = try localDocuments.apply(batch, to: view, remote: remote, user: user)
    try tell(.batchQueued(batch.batchID, user: user))
    try tell(ofDocuments: changes.keys, user: user)
    return StoredWrite(
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

  // MARK: - Answers of the backend

  /// Takes a batch that the backend has committed out of the queue and applies it to the remote documents. The batch is
  /// the one that was sent; its row is not read again, so that damage done to it since then loses no answer.
  ///
  /// A document that the cache already holds at the version of the commit or a newer one is left as it is. The others
  /// keep showing the written data (`hasCommittedMutations`) until the watch stream delivers that version. The cost
  /// grows with the batch and with the pending batches of the same documents, not with the queue.
  ///
  /// - Parameters:
  ///   - needsLease: false for an answer that was received while this client held the lease.
  ///   - time: the device's time, from which a kept outcome ages.
  /// - Returns: the batch's documents, as the active user's local view now has them.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch.
  package func acknowledge(
    _ result: MutationBatchResult, of owner: Owner = .activeUser, needsLease: Bool = true, at time: Timestamp = .epoch
  ) throws -> DocumentMap {
    try transaction("Acknowledge batch", synchronous: .full, needsLease: needsLease) {
      let batch = result.batch
      let user = try userHolding(batch, owner)
      var remote = try localDocuments.remoteDocuments(for: batch.keys)
      let versions = result.documentVersions
      var outcome = RemovedBatch(batch: batch, user: user)
      let parts = result.parts
      for (key, part) in parts.sorted(by: { $0.key < $1.key }) {
        guard let before = remote[key], before.version < versions[key] ?? result.commitVersion else { continue }
        var after = before
        try part.batch.applyToRemoteDocument(&after, result: part)
        guard !after.isUnknown else { continue }
        after.readTime = result.commitVersion
        try documents.set(after)
        remote[key] = after
        outcome.changes[key] = (before, after)
      }
      // The reference goes before the mark of use is set, and both before the overlays are calculated without the batch.
      try queue.remove(batch, user: user)
      try advanceBases(parts, of: batch, user: user)
      try touchLeftByBatch(batch.keys.sorted())
      // The parts of a batch that a conflict has changed are not those that the application wrote.
      try noteOutcome(.committed(result.commitVersion, batch.isResolved ? [] : result.results), of: batch, at: time)
      try tell(.batchAnswered(batch.batchID, user: user, nil))
      try tell(ofDocuments: batch.keys)
      return try localView(after: outcome, remote: remote)
    }
  }

  /// Takes a batch that the backend has refused permanently out of the queue, and keeps it in the list of those.
  ///
  /// - Parameter time: the device's time of the refusal.
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch.
  package func reject(
    _ batch: MutationBatch, _ error: StatusError = .rejected, of owner: Owner = .activeUser, needsLease: Bool = true,
    at time: Timestamp = .epoch
  ) throws -> DocumentMap {
    try transaction("Reject batch", synchronous: .full, needsLease: needsLease) {
      try keepRejected(batch, error, user: userHolding(batch, owner), at: time)
    }
  }

  /// Part of a transaction: moves a batch from the queue to the list of rejected ones.
  func keepRejected(
    _ batch: MutationBatch, _ error: StatusError, user: MutationQueue.UserRow, at time: Timestamp
  ) throws -> DocumentMap {
    let kept = RejectedBatch(batch: batch, error: error, rejectedAt: time)
    try rejected.insert(kept, user: user, within: rejectedBatchLimits, globals)
    return try drop(batch, error, user: user, at: time)
  }

  private func userHolding(_ batch: MutationBatch, _ owner: Owner) throws -> MutationQueue.UserRow {
    guard let user = try row(of: owner), try queue.holds(batch.batchID, batch.identity, of: user) else {
      throw CacheError.unknownBatch(batch.batchID, user: name(of: owner))
    }
    return user
  }

  /// Takes the batches that cannot be read out of the queues of all users and keeps their bytes. Reads all queues.
  ///
  /// - Returns: the batches, and the documents of those of the current user, as the local view has them without them.
  package func setAsideUnreadableBatches() throws -> (batches: [UnreadableBatch], changes: DocumentMap) {
    try transaction("Set unreadable batches aside", synchronous: .full) {
      let batches = try queue.unreadableBatches()
      var changes: DocumentMap = [:]
      for batch in batches { try queue.setAside(batch) }
      for (user, batches) in Dictionary(grouping: batches, by: \.user).sorted(by: { $0.key < $1.key }) {
        let keys = batches.reduce(into: Set<DocumentKey>()) { $0.formUnion($1.keys) }
        try touchLeftByBatch(keys.sorted())
        for batch in batches { try leaveBases(of: Set(batch.keys), without: batch.batchID, user: user) }
        let view = try localDocuments.recalculate(localDocuments.remoteDocuments(for: keys), user: user)
        try tell(ofDocuments: keys, user: user)
        for batch in batches {
          try tell(.batchAnswered(batch.batchID, user: user, StatusError(code: .dataLoss, message: batch.reason)))
        }
        if try user == userRow() { changes = view }
      }
      return (batches, changes)
    }
  }

  /// A batch that has left the queue, and what its answer did to the remote documents.
  private struct RemovedBatch {
    var batch: MutationBatch
    var user: MutationQueue.UserRow
    var changes: [DocumentKey: (before: Document, after: Document)] = [:]
  }

  /// Brings the overlays up to date after a batch has left the queue, and returns the view of its documents.
  ///
  /// An overlay that the answer leaves right stays. So a counter that was incremented a thousand times offline does not
  /// replay the rest of its writes at each of a thousand answers.
  private func localView(after removed: RemovedBatch, remote: DocumentMap) throws -> DocumentMap {
    var view: DocumentMap = [:]
    let acknowledged = removed.batch.parts
    var successors: [BatchID: [DocumentKey: MutationBatch]] = [:]
    for (key, change) in removed.changes.sorted(by: { $0.key < $1.key }) {
      guard let next = try queue.firstPendingBatchID(for: key, user: removed.user), next > removed.batch.batchID,
        let parts = try successors[next] ?? queue.batch(next, user: removed.user)?.parts
      else { continue }
      successors[next] = parts
      guard let part = acknowledged[key], let successor = parts[key],
        let state = try localDocuments.stateOfUnaffected(
          from: change.before, to: change.after, by: part, then: successor)
      else { continue }
      let entry = try localDocuments.overlaid(change.after, user: removed.user)
      // The first answer ends what was kept: a transform that the backend has carried out must not stay in it.
      guard entry.state != .kept else { continue }
      if entry.state == .exact, state == .wide { try overlays.setState(.wide, of: key, user: removed.user) }
      view[key] = entry.document
    }
    let recalculated = try localDocuments.recalculate(remote.filter { view[$0.key] == nil }, user: removed.user)
    let others = LocalDocuments.Owned(
      keys: try localDocuments.owners(of: removed.changes.keys.sorted(), exceptFor: removed.user),
      before: removed.changes.mapValues(\.before))
    _ = try localDocuments.remoteDocumentsChanged(removed.changes.mapValues(\.after), from: others, user: nil)
    let active = try userRow()
    if active != removed.user { return try localDocuments.localView(of: removed.batch.keys, user: active) }
    return view.merging(recalculated) { _, new in new }
  }

  // MARK: - The queue

  /// The first batch of the current user behind `batchID` (-1 for the first of all).
  package func nextMutationBatch(after batchID: BatchID) throws -> MutationBatch? {
    try read("Get next mutation batch") {
      guard let user = try userRow() else { return nil }
      return try queue.batch(after: batchID, user: user)
    }
  }

  /// The last batch of the owner's outbox, among those up to `limit`; nil if there is none.
  package func highestUnacknowledgedBatchID(
    notAfter limit: BatchID = .max, of owner: Owner = .activeUser
  ) throws -> BatchID? {
    try read("Get highest unacknowledged batch id") {
      guard let user = try row(of: owner) else { return nil }
      return try queue.highestBatchID(user: user, notAfter: limit)
    }
  }

  /// The owner's outbox in order: at most `limit` batches behind `batchID`.
  package func pendingBatches(
    after batchID: BatchID = -1, limit: Int = .max, of owner: Owner = .activeUser
  ) throws -> [MutationBatch] {
    try read("List pending batches") {
      guard let user = try row(of: owner) else { return [] }
      return try queue.batches(after: batchID, limit: Int64(limit), user: user)
    }
  }

  // MARK: - Users

  /// Makes another user's queue the active one.
  ///
  /// - Parameter queries: those whose results are shown, so that what nobody looks at costs nothing, however long the queues
  ///   are; nil for all documents.
  /// - Returns: the documents with pending writes of either user, as the new one sees them.
  package func changeUser(_ user: String?, showing queries: [Query]? = nil) throws -> DocumentMap {
    try transaction("Handle user change") {
      guard !isUser(user) else { return [:] }
      let former = try userRow()
      state.user = user
      state.userRow = nil
      if let member = state.membership {
        try clients.update(member.client, userKey: MutationQueue.userKey(user))
        try tell(.clients)
      }
      let row = try userRow()
      var keys: Set<DocumentKey> = []
      for user in [former, row] {
        guard let user else { continue }
        guard let queries else {
          keys.formUnion(try queue.pendingKeys(shownBy: nil, user: user))
          continue
        }
        for query in queries { keys.formUnion(try queue.pendingKeys(shownBy: query, user: user)) }
      }
      return try localDocuments.localView(of: keys, user: row)
    }
  }

  package var user: String? { state.user }

  func name(of owner: Owner) -> String? {
    switch owner {
    case .activeUser: state.user
    case .user(let user): user
    }
  }

  func row(of owner: Owner) throws -> MutationQueue.UserRow? {
    let user = name(of: owner)
    return try isUser(user) ? userRow() : queue.row(of: user)
  }

  private func rowForWriting(of owner: Owner) throws -> MutationQueue.UserRow {
    let user = name(of: owner)
    return try isUser(user) ? userRowForWriting() : queue.makeRow(userKey: MutationQueue.userKey(user))
  }

  /// Returns whether the active queue is that of `user`. By bytes: Swift's `==` also unites composed and decomposed characters.
  package func isUser(_ user: String?) -> Bool {
    Self.isSameUser(user, state.user)
  }

  package static func isSameUser(_ a: String?, _ b: String?) -> Bool {
    MutationQueue.userKey(a).utf8.elementsEqual(MutationQueue.userKey(b).utf8)
  }
}

extension StatusError {
  /// The backend has refused a batch, for callers that do not say why.
  package static let rejected = StatusError(code: .unknown, message: "The backend has refused the write.")
}
