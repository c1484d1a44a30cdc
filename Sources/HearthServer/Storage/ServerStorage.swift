internal import HearthModel

/// The use of a storage at a moment.
struct StorageUse: Sendable {
  /// The size of the history, see ``DatabaseLimits/historyBytes``.
  var historyBytes: Int
  /// The length of the write-ahead log, see ``DatabaseLimits/writeAheadLogBytes``.
  var writeAheadLogBytes: Int
  /// Reads that wait for their turn.
  var waitingReads: Int
}

/// Everything the server needs from the place where one database's documents are kept.
///
/// The service layer knows nothing else of the storage, so that another kind of database can take the place of the
/// embedded one. All methods may be called at the same time from any task. Versions are commit times.
protocol ServerStorage: AnyObject, Sendable {
  /// Commits as they become durable, in order; listeners live on it.
  var feed: ChangeFeed { get }

  /// The epochs of the database: they tell which positions of clients lie in its present history.
  var epochs: Epochs { get }

  /// The use of the storage now, for metrics.
  func use() -> StorageUse

  /// Applies all writes of one request or none, durably.
  ///
  /// - Returns: after the changes are on disk. The result's version is the commit time.
  /// - Throws: `StatusError`: a failed precondition, a broken limit, a conflict with what the transaction has read
  ///   (ABORTED), or the storage's own trouble.
  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome

  /// Deletes everything below the root, a document or a collection in one commit, the document itself too. Locks do not stop it:
  /// the transactions that have some are aborted.
  ///
  /// - Throws: `StatusError`: the storage's own trouble. Then nothing is deleted.
  func clear(_ place: ResourcePath) async throws(StatusError)

  /// Reads documents in one snapshot.
  ///
  /// - Parameter version: reads the past when set; see ``snapshot(at:)`` for how far it reaches.
  /// - Returns: for each key, in order, a found or a missing document.
  func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer

  /// Reads the first of some documents in one snapshot, about as many as a page of a query has, and one at least. So a caller that waits for
  /// its client between two reads holds no more than that, however large the documents are.
  ///
  /// - Returns: for each of the first keys, in order, a found or a missing document.
  func firstDocuments(
    of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer

  /// Runs a query in one snapshot; the documents come in query order.
  func run(_ query: Query, at version: SnapshotVersion?) async throws(StatusError) -> QueryAnswer

  /// Reads a query's result piece by piece. All pieces after the first are read at the version of the first.
  ///
  /// - Parameter cursor: The end of the piece before; nil for the first.
  func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage

  /// The plan of a query, which is not run.
  func plan(of query: Query) async throws(StatusError) -> QueryAnswer

  /// Adds up the result of a query in one snapshot.
  ///
  /// - Parameter offset: The number of documents of the result that do not take part.
  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer

  /// The number of documents in the result of a query without limit, in one snapshot.
  func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int

  /// A piece of what has become of a target between two versions; nil when the change log does not reach back to `start`, or not any more.
  ///
  /// - Parameters:
  ///   - cursor: The end of the piece before; nil for the first.
  ///   - edges: The ends of the results of a query with a limit. Only documents that are not in the later one are told of then.
  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece?

  /// The number of changes that the difference of a query has to look at, as far as it is not above a limit; nil when the change log does not
  /// reach back to `start`.
  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int?

  /// The version of the newest commit, or of the database's creation.
  func currentVersion() async throws(StatusError) -> SnapshotVersion

  /// Checks a `read_time` of a request and gives the version to read at.
  ///
  /// - Throws: FAILED_PRECONDITION when it is older than the change log reaches, INVALID_ARGUMENT when it is in the
  ///   future or has digits below microseconds.
  func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion

  /// The ids of the collections right below a document (or below the root for the empty path), or of the documents right below a collection
  /// that have something below them; sorted.
  ///
  /// - Parameters:
  ///   - last: The id behind which the list begins; nil for its beginning.
  ///   - limit: At most so many.
  func collectionIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> [String]

  /// Keys that divide a collection group into parts of about the same size, sorted.
  ///
  /// - Parameters:
  ///   - query: All documents of the group.
  ///   - count: The largest number of keys.
  ///   - minimumSize: The number of documents that a part has at least.
  func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> PartitionAnswer

  /// Makes these the declared indexes. Those that exist are kept with what they hold, others are filled in the background; a declared
  /// index that is no longer in the list goes. Queries are answered the same before, meanwhile and afterwards.
  func declare(_ definitions: [IndexDefinition]) async

  /// Removes history beyond its limits: the commits do that too, but there may be none.
  func trimHistory() async

  /// Finishes the operations in progress and releases the database. Later calls throw UNAVAILABLE.
  func close() async
}
