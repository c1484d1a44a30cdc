internal import HearthModel
internal import HearthStore

extension LocalDocuments {
  /// Stores those remote documents that are newer than the cached ones.
  ///
  /// - Parameters:
  ///   - keys: the keys of `updates`, in order.
  ///   - isVoid: True for the version of a cached document that an older one replaces, too.
  ///   - prepare: completes a document before it is stored.
  func setNewer(
    _ updates: DocumentMap, keys: [DocumentKey], isVoid: (DocumentKey, SnapshotVersion) -> Bool = { _, _ in false },
    prepare: (inout Document) -> Void = { _ in }
  ) throws -> DocumentMap {
    var changed: DocumentMap = [:]
    changed.reserveCapacity(updates.count)
    for key in keys {
      guard var document = updates[key] else { continue }
      if document.isMissing && document.version == .none {
        try documents.remove(key)
        changed[key] = document
        continue
      }
      prepare(&document)
      let isNews = try documents.set(document) { known in
        guard let known else { return true }
        return document.version > known.version
          || (document.version == known.version && known.hasCommittedMutations) || isVoid(key, known.version)
      }
      if isNews { changed[key] = document }
    }
    return changed
  }
}
