package import HearthModel

package typealias DocumentMap = [DocumentKey: Document]

/// The changes of one consistent snapshot of the backend for one target.
package struct TargetChange: Equatable, Sendable {
  /// Empty when the backend sent no new token.
  package var resumeToken: [UInt8]
  /// True if the backend has sent everything that the target holds.
  package var isCurrent: Bool
  /// True if the backend has begun to send everything again on this stream. Until the target is current, what it holds is a part.
  package var isReset = false
  /// True if the backend has sent all documents that the target has, or a first part of them, and not what has changed since an earlier
  /// state. Each is as it was at the version of the snapshot.
  package var isWhole = false
  /// True if another client has found that client and backend disagree for good which documents the target has.
  package var isDisputed = false
  package var added: Set<DocumentKey>
  package var modified: Set<DocumentKey>
  package var removed: Set<DocumentKey>

  package init(
    resumeToken: [UInt8] = [], isCurrent: Bool = false, added: Set<DocumentKey> = [], modified: Set<DocumentKey> = [],
    removed: Set<DocumentKey> = []
  ) {
    self.resumeToken = resumeToken
    self.isCurrent = isCurrent
    self.added = added
    self.modified = modified
    self.removed = removed
  }

  var changesDocuments: Bool { !added.isEmpty || !modified.isEmpty || !removed.isEmpty }

  /// True if the target holds other documents than before, and not all that belong to it: no former statement about its result holds for
  /// them.
  package var isPartial: Bool { !isCurrent && (isReset || !added.isEmpty || !removed.isEmpty) }
}

/// One consistent snapshot of the backend: everything that changed up to `snapshotVersion`, for all targets.
package struct RemoteEvent: Equatable, Sendable {
  /// `.none` only for events that the client makes up itself, such as the rejection of a limbo resolution.
  package var snapshotVersion: SnapshotVersion
  package var targetChanges: [TargetID: TargetChange]
  /// Targets that the backend had sent as a whole before, and that have not changed since.
  package var unchangedTargets: Set<TargetID> = []
  /// Targets whose existence filter did not match, with the purpose of the re-query.
  package var targetMismatches: [TargetID: TargetPurpose]
  /// Found or missing documents. Missing at version `.none` means: forget what the cache holds.
  package var documentUpdates: [DocumentKey: Document]
  /// The keys in `documentUpdates` that only a limbo resolution asked for.
  package var limboDocumentChanges: Set<DocumentKey>

  package init(
    snapshotVersion: SnapshotVersion, targetChanges: [TargetID: TargetChange] = [:],
    targetMismatches: [TargetID: TargetPurpose] = [:], documentUpdates: [DocumentKey: Document] = [:],
    limboDocumentChanges: Set<DocumentKey> = []
  ) {
    self.snapshotVersion = snapshotVersion
    self.targetChanges = targetChanges
    self.targetMismatches = targetMismatches
    self.documentUpdates = documentUpdates
    self.limboDocumentChanges = limboDocumentChanges
  }

  /// Returns true if the backend has sent everything that the target holds at this version.
  ///
  /// A target that a new stream was asked for is not complete before the answer, although its view was so on the former stream.
  package func isComplete(_ target: TargetID) -> Bool {
    guard targetMismatches[target] == nil else { return false }
    return targetChanges[target]?.isCurrent ?? unchangedTargets.contains(target)
  }

  /// True if the version of a document that the cache knows is from a history that the backend has lost: it states an earlier one, in a whole
  /// result, at a time when the known one was there already. A backend has such results when it was restored from a copy.
  ///
  /// An earlier version in other answers proves nothing: it may be on its way since before the later one.
  func contradicts(_ key: DocumentKey, at known: SnapshotVersion) -> Bool {
    guard documentUpdates[key]?.showsLostHistory(of: known, at: snapshotVersion) == true else { return false }
    return targetChanges.values.contains { $0.isWhole && ($0.added.contains(key) || $0.modified.contains(key)) }
  }

  /// Checks what holds for each event, whatever the backend has sent.
  func assertInvariants() {
    assert(documentUpdates.allSatisfy { $0.key == $0.value.key }, "a document is found under another one's key")
    assert(documentUpdates.values.allSatisfy { !$0.isUnknown }, "an unknown document is news")
    assert(
      limboDocumentChanges.allSatisfy { documentUpdates[$0] != nil }, "a lookup has found a document that is no news")
    assert(
      unchangedTargets.isDisjoint(with: targetChanges.keys),
      "a target is unchanged and has changes: \(unchangedTargets)")
    for (targetID, change) in targetChanges {
      assert(
        change.added.isDisjoint(with: change.removed) && change.added.isDisjoint(with: change.modified)
          && change.modified.isDisjoint(with: change.removed),
        "a document of target \(targetID) changes in two ways: \(change)")
    }
  }
}

extension Document {
  /// True if a known version of the document is from a history that the backend has lost: it was there already at the time at which the backend
  /// has stated this earlier one.
  func showsLostHistory(of known: SnapshotVersion, at time: SnapshotVersion) -> Bool {
    version < known && known <= time
  }
}

/// The report of a view after it has raised a snapshot.
package struct LocalViewChanges: Equatable, Sendable {
  package var targetID: TargetID
  /// False when the view agrees with the backend and has no document in limbo.
  package var isFromCache: Bool
  package var addedKeys: Set<DocumentKey>
  package var removedKeys: Set<DocumentKey>

  package init(
    targetID: TargetID, isFromCache: Bool, addedKeys: Set<DocumentKey> = [], removedKeys: Set<DocumentKey> = []
  ) {
    self.targetID = targetID
    self.isFromCache = isFromCache
    self.addedKeys = addedKeys
    self.removedKeys = removedKeys
  }
}

/// The kind of garbage collection: which documents and targets are removed, and when.
package enum GarbageCollection: Equatable, Sendable {
  /// At the end of each operation: the documents it touched that no target, no view and no pending write needs.
  case eager
  /// Later, oldest first, once the cache is larger than the threshold. The cache keeps the sequence numbers for it.
  case leastRecentlyUsed(thresholdBytes: Int64)
}
