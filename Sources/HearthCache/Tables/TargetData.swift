package import HearthModel

/// The state of one target in the cache: its number, its resume token and its versions.
///
/// The row in the database may carry an older resume token than the value in memory (tokens are written only when it
/// is worth a write, see `LocalStore.apply(_:)`), never a newer one than the documents beside it.
package struct TargetData: Equatable, Sendable {
  package var target: Target
  /// Even for what the user listens to, odd for limbo resolutions, which have no row in the database.
  package var targetID: TargetID
  /// When the target was last used, on the scale that the least-recently-used collector reads.
  package var sequenceNumber: Int64
  package var purpose: TargetPurpose
  /// The version of the last snapshot that the resume token stands for.
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
