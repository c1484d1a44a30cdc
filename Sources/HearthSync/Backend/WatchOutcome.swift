internal import HearthModel

extension BackendLink {
  /// A consequence of a message that the engine must carry out.
  enum WatchOutcome {
    case none
    /// Everything gathered so far is a consistent snapshot.
    case snapshot(SnapshotVersion)
    case targetsRejected([TargetID], StatusError)
    case unreadable(UnreadableWatchMessage)
  }
}
