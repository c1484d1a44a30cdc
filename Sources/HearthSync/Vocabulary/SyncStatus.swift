package import HearthModel

/// The status that an engine reports to its observers. It leaves out the pending writes: the owner counts them in the cache.
package struct SyncStatus: Equatable, Sendable {
  package var connection: SyncConnection
  /// In a fixed order.
  package var work: [SyncWork]
}

/// The agreement of the views with the backend, apart from pending writes.
package enum SyncConnection: Equatable, Sendable {
  case offline(OutboxObstacle)
  /// The backend is being reached, or owes results.
  case connecting
  /// The backend has confirmed the result of every listener that wants its state; also if there is none.
  case inSync
}

/// Work of an engine that proceeds in steps. Other events are handled between two steps.
package enum SyncWork: Equatable, Sendable {
  /// Indexes are being filled, or what is left of dropped ones removed; so many steps are done since the start of the program.
  case indexFilling(steps: Int)
  case garbageCollection(removedDocuments: Int)
  case bundle(RequestID, BundleProgress)
}
