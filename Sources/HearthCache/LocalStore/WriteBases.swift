package import HearthModel
internal import HearthStore

/// The documents that pending writes are based on, and their updates when earlier writes leave the outbox.
///
/// Rows of `BaseDocumentTable` describe the oldest pending batch of each document. They are created by batches with
/// ``HearthModel/MutationBatch/keepsBases`` and updated by every batch of their documents, because rules may be added and removed while
/// writes are pending. Its methods run inside a transaction.
final class WriteBases {
  private let table: BaseDocumentTable
  private let queue: MutationQueue
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
        let isApart = try isApart(seen?[key], from: first, user: user)
        try noteView(shown, behind: first, isApart: isApart, user: user)
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
    let isApart = try isApart(seen, from: last, user: user)
    var view = AuthorView(
      AuthorView.stored(shown), remoteVersion: remote.version, isApart: isApart)
    if isApart { return view }
    guard let base = try table.base(of: key, user: user) else { return nil }
    // What is shown is the result as long as the backend's document is the one of the last batch whose author saw all before it.
    let former = try readableBatch(last, user: user)?.views[key]
    if !(former?.isApart ?? base.nextIsApart) {
      let known = former?.remoteVersion ?? (base.isOutdated ? nil : base.document.version)
      guard !remote.isUnknown, known != remote.version else {
        // Stored if the write before has one, so that the next write need not ask for the result of all of them either.
        view.document = nil
        return former == nil ? nil : view
      }
    }
    guard let result = try result(ofPending: key, on: base, user: user) else { return nil }
    if shown.isConfirmed(by: result) { view.document = nil }
    return view
  }

  /// The document as the pending batches make it: each of what its author saw, or of the result of the one before. Nil if that is not known.
  private func result(
    ofPending key: DocumentKey, on base: BaseDocument, user: MutationQueue.UserRow
  ) throws -> Document? {
    var document: Document? = base.document
    for (index, batchID) in (try queue.pendingBatchIDs(for: [key], user: user)[key] ?? []).enumerated() {
      guard let batch = try readableBatch(batchID, user: user) else { continue }
      if index == 1, let next = base.next { document = next }
      if index > 1, let seen = batch.views[key]?.document { document = seen }
      guard var made = document, made.isFound || made.isMissing else {
        document = nil
        continue
      }
      _ = try batch.parts[key]?.applyToLocalView(&made, mutatedFields: .empty)
      document = made
    }
    return document
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
  /// - Parameter isApart: See ``HearthModel/BaseDocument/nextIsApart``.
  private func noteView(
    _ seen: Document, behind first: BatchID, isApart: Bool, user: MutationQueue.UserRow
  ) throws {
    guard var base = try table.base(of: seen.key, user: user) else { return }
    let isKnown = base.document.isFound || base.document.isMissing
    guard isKnown || isApart else { return }
    var next: Document? = seen
    if isKnown {
      var made = base.document
      _ = try readableBatch(first, user: user)?.parts[seen.key]?.applyToLocalView(&made, mutatedFields: .empty)
      if seen.isConfirmed(by: made) { next = nil }
    }
    guard base.next != next else { return }
    base.next = next
    base.nextIsApart = isApart && next != nil
    try table.set(base, of: seen.key, user: user)
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
  private func readableBatch(_ batchID: BatchID, user: MutationQueue.UserRow) throws -> MutationBatch? {
    do {
      return try queue.batch(batchID, user: user)
    } catch CacheError.unreadableBatch {
      return nil
    }
  }

  /// Advances the bases after a batch was committed: the next batch is based on its result.
  func advance(
    _ parts: [DocumentKey: MutationBatchResult], of batch: MutationBatch, user: MutationQueue.UserRow
  ) throws {
    guard try batch.keepsBases || !table.isEmpty else { return }
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

  /// A batch has left the queue: the one behind it is based on what its author saw, without it.
  private func inherit(
    _ view: AuthorView, of key: DocumentKey, behind batchID: BatchID, user: MutationQueue.UserRow
  ) throws {
    guard let next = try queue.pendingBatchIDs(for: [key], user: user)[key]?.first(where: { $0 > batchID }),
      var batch = try readableBatch(next, user: user), batch.keepsBases, batch.views[key]?.document == nil
    else { return }
    batch.views[key] = view
    try queue.replace(batch)
  }

  private func advanceBase(
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
    for key in batch.keys where rules.policy(for: key) != nil || batch.guards?[key] != nil {
      found[key] = try table.base(of: key, user: user) ?? BaseDocument(.unknown(key))
    }
    return LocalStore.BatchBases(bases: found)
  }

  /// Stores the bases of the mutations that replace a batch, and of the batches after it.
  func rebase(_ batch: MutationBatch, _ outcome: LocalStore.ConflictOutcome, user: MutationQueue.UserRow) throws {
    let parts = batch.parts
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
      // The base of the next write: the document as the local view showed it.
      var expected = former.next ?? former.document
      if former.next == nil { _ = try parts[key]?.applyToLocalView(&expected, mutatedFields: .empty) }
      let result = try DocumentEdit(newParts[key] ?? [], on: remote).document(at: batch.localWriteTime)
      if expected.isFound != result.isFound || !expected.hasSameContents(as: result) {
        base.next = expected
        base.nextIsApart = former.nextIsApart
      }
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
}

extension MutationBatch {
  /// The name of copies of documents that the batch has written: eight hexadecimal digits, the same each time.
  package var copyName: String {
    let number = identity.map { UInt32(truncatingIfNeeded: $0.low) } ?? UInt32(truncatingIfNeeded: batchID)
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
