package import HearthModel

/// The result of a query at one moment, with the changes since the previous one.
package struct ViewSnapshot: Sendable {
  package var query: Query
  /// The result in query order.
  package var documents: DocumentList
  /// The result before `changes`; empty in a listener's first snapshot.
  package var oldDocuments: DocumentList
  /// The changes that lead from `oldDocuments` to `documents`, in this order.
  ///
  /// Those of a first snapshot are put together whenever they are asked for, because the loop that raises it has no time
  /// for a list as long as the result.
  package var changes: [DocumentViewChange] {
    get {
      listedChanges
        ?? documents.enumerated().map { DocumentViewChange(kind: .added, document: $1, newIndex: $0) }
    }
    set { listedChanges = newValue }
  }
  /// Nil when every document is added.
  private var listedChanges: [DocumentViewChange]?
  /// True if the result may differ from the backend's.
  package var isFromCache: Bool
  /// True if the backend has answered for everything in the result. With `isFromCache`, it has not confirmed that some documents belong to
  /// the result although they exist as they are shown: it and the client disagree.
  package var isAnswered: Bool
  /// The reason why the backend has not answered, where a read is shown the cache's result for one.
  package var obstacle: OutboxObstacle?
  /// The documents that show writes which the watch stream has not confirmed.
  package var mutatedKeys: Set<DocumentKey>
  /// True if `isFromCache` differs from the snapshot before.
  package var syncStateChanged: Bool
  /// True if changes of kind ``DocumentViewChange/Kind-swift.enum/metadata`` have been left out of `changes`.
  package var excludesMetadataChanges: Bool
  /// True if a complete result has been known before, so that an empty one means something.
  package var hasCachedResults: Bool
  package var completeness: ResultCompleteness

  package var hasPendingWrites: Bool { !mutatedKeys.isEmpty }

  package init(
    query: Query, documents: DocumentList, oldDocuments: DocumentList, changes: [DocumentViewChange],
    isFromCache: Bool, mutatedKeys: Set<DocumentKey>, syncStateChanged: Bool, excludesMetadataChanges: Bool,
    hasCachedResults: Bool, completeness: ResultCompleteness = .notSynchronized
  ) {
    self.query = query
    self.documents = documents
    self.oldDocuments = oldDocuments
    self.listedChanges = changes
    self.isFromCache = isFromCache
    isAnswered = !isFromCache
    self.mutatedKeys = mutatedKeys
    self.syncStateChanged = syncStateChanged
    self.excludesMetadataChanges = excludesMetadataChanges
    self.hasCachedResults = hasCachedResults
    self.completeness = completeness
  }

  /// The cached result of a query without a view; every document is added.
  ///
  /// - Parameters:
  ///   - result: The documents in the order of the query.
  ///   - knowledge: The state of the query's target, not newer than the result.
  init(query: Query, cachedResult result: [Document], _ knowledge: ResultKnowledge) {
    self.init(
      query: query, documents: DocumentList(result), oldDocuments: [], changes: [], isFromCache: true,
      mutatedKeys: Set(result.lazy.filter(\.hasLocalMutations).map(\.key)), syncStateChanged: true,
      excludesMetadataChanges: false, hasCachedResults: false,
      completeness: knowledge.completeness(of: result, of: query))
    self = asFirstSnapshot(excludingMetadataChanges: false)
  }

  /// The same state as a listener sees it that has seen nothing before: every document is added.
  package func asFirstSnapshot(excludingMetadataChanges: Bool) -> ViewSnapshot {
    var first = self
    first.oldDocuments = []
    first.listedChanges = nil
    first.syncStateChanged = true
    first.excludesMetadataChanges = excludingMetadataChanges
    return first
  }

  /// The same snapshot for a listener that is not interested in documents whose pending state alone changed.
  ///
  /// Such changes do not move a document, so the other changes' indexes stay valid.
  func withoutMetadataChanges() -> ViewSnapshot {
    var filtered = self
    filtered.listedChanges?.removeAll { $0.kind == .metadata }
    filtered.excludesMetadataChanges = true
    return filtered
  }
}

extension ViewSnapshot: Equatable {
  package static func == (a: ViewSnapshot, b: ViewSnapshot) -> Bool {
    a.query == b.query && a.documents == b.documents && a.oldDocuments == b.oldDocuments
      && a.isFromCache == b.isFromCache && a.mutatedKeys == b.mutatedKeys && a.syncStateChanged == b.syncStateChanged
      && a.excludesMetadataChanges == b.excludesMetadataChanges && a.hasCachedResults == b.hasCachedResults
      && a.completeness == b.completeness && a.changes == b.changes
  }
}
