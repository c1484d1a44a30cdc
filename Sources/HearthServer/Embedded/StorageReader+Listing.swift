internal import HearthModel
internal import HearthStore

extension StorageReader.Snapshot {
  /// The ids right below a document (or the root, for the empty path) or right below a collection that have an existing document below
  /// them; in order.
  ///
  /// - Parameters:
  ///   - last: The id behind which the list begins.
  ///   - limit: At most so many.
  func childIDs(
    under parent: ResourcePath, after last: String?, limit: Int, at past: SnapshotVersion?
  ) throws -> [String] {
    guard let past, past < version else {
      return try reader.store.childIDs(under: parent, after: last, limit: limit)
    }
    try requireLog(since: past)
    return try reader.store.childIDs(
      under: parent, after: last, limit: limit, in: LoggedCollections.table
    ) { path in try heldDocuments(atOrBelow: path, at: past) }
  }

  /// Returns whether a document was there in a collection or below a path. One that has not changed since is found first in most cases.
  private func heldDocuments(atOrBelow path: ResourcePath, at past: SnapshotVersion) throws -> Bool {
    var isHeld = false
    try reader.store.forEachPath(atOrBelow: path, in: LoggedCollections.table) { collection, number in
      isHeld =
        try reader.store.holdsDocument(in: collection, unchangedSince: past)
        || reader.changes.hasFormerDocument(in: number, asOf: past, through: version)
      return !isHeld
    }
    return isHeld
  }

  /// Keys that divide the documents of a query for a whole collection group into parts of about the same size, in order.
  ///
  /// - Parameters:
  ///   - count: The largest number of keys.
  ///   - minimumSize: The number of documents that a part has at least.
  func partitionPoints(
    of query: Query, count: Int, minimumSize: Int, at past: SnapshotVersion?
  ) throws -> PartitionAnswer {
    let scope = CollectionScope(of: query)
    let total = try LoggedCollections.documentCount(of: scope, in: reader.database)
    // Points of a sample are close enough, and the keys of millions of documents take much memory.
    let stride = max(1, total / Self.maximumSample)
    var keys = Set(try reader.store.sampledKeys(in: scope, stride: stride))
    if let past {
      var deleted = 0
      try forEachFormerDocument(of: .collections(scope), at: past) { former in
        guard former.isFound else {
          keys.remove(former.key)
          return
        }
        // One that is still there is in the sample, or another one stands for it.
        guard try !reader.store.document(for: former.key).isFound else { return }
        deleted += 1
        if deleted.isMultiple(of: stride), keys.count < 2 * Self.maximumSample { keys.insert(former.key) }
      }
    }
    // For very large groups the sample has fewer keys than there could be parts.
    let parts = min(count == .max ? .max : count + 1, max(1, min(keys.count, keys.count * stride / minimumSize)))
    let sorted = parts > 1 ? keys.sorted() : []
    let points = parts > 1 ? (1..<parts).map { sorted[sorted.count * $0 / parts] } : []
    return PartitionAnswer(points: points, readVersion: past ?? version)
  }

  private static let maximumSample = 50_000
}
