import HearthModel
import HearthStore
import Synchronization

@testable import HearthServer

/// A storage that tells of the reads of listen streams, whose pieces can be made small, and whose commits others may have made.
final class ObservedStorage: ExclusiveStorage {
  /// The sizes of pieces.
  struct Sizes: Sendable {
    var pieces = PieceSizes()
    var difference = DifferencePiece.Size()
  }

  let storage: EmbeddedStorage
  private let sizes: Sizes
  private let before: @Sendable () async -> Void
  private let after: @Sendable ([Document]) -> Void
  private let afterIDs: @Sendable ([String]) -> Void
  private let beforeCatchUp: @Sendable () async throws(StatusError) -> Void
  private let otherEpochs: @Sendable () -> Epochs?
  private let beforeCommit: @Sendable (CommitRequest) -> Void

  /// - Parameters:
  ///   - before: Called before each read.
  ///   - after: Called with the documents that a read has given.
  ///   - afterIDs: Called with the ids that a read has given.
  ///   - beforeCatchUp: Called before the feed counts as caught up.
  ///   - otherEpochs: Epochs in place of those of the storage.
  ///   - beforeCommit: Called with each request.
  init(
    _ storage: EmbeddedStorage, sizes: Sizes = Sizes(), before: @escaping @Sendable () async -> Void = {},
    after: @escaping @Sendable ([Document]) -> Void = { _ in },
    afterIDs: @escaping @Sendable ([String]) -> Void = { _ in },
    beforeCatchUp: @escaping @Sendable () async throws(StatusError) -> Void = {},
    otherEpochs: @escaping @Sendable () -> Epochs? = { nil },
    beforeCommit: @escaping @Sendable (CommitRequest) -> Void = { _ in }
  ) {
    self.beforeCommit = beforeCommit
    self.storage = storage
    self.sizes = sizes
    self.before = before
    self.after = after
    self.afterIDs = afterIDs
    self.beforeCatchUp = beforeCatchUp
    self.otherEpochs = otherEpochs
  }

  func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage {
    await before()
    let page = try await storage.page(of: query, after: cursor, at: version, sizes.pieces)
    after(page.answer.documents)
    return page
  }

  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece? {
    await before()
    let piece = try await storage.difference(
      of: source, after: start, through: end, from: cursor, edges: edges, size: sizes.difference)
    after(piece?.changes.map(\.document) ?? [])
    return piece
  }

  func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    await before()
    let answer = try await storage.documents(for: keys, at: version)
    after(answer.documents)
    return answer
  }

  func firstDocuments(
    of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    await before()
    let answer = try await storage.firstDocuments(of: keys, at: version)
    after(answer.documents)
    return answer
  }

  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int? {
    try await storage.changeCount(of: query, after: start, through: end, upTo: limit)
  }

  var feed: ChangeFeed { storage.feed }
  var locks: TransactionLocks { storage.locks }
  var epochs: Epochs { otherEpochs() ?? storage.epochs }
  func catchUpFeed(seen: SnapshotVersion?) async throws(StatusError) {
    try await beforeCatchUp()
    try await storage.catchUpFeed(seen: seen)
  }
  func use() -> StorageUse { storage.use() }
  func trimHistory() async { await storage.trimHistory() }

  func commit(
    _ request: CommitRequest, ending conditions: TransactionRegistry.Conditions?
  ) async throws(StatusError) -> CommitOutcome {
    beforeCommit(request)
    return try await storage.commit(request, ending: conditions)
  }

  func plan(of query: Query) async throws(StatusError) -> QueryAnswer { try await storage.plan(of: query) }

  func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer {
    try await storage.aggregate(aggregations, over: query, skipping: offset, at: version)
  }

  func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
    try await storage.count(of: query, at: version)
  }

  func currentVersion() async throws(StatusError) -> SnapshotVersion { try storage.currentVersion() }

  func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
    try await storage.snapshot(at: readTime)
  }

  func collectionIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> [String] {
    await before()
    let ids = try await storage.collectionIDs(under: parent, after: last, limit: limit, at: version)
    afterIDs(ids)
    return ids
  }

  func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> PartitionAnswer {
    try await storage.partitionPoints(of: query, count: count, minimumSize: minimumSize, at: version)
  }

  func declare(_ definitions: [IndexDefinition]) async { await storage.declare(definitions) }
  func clear(_ place: ResourcePath) async throws(StatusError) { try await storage.clear(place) }
  func close() async { await storage.close() }
}

extension StorageFixture {
  /// The database as a stream sees it whose reads are observed.
  func observed(
    sizes: ObservedStorage.Sizes = .init(), before: @escaping @Sendable () async -> Void = {},
    after: @escaping @Sendable ([Document]) -> Void = { _ in }
  ) -> HostedDatabase {
    HostedDatabase(
      id: ServerFixture.database, storage: ObservedStorage(storage, sizes: sizes, before: before, after: after),
      clock: clock.clock)
  }
}
