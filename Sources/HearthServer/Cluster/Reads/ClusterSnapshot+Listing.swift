#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  extension ClusterSnapshot {
    /// The collections that are read at a time for a list.
    private static let listCount = 200

    /// See ``StorageReader/Snapshot/childIDs(under:after:limit:at:)``.
    func childIDs(
      under parent: ResourcePath, after last: String?, limit: Int, at past: SnapshotVersion?
    ) throws -> [String] {
      try requireLog(since: past)
      let past = try past.flatMap { try $0 < version ? $0 : nil }
      let prefix = ClusterNames.order(of: parent)
      guard let start = Self.bound(behind: last, prefix) else { return try longChildIDs(parent, last, limit, past) }
      let end = OrderedValueWriter.end(of: prefix) ?? ClusterNames.endOfIDs
      var ids: [String] = []
      var position = ClusterScope.Position(order: start, number: -1)
      while ids.count < limit {
        let page = try collections(behind: position, before: end, past)
        for collection in page.held {
          guard let id = collection.path.segment(behind: parent) else { continue }
          if ids.last.map({ $0.utf8.elementsEqual(id.utf8) }) ?? false { continue }
          guard Self.bound(behind: id, prefix) != nil else { return try longChildIDs(parent, last, limit, past) }
          ids.append(id)
          if ids.count == limit { return ids }
        }
        guard let next = page.next else { break }
        position = next
        // What else lies below an id that is listed is skipped.
        if let id = ids.last, next.order.starts(with: ClusterNames.order(of: parent.appending(id))) {
          position = ClusterScope.Position(order: Self.bound(behind: id, prefix) ?? next.order, number: -1)
        }
      }
      return ids
    }

    /// The place behind everything below an id; nil if `path_order` does not reach so far.
    private static func bound(behind id: String?, _ prefix: [UInt8]) -> [UInt8]? {
      guard let id else { return prefix.count < ClusterNames.pathOrderLimit ? prefix : nil }
      var writer = OrderedValueWriter(prefix)
      writer.append(documentID: id)
      guard writer.bytes.count < ClusterNames.pathOrderLimit else { return nil }
      return OrderedValueWriter.end(of: writer.bytes)
    }

    private struct ListPage {
      /// The collections that have, or had, documents.
      var held: [ClusterCollection]
      var next: ClusterScope.Position?
    }

    /// The next collections of all groups in the order of their paths.
    private func collections(
      behind position: ClusterScope.Position, before end: [UInt8], _ past: SnapshotVersion?
    ) throws -> ListPage {
      let found = try collections(
        ReadStatements.below.call(
          database, .bytea(position.order), .int8(position.number), .bytea(end), .int8(past == nil ? 1 : 0),
          .int8(Int64(Self.listCount))))
      let next =
        found.count < Self.listCount
        ? nil
        : found.last.map { ClusterScope.Position(order: ClusterNames.pathOrder($0.path), number: $0.number) }
      guard let past else { return ListPage(held: found, next: next) }
      let growth = try growth(of: found, since: past)
      return ListPage(held: zip(found, growth).filter { $0.documents > $1 }.map(\.0), next: next)
    }

    /// The list for paths that are longer than their place in the order of paths: all collections are looked at.
    private func longChildIDs(
      _ parent: ResourcePath, _ last: String?, _ limit: Int, _ past: SnapshotVersion?
    ) throws -> [String] {
      let start = ClusterNames.pathOrder(parent)
      let end = OrderedValueWriter.end(of: start) ?? ClusterNames.endOfIDs
      var position: ClusterScope.Position? = ClusterScope.Position(order: start, number: -1)
      var ids: Set<[UInt8]> = []
      while let from = position {
        let page = try collections(behind: from, before: end, past)
        for collection in page.held {
          if let id = collection.path.segment(behind: parent) { ids.insert(Array(id.utf8)) }
        }
        position = page.next
      }
      return ids.map { String(decoding: $0, as: UTF8.self) }
        .filter { id in last.map { PathSegment.compare(id, $0) == .descending } ?? true }
        .sorted { PathSegment.compare($0, $1) == .ascending }.prefix(limit).map(\.self)
    }

    // MARK: - Partitions

    private static let maximumSample = 50_000
    /// The ids that one statement goes through.
    private static let sampledIDs = 100_000

    /// See ``StorageReader/Snapshot/partitionPoints(of:count:minimumSize:at:)``. The points of the past are those of the present, less documents
    /// that have come since, plus some that have gone.
    func partitionPoints(
      of query: Query, count: Int, minimumSize: Int, at past: SnapshotVersion?
    ) throws -> PartitionAnswer {
      try requireLog(since: past)
      let scope = CollectionScope(of: query)
      let total = try ClusterScope(scope).totals(in: self).documents
      // Points of a sample are close enough, and the keys of millions of documents take much memory.
      let stride = max(1, total / Self.maximumSample)
      var keys = try sample(scope, stride: stride)
      if let past, try past < version { try adjust(&keys, scope, stride: stride, at: past) }
      // For very large groups the sample has fewer keys than there could be parts.
      let parts = min(count == .max ? .max : count + 1, max(1, min(keys.count, keys.count * stride / minimumSize)))
      let sorted = parts > 1 ? keys.sorted() : []
      let points = parts > 1 ? (1..<parts).map { sorted[sorted.count * $0 / parts] } : []
      return PartitionAnswer(points: points, readVersion: try past ?? version)
    }

    /// Every `stride`-th key of the collections of a scope, counted through all of them.
    private func sample(_ scope: CollectionScope, stride: Int) throws -> Set<DocumentKey> {
      var keys: Set<DocumentKey> = []
      var position = 0
      try ClusterScope(scope).forEachCollection(in: self) { collection in
        let first = (stride - position % stride) % stride
        position += collection.documents
        guard first < collection.documents else { return }
        try sample(collection, from: first, stride: stride) { keys.insert($0) }
      }
      return keys
    }

    private func sample(
      _ collection: ClusterCollection, from first: Int, stride: Int, _ add: (DocumentKey) -> Void
    ) throws {
      var (lower, first) = (ClusterNames.firstID, first)
      var isEnd = false
      while !isEnd {
        let rows = try fetch(
          ReadStatements.samples.call(
            database, .int8(collection.number), .bytea(lower), .int8(Int64(first)), .int8(Int64(stride)),
            .int8(Int64(Self.sampledIDs))))
        isEnd = true
        for row in rows {
          let (id, position) = (try row.bytes(0), Int(clamping: try row.int64(1)))
          if position > first, (position - 1 - first).isMultiple(of: stride) {
            add(try DocumentKey(collection.path.appending(ClusterNames.id(of: id, in: "hearth_documents"))))
          }
          guard position == Self.sampledIDs else { continue }
          isEnd = false
          lower = ClusterNames.successor(of: id)
          first = ((first - position) % stride + stride) % stride
        }
      }
    }

    private func adjust(
      _ keys: inout Set<DocumentKey>, _ scope: CollectionScope, stride: Int, at past: SnapshotVersion
    ) throws {
      let walk = ClusterChangeWalk(snapshot: self, scope: scope, past: .none, start: past, end: try version)
      var cursor: ClusterChangeCursor?
      var deleted = 0
      repeat {
        let page = try walk.page(from: cursor)
        for change in page.changes where change.isInScope {
          if change.isDelete {
            deleted += 1
            if deleted.isMultiple(of: stride), keys.count < 2 * Self.maximumSample { keys.insert(try change.key) }
          } else if change.oldVersion == 0 {
            keys.remove(try change.key)
          }
        }
        cursor = page.next
      } while cursor != nil
    }
  }

  extension ResourcePath {
    /// The segment that follows a path which this one begins with; nil if it does not, or is that path.
    fileprivate func segment(behind parent: ResourcePath) -> String? {
      guard parent.isPrefix(of: self) else { return nil }
      return segments.dropFirst(parent.count).first
    }
  }
#endif
