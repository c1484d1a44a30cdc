package import HearthModel

/// The documents that a ``ClearingRun`` removes from the cache.
package struct ClearingScope: Equatable, Sendable {
  /// These documents.
  package var keys: [DocumentKey]
  /// All documents of these collections.
  package var collections: [CollectionScope]
  /// Only documents that match it, without regard to its limit; nil for all.
  package var query: Query?
  /// Only documents that the backend has last confirmed before this moment; nil for all.
  package var confirmedBefore: SnapshotVersion?
  /// True for the whole cache: then also the results of queries that hold none of the documents go, and the names of bundles.
  package var isEverything = false

  private init(keys: [DocumentKey] = [], collections: [CollectionScope] = [], query: Query? = nil) {
    self.keys = keys
    self.collections = collections
    self.query = query
  }

  package static var everything: ClearingScope {
    var scope = ClearingScope(collections: [.everything(under: ResourcePath())])
    scope.isEverything = true
    return scope
  }

  package static func documents(_ keys: [DocumentKey]) -> ClearingScope { ClearingScope(keys: keys) }

  package static func document(_ key: DocumentKey, includesSubcollections: Bool) -> ClearingScope {
    ClearingScope(keys: [key], collections: includesSubcollections ? [.everything(under: key.path)] : [])
  }

  package static func collection(_ path: ResourcePath, includesSubcollections: Bool) -> ClearingScope {
    ClearingScope(collections: [.collection(path)] + (includesSubcollections ? [.everything(under: path)] : []))
  }

  package static func collectionGroup(_ id: String) -> ClearingScope {
    ClearingScope(collections: [.group(id, under: ResourcePath())])
  }

  /// The documents in the cache that match a query. The result of a query with a limit must be found before, as ``documents(_:)``.
  package static func query(_ query: Query) -> ClearingScope {
    if let key = query.documentKey { return ClearingScope(keys: [key]) }
    return ClearingScope(collections: [CollectionScope(of: query)], query: query)
  }
}

/// The outcome of a ``ClearingRun``, so far or at its end.
package struct ClearingReport: Equatable, Sendable {
  package var removedDocumentCount = 0
  /// Documents that stay because some user has a pending write for them, also those that exist only through such writes.
  package var pendingDocumentCount = 0
  /// Documents that stay because a listener of some client shows them, or may show them.
  package var listenedDocumentCount = 0
  /// Targets whose rows were removed with their resume tokens.
  package var removedTargetCount = 0
  /// Bytes that the file system, or the memory of the process, got back.
  package var releasedBytes: Int64 = 0
  /// True if nothing of what was deleted is left in the file and its log. It says nothing of what stays.
  package var isErased = false
  /// In how many transactions.
  package var stepCount = 0

  package init() {}
}
