import HearthModel

/// The effects of pending batches on documents at the moment at which the backend changed the documents beneath. They stay until
/// the first of the batches is answered, or a batch behind them is taken back.
struct KeptChanges {
  private struct Kept {
    var overlay: Mutation
    var batchIDs: [BatchID]
  }

  private var kept: [DocumentKey: [Kept]] = [:]

  /// The backend is about to change a document.
  ///
  /// - Parameter queues: the pending batches of each user.
  mutating func remoteChanges(from former: Document, to document: Document, _ queues: [[MutationBatch]]) {
    let key = document.key
    let comesOrGoes = former.isFound != document.isFound
    guard comesOrGoes || !former.hasSameContents(as: document) else { return }
    kept[key] = queues.compactMap { batches in
      let pending = batches.filter { $0.keys.contains(key) }
      // A patch depends on whether the document exists.
      guard !pending.isEmpty, !comesOrGoes || pending.contains(where: { $0.replaces(key) }) else { return nil }
      let view = overlaid(former, batches)
      guard let overlay = try? Mutation.overlay(for: view.document, changedFields: former.isUnknown ? nil : view.mask)
      else { return nil }
      return Kept(overlay: overlay, batchIDs: pending.map(\.batchID))
    }
  }

  /// A batch was cancelled: the state of its documents must be computed again.
  ///
  /// - Parameter queue: the pending batches of its user, with this one.
  mutating func batchLeaves(_ batch: MutationBatch, _ queue: [MutationBatch]) {
    for key in batch.keys {
      let pending = queue.filter { $0.keys.contains(key) }.map(\.batchID)
      kept[key]?.removeAll { pending.starts(with: $0.batchIDs) }
    }
  }

  /// The document with the batches on top, and which fields they changed.
  func overlaid(_ remote: Document, _ batches: [MutationBatch]) -> (document: Document, mask: FieldMask?) {
    var document = remote
    var mask: FieldMask? = .empty
    var pending = batches.filter { $0.keys.contains(remote.key) }[...]
    if let kept = kept[remote.key]?.first(where: { pending.map(\.batchID).starts(with: $0.batchIDs) }) {
      let time = Timestamp(seconds: 0, nanoseconds: 0)
      mask = (try? kept.overlay.applyToLocalView(&document, previousMask: mask, localWriteTime: time)) ?? nil
      pending = pending.dropFirst(kept.batchIDs.count)
    }
    for batch in pending { mask = (try? batch.applyToLocalView(&document, mutatedFields: mask)) ?? nil }
    return (document, mask)
  }
}

extension MutationBatch {
  fileprivate func replaces(_ key: DocumentKey) -> Bool {
    mutations.contains { mutation in
      switch mutation.operation {
      case .set, .delete: mutation.key == key && mutation.precondition == .none
      case .patch, .verify: false
      }
    }
  }
}
