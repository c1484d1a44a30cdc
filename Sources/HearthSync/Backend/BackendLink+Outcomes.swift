internal import HearthModel

extension BackendLink {
  /// A consequence of a message that is the engine's to draw.
  enum WatchOutcome {
    case none
    /// Everything gathered so far is a consistent snapshot.
    case snapshot(SnapshotVersion)
    case targetsRejected([TargetID], StatusError)
    case unreadable(UnreadableWatchMessage)
  }

  /// The end of a write stream.
  enum WriteStreamEnd {
    /// Nothing is known of the stream.
    case ignored
    /// The backend refused the batch, or none.
    case ended(rejected: WritePipeline.Answered?)
    /// The stream was closed before, and its batches have to be sent again.
    case partingEnded
  }
}
