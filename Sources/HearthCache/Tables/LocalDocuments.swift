internal import HearthModel
internal import HearthStore

/// The local view: the remote documents with the pending batches on top, in order.
///
/// The overlay table holds that sum in a form that is cheap to read. It is updated in the transaction that changes one of the terms: a
/// batch is appended, acknowledged or rejected, or a remote document changes (for every user with pending batches for it, signed in or
/// not). A changed remote document leaves most overlays unchanged; see `LocalDocuments+RemoteChanges.swift`.
struct LocalDocuments {
  typealias UserRow = MutationQueue.UserRow

  let documents: DocumentStore
  let queue: MutationQueue
  let overlays: OverlayTable

  /// Overlays carry pending server timestamps as values, so no remaining transform needs a time.
  static let noWriteTime = Timestamp(seconds: 0, nanoseconds: 0)

  /// A document of the local view, with the fields that differ from the remote document because of pending writes (`mask` nil: the whole
  /// document).
  struct Overlaid {
    var document: Document
    var mask: FieldMask?
    /// The state of the overlay; `exact` without one.
    var state = OverlayTable.State.exact
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
    try Self.overlaid(remote, by: overlays.reader(user: user).entry(for: remote.key))
  }

  /// The documents as ``overlaid(_:user:)`` has each of them.
  func overlaid(_ remote: DocumentMap, user: UserRow?) throws -> [DocumentKey: Overlaid] {
    let reader = try overlays.reader(user: user)
    return try remote.mapValues { try Self.overlaid($0, by: reader.entry(for: $0.key)) }
  }

  private static func overlaid(_ remote: Document, by overlay: OverlayTable.Entry?) throws -> Overlaid {
    guard let overlay else { return Overlaid(document: remote, mask: .empty) }
    var document = remote
    _ = try overlay.mutation.applyToLocalView(&document, previousMask: nil, localWriteTime: noWriteTime)
    return Overlaid(document: document, mask: overlay.mutation.changedFields, state: overlay.state)
  }

  func document(for key: DocumentKey, user: UserRow?) throws -> Document {
    try document(for: key, remote: documents.reader(), local: overlays.reader(user: user))
  }

  /// Reads in the order of the keys: documents that were written one after the other lie side by side in the file.
  func localView(of keys: some Collection<DocumentKey>, user: UserRow?) throws -> DocumentMap {
    var view = DocumentMap(minimumCapacity: keys.count)
    guard !keys.isEmpty else { return view }
    let (remote, local) = (try documents.reader(), try overlays.reader(user: user))
    for key in keys { view[key] = try document(for: key, remote: remote, local: local) }
    return view
  }

  private func document(
    for key: DocumentKey, remote: DocumentStore.Reader, local: OverlayTable.Reader
  ) throws -> Document {
    let overlay = try local.entry(for: key)
    // Fields that are replaced entirely are not read: checking them costs as much as the rest of the document.
    let isReplaced = overlay.map { $0.mutation.replacesDocument && $0.mutation.transforms.isEmpty } ?? false
    return try Self.overlaid(remote.document(for: key, withFields: !isReplaced), by: overlay).document
  }

  // MARK: Bringing overlays up to date

  /// Applies a batch that was just appended on top of the local view, saves the overlays, and returns the new view.
  func apply(_ batch: MutationBatch, to view: [DocumentKey: Overlaid], remote: DocumentMap, user: UserRow) throws
    -> DocumentMap
  {
    assert(
      batch.keys.allSatisfy { view[$0] != nil }, "batch \(batch.batchID) is laid over a view without its documents")
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
  ///
  /// - Parameter isKept: the overlays stay on top of the state that the backend is about to give the documents.
  func recalculate(_ remote: DocumentMap, isKept: Bool = false, user: UserRow) throws -> DocumentMap {
    let keys = remote.keys.sorted()
    let pending = try queue.pendingBatchIDs(for: keys, user: user)
    let view = try effect(of: pending, on: remote, state: isKept ? .kept : .exact, user: user)
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

  /// Computes what the pending batches of the user make of documents. Writes nothing.
  ///
  /// - Parameter pending: the ids of the batches of each document, ascending.
  func effect(
    of pending: [DocumentKey: [BatchID]], on remote: DocumentMap, state: OverlayTable.State = .exact, user: UserRow
  ) throws -> [DocumentKey: Overlaid] {
    assert(remote.allSatisfy { $0.key == $0.value.key }, "a document is found under another one's key")
    assert(pending.values.allSatisfy { !$0.isEmpty }, "a document without a pending batch counts as one with")
    var view = remote.mapValues { Overlaid(document: $0, mask: .empty, state: state) }
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
    return view
  }

  /// Returns the state of an overlay that was `exact` on top of `before`, after the oldest batch in it was acknowledged and
  /// changed the remote document to `after`: `exact`, `wide`, or nil if it no longer shows what the other batches do.
  ///
  /// It shows that if the next batch has an effect both ways and leaves the same contents. All later batches start from there. The overlay
  /// covers every field that the next batch changes, so the fields that it takes from the remote document are the same in `before`, in
  /// those contents and in `after`. It is wide if only the acknowledged batch is known to change one of its fields. Only the part of both
  /// batches for this document is needed.
  func stateOfUnaffected(
    from before: Document, to after: Document, by acknowledged: MutationBatch, then next: MutationBatch
  ) throws -> OverlayTable.State? {
    assert(before.key == after.key, "\(before.key) becomes \(after.key)")
    var expected = before
    let former = try acknowledged.applyToLocalView(&expected, mutatedFields: .empty)
    expected.mutationState = .synced
    let covered = try next.applyToLocalView(&expected, mutatedFields: former)
    var actual = after
    let changed = try next.applyToLocalView(&actual, mutatedFields: .empty)
    guard expected.hasLocalMutations, actual.hasLocalMutations, expected.kind == actual.kind,
      expected.hasSameContents(as: actual)
    else {
      return nil
    }
    return covered == changed ? .exact : .wide
  }

  /// Without a remote document beneath, the overlay holds the whole document: a patch would have nothing to patch. Then,
  /// and when it takes in the parent of a deleted field, an exact overlay becomes a wide one.
  private func saveOverlay(of entry: Overlaid, isRemoteKnown: Bool, largestBatchID: BatchID, user: UserRow) throws {
    let mask = isRemoteKnown ? entry.mask : nil
    if let overlay = try Mutation.overlay(for: entry.document, changedFields: mask) {
      assert(overlay.key == entry.document.key, "the overlay of \(entry.document.key) changes \(overlay.key)")
      let isWider = entry.state == .exact && overlay.changedFields != entry.mask
      try overlays.save(
        overlay, state: isWider ? .wide : entry.state, largestBatchID: largestBatchID, user: user)
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

  /// True if nothing of the document before remains, whatever it was.
  var replacesDocument: Bool {
    switch operation {
    case .set, .delete: precondition == .none
    case .patch, .verify: false
    }
  }
}
