/// A message of the backend on the watch stream.
package enum WatchResponse: Equatable, Sendable {
  case targetChange(WatchTargetChange)
  case documentChange(WatchDocumentChange)
  case existenceFilter(WatchExistenceFilter)
  /// A message that cannot be decoded. The rest of the stream can.
  case unreadable(UnreadableWatchMessage)

  /// The targets that it names. A message for all of them names none.
  package var namedTargets: [TargetID] {
    switch self {
    case .targetChange(let change): change.targetIDs
    case .documentChange(let change): change.updatedTargetIDs + change.removedTargetIDs
    case .existenceFilter(let filter): [filter.targetID]
    case .unreadable(let message): message.targetIDs
    }
  }
}

/// A message of the watch stream that names its targets and otherwise cannot be decoded.
package struct UnreadableWatchMessage: Equatable, Sendable {
  /// The targets that it is about; never empty.
  package var targetIDs: [TargetID]
  /// True for a change in the state of the targets, which may have been the answer to a request.
  package var isTargetChange: Bool
  package var error: StatusError

  package init(targetIDs: [TargetID], isTargetChange: Bool, error: StatusError) {
    self.targetIDs = targetIDs
    self.isTargetChange = isTargetChange
    self.error = error
  }
}

/// A change in the state of targets.
package struct WatchTargetChange: Equatable, Sendable {
  package enum State: Hashable, Sendable {
    /// Only a new token or snapshot version.
    case noChange
    case added
    case removed
    /// The client has now been sent everything that the target held at some moment.
    case current
    /// Everything sent so far for the target is void.
    case reset
  }

  package var state: State
  /// The targets it concerns; empty means all of them.
  package var targetIDs: [TargetID]
  package var resumeToken: [UInt8]
  /// The consistent snapshot that all targets have reached, ``SnapshotVersion/none`` if the message names none.
  package var readTime: SnapshotVersion
  /// The reason why the backend removed the targets, if it did so on its own.
  package var cause: StatusError?

  package init(
    state: State, targetIDs: [TargetID] = [], resumeToken: [UInt8] = [], readTime: SnapshotVersion = .none,
    cause: StatusError? = nil
  ) {
    self.state = state
    self.targetIDs = targetIDs
    self.resumeToken = resumeToken
    self.readTime = readTime
    self.cause = cause
  }
}

/// A document entered, changed in or left targets.
package struct WatchDocumentChange: Equatable, Sendable {
  package var key: DocumentKey
  /// The targets that hold the document in its new state.
  package var updatedTargetIDs: [TargetID]
  /// The targets that no longer hold it.
  package var removedTargetIDs: [TargetID]
  /// The new state, found or missing; nil if the message says only that the document left the targets.
  package var document: Document?

  package init(
    key: DocumentKey, updatedTargetIDs: [TargetID] = [], removedTargetIDs: [TargetID] = [], document: Document? = nil
  ) {
    self.key = key
    self.updatedTargetIDs = updatedTargetIDs
    self.removedTargetIDs = removedTargetIDs
    self.document = document
  }
}

/// The number of documents that a target holds at the backend, for comparison with the client's.
package struct WatchExistenceFilter: Equatable, Sendable {
  package var targetID: TargetID
  package var count: Int
  /// The names of the documents that did not change since the resume token, so that the client can find those that are
  /// gone.
  package var unchangedNames: BloomFilterData?

  package init(targetID: TargetID, count: Int, unchangedNames: BloomFilterData? = nil) {
    self.targetID = targetID
    self.count = count
    self.unchangedNames = unchangedNames
  }
}

/// A bloom filter as received, its parameters not yet checked.
package struct BloomFilterData: Equatable, Sendable {
  package var bitmap: [UInt8]
  /// The number of bits at the end of the bitmap that are not used.
  package var padding: Int
  package var hashCount: Int

  package init(bitmap: [UInt8], padding: Int, hashCount: Int) {
    self.bitmap = bitmap
    self.padding = padding
    self.hashCount = hashCount
  }
}
