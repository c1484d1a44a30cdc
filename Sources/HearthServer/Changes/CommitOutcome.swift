internal import HearthModel

/// The result of a committed request.
struct CommitOutcome: Sendable, Equatable {
  /// The commit time, shared by all writes of the request.
  var version: SnapshotVersion
  /// One for each write. ``SnapshotVersion/none`` as version means that there is none to report (after a delete).
  var results: [MutationResult]
  /// The document that the commit leaves, if the request asked for it.
  var document: Document?

  init(version: SnapshotVersion, results: [MutationResult]) {
    self.version = version
    self.results = results
  }
}
