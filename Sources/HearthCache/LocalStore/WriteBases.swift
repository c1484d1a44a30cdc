package import HearthModel
internal import HearthStore

/// The documents that pending writes are based on, and their updates when earlier writes leave the outbox.
///
/// Rows of `BaseDocumentTable` describe the oldest pending batch of each document. They are created by batches with
/// ``HearthModel/MutationBatch/keepsBases`` and updated by every batch of their documents, because rules may be added and removed while
/// writes are pending. Its methods run inside a transaction.
final class WriteBases {
  let table: BaseDocumentTable
  let queue: MutationQueue
  private let documents: DocumentStore
  /// The documents whose pending writes keep their bases.
  var rules = ConflictRules()

  init(in tables: CacheTables) {
    table = tables.bases
    queue = tables.queue
    documents = tables.documents
  }

  /// Returns true if a rule names one of the documents.
  func areKept(by mutations: [Mutation]) -> Bool {
    !rules.isEmpty && mutations.contains { rules.policy(for: $0.key) != nil }
  }

  /// The documents of mutations that rules name.
  func keysUnderRules(of mutations: [Mutation]) -> Set<DocumentKey> {
    rules.isEmpty ? [] : Set(mutations.map(\.key).filter { rules.policy(for: $0) != nil })
  }

  /// Stores the bases of a new batch, before it is in the queue.
  ///
  /// - Parameters:
  ///   - view: The batch's documents as its owner's local view has them.
  ///   - seen: See ``HearthModel/LocalWrite/seen``.
  func keep(
    of mutations: [Mutation], remote: DocumentMap, view: [DocumentKey: LocalDocuments.Overlaid],
    seen: [DocumentKey: SeenDocument]?, user: MutationQueue.UserRow
  ) throws -> MutationQueue.KeptBases {
    var kept = MutationQueue.KeptBases()
    var known: [DocumentKey: BaseDocument] = [:]
    var areAllKnown = true
    for key in keysUnderRules(of: mutations).sorted() {
      let pending = try queue.firstPendingBatchIDs(2, for: key, user: user)
      guard let first = pending.first else {
        let document = remote[key] ?? .unknown(key)
        let base = seen?[key]?.base(over: document) ?? BaseDocument(document)
        try table.set(base, of: key, user: user)
        known[key] = base
        if base.mustBeCompared { areAllKnown = false }
        continue
      }
      areAllKnown = false
      try beginIfMissing(key, behind: pending, user: user)
      let shown = Self.shown(view[key]?.document, seen, key)
      if pending.count == 1, let shown {
        kept.views[key] = try secondView(shown, seen?[key], over: remote[key], behind: first, user: user)
        continue
      }
      if let shown, let remote = remote[key],
        let own = try ownView(shown, seen?[key], over: remote, user: user)
      {
        kept.views[key] = own
      }
      if kept.views[key]?.document == nil, remote[key]?.isUnknown ?? true {
        try noteIncompleteView(of: key, user: user)
      }
    }
    if areAllKnown { kept.guards = MutationBatch.guards(of: mutations, madeFor: known) }
    return kept
  }

  private func isApart(
    _ seen: SeenDocument?, from batchID: BatchID, user: MutationQueue.UserRow
  ) throws -> Bool {
    guard let seen else { return false }
    return seen.isApart(from: batchID, try readableBatch(batchID, user: user)?.identity)
  }

  /// The view of the author of a batch behind several others; nil if it is what these make of their base.
  private func ownView(
    _ shown: Document, _ seen: SeenDocument?, over remote: Document, user: MutationQueue.UserRow
  ) throws -> AuthorView? {
    let key = shown.key
    guard let last = try queue.lastPendingBatchID(for: key, user: user) else { return nil }
    var view = AuthorView(
      AuthorView.stored(shown), remoteVersion: remote.version, isApart: try isApart(seen, from: last, user: user))
    if view.isApart { return view }
    guard let base = try table.base(of: key, user: user) else { return nil }
    let former = try readableBatch(last, user: user)?.views[key]
    guard Self.mayDiffer(from: former, base, remote) else {
      // Stored if the write before has one, so that the next write need not ask for the result of all of them either.
      view.document = nil
      return former == nil ? nil : view
    }
    let state = try state(ofPending: key, on: base, user: user)
    if PendingState.isKnown(state.made) {
      guard shown.isConfirmed(by: state.made) else { return view }
    } else if former == nil {
      return nil
    }
    view.document = nil
    if !shown.isConfirmed(by: state.shown) { view.shown = AuthorView.stored(shown) }
    return view
  }

  /// Returns whether what is shown may be another document than the result of the pending writes.
  ///
  /// It is that as long as the backend's document is the one of the last batch whose author saw all before it, and no batch has left since.
  private static func mayDiffer(from former: AuthorView?, _ base: BaseDocument, _ remote: Document) -> Bool {
    if let former, former.remoteVersion == nil { return true }
    if former?.isApart ?? base.nextIsApart { return true }
    let known = former?.remoteVersion ?? (base.isOutdated ? nil : base.document.version)
    return !remote.isUnknown && known != remote.version
  }

  /// The document behind all pending batches.
  private func state(
    ofPending key: DocumentKey, on base: BaseDocument, user: MutationQueue.UserRow
  ) throws -> PendingState {
    var state = PendingState(base)
    for (index, batchID) in (try queue.pendingBatchIDs(for: [key], user: user)[key] ?? []).enumerated() {
      let batch = try readableBatch(batchID, user: user)
      state.begin(batch?.views[key], at: index, base)
      try state.apply(batch?.parts[key])
    }
    return state
  }

  /// The document that the author of a write saw; nil if that is not known.
  private static func shown(
    _ present: Document?, _ seen: [DocumentKey: SeenDocument]?, _ key: DocumentKey
  ) -> Document? {
    guard let seen else { return present }
    guard case .read(let document, _, _)? = seen[key] else { return nil }
    return document
  }

  /// Creates the missing row of a document with pending batches. Neither their base nor their result is known.
  private func beginIfMissing(_ key: DocumentKey, behind pending: [BatchID], user: MutationQueue.UserRow) throws {
    guard let first = pending.first, try table.base(of: key, user: user) == nil else { return }
    var base = BaseDocument(.unknown(key))
    // The lost row held the base of the second batch, which is not the result of the first batch since that was resolved.
    if pending.count > 1, try readableBatch(first, user: user)?.isResolved ?? false { base.next = .unknown(key) }
    try table.set(base, of: key, user: user)
  }

  /// Notes the base of the second batch of a document, if it differs from the result of the first batch: the cache has lost the document,
  /// others have changed it since, or a conflict has replaced the first batch.
  ///
  /// - Returns: The view to store with the batch itself; nil if its author saw its base.
  private func secondView(
    _ shown: Document, _ seen: SeenDocument?, over remote: Document?, behind first: BatchID, user: MutationQueue.UserRow
  ) throws -> AuthorView? {
    guard var base = try table.base(of: shown.key, user: user) else { return nil }
    let isApart = try isApart(seen, from: first, user: user)
    let batch = try readableBatch(first, user: user)
    var state = PendingState(base)
    state.begin(batch?.views[shown.key], at: 0, base)
    try state.apply(batch?.parts[shown.key])
    // Also if the base is not, and the first batch writes the whole document.
    let isKnown = PendingState.isKnown(state.made)
    if isKnown || isApart {
      let next = isKnown && shown.isConfirmed(by: state.made) ? nil : shown
      if base.next != next {
        base.next = next
        base.nextIsApart = isApart && next != nil
        try table.set(base, of: shown.key, user: user)
      }
      if next != nil { return nil }
    }
    guard state.seen != nil, !shown.isConfirmed(by: state.shown) else { return nil }
    return AuthorView(nil, shown: AuthorView.stored(shown), remoteVersion: remote?.version ?? SnapshotVersion.none)
  }

  /// Notes that a further batch is based on a view that lacks the document, although pending batches change a part of it: the cache has
  /// lost the document, by damage or by a salvage, and only their base is left. Their result must be compared with the next batch.
  private func noteIncompleteView(of key: DocumentKey, user: MutationQueue.UserRow) throws {
    guard var base = try table.base(of: key, user: user), base.document.isFound, base.next == nil else { return }
    for batchID in try queue.pendingBatchIDs(for: [key], user: user)[key] ?? [] {
      let mutations = try readableBatch(batchID, user: user)?.mutations ?? []
      // The view shows all of what these make.
      if mutations.contains(where: { $0.key == key && $0.replacesDocument }) { return }
    }
    base.next = .unknown(key)
    try table.set(base, of: key, user: user)
  }

  /// Nil for an unreadable batch: it leaves the queue when its turn to be sent comes, and does not prevent other writes from being stored.
  func readableBatch(_ batchID: BatchID, user: MutationQueue.UserRow) throws -> MutationBatch? {
    do {
      return try queue.batch(batchID, user: user)
    } catch CacheError.unreadableBatch {
      return nil
    }
  }

  /// Advances the bases after a batch was committed: the next batch is based on its result.
  ///
  /// - Parameter views: The views of its author.
  func advance(
    _ parts: [DocumentKey: MutationBatchResult], of batch: MutationBatch, views: [DocumentKey: AuthorView],
    user: MutationQueue.UserRow
  ) throws {
    guard try batch.keepsBases || !table.isEmpty else { return }
    for key in batch.keys.sorted() {
      try advanceBase(of: key, without: batch.batchID, user: user) { base in
        guard let part = parts[key] else { return }
        var document = base.document
        try part.batch.applyToRemoteDocument(&document, result: part)
        document.mutationState = .synced
        base.document = document
        guard var shown = views[key]?.shown else { return }
        _ = try part.batch.applyToLocalView(&shown, mutatedFields: .empty)
        if !shown.isConfirmed(by: document) { try keepShown(shown, behind: batch.batchID, user: user) }
      }
    }
  }

  /// The views of the author of a batch as they are stored.
  func views(of batch: MutationBatch, user: MutationQueue.UserRow) throws -> [DocumentKey: AuthorView] {
    guard batch.keepsBases else { return [:] }
    return try readableBatch(batch.batchID, user: user)?.views ?? [:]
  }

  func advanceBase(
    of key: DocumentKey, without batchID: BatchID, user: MutationQueue.UserRow,
    _ change: (inout BaseDocument) throws -> Void
  ) throws {
    // The queue may hold thousands of batches for the document.
    let pending = try queue.firstPendingBatchIDs(2, for: key, user: user)
    guard let first = pending.first else { return try table.remove(key, user: user) }
    guard var base = try table.base(of: key, user: user) else { return }
    if first < batchID {
      // The oldest batch is still there, with its base. If it has become the only one, no batch is based on its result.
      if pending.count == 1 {
        guard base.next != nil else { return }
        base.next = nil
        return try table.set(base, of: key, user: user)
      }
      guard pending[1] > batchID else { return }
    } else if let next = base.next {
      base = BaseDocument(next, isOutdated: true, copyName: base.nextIsApart ? "" : base.copyName)
    } else {
      try change(&base)
    }
    if pending.count > 1, let view = try readableBatch(pending[1], user: user)?.views[key], let next = view.document {
      base.next = next
      base.nextIsApart = view.isApart
    }
    try table.set(base, of: key, user: user)
  }

  /// The bases of a batch; see ``CacheOutbox/bases(of:)``.
  func bases(of batch: MutationBatch, user: MutationQueue.UserRow) throws -> LocalStore.BatchBases {
    var found: [DocumentKey: BaseDocument] = [:]
    let views = try views(of: batch, user: user)
    for key in batch.keys where rules.policy(for: key) != nil || batch.guards?[key] != nil {
      var base = try table.base(of: key, user: user) ?? BaseDocument(.unknown(key))
      base.shown = views[key]?.shown
      found[key] = base
    }
    return LocalStore.BatchBases(bases: found)
  }

  /// Stores the bases of the mutations that replace a batch, and of the batches after it.
  func rebase(_ batch: MutationBatch, _ outcome: LocalStore.ConflictOutcome, user: MutationQueue.UserRow) throws {
    let newParts = Dictionary(grouping: outcome.mutations, by: \.key)
    for (key, compared) in outcome.bases.bases.sorted(by: { $0.key < $1.key }) {
      guard let remote = outcome.remote[key] else { continue }
      // As it is now: while the backend or a person was asked, writes behind this one may have been made or cancelled.
      let stored = try table.base(of: key, user: user)
      var former = stored ?? compared
      // The lost row held the base of the next write, which is not the result of this one since it was resolved before.
      if stored == nil, batch.isResolved { former.next = .unknown(key) }
      var base = BaseDocument(remote, copyName: former.copyName)
      if base.copyName.isEmpty { base.copyName = batch.copyName }
      let result = try DocumentEdit(newParts[key] ?? [], on: remote).document(at: batch.localWriteTime)
      let (next, isApart) = try viewBehind(batch, of: key, former, user: user)
      if next.made.isFound != result.isFound || !next.made.hasSameContents(as: result) {
        base.next = next.made
        base.nextIsApart = isApart
        try noteChange(of: key, behind: batch.batchID, user: user)
      }
      if former.next == nil, next.seen != nil { try keepShown(next.shown, behind: batch.batchID, user: user) }
      try table.set(base, of: key, user: user)
    }
    for key in newParts.keys.sorted() where outcome.bases.bases[key] == nil && !batch.keys.contains(key) {
      guard rules.policy(for: key) != nil else { continue }
      let known = try documents.document(for: key)
      // A copy has a name that nobody else gives, so it is there only if an earlier part of the same edit has made it.
      let isNew = outcome.copies.contains(key) && !known.isFound
      try table.insertIfMissing(isNew ? .missing(key, version: .none) : known, user: user)
    }
  }

  /// The document as the local view showed it to the author of the batch behind the first one, which a conflict replaces.
  ///
  /// - Parameter base: The base of the first one, before.
  /// - Returns: Also whether it had not seen the first one, or no effect of it.
  private func viewBehind(
    _ batch: MutationBatch, of key: DocumentKey, _ base: BaseDocument, user: MutationQueue.UserRow
  ) throws -> (PendingState, isApart: Bool) {
    var state = PendingState(base)
    state.begin(batch.views[key], at: 0, base)
    let effects = try state.apply(batch.parts[key], isShown: true)
    let nextID = try queue.firstPendingBatchIDs(2, for: key, user: user).first { $0 > batch.batchID }
    let next = try nextID.flatMap { try readableBatch($0, user: user)?.views[key] }
    state.begin(next, at: 1, base)
    let isWithoutEffect = effects.made.isEmpty && (next?.shown != nil || effects.shown.isEmpty)
    return (state, base.nextIsApart || isWithoutEffect)
  }
}

extension MutationBatch {
  /// The name of copies of documents that the batch has written: eight hexadecimal digits, the same each time.
  package var copyName: String {
    let number = identity.map { UInt32(truncatingIfNeeded: $0.low) } ?? UInt32(truncatingIfNeeded: batchID)
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
