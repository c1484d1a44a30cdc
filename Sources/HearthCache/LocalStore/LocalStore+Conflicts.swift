package import HearthModel
internal import HearthStore

/// What waiting writes were made for, and what becomes of those whose documents others have changed.
///
/// Rows of `BaseDocumentTable` describe the oldest pending batch of each document. They are made by batches with
/// ``HearthModel/MutationBatch/keepsBases`` and brought up to date by every batch of their documents, because rules may come and go while
/// writes wait.
extension LocalStore {
  // MARK: - Keeping bases

  /// Keeps what a new batch is made for, before it is in the queue.
  ///
  /// - Parameters:
  ///   - view: The batch's documents as its owner's local view has them.
  ///   - isDelayed: True if the write has waited for the file, so that its author has seen an earlier view.
  /// - Returns: the conditions under which it is to be sent; nil if that depends on the batches before it or on documents that the backend
  ///   has to be asked for.
  func keepBases(
    of mutations: [Mutation], remote: DocumentMap, view: [DocumentKey: LocalDocuments.Overlaid], isDelayed: Bool,
    user: MutationQueue.UserRow
  ) throws -> [DocumentKey: Precondition]? {
    var known: [DocumentKey: BaseDocument] = [:]
    var areAllKnown = true
    for key in Set(mutations.map(\.key)).sorted() where conflictRules.policy(for: key) != nil {
      let pending = try queue.firstPendingBatchIDs(2, for: key, user: user)
      guard let first = pending.first else {
        let base = BaseDocument(remote[key] ?? .unknown(key))
        try bases.set(base, of: key, user: user)
        known[key] = base
        if base.mustBeCompared { areAllKnown = false }
        continue
      }
      // A row is of an earlier batch. Without one, what the earlier ones were made for is not known, nor what they will make.
      try bases.insertIfMissing(.unknown(key), user: user)
      if pending.count == 1, !isDelayed, let seen = view[key]?.document {
        try noteView(seen, behind: first, user: user)
      } else if remote[key]?.isUnknown ?? true {
        try noteIncompleteView(of: key, user: user)
      }
      areAllKnown = false
    }
    return areAllKnown ? MutationBatch.guards(of: mutations, madeFor: known) : nil
  }

  /// Notes what the second batch of a document is made for, if that is not what the first one makes of its base: the cache has lost the
  /// document, others have changed it since, or a conflict has made another one of the first.
  private func noteView(_ seen: Document, behind first: BatchID, user: MutationQueue.UserRow) throws {
    guard var base = try bases.base(of: seen.key, user: user), base.document.isFound || base.document.isMissing else {
      return
    }
    var made = base.document
    _ = try readableBatch(first, user: user)?.parts[seen.key]?.applyToLocalView(&made, mutatedFields: .empty)
    let next = made.isFound == seen.isFound && made.hasSameContents(as: seen) ? nil : seen
    guard base.next != next else { return }
    base.next = next
    try bases.set(base, of: seen.key, user: user)
  }

  /// Notes that a further batch of a document is made for a view without the document that the waiting ones change a part of: the cache has
  /// lost it, by damage or by a salvage, and only their base is left. What they make of it has to be compared with the next batch.
  private func noteIncompleteView(of key: DocumentKey, user: MutationQueue.UserRow) throws {
    guard var base = try bases.base(of: key, user: user), base.document.isFound, base.next == nil else { return }
    for batchID in try queue.pendingBatchIDs(for: [key], user: user)[key] ?? [] {
      let mutations = try readableBatch(batchID, user: user)?.mutations ?? []
      // The view shows all of what these make.
      if mutations.contains(where: { $0.key == key && $0.replacesDocument }) { return }
    }
    base.next = .unknown(key)
    try bases.set(base, of: key, user: user)
  }

  /// Nil for one that cannot be read: it leaves the queue when it is to be sent, and keeps no write from being stored.
  private func readableBatch(_ batchID: BatchID, user: MutationQueue.UserRow) throws -> MutationBatch? {
    do {
      return try queue.batch(batchID, user: user)
    } catch CacheError.unreadableBatch {
      return nil
    }
  }

  /// Brings bases up to date after a batch was committed: the next one was made for what it has made.
  func advanceBases(
    _ parts: [DocumentKey: MutationBatchResult], of batch: MutationBatch, user: MutationQueue.UserRow
  ) throws {
    guard try batch.keepsBases || !bases.isEmpty else { return }
    for key in batch.keys.sorted() {
      try advanceBase(of: key, without: batch.batchID, user: user) { base in
        guard let part = parts[key] else { return }
        var document = base.document
        try part.batch.applyToRemoteDocument(&document, result: part)
        document.mutationState = .synced
        base.document = document
      }
    }
  }

  /// Brings bases up to date after a batch has left the queue without an effect.
  func leaveBases(of keys: Set<DocumentKey>, without batchID: BatchID, user: MutationQueue.UserRow) throws {
    guard try !bases.isEmpty else { return }
    for key in keys.sorted() { try advanceBase(of: key, without: batchID, user: user) { _ in } }
  }

  private func advanceBase(
    of key: DocumentKey, without batchID: BatchID, user: MutationQueue.UserRow,
    _ change: (inout BaseDocument) throws -> Void
  ) throws {
    let pending = try queue.pendingBatchIDs(for: [key], user: user)[key] ?? []
    guard let first = pending.first else { return try bases.remove(key, user: user) }
    guard var base = try bases.base(of: key, user: user) else { return }
    if first < batchID {
      // The oldest one is still there, with its base. If it has become the only one, nothing is made for what it was.
      guard base.next != nil, pending.count == 1 else { return }
      base.next = nil
    } else if let next = base.next {
      base = BaseDocument(next, isOutdated: true, copyName: base.copyName)
    } else {
      try change(&base)
    }
    try bases.set(base, of: key, user: user)
  }

  // MARK: - Sending

  /// What has to be known before a batch is sent.
  package struct BatchBases: Equatable, Sendable {
    /// The bases of the documents that a rule contains, and of those that the batch was sent under a condition for; without a row, as of
    /// an unknown document.
    package var bases: [DocumentKey: BaseDocument]

    /// True if the backend's documents have to be read first.
    package var mustBeCompared: Bool { bases.values.contains { $0.mustBeCompared } }
  }

  /// The bases of the oldest batch of the active user that is not on its way. The batches before it must not write its documents.
  package func bases(of batch: MutationBatch) throws -> BatchBases {
    try read("Read bases") {
      var found: [DocumentKey: BaseDocument] = [:]
      guard let user = try userRow() else { return BatchBases(bases: found) }
      for key in batch.keys where conflictRules.policy(for: key) != nil || batch.guards?[key] != nil {
        found[key] = try bases.base(of: key, user: user) ?? BaseDocument(.unknown(key))
      }
      return BatchBases(bases: found)
    }
  }

  /// Makes the conditions durable under which the active user's batch is sent, before it is sent for the first time.
  ///
  /// A batch that another process has taken out of the queue or changed is left as it is: it has to be read again anyway.
  package func keepGuards(of batch: MutationBatch) throws {
    try transaction("Keep guards", synchronous: .full, needsLease: state.membership != nil) {
      guard let user = try userRow(), var stored = try queue.batch(after: batch.batchID - 1, user: user),
        stored.batchID == batch.batchID, stored.mutations == batch.mutations
      else { return }
      stored.guards = batch.guards
      try queue.replace(stored)
    }
  }

  // MARK: - Resolving

  /// The outcome of a conflict.
  package struct ConflictOutcome: Sendable {
    /// What takes the place of the batch's mutations, all of them; empty if nothing does.
    package var mutations: [Mutation]
    /// The backend's documents that were compared.
    package var remote: DocumentMap
    /// What the batch was made for, as it was compared. Of what the writes behind it were made for the file says more.
    package var bases: BatchBases
    /// The documents among those that were made as copies.
    package var copies: Set<DocumentKey>
    /// The error with which the write ends if nothing is left of it; nil if it ends well.
    package var ending: StatusError?

    package init(
      mutations: [Mutation], copies: Set<DocumentKey> = [], remote: DocumentMap, bases: BatchBases,
      ending: StatusError? = nil
    ) {
      self.mutations = mutations
      self.copies = copies
      self.remote = remote
      self.bases = bases
      self.ending = ending
    }
  }

  /// Puts other mutations in the place of those of a pending batch, which was made for other documents than the backend has.
  ///
  /// The batch keeps its number, its place and its identity; it was not committed. What the batches behind it were made for is kept, and
  /// the documents that were compared come into the cache.
  ///
  /// - Returns: the documents that have changed, as the active user's local view now has them.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch, or holds another one under its number.
  package func resolveConflict(
    _ conflicting: MutationBatch, _ outcome: ConflictOutcome, of owner: Owner, at time: Timestamp
  ) throws -> DocumentMap {
    let batchID = conflicting.batchID
    return try transaction("Resolve conflict", synchronous: .full, needsLease: state.membership != nil) {
      let (batch, user) = try pending(conflicting, owner)
      let (news, owned) = try takeOver(outcome.remote)
      try rebase(batch, outcome, user: user)
      try replace(batch, by: outcome, user: user, at: time)
      let written = batch.keys.union(outcome.mutations.map(\.key))
      let remote = try localDocuments.remoteDocuments(for: written)
      try recalculateBaseValues(of: remote, behind: batchID, user: user)
      let local = try localDocuments.recalculate(remote, user: user)
      try tell(ofDocuments: written, user: user)
      try tell(.outbox)
      // Other users' overlays, and documents of which only the backend's state has changed.
      let active = try userRow()
      let others = LocalDocuments.Owned(keys: owned.keys.filter { $0.key != user }, before: owned.before)
      var changes = try localDocuments.remoteDocumentsChanged(news, from: others, user: active)
      try tell(ofDocuments: news.keys)
      if active == user { return changes.merging(local) { _, new in new } }
      changes.merge(try localDocuments.localView(of: written, user: active)) { _, new in new }
      return changes
    }
  }

  /// Ends a batch in conflict with an error, and keeps it in the list of rejected ones.
  ///
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: as ``resolveConflict(_:_:of:at:)``.
  package func rejectConflict(
    _ conflicting: MutationBatch, _ error: StatusError, of owner: Owner, at time: Timestamp
  ) throws -> DocumentMap {
    try transaction("Reject conflict", synchronous: .full, needsLease: state.membership != nil) {
      let (batch, user) = try pending(conflicting, owner)
      return try keepRejected(batch, error, user: user, at: time)
    }
  }

  /// The batch in the queue that was compared: another process may have taken it back or given it other mutations meanwhile.
  private func pending(
    _ conflicting: MutationBatch, _ owner: Owner
  ) throws -> (batch: MutationBatch, user: MutationQueue.UserRow) {
    guard let user = try row(of: owner), let batch = try queue.batch(conflicting.batchID, user: user),
      batch.mutations == conflicting.mutations
    else {
      throw CacheError.unknownBatch(conflicting.batchID, user: name(of: owner))
    }
    return (batch, user)
  }

  /// Stores documents of the backend that are newer than those of the cache.
  private func takeOver(_ remote: DocumentMap) throws -> (changed: DocumentMap, owned: LocalDocuments.Owned) {
    let owned = try localDocuments.owned(among: remote.keys.sorted())
    let stored = try localDocuments.remoteDocuments(for: Set(remote.keys))
    let news = remote.filter { key, document in
      guard let known = stored[key] else { return false }
      return known.isUnknown || known.version < document.version
    }
    for (_, document) in news.sorted(by: { $0.key < $1.key }) { try documents.set(document) }
    try touch(news.keys.sorted())
    return (news, owned)
  }

  private func rebase(_ batch: MutationBatch, _ outcome: ConflictOutcome, user: MutationQueue.UserRow) throws {
    let parts = batch.parts
    let newParts = Dictionary(grouping: outcome.mutations, by: \.key)
    for (key, compared) in outcome.bases.bases.sorted(by: { $0.key < $1.key }) {
      guard let remote = outcome.remote[key] else { continue }
      // As it is now: while the backend or a person was asked, writes behind this one may have been made or cancelled.
      let former = try bases.base(of: key, user: user) ?? compared
      var base = BaseDocument(remote, copyName: former.copyName)
      if base.copyName.isEmpty { base.copyName = Self.copyName(of: batch) }
      // What the write behind this one was made for: the document as the local view showed it.
      var expected = former.next ?? former.document
      if former.next == nil { _ = try parts[key]?.applyToLocalView(&expected, mutatedFields: .empty) }
      let result = try DocumentEdit(newParts[key] ?? [], on: remote).document(at: batch.localWriteTime)
      if expected.isFound != result.isFound || !expected.hasSameContents(as: result) { base.next = expected }
      try bases.set(base, of: key, user: user)
    }
    for key in newParts.keys.sorted() where outcome.bases.bases[key] == nil && !batch.keys.contains(key) {
      guard conflictRules.policy(for: key) != nil else { continue }
      let known = try documents.document(for: key)
      // A copy has a name that nobody else gives, so it is there only if an earlier part of the same edit has made it.
      let isNew = outcome.copies.contains(key) && !known.isFound
      try bases.insertIfMissing(isNew ? .missing(key, version: .none) : known, user: user)
    }
  }

  private func replace(
    _ batch: MutationBatch, by outcome: ConflictOutcome, user: MutationQueue.UserRow, at time: Timestamp
  ) throws {
    try queue.remove(batch, user: user)
    if outcome.mutations.isEmpty {
      let ending = outcome.ending.map { WriteOutcome.failed($0) }
      let version = outcome.remote.values.map(\.version).max() ?? .none
      try noteOutcome(ending ?? .committed(version, []), of: batch, at: time)
      try tell(.batchAnswered(batch.batchID, user: user, outcome.ending))
      try touchLeftByBatch(batch.keys.sorted())
      return try leaveBases(of: batch.keys, without: batch.batchID, user: user)
    }
    var resolved = batch
    resolved.mutations = outcome.mutations
    resolved.isResolved = batch.isResolved || outcome.mutations != batch.mutations
    // Its documents were compared with the backend's, so that it is made for these now.
    resolved.guards = nil
    let view = try view(
      of: localDocuments.remoteDocuments(for: resolved.keys), before: batch.batchID, user: user)
    resolved.baseMutations = try baseMutations(of: outcome.mutations, in: view)
    try queue.insert(resolved, user: user)
    let left = batch.keys.subtracting(resolved.keys)
    try touchLeftByBatch(left.sorted())
    try leaveBases(of: left, without: batch.batchID, user: user)
    if !isEager {
      for key in resolved.keys.sorted() { try uses.markUseByBatch(of: key, sequenceNumber: sequenceNumber()) }
    }
  }

  /// The name of copies of documents that a batch has written: eight hexadecimal digits, the same each time.
  package static func copyName(of batch: MutationBatch) -> String {
    let number = batch.identity.map { UInt32(truncatingIfNeeded: $0.low) } ?? UInt32(truncatingIfNeeded: batch.batchID)
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
