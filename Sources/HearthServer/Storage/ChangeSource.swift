internal import HearthModel

/// The changes of one database for listen streams: its commits as they happen, and the changes since an earlier version.
///
/// | a stream | asks for |
/// |---|---|
/// | starts to follow a target | ``catchUpFeed(seen:)``, and the target at the feed's version after that |
/// | is woken | the matches of ``feed`` since the version that it has sent |
/// | resumes, or is slower than the feed's memory | ``difference(of:after:through:from:edges:)`` |
///
/// All methods may be called at the same time from any task; none blocks the thread of its caller.
protocol ChangeSource: AnyObject, Sendable {
  /// The streams of this process that follow the database. There is one as long as the storage is open.
  ///
  /// The storage publishes there each commit of any process that has changed something: once, in the order of versions, after it is durable
  /// and reads show it. A commit of this process is published before it is acknowledged. Where the storage does not know each commit, it
  /// publishes one that is not complete (``CommittedChange/isComplete``) with the version of the last: streams then ask for the difference.
  var feed: ChangeFeed { get }

  /// Brings the feed to the present: when it returns, all commits that were acknowledged before the call, by whichever process, are published.
  ///
  /// Called once for each target that is added to a stream. A storage that publishes all commits before they are acknowledged returns at once,
  /// unless clients may have seen later versions than its own.
  ///
  /// - Parameter seen: A version that the client has seen, of this history or of another one; nil if it says nothing of it.
  /// - Throws: UNAVAILABLE if the present cannot be found out, CANCELLED. The stream ends and the client listens again.
  func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError)

  /// The epochs of the database: they tell which positions of clients lie in its present history. They are known without waiting.
  ///
  /// They may change at any time, also while streams are open. The epochs of a commit are known before it is published. When the history is
  /// replaced, for instance by a failover that has lost commits, an epoch with another identity must begin, after a version below those
  /// that are gone. Streams that have sent these end with UNAVAILABLE at their next step, and their tokens lead to a reset.
  var epochs: Epochs { get }

  /// A piece of what has become of a target between two versions; nil when the history does not reach back to `start`, or not any more. All
  /// pieces together name each document once, however often it has changed.
  ///
  /// - Parameters:
  ///   - end: A version that the feed has had.
  ///   - cursor: The end of the piece before, which this storage has made; nil for the first.
  ///   - edges: The ends of the results of a query with a limit. Only documents that are not in the later one are told of then.
  /// - Throws: As a read, see ``ServerStorage``.
  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece?

  /// The number of changes that the difference of a query has to look at, as far as it is not above a limit; nil when the history does not reach
  /// back to `start`.
  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int?
}
