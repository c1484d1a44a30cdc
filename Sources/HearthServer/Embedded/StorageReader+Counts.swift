internal import HearthModel
internal import HearthStore

extension StorageReader.Snapshot {
  /// The number of documents in the result of a query without limit: the present number, less what has come since, plus what has gone.
  ///
  /// The number for a whole collection or group is kept with the collections. Other results are counted where they lie, by an index if one
  /// serves.
  func count(of query: Query, at past: SnapshotVersion) throws -> Int {
    assert(query.limit == nil, "a result with a limit is read, not counted")
    var count = try presentCount(of: query)
    try forEachFormerDocument(of: ChangeScope(of: query), at: past) { former in
      if query.matches(former) { count += 1 }
      if query.matches(try reader.store.document(for: former.key)) { count -= 1 }
    }
    return count
  }

  private func presentCount(of query: Query) throws -> Int {
    if query.documentKey == nil, query.matchesAllDocuments {
      return try LoggedCollections.documentCount(of: CollectionScope(of: query), in: reader.database)
    }
    let count = Aggregation(alias: "count", operation: .count(upTo: nil))
    return try reader.queries.aggregate([count], over: query).totals.documentCount
  }
}
