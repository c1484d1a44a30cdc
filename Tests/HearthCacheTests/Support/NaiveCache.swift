import HearthModel

@testable import HearthCache

/// The contents that the cache must have, kept in the simplest way: remote documents, all batches of all users, and the local changes that
/// stay as they are while the backend changes the documents beneath.
struct NaiveCache {
  /// The effect of some batches on a document at the moment at which the backend changed it.
  struct Kept {
    var overlay: Mutation
    var last: BatchID
  }

  var remote: DocumentMap = [:]
  var queues: [String: [MutationBatch]] = [:]
  var kept: [String: [DocumentKey: Kept]] = [:]
  var user: String?
  var targetKeys: [TargetID: Set<DocumentKey>] = [:]

  private var userName: String { user ?? "nobody" }

  var queue: [MutationBatch] {
    get { queues[userName] ?? [] }
    set { queues[userName] = newValue }
  }

  func localView(of key: DocumentKey) throws -> Document {
    try view(of: key, for: userName).document
  }

  /// All batches applied to the document one after the other; over what was kept, only the later ones.
  private func view(of key: DocumentKey, for user: String) throws -> (document: Document, mask: FieldMask?) {
    var document = remote[key] ?? .unknown(key)
    var mask: FieldMask? = .empty
    let kept = kept[user]?[key]
    if let kept {
      mask = try kept.overlay.applyToLocalView(
        &document, previousMask: .empty, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0))
    }
    for batch in queues[user] ?? [] where batch.keys.contains(key) && batch.batchID > kept?.last ?? -1 {
      mask = try batch.applyToLocalView(&document, mutatedFields: mask)
      // The kept overlay grows by one mutation after the other.
      if kept != nil { mask = try overlay(for: document, mask)?.changedFields }
    }
    return (document, mask)
  }

  private func overlay(for document: Document, _ mask: FieldMask?) throws -> Mutation? {
    let isKnown = !(remote[document.key] ?? .unknown(document.key)).isUnknown
    return try Mutation.overlay(for: document, changedFields: isKnown ? mask : nil)
  }

  /// The first answer to one of a document's batches ends what was kept.
  mutating func forgetKept(_ batch: MutationBatch) {
    for key in batch.keys { kept[userName]?[key] = nil }
  }

  /// Takes a batch without an effect out of the queue. The base values behind it are those of what is left before them.
  mutating func drop(at index: Int) throws -> MutationBatch {
    let dropped = queue.remove(at: index)
    forgetKept(dropped)
    for later in index..<queue.count {
      var bases = queue[later].baseMutations.filter { !dropped.keys.contains($0.key) }
      for mutation in queue[later].mutations where dropped.keys.contains(mutation.key) {
        var document = remote[mutation.key] ?? .unknown(mutation.key)
        var mask: FieldMask? = .empty
        for batch in queue[..<later] { mask = try batch.applyToLocalView(&document, mutatedFields: mask) }
        guard let base = try mutation.baseValues(for: document) else { continue }
        let paths = mutation.transforms.map(\.path).filter { base[$0] != nil }
        bases.append(.patch(mutation.key, base, mask: FieldMask(paths)))
      }
      queue[later].baseMutations = bases
    }
    return dropped
  }

  mutating func acknowledge(_ result: MutationBatchResult) throws {
    queue.removeFirst()
    forgetKept(result.batch)
    for (key, version) in result.documentVersions {
      var document = remote[key] ?? .unknown(key)
      guard document.version < version else { continue }
      try result.batch.applyToRemoteDocument(&document, result: result)
      try change(key, to: document, exceptFor: userName)
    }
  }

  mutating func apply(_ event: RemoteEvent) throws {
    for (key, document) in event.documentUpdates {
      let known = remote[key] ?? .unknown(key)
      if document.isMissing && document.version == .none {
        try change(key, to: nil)
      } else if known.isUnknown || document.version > known.version
        || (document.version == known.version && known.hasCommittedMutations)
      {
        try change(key, to: document)
      }
    }
    for (target, change) in event.targetChanges {
      targetKeys[target, default: []].subtract(change.removed)
      targetKeys[target, default: []].formUnion(change.added)
    }
  }

  private mutating func change(_ key: DocumentKey, to document: Document?, exceptFor answered: String? = nil) throws {
    let former = remote[key] ?? .unknown(key)
    let comesOrGoes = former.isFound != (document?.isFound ?? false)
    let isVisible = comesOrGoes || !former.hasSameContents(as: document ?? .unknown(key))
    for (user, batches) in queues where user != answered && isVisible {
      let pending = batches.filter { $0.keys.contains(key) }
      let view = try view(of: key, for: user)
      let overlay = try overlay(for: view.document, view.mask)
      kept[user, default: [:]][key] = nil
      guard let overlay, let last = pending.last else { continue }
      let isReplaced = pending.flatMap(\.mutations).contains { $0.key == key && $0.replacesDocument }
      guard !comesOrGoes || isReplaced else { continue }
      kept[user, default: [:]][key] = Kept(overlay: overlay, last: last.batchID)
    }
    remote[key] = document
  }
}

extension Mutation {
  fileprivate var replacesDocument: Bool {
    switch operation {
    case .set, .delete: precondition == .none
    case .patch, .verify: false
    }
  }

  fileprivate var changedFields: FieldMask? {
    if case .patch(_, let mask) = operation { mask } else { nil }
  }
}
