#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthStore

  extension ClusterSnapshot: PieceSource {
    var version: SnapshotVersion { get throws { try state.version } }
    var logStart: SnapshotVersion { get throws { try state.logStart } }

    func piece(of query: Query, bytes: Int, _ effort: PieceEffort) throws -> ResultPiece? {
      let executor = ClusterExecutor(self).within(ResultBounds(documentBytes: bytes, excess: .cut))
      guard let (contents, plan) = try executor.piece(of: query, effort) else { return nil }
      var execution = plan
      execution.resultCount = contents.documents.count
      return ResultPiece(documents: contents.documents, isCut: contents.isCut, execution: execution)
    }

    func sorted(_ query: Query, at past: SnapshotVersion?, bytes: Int) throws -> SortedResult {
      let bounds = ResultBounds(documentBytes: bytes, excess: .sortKeys(reader.sortAccount))
      let (contents, execution) = try executor(at: past).within(bounds).contents(of: query)
      return SortedResult(documents: contents.documents, keys: contents.keys, execution: execution)
    }

    func totals(
      of aggregations: [Aggregation], over query: Query, at past: SnapshotVersion?
    ) throws -> (totals: AggregationTotals, execution: QueryExecution) {
      try requireLog(since: past)
      if aggregations.allSatisfy({ $0.path == nil }), let counted = try countWithoutDocuments(query, at: past) {
        var totals = AggregationTotals(aggregations)
        totals.add(documentCount: counted.count)
        return (totals, counted.execution)
      }
      let (contents, execution) = try executor(at: past).computing(aggregations).contents(of: query)
      return (contents.totals ?? AggregationTotals(aggregations), execution)
    }

    /// An executor that sees the documents as they were.
    private func executor(at past: SnapshotVersion?) throws -> ClusterExecutor {
      guard let past, try past < version else { return ClusterExecutor(self) }
      try requireLog(since: past)
      return ClusterExecutor(self, at: past)
    }

    /// The keys of one statement. Their documents may be too many for a page.
    private static let keysAtOnce = 64

    func documents(taking keys: inout SortedKeys, at past: SnapshotVersion, _ sizes: PieceSizes) throws -> [Document] {
      if try past < version { try requireLog(since: past) }
      var documents: [Document] = []
      var bytes = 0
      while bytes < sizes.bytes, documents.count < PieceSizes.maximumCount, !keys.isEmpty {
        var next: [DocumentKey] = []
        var ahead = keys
        while next.count < Self.keysAtOnce, let key = try ahead.popFirst() { next.append(key) }
        let found = try self.documents(next, at: past)
        for document in found where bytes < sizes.bytes && documents.count < PieceSizes.maximumCount {
          guard document.isFound else {
            // It was there when the keys were sorted, at this version.
            try requireLog(since: past)
            throw Self.damaged("table hearth_changes, \(document.key): its state at \(past.microseconds) is not there")
          }
          _ = try keys.popFirst()
          bytes += document.fields.bytes.count
          documents.append(document)
        }
      }
      return documents
    }

    func missingIndexes(for query: Query, forPieces effort: PieceEffort?) throws -> [IndexDefinition] {
      try ClusterExecutor(self).missingIndexes(for: query, forPieces: effort)
    }

    /// The plan of a query, which is not run.
    func plan(of query: Query) throws -> QueryAnswer {
      QueryAnswer(documents: [], readVersion: try version, execution: try ClusterExecutor(self).plan(of: query))
    }

    /// The whole result of a query, in memory.
    func run(_ query: Query, at past: SnapshotVersion?) throws -> QueryAnswer {
      let (contents, execution) = try executor(at: past).contents(of: query)
      return QueryAnswer(documents: contents.documents, readVersion: try past ?? version, execution: execution)
    }
  }
#endif
