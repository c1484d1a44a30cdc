import HearthModel

@testable import HearthCache

/// What the cache must know, kept in the simplest way: remote documents, and all batches of all users.
struct NaiveCache {
  var remote: DocumentMap = [:]
  var queues: [String: [MutationBatch]] = [:]
  var user: String?
  var targetKeys: [TargetID: Set<DocumentKey>] = [:]

  var queue: [MutationBatch] {
    get { queues[user ?? "nobody"] ?? [] }
    set { queues[user ?? "nobody"] = newValue }
  }

  func localView(of key: DocumentKey) throws -> Document {
    var document = remote[key] ?? .unknown(key)
    var fields: FieldMask? = .empty
    for batch in queue where batch.keys.contains(key) {
      fields = try batch.applyToLocalView(&document, mutatedFields: fields)
    }
    return document
  }

  mutating func acknowledge(_ result: MutationBatchResult) throws {
    queue.removeFirst()
    for (key, version) in result.documentVersions {
      var document = remote[key] ?? .unknown(key)
      guard document.version < version else { continue }
      try result.batch.applyToRemoteDocument(&document, result: result)
      remote[key] = document
    }
  }

  mutating func apply(_ event: RemoteEvent) {
    for (key, document) in event.documentUpdates {
      let known = remote[key] ?? .unknown(key)
      if document.isMissing && document.version == .none {
        remote[key] = nil
      } else if known.isUnknown || document.version > known.version
        || (document.version == known.version && known.hasCommittedMutations)
      {
        remote[key] = document
      }
    }
    for (target, change) in event.targetChanges {
      targetKeys[target, default: []].subtract(change.removed)
      targetKeys[target, default: []].formUnion(change.added)
    }
  }
}
