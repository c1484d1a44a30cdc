import HearthModel

@testable import HearthServer

/// Databases that are out of reach: whatever is asked of them is UNAVAILABLE.
final class UnreachableDatabases: Databases {
  static let error = StatusError(code: .unavailable, message: "out of reach")

  let limits = DatabaseLimits()
  private let known: HostedDatabase?

  /// - Parameter knowsNames: True if names of databases are known, and only what is in them is out of reach.
  init(knowsNames: Bool) {
    known =
      knowsNames
      ? HostedDatabase(
        id: ServerFixture.database, storage: UnreachableStorage(), transactions: UnreachableTransactions()) : nil
  }

  func database(_ id: DatabaseID) async throws(StatusError) -> HostedDatabase {
    guard let known else { throw Self.error }
    return known
  }

  func names() async throws(StatusError) -> [DatabaseID] { throw Self.error }
  func declare(_ indexes: IndexFile.Contents) async {}
  func use() -> DatabasesUse { DatabasesUse(count: 0, sortBytes: 0, databases: []) }
  func tend() async {}
  func close() async {}
}

private final class UnreachableStorage: ServerStorage {
  private static let version = SnapshotVersion(microseconds: 1_000_000)

  let feed = ChangeFeed(version: version)
  let epochs = Epochs(creation: version)

  func use() -> StorageUse { StorageUse(historyBytes: 0, writeAheadLogBytes: 0, waitingReads: 0) }
  func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) { throw UnreachableDatabases.error }

  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece? { throw UnreachableDatabases.error }

  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int? { throw UnreachableDatabases.error }

  func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome { throw UnreachableDatabases.error }
  func clear(_ place: ResourcePath) async throws(StatusError) { throw UnreachableDatabases.error }

  func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer { throw UnreachableDatabases.error }

  func firstDocuments(
    of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer { throw UnreachableDatabases.error }

  func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage { throw UnreachableDatabases.error }

  func plan(of query: Query) async throws(StatusError) -> QueryAnswer { throw UnreachableDatabases.error }

  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer { throw UnreachableDatabases.error }

  func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
    throw UnreachableDatabases.error
  }

  func currentVersion() async throws(StatusError) -> SnapshotVersion { throw UnreachableDatabases.error }

  func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
    throw UnreachableDatabases.error
  }

  func collectionIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> [String] { throw UnreachableDatabases.error }

  func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> PartitionAnswer { throw UnreachableDatabases.error }

  func declare(_ definitions: [IndexDefinition]) async {}
  func trimHistory() async {}
  func close() async {}
}

private struct UnreachableTransactions: Transactions {
  var hasOpen: Bool { false }

  func begin(
    _ isolation: TransactionIsolation, repeating repeated: [UInt8], at version: SnapshotVersion?
  ) async throws(StatusError) -> [UInt8] { throw UnreachableDatabases.error }

  func read(
    _ transaction: [UInt8], keys: [DocumentKey], query: Query?
  ) async throws(StatusError) -> SnapshotVersion? { throw UnreachableDatabases.error }

  func commit(_ request: CommitRequest, ending transaction: [UInt8]) async throws(StatusError) -> CommitOutcome {
    throw UnreachableDatabases.error
  }

  func rollback(_ transaction: [UInt8]) async throws(StatusError) { throw UnreachableDatabases.error }
  func abortAll() async throws(StatusError) { throw UnreachableDatabases.error }

  func use() -> TransactionUse {
    TransactionUse(transactions: 0, reads: 0, greatestReads: 0, waitingRequests: 0, greatestWaitingWrites: 0)
  }
}
