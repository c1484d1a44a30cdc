internal import HearthModel
internal import HearthPlan
internal import HearthStore

/// One state of a database from which results are read piece by piece, and its past.
protocol PieceSource {
  /// The present of this state.
  var version: SnapshotVersion { get throws }
  /// The change log holds everything that came after this.
  var logStart: SnapshotVersion { get throws }

  /// The first documents of a query's present result, where they are found in its order.
  ///
  /// - Parameters:
  ///   - query: Its limit is the largest number of documents of the piece.
  ///   - bytes: The piece ends with the document that exceeds them.
  /// - Returns: nil if there is no such way at this cost.
  func piece(of query: Query, bytes: Int, _ effort: PieceEffort) throws -> ResultPiece?

  /// The result of a query at a version by the plan that costs least. If its documents have more than `bytes`, it is sorted by their keys alone.
  ///
  /// - Throws: `SortBudgetExceeded` if there is no memory for these.
  func sorted(_ query: Query, at past: SnapshotVersion?, bytes: Int) throws -> SortedResult

  /// Takes the keys of the next piece and returns their documents as they were at a version.
  func documents(taking keys: inout SortedKeys, at past: SnapshotVersion, _ sizes: PieceSizes) throws -> [Document]

  /// Adds up the result of a query without limit at a version.
  func totals(
    of aggregations: [Aggregation], over query: Query, at past: SnapshotVersion?
  ) throws -> (totals: AggregationTotals, execution: QueryExecution)

  /// Passes the documents of a scope that have changed after `start` and existed at `past` as they were then.
  func forEachFormer(
    in scope: CollectionScope, asOf past: SnapshotVersion, after start: SnapshotVersion,
    _ body: (Document) throws -> Void
  ) throws

  /// The indexes that would answer the query better than those there are.
  ///
  /// - Parameter effort: Only those by which the result can be read piece by piece at this cost; nil for all.
  func missingIndexes(for query: Query, forPieces effort: PieceEffort?) throws -> [IndexDefinition]
}
