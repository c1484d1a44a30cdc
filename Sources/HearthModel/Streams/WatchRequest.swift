/// The number of a target on the watch stream: even for queries, odd for the resolution of single documents.
package typealias TargetID = Int32

/// A message of the client on the watch stream.
package enum WatchRequest: Equatable, Sendable {
  case addTarget(TargetRequest)
  case removeTarget(TargetID)
}

/// Asks the backend to watch a target from a known state on.
package struct TargetRequest: Equatable, Sendable {
  package var targetID: TargetID
  package var target: Target
  package var purpose: TargetPurpose
  /// The state to resume from, empty for none.
  package var resumeToken: [UInt8]
  /// Sent instead of the token by a client that knows the state only by its time.
  package var readTime: SnapshotVersion?
  /// The number of documents that the client holds for the target in that state, by which the backend notices a difference.
  package var expectedCount: Int?

  package init(
    targetID: TargetID, target: Target, purpose: TargetPurpose = .listen, resumeToken: [UInt8] = [],
    readTime: SnapshotVersion? = nil, expectedCount: Int? = nil
  ) {
    self.targetID = targetID
    self.target = target
    self.purpose = purpose
    self.resumeToken = resumeToken
    self.readTime = readTime
    self.expectedCount = expectedCount
  }
}

/// The purpose of a target. The raw values are stored.
package enum TargetPurpose: Int, Sendable {
  /// A user listens to it.
  case listen = 0
  /// The documents held for it did not agree with an existence filter.
  case existenceFilterMismatch = 1
  /// A mismatch as in ``existenceFilterMismatch``, found after a bloom filter was applied without success.
  case existenceFilterMismatchBloom = 2
  /// A single document is requested because a query's result leaves open whether it exists.
  case limboResolution = 3
}
