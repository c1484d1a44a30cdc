internal import HearthModel
internal import HearthPlan
internal import HearthRPC
internal import HearthStore
internal import Synchronization

extension EmbeddedStorage {
  /// The largest number of documents that are read on the caller's thread. Each may have 1 MiB.
  private static let shortReadCount = 4

  nonisolated func documents(
    for keys: [DocumentKey], at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    try await reading("read documents", isShort: version == nil && keys.count <= Self.shortReadCount) {
      try $0.documents(for: keys, at: version)
    }
  }

  nonisolated func firstDocuments(
    of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryAnswer {
    try await reading("read documents", isShort: version == nil && keys.count <= Self.shortReadCount) {
      try $0.firstDocuments(of: keys, at: version)
    }
  }

  nonisolated func run(_ query: Query, at version: SnapshotVersion?) async throws(StatusError) -> QueryAnswer {
    try await querying(query, "run query") { snapshot in
      let answer = try snapshot.run(query, at: version)
      return (answer, answer.execution)
    }
  }

  nonisolated func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
  ) async throws(StatusError) -> QueryPage {
    try await page(of: query, after: cursor, at: version, PieceSizes())
  }

  nonisolated func page(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?, _ sizes: PieceSizes
  ) async throws(StatusError) -> QueryPage {
    try await querying(query, "read page of query") { [databaseID] snapshot in
      let page = try snapshot.page(of: query, after: cursor, in: databaseID, at: version, sizes)
      return (page, page.answer.execution)
    }
  }

  nonisolated func plan(of query: Query) async throws(StatusError) -> QueryAnswer {
    try await reading("plan query") { try $0.plan(of: query) }
  }

  nonisolated func aggregate(
    _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> AggregateAnswer {
    try await querying(query, "aggregate") { [databaseID] snapshot in
      let answer = try snapshot.aggregate(aggregations, over: query, skipping: offset, in: databaseID, at: version)
      return (answer, answer.execution)
    }
  }

  nonisolated func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
    try await reading("count documents") { try $0.count(of: query, at: version) }
  }

  nonisolated func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?
  ) async throws(StatusError) -> DifferencePiece? {
    try await difference(of: source, after: start, through: end, from: cursor, edges: edges, size: .init())
  }

  nonisolated func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?, size: DifferencePiece.Size
  ) async throws(StatusError) -> DifferencePiece? {
    try await reading("read changes") {
      try $0.difference(of: source, after: start, through: end, from: cursor, edges: edges, size: size)
    }
  }

  nonisolated func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) async throws(StatusError) -> Int? {
    try await reading("count changes") { try $0.changeCount(of: query, after: start, through: end, upTo: limit) }
  }

  nonisolated func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
    guard readTime.truncatedToMicroseconds() == readTime else {
      throw StatusError(
        code: .invalidArgument, message: "read_time \(readTime): timestamp cannot have more than microseconds precision"
      )
    }
    let version = SnapshotVersion(readTime)
    if try currentVersion() < version { try await reserve(version) }
    let start = published.withLock { $0.logStart }
    guard version >= start else { throw StatusError.readTimeTooOld(start: start) }
    return version
  }

  nonisolated func collectionIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> [String] {
    try await reading("list collections") {
      try $0.childIDs(under: parent, after: last, limit: limit, at: version)
    }
  }

  nonisolated func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
  ) async throws(StatusError) -> PartitionAnswer {
    try await reading("find partitions") {
      try $0.partitionPoints(of: query, count: count, minimumSize: minimumSize, at: version)
    }
  }

  /// Runs a query, and asks for the indexes that it lacks.
  ///
  /// - Parameter body: Returns also what the query has cost.
  /// - Throws: RESOURCE_EXHAUSTED, with the missing index, for a result that cannot be sorted in the memory for that.
  private nonisolated func querying<Answer: Sendable>(
    _ query: Query, _ name: String,
    _ body: @escaping @Sendable (StorageReader.Snapshot) throws -> (Answer, QueryExecution?)
  ) async throws(StatusError) -> Answer {
    let outcome = try await reading(name) { try QueryOutcome.of(query, in: $0, body) }
    noteUse(by: outcome.execution)
    wish(for: outcome.missing)
    return try outcome.answer(metrics)
  }

  /// Runs `body` on one state of the database, outside the writer, and converts its errors to a status.
  ///
  /// - Parameters:
  ///   - isShort: It takes as long as a change of thread.
  ///   - body: May run more than once, see ``ReaderPool/read(_:)``.
  nonisolated func reading<Result: Sendable>(
    _ name: String, isShort: Bool = false, _ body: @escaping @Sendable (StorageReader.Snapshot) throws -> Result
  ) async throws(StatusError) -> Result {
    let (known, readers) = (try currentVersion(), published.withLock { $0.file?.readers })
    guard let readers else { return try await readingBesideCommits(name, body) }
    let sender = CallSender.current
    do {
      if isShort,
        let result = try readers.readInPlace({ try $0.read(name, known: known, for: sender, body) })
      {
        return result
      }
      return try await readers.read { reader in try reader.read(name, known: known, for: sender, body) }
    } catch {
      if error is CancellationError { throw StatusError(describing: error) }
      if error is StoreError { _ = try currentVersion() }
      throw status(of: error)
    }
  }

  /// Runs `body` between two commits on the only connection of a database in memory.
  private func readingBesideCommits<Result: Sendable>(
    _ name: String, _ body: @Sendable (StorageReader.Snapshot) throws -> Result
  ) throws(StatusError) -> Result {
    try requireOpen()
    do {
      return try reader.read(name, known: published.withLock { $0.version }, for: CallSender.current, body)
    } catch {
      throw status(of: error)
    }
  }
}
