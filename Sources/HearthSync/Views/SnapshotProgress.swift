internal import HearthCache
internal import HearthModel

/// The progress of a view through the backend's snapshots, as far as they concern its target.
///
/// | snapshot | `latest` | `completeVersion` | `isBehind` |
/// |---|---|---|---|
/// | has everything that the target holds | its version | its version | false |
/// | leaves the target out, because a new stream has not answered yet | - | - | true |
/// | adds or removes documents of the target, but not all of them | - | none | true |
/// | does not agree with the backend's count | - | none | true |
struct SnapshotProgress {
  /// The version of the last snapshot that had everything that the target holds.
  private(set) var latest: SnapshotVersion = .none
  /// The version of the last complete result; `none` if it is not known.
  private(set) var completeVersion: SnapshotVersion
  /// True if snapshots have come without what the target holds at their versions. A view that is current stays so all the same, as of the one
  /// before.
  private(set) var isBehind = false

  init(completeVersion: SnapshotVersion) {
    self.completeVersion = completeVersion
  }

  /// - Parameters:
  ///   - version: `none` for what is no snapshot of the backend.
  ///   - isComplete: True if the snapshot has everything that the target holds.
  ///   - endsResult: True if what the cache has for the target now is no complete result of any version.
  mutating func snapshot(_ version: SnapshotVersion, isComplete: Bool, endsResult: Bool) {
    if endsResult { completeVersion = .none }
    guard version > .none else { return }
    isBehind = !isComplete
    guard isComplete else { return }
    latest = max(latest, version)
    if !endsResult { completeVersion = max(completeVersion, version) }
  }

  /// Another client watches the target from now on, or nobody, or this one begins to.
  mutating func watcherChanges() {
    isBehind = false
  }
}
