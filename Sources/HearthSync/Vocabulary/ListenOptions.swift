/// The sources that a listener's data may come from.
package enum ListenSource: Hashable, Sendable {
  /// From the cache first, then from the backend.
  case `default`
  /// From the cache only: the query is never sent to the backend for this listener's sake.
  case cache
}

/// The changes that a listener is notified of.
package struct ListenOptions: Hashable, Sendable {
  /// Report changes of a document's pending state as changes of kind ``DocumentViewChange/Kind-swift.enum/metadata``.
  package var includeDocumentMetadataChanges: Bool
  /// Raise a snapshot when only `isFromCache` or `hasPendingWrites` changed.
  package var includeQueryMetadataChanges: Bool
  /// Hold the first snapshot back until the backend has answered, unless the client is known to be offline.
  package var waitForSyncWhenOnline: Bool
  package var source: ListenSource
  /// Hold the first snapshot back until the backend has answered a request of this listener, even if others know its state already, unless
  /// the client is known to be offline.
  package var needsFreshAnswer = false
  /// Raise no snapshot of a view that nobody watches if only the marks of acknowledged writes change. The official SDK does so for listeners
  /// to the cache, and its spec tests demand it (listen_source_spec_test.json, "Newer docs from bundles should raise snapshot only when Watch
  /// catches up with acknowledged writes"); its users take it for a defect (firebase-ios-sdk#15585).
  package var leavesOutAcknowledgements = false
  /// Report how many documents the backend has sent for the query.
  package var reportsTransfer = false

  package init(
    includeDocumentMetadataChanges: Bool = false,
    includeQueryMetadataChanges: Bool = false,
    waitForSyncWhenOnline: Bool = false,
    source: ListenSource = .default
  ) {
    self.includeDocumentMetadataChanges = includeDocumentMetadataChanges
    self.includeQueryMetadataChanges = includeQueryMetadataChanges
    self.waitForSyncWhenOnline = waitForSyncWhenOnline
    self.source = source
  }

  /// True for a read that is made once and takes what it gets.
  var isOneTimeRead: Bool { waitForSyncWhenOnline }
}
