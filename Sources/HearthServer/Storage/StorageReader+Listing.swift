internal import HearthModel
internal import HearthStore

extension StorageReader.Snapshot {
  /// The ids right below a document (or the root, for the empty path) or right below a collection that have an existing document below
  /// them; in order.
  func childIDs(under parent: ResourcePath, at past: SnapshotVersion?) throws -> [String] {
    let present = try reader.store.childIDs(under: parent)
    let scope = ChangeScope.collections(.everything(under: parent))
    guard let past, try hasChanged(scope, since: past) else { return present }
    var ids: Set<ResourcePath> = []
    /// Ids below which documents have come since.
    var grown: Set<ResourcePath> = []
    try forEachFormerDocument(of: scope, at: past) { former in
      // Of a collection, the scope has its own documents too.
      guard former.key.path.count > parent.count + 1 else { return }
      let id = ResourcePath([former.key.path.segments[parent.count]])
      if former.isFound { ids.insert(id) } else { grown.insert(id) }
    }
    for id in present.map({ ResourcePath([$0]) }) where !ids.contains(id) {
      if try !grown.contains(id) || holdsUnchanged(since: past, under: parent.appending(id)) { ids.insert(id) }
    }
    return ids.sorted().map(\.canonicalString)
  }

  /// Returns whether there is a document below a path that has not changed since a version.
  private func holdsUnchanged(since past: SnapshotVersion, under path: ResourcePath) throws -> Bool {
    let documents = try reader.store.reader()
    var holds = false
    try reader.store.forEachKey(under: path) { key in
      holds = try documents.document(for: key, withFields: false).version <= past
      return !holds
    }
    return holds
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
    // Of very large groups the sample has fewer keys than there could be parts.
    let parts = min(count == .max ? .max : count + 1, max(1, min(keys.count, keys.count * stride / minimumSize)))
    let sorted = parts > 1 ? keys.sorted() : []
    let points = parts > 1 ? (1..<parts).map { sorted[sorted.count * $0 / parts] } : []
    return PartitionAnswer(points: points, readVersion: past ?? version)
  }

  private static let maximumSample = 50_000
}

/// Keys that divide the documents of a collection group.
struct PartitionAnswer: Sendable {
  var points: [DocumentKey]
  var readVersion: SnapshotVersion
}
