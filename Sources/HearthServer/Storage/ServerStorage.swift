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

/// The interface between the server and the storage of one database's documents.
///
/// The service layer uses nothing else of the storage, so that another kind of database can replace the embedded one. All methods may be
/// called concurrently from any task, even on event loops: none blocks the thread of its caller.
///
/// *Versions* are commit times in whole microseconds. Each commit that changes something has a version of its own. It is above the versions
/// of all earlier commits, whichever process has made them, and above every version that was read at. So the state at a version never
/// changes.
///
/// *Reads* see one state of the database. Without a version they show the present, with at least every commit that was acknowledged before
/// the call; the answer states the version. With a version, from the storage or requested by a client through ``snapshot(at:)``, they show
/// exactly that state.
///
/// *Errors* are `StatusError`s, for the caller to pass on: FAILED_PRECONDITION for a version that is no longer kept, UNAVAILABLE when the
/// storage is closed, unreachable or busy, RESOURCE_EXHAUSTED when memory or disk is full, DATA_LOSS when the requested data is damaged,
/// INTERNAL for everything else, CANCELLED when the task is cancelled while it waits. The storage logs what its operator must know. A
/// failed read may be repeated.
///
/// *Cancellation* ends a read soon or not at all. A commit whose durable write has begun goes on, and its caller gets the outcome.
protocol ServerStorage: ChangeSource {
  /// The use of the storage now, for metrics. It costs a lock or two.
  func use() -> StorageUse

  /// Applies all writes of one request or none, durably. Requests that wait together may share one durable step; each still has a version
  /// of its own, and one that fails does not fail the others.
  ///
  /// Preconditions and transforms are evaluated on the state right before the commit. It waits for pessimistic transactions that have read what
  /// it changes. A request with a label that was committed before is not applied again and gets the outcome of then.
  ///
  /// - Returns: After the changes are on disk, and reads and the ``ChangeSource/feed`` have them. The result's version is the commit time.
  /// - Throws: A failed precondition, a broken limit, ABORTED after too long a wait: then nothing has changed. UNAVAILABLE may also mean that
  ///   it is not known if the writes are stored.
  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome

  /// Deletes everything below the root, a document or a collection in one commit, the document itself too. Locks do not stop it:
  /// the transactions that have some are aborted. If it is the root, the answers to labelled requests are forgotten, too.
  ///
  /// - Throws: The storage's own trouble. Then nothing is deleted.
  func clear(_ place: ResourcePath) async throws(StatusError)

  /// True if there is nothing that a client could ask for again: no document, and no answer to a labelled request.
  var holdsNothing: Bool { get async }

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

  /// Reads a query's result piece by piece, in the order of the query. All pieces after the first are read at the version of the first. A piece
  /// has some 256 KiB, or one document that is larger. Between two pieces the storage holds nothing for the caller, who may never come back.
  ///
  /// - Parameter cursor: The end of the piece before, which this storage has made; nil for the first.
  func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage

  /// The plan of a query, which is not run: an answer without documents.
  func plan(of query: Query) async throws(StatusError) -> QueryAnswer

  /// Adds up the result of a query in one snapshot.
  ///
  /// - Parameter offset: The number of documents of the result that do not take part.
  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer

  /// The number of documents in the result of a query without limit, in one snapshot.
  func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int

  /// The present version: that of the newest commit, of the database's creation, or a later one that was given out for a read.
  ///
  /// The embedded storage answers from memory, without suspending; another one may have to ask a server.
  func currentVersion() async throws(StatusError) -> SnapshotVersion

  /// Checks a `read_time` of a request and gives the version to read at. Later commits have later versions than this one, also if it is above
  /// the present.
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

  /// Makes these the declared indexes. Existing indexes are kept with their entries, new ones are filled in the background, and declared
  /// indexes that are no longer in the list are dropped. Queries give the same results before, during and after the filling.
  func declare(_ definitions: [IndexDefinition]) async

  /// Removes history beyond its limits: the commits do that too, but there may be none.
  func trimHistory() async

  /// Finishes the operations in progress and releases the database. Later calls throw UNAVAILABLE.
  func close() async
}

extension ServerStorage {
  var holdsNothing: Bool { get async { false } }
}
