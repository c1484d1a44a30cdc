#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthRPC
  internal import HearthStore
  internal import Synchronization

  /// The reads of ``ServerStorage`` and ``ChangeSource``.
  extension ClusterStorage {
    /// - Parameter sender: See ``CallSender``.
    func reader(_ number: Int64, for sender: String = "") -> ClusterReader {
      ClusterReader(
        basis: basis(number), databaseID: databaseID, collections: state.withLock { $0.collections }, indexes: indexes,
        sortAccount: sortBudget.account(of: sender))
    }

    /// Runs `body` on one state of the database.
    ///
    /// - Parameter version: A version that `body` reads at.
    private func reading<Result: Sendable>(
      at version: SnapshotVersion? = nil, _ body: @escaping @Sendable (ClusterSnapshot) throws -> Result
    ) async throws(StatusError) -> Result {
      let sender = CallSender.current
      return try await reading { [self] session, number in
        try reader(number, for: sender).read(on: session, at: version, body)
      }
    }

    /// The keys of one statement. Each document may have 1 MiB.
    private static let shortReadCount = 100

    func documents(
      for keys: [DocumentKey], at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryAnswer {
      guard version == nil, keys.count <= Self.shortReadCount else {
        return try await reading(at: version) { try $0.documents(for: keys, at: version) }
      }
      return try await present(keys, bytes: .max)
    }

    func firstDocuments(
      of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryAnswer {
      guard version == nil else {
        return try await reading(at: version) { try $0.firstDocuments(of: keys, at: version) }
      }
      return try await present(Array(keys.prefix(Self.shortReadCount)), bytes: PieceSizes().bytes)
    }

    /// The first of some documents, with one statement.
    private func present(_ keys: [DocumentKey], bytes: Int) async throws(StatusError) -> QueryAnswer {
      guard let first = keys.first else {
        return QueryAnswer(documents: [], readVersion: try await currentVersion(), execution: nil)
      }
      if keys.count == 1 { return try await pointReads.document(first, of: self) }
      return try await reading { [self] session, number in
        let found = try reader(number).presentDocuments(keys, bytes: bytes, on: session)
        return QueryAnswer(
          documents: found.documents.map { $0.read(at: found.version) }, readVersion: found.version, execution: nil)
      }
    }

    func page(
      of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryPage {
      try await page(of: query, after: cursor, at: version, PieceSizes())
    }

    func page(
      of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?, _ sizes: PieceSizes
    ) async throws(StatusError) -> QueryPage {
      try await querying(query, at: version) { [databaseID] snapshot in
        let page = try snapshot.page(of: query, after: cursor, in: databaseID, at: version, sizes)
        return (page, page.answer.execution)
      }
    }

    func plan(of query: Query) async throws(StatusError) -> QueryAnswer {
      try await reading { try $0.plan(of: query) }
    }

    func aggregate(
      _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> AggregateAnswer {
      try await querying(query, at: version) { [databaseID] snapshot in
        let answer = try snapshot.aggregate(aggregations, over: query, skipping: offset, in: databaseID, at: version)
        return (answer, answer.execution)
      }
    }

    func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
      try await reading(at: version) { try $0.count(of: query, at: version) }
    }

    func difference(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion,
      from cursor: DifferenceCursor?,
      edges: WindowEdges?
    ) async throws(StatusError) -> DifferencePiece? {
      try await difference(of: source, after: start, through: end, from: cursor, edges: edges, size: .init())
    }

    func difference(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion,
      from cursor: DifferenceCursor?,
      edges: WindowEdges?, size: DifferencePiece.Size
    ) async throws(StatusError) -> DifferencePiece? {
      try await reading(at: end) {
        try $0.difference(of: source, after: start, through: end, from: cursor, edges: edges, size: size)
      }
    }

    func changeCount(
      of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
    ) async throws(StatusError) -> Int? {
      try await reading(at: end) { try $0.changeCount(of: query, after: start, through: end, upTo: limit) }
    }

    func collectionIDs(
      under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> [String] {
      try await reading(at: version) { try $0.childIDs(under: parent, after: last, limit: limit, at: version) }
    }

    func partitionPoints(
      of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> PartitionAnswer {
      try await reading(at: version) {
        try $0.partitionPoints(of: query, count: count, minimumSize: minimumSize, at: version)
      }
    }

    /// Runs a query, and asks for the indexes that it lacks.
    ///
    /// - Parameter body: Returns also what the query has cost.
    /// - Throws: RESOURCE_EXHAUSTED, with the missing index, for a result that cannot be sorted in the memory for that.
    private func querying<Answer: Sendable>(
      _ query: Query, at version: SnapshotVersion?,
      _ body: @escaping @Sendable (ClusterSnapshot) throws -> (Answer, QueryExecution?)
    ) async throws(StatusError) -> Answer {
      let outcome = try await reading(at: version) { try QueryOutcome.of(query, in: $0, body) }
      noteUse(by: outcome.execution)
      wish(for: outcome.missing)
      return try outcome.answer(metrics)
    }
  }
#endif
