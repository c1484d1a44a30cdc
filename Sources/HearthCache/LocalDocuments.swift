internal import HearthModel
internal import HearthStore

/// The local view: local view = remote documents + pending batches, in order.
///
/// The overlay table holds that sum in a form that is cheap to read. It is brought up to date in the transaction that
/// changes one of the terms: a batch appended, acknowledged or rejected, a remote document changed (for every user
/// with pending batches for it, signed in or not). So an overlay is never stale, for nobody.
struct LocalDocuments {
  typealias UserRow = MutationQueue.UserRow

  let documents: DocumentStore
  let queue: MutationQueue
  let overlays: OverlayTable

  /// Overlays carry pending server timestamps as values; no transform is left that would need a time.
  private static let noWriteTime = Timestamp(seconds: 0, nanoseconds: 0)

  /// A document of the local view, and which of its fields differ from the remote document by pending writes
  /// (`mask` nil: the whole document).
  struct Overlaid {
    var document: Document
    var mask: FieldMask?
  }

  // MARK: Reading

  /// The remote documents of `keys`, each of them, `.unknown` where the cache holds none.
  func remoteDocuments(for keys: Set<DocumentKey>) throws -> DocumentMap {
    let stored = try documents.documents(for: keys)
    var all: DocumentMap = [:]
    for key in keys { all[key] = stored[key] ?? .unknown(key) }
    return all
  }

  func overlaid(_ remote: Document, user: UserRow?) throws -> Overlaid {
    guard let user, let overlay = try overlays.overlay(for: remote.key, user: user) else {
      return Overlaid(document: remote, mask: .empty)
    }
    var document = remote
    _ = try overlay.applyToLocalView(&document, previousMask: nil, localWriteTime: Self.noWriteTime)
    return Overlaid(document: document, mask: overlay.changedFields)
  }

  func document(for key: DocumentKey, user: UserRow?) throws -> Document {
    try overlaid(documents.document(for: key), user: user).document
  }

  func localView(of keys: Set<DocumentKey>, user: UserRow?) throws -> DocumentMap {
    try remoteDocuments(for: keys).mapValues { try overlaid($0, user: user).document }
  }

  // MARK: Bringing overlays up to date

  /// Applies a batch that was just appended on top of the local view, saves the overlays, and returns the new view.
  func apply(_ batch: MutationBatch, to view: [DocumentKey: Overlaid], remote: DocumentMap, user: UserRow) throws
    -> DocumentMap
  {
    var changed: DocumentMap = [:]
    for (key, part) in batch.parts.sorted(by: { $0.key < $1.key }) {
      guard var entry = view[key] else { continue }
      entry.mask = try part.applyToLocalView(&entry.document, mutatedFields: entry.mask)
      try saveOverlay(
        of: entry, isRemoteKnown: remote[key].map { !$0.isUnknown } ?? false, largestBatchID: batch.batchID, user: user)
      changed[key] = entry.document
    }
    return changed
  }

  /// Computes the view of `remote` from the pending batches of the user and saves the overlays.
  ///
  /// Reads only the batches that touch one of these documents. A document without any loses its overlay.
  func recalculate(_ remote: DocumentMap, user: UserRow) throws -> DocumentMap {
    let keys = remote.keys.sorted()
    let pending = try queue.pendingBatchIDs(for: keys, user: user)
    var view = remote.mapValues { Overlaid(document: $0, mask: .empty) }
    for batchID in Set(pending.values.joined()).sorted() {
      guard let batch = try queue.batch(batchID, user: user) else {
        throw CacheError.corruptRecord(
          table: "cache_batch_documents", row: "\(batchID)", reason: "the queue holds no such batch")
      }
      for (key, part) in batch.parts {
        guard var entry = view[key] else { continue }
        entry.mask = try part.applyToLocalView(&entry.document, mutatedFields: entry.mask)
        view[key] = entry
      }
    }
    for key in keys {
      guard let entry = view[key] else { continue }
      if let largestBatchID = pending[key]?.last {
        try saveOverlay(
          of: entry, isRemoteKnown: remote[key].map { !$0.isUnknown } ?? false, largestBatchID: largestBatchID,
          user: user)
      } else {
        try removeOverlay(of: key, user: user)
      }
    }
    return view.mapValues(\.document)
  }

  /// Brings the overlays of all users up to date after remote documents have changed, and returns the view of `user`.
  func remoteDocumentsChanged(_ remote: DocumentMap, user: UserRow?) throws -> DocumentMap {
    try remoteDocumentsChanged(remote, exceptFor: user)
    guard let user else { return remote }
    return try remote.merging(recalculatePending(remote, user: user)) { _, new in new }
  }

  /// Brings the overlays of all users but one up to date after remote documents have changed.
  func remoteDocumentsChanged(_ remote: DocumentMap, exceptFor user: UserRow?) throws {
    guard !remote.isEmpty else { return }
    for other in try queue.usersWithPendingBatches() where other != user {
      _ = try recalculatePending(remote, user: other)
    }
  }

  /// Recalculates those documents that the user has pending batches for. The others have no overlay.
  private func recalculatePending(_ remote: DocumentMap, user: UserRow) throws -> DocumentMap {
    guard try queue.highestBatchID(user: user) != nil else { return [:] }
    let pending = try queue.pendingBatchIDs(for: remote.keys.sorted(), user: user)
    return try recalculate(remote.filter { pending[$0.key] != nil }, user: user)
  }

  /// Whether an overlay that was right on top of `before` is still right after the oldest batch in it was acknowledged
  /// and has made `after` of the remote document.
  ///
  /// It is if the next batch has an effect both ways and leaves the same contents. Whatever follows starts from there.
  /// The overlay covers every field that the next batch changes, so the fields that it takes from the remote document
  /// are the same in `before`, in those contents and in `after`. Of both batches only the part of this document is needed.
  func isUnaffected(
    from before: Document, to after: Document, by acknowledged: MutationBatch, then next: MutationBatch
  ) throws -> Bool {
    var expected = before
    _ = try acknowledged.applyToLocalView(&expected, mutatedFields: .empty)
    expected.mutationState = .synced
    _ = try next.applyToLocalView(&expected, mutatedFields: .empty)
    var actual = after
    _ = try next.applyToLocalView(&actual, mutatedFields: .empty)
    return expected.hasLocalMutations && actual.hasLocalMutations && expected.kind == actual.kind
      && expected.hasSameContents(as: actual)
  }

  /// Without a remote document beneath, the overlay holds the whole document: a patch would have nothing to patch.
  private func saveOverlay(of entry: Overlaid, isRemoteKnown: Bool, largestBatchID: BatchID, user: UserRow) throws {
    let mask = isRemoteKnown ? entry.mask : nil
    if let overlay = try Mutation.overlay(for: entry.document, changedFields: mask) {
      try overlays.save(overlay, largestBatchID: largestBatchID, user: user)
      try documents.indexes.setLocal(entry.document, owner: user)
    } else {
      try removeOverlay(of: entry.document.key, user: user)
    }
  }

  private func removeOverlay(of key: DocumentKey, user: UserRow) throws {
    try overlays.remove(key, user: user)
    try documents.indexes.removeLocal(key, owner: user)
  }
}

extension Mutation {
  /// The fields that an overlay changes, nil when it replaces or deletes the document.
  fileprivate var changedFields: FieldMask? {
    if case .patch(_, let mask) = operation { mask } else { nil }
  }
}
