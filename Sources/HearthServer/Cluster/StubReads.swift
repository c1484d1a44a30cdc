#if PostgreSQL
  // Stands in until Reads/ClusterStorage+Reads.swift exists; R deletes this file then.
  internal import HearthModel
  internal import HearthPostgres

  extension ClusterStorage {
    private static var unbuilt: StatusError { StatusError(code: .unimplemented, message: "not built yet") }

    func declareAgain() {}
    func tendIndexes() async {}
    func declare(_ definitions: [IndexDefinition]) async {}

    func documents(for keys: [DocumentKey], at version: SnapshotVersion?) async throws(StatusError) -> QueryAnswer {
      let latest = try await currentVersion()
      let found = try await reading { session, number in
        try session.run(GroupReads.documents(keys, in: number, bytes: .max)).map {
          try GroupReads.document($0, of: keys)
        }
      }
      let known = Dictionary(found.map { ($0.0, $0.1) }) { $1 }
      return QueryAnswer(
        documents: keys.map { (known[$0] ?? nil) ?? .missing($0, version: latest) }, readVersion: latest, execution: nil
      )
    }

    func firstDocuments(
      of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryAnswer { try await documents(for: Array(keys), at: version) }

    func page(
      of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryPage { throw Self.unbuilt }
    func plan(of query: Query) async throws(StatusError) -> QueryAnswer { throw Self.unbuilt }
    func aggregate(
      _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> AggregateAnswer { throw Self.unbuilt }
    func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int { throw Self.unbuilt }
    func collectionIDs(
      under parent: ResourcePath, after last: String?, limit: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> [String] { throw Self.unbuilt }
    func partitionPoints(
      of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> PartitionAnswer { throw Self.unbuilt }
    func difference(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion,
      from cursor: DifferenceCursor?,
      edges: WindowEdges?
    ) async throws(StatusError) -> DifferencePiece? { throw Self.unbuilt }
    func changeCount(
      of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
    ) async throws(StatusError) -> Int? { throw Self.unbuilt }
  }
#endif
