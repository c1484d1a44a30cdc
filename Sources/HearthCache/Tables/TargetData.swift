package import HearthModel

/// The state of one target in the cache: its number, its resume token and its versions.
///
/// The row in the database may carry an older resume token than the value in memory (tokens are written only when it is worth a write, see
/// `LocalStore.apply(_:)`), never a newer one than the stored documents.
package struct TargetData: Equatable, Sendable {
  package var target: Target
  /// Even for what the user listens to, odd for limbo resolutions, which have no row in the database.
  package var targetID: TargetID
  /// When the target was last used, on the scale that the least-recently-used collector reads.
  package var sequenceNumber: Int64
  package var purpose: TargetPurpose
  /// The version of the last snapshot at which the backend had sent everything and that the resume token stands for; `.none` if the target
  /// holds a part of its result. Without a token, the version of the bundle that has filled the target.
  package var snapshotVersion: SnapshotVersion
  /// The last snapshot at which the view of this target had no document in limbo; `.none` if there was none.
  package var lastLimboFreeSnapshotVersion: SnapshotVersion
  /// Empty means "start from the beginning".
  package var resumeToken: [UInt8]
  /// True if the target was in sync once and its row was removed since. Not stored in the row.
  package var wasDropped = false

  package init(
    target: Target, targetID: TargetID, sequenceNumber: Int64 = 0, purpose: TargetPurpose = .listen,
    snapshotVersion: SnapshotVersion = .none, lastLimboFreeSnapshotVersion: SnapshotVersion = .none,
    resumeToken: [UInt8] = []
  ) {
    self.target = target
    self.targetID = targetID
    self.sequenceNumber = sequenceNumber
    self.purpose = purpose
    self.snapshotVersion = snapshotVersion
    self.lastLimboFreeSnapshotVersion = lastLimboFreeSnapshotVersion
    self.resumeToken = resumeToken
  }

  package func with(sequenceNumber: Int64) -> TargetData {
    var copy = self
    copy.sequenceNumber = sequenceNumber
    return copy
  }

  package func with(resumeToken: [UInt8], snapshotVersion: SnapshotVersion) -> TargetData {
    var copy = self
    copy.resumeToken = resumeToken
    copy.snapshotVersion = snapshotVersion
    return copy
  }

  /// The version of the complete result that the cache has; `.none` if it has none.
  package var completeVersion: SnapshotVersion { resumeToken.isEmpty ? .none : snapshotVersion }

  /// Returns the state after the target's part of a snapshot, which agrees with the backend's count.
  ///
  /// A snapshot in which not everything has come leaves a part of the result if it brings or takes documents: neither its version nor the
  /// former one is that of a complete result. After a reset the former token would leave out what the backend has not sent again yet.
  package func after(_ change: TargetChange, at version: SnapshotVersion) -> TargetData {
    let hasToken = !change.resumeToken.isEmpty
    if change.isCurrent { return hasToken ? with(resumeToken: change.resumeToken, snapshotVersion: version) : self }
    // The backend goes on from the version of a bundle.
    if resumeToken.isEmpty, !hasToken, !change.isReset { return self }
    var copy = self
    if hasToken || change.isReset { copy.resumeToken = change.resumeToken }
    if change.isPartial || resumeToken.isEmpty {
      copy.snapshotVersion = .none
      copy.lastLimboFreeSnapshotVersion = .none
    }
    return copy
  }

  package func with(lastLimboFreeSnapshotVersion: SnapshotVersion) -> TargetData {
    var copy = self
    copy.lastLimboFreeSnapshotVersion = lastLimboFreeSnapshotVersion
    return copy
  }

  package func with(purpose: TargetPurpose) -> TargetData {
    var copy = self
    copy.purpose = purpose
    return copy
  }
}
