package import HearthModel
internal import HearthStore

/// Conflicts: pending writes whose documents others have changed.
extension CacheOutbox {
  /// A write that cannot be stored yet, as its author sees it. Does not wait for other processes. Without rules for conflicts nothing is read.
  ///
  /// - Parameter author: Not the active user while a change of the user waits for the file.
  package func seen(_ write: LocalWrite, by author: String?) -> LocalStore.SeenWrite {
    var seen = LocalStore.SeenWrite(mutations: write.mutations, documents: [:])
    for key in bases.keysUnderRules(of: write.mutations) { seen.documents[key] = .unread }
    guard !bases.rules.isEmpty, !seen.documents.isEmpty || write.resubmits != nil else { return seen }
    if write.resubmits != nil { seen.mutations = nil }
    transactions.tables.database.waiting(atMost: .zero) {
      seen =
        (try? transactions.read("Look at documents under rules") {
          let user = try transactions.user.row(of: .user(author))
          let mutations = try mutations(of: write, user: user)
          return LocalStore.SeenWrite(mutations: mutations, documents: try seenDocuments(mutations, user))
        }) ?? seen
    }
    return seen
  }

  /// The mutations of a write, also if they are those of a refused batch that is submitted again. None if that batch is gone.
  private func mutations(of write: LocalWrite, user: MutationQueue.UserRow?) throws -> [Mutation] {
    guard let batchID = write.resubmits else { return write.mutations }
    guard let batch = try user.flatMap({ try rejected.batch(batchID, user: $0) })?.batch,
      write.resubmitsIdentity == nil || write.resubmitsIdentity == batch.identity
    else { return [] }
    return batch.mutations
  }

  private func seenDocuments(
    _ mutations: [Mutation], _ user: MutationQueue.UserRow?
  ) throws -> [DocumentKey: SeenDocument] {
    let keys = bases.keysUnderRules(of: mutations)
    let view = try localDocuments.localView(of: Array(keys), user: user)
    let remote = try localDocuments.remoteDocuments(for: keys)
    var seen: [DocumentKey: SeenDocument] = [:]
    for key in keys {
      let last = try user.flatMap { try queue.lastPendingBatchID(for: key, user: $0) }
      seen[key] = .read(
        view[key] ?? .unknown(key), remoteVersion: remote[key]?.version ?? .none,
        last: last.map { .pending($0) } ?? .none)
    }
    return seen
  }

  /// Part of ``LocalStore/resolveConflict(_:_:of:at:)``.
  func resolveConflict(
    _ conflicting: MutationBatch, _ outcome: LocalStore.ConflictOutcome, of owner: LocalStore.Owner, at time: Timestamp
  ) throws -> DocumentMap {
    let (batch, user) = try pending(conflicting, owner)
    let (news, owned) = try takeOver(outcome.remote)
    try bases.rebase(batch, outcome, user: user)
    if let identity = batch.identity, !outcome.reports.isEmpty {
      let key = MutationQueue.userKey(transactions.user.name(of: owner))
      try resolved.insert(outcome.reports, of: batch, identity, user: key, at: time, globals)
    }
    try replace(batch, by: outcome, user: user, at: time)
    let written = batch.keys.union(outcome.mutations.map(\.key))
    let remote = try localDocuments.remoteDocuments(for: written)
    try recalculateBaseValues(of: remote, behind: batch.batchID, user: user)
    let local = try localDocuments.recalculate(remote, user: user)
    try transactions.tell(ofDocuments: written, user: user)
    try transactions.tell(.outbox)
    // Other users' overlays, and documents whose backend state alone has changed.
    let active = try transactions.user.row()
    let others = LocalDocuments.Owned(keys: owned.keys.filter { $0.key != user }, before: owned.before)
    var changes = try localDocuments.remoteDocumentsChanged(news, from: others, user: active)
    try transactions.tell(ofDocuments: news.keys)
    if active == user { return changes.merging(local) { _, new in new } }
    changes.merge(try localDocuments.localView(of: written, user: active)) { _, new in new }
    return changes
  }

  /// The batch in the queue that was compared: another process may have taken it back or given it other mutations since then.
  func pending(
    _ conflicting: MutationBatch, _ owner: LocalStore.Owner
  ) throws -> (batch: MutationBatch, user: MutationQueue.UserRow) {
    guard let user = try transactions.user.row(of: owner), let batch = try queue.batch(conflicting.batchID, user: user),
      batch.mutations == conflicting.mutations
    else {
      throw CacheError.unknownBatch(conflicting.batchID, user: transactions.user.name(of: owner))
    }
    return (batch, user)
  }

  /// Stores documents of the backend that are newer than those of the cache, and those by which these are of a history that the backend has
  /// lost.
  private func takeOver(_ remote: DocumentMap) throws -> (changed: DocumentMap, owned: LocalDocuments.Owned) {
    let owned = try localDocuments.owned(among: remote.keys.sorted())
    let stored = try localDocuments.remoteDocuments(for: Set(remote.keys))
    let news = remote.filter { key, document in
      guard let known = stored[key] else { return false }
      return known.isUnknown || known.version < document.version
        || document.showsLostHistory(of: known.version, at: document.readTime)
    }
    for (_, document) in news.sorted(by: { $0.key < $1.key }) { try documents.set(document) }
    try references.touch(news.keys.sorted())
    return (news, owned)
  }

  private func replace(
    _ batch: MutationBatch, by outcome: LocalStore.ConflictOutcome, user: MutationQueue.UserRow, at time: Timestamp
  ) throws {
    try queue.remove(batch, user: user)
    try showAnew(batch.keys.subtracting(outcome.mutations.map(\.key)))
    if outcome.mutations.isEmpty {
      let ending = outcome.ending.map { WriteOutcome.failed($0) }
      let version = outcome.remote.values.map(\.version).max() ?? .none
      try noteOutcome(ending ?? .committed(version, []), of: batch, at: time)
      try transactions.tell(.batchAnswered(batch.batchID, batch.identity, user: user, outcome.ending))
      try references.touchLeftByBatch(batch.keys.sorted())
      return try bases.leave(batch.keys, without: batch.batchID, user: user)
    }
    var resolved = batch
    resolved.mutations = outcome.mutations
    resolved.isResolved = batch.isResolved || outcome.mutations != batch.mutations
    // Its documents were compared with the backend's, and are its base now.
    resolved.guards = nil
    resolved.views = batch.views.compactMapValues { view in
      guard let shown = view.shown, outcome.isUncontradicted(shown.key) else { return nil }
      return AuthorView(nil, shown: shown, remoteVersion: view.remoteVersion)
    }
    let view = try view(
      of: localDocuments.remoteDocuments(for: resolved.keys), before: batch.batchID, user: user)
    resolved.baseMutations = try baseMutations(of: outcome.mutations, in: view)
    try queue.insert(resolved, user: user)
    let left = batch.keys.subtracting(resolved.keys)
    try references.touchLeftByBatch(left.sorted())
    try bases.leave(left, without: batch.batchID, user: user)
    try references.touchEnteredByBatch(resolved.keys)
  }

  /// The conflicts of a user that were resolved, oldest first.
  package func resolvedConflicts(of user: String?) throws -> [KeptConflict] {
    try transactions.read("List resolved conflicts") { try resolved.conflicts(of: MutationQueue.userKey(user)) }
  }

  /// Part of ``LocalStore/keepGuards(of:)``.
  func keepGuards(of batch: MutationBatch) throws {
    guard let user = try transactions.user.row(), var stored = try queue.batch(after: batch.batchID - 1, user: user),
      stored.batchID == batch.batchID, stored.mutations == batch.mutations
    else { return }
    stored.guards = batch.guards
    try queue.replace(stored)
  }
}
