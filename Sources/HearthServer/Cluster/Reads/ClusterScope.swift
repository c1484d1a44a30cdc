#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The collections of a scope that have documents, in the order of their paths.
  struct ClusterScope {
    let scope: CollectionScope
    /// The path that all collections begin with.
    private let base: ResourcePath
    /// The id of the collections; nil for all.
    private let group: [UInt8]?

    /// The end of all places in the order of paths.
    private static let endOfPaths: [UInt8] = [0xFF]

    init(_ scope: CollectionScope) {
      self.scope = scope
      switch scope {
      case .collection(let path): (base, group) = (path.parent, Array((path.last ?? "").utf8))
      case .group(let id, let path): (base, group) = (path, Array(id.utf8))
      case .everything(let path): (base, group) = (path, nil)
      }
    }

    /// A position in the list: behind (backward: before) a collection.
    struct Position: Sendable {
      /// See ``ClusterNames/pathOrder(_:)``.
      var order: [UInt8]
      var number: Int64
    }

    /// The bounds of the scope, in ``ClusterNames/pathOrder(_:)``.
    private var bounds: (lower: [UInt8], upper: [UInt8]) {
      let lower = ClusterNames.pathOrder(base)
      return (lower, OrderedValueWriter.end(of: lower) ?? Self.endOfPaths)
    }

    /// The next collections of the list.
    ///
    /// - Parameters:
    ///   - position: Nil for the beginning.
    ///   - lower: Only collections whose place is not below.
    ///   - upper: Only collections whose place is below.
    /// - Returns: Also the position behind them; nil at the end of the list. A page may have fewer collections before that.
    func collections(
      behind position: Position?, lower: [UInt8]? = nil, upper: [UInt8]? = nil,
      _ direction: ReadStatements.Direction = .forward, limit: Int, in snapshot: ClusterSnapshot
    ) throws -> (collections: [ClusterCollection], next: Position?) {
      let bounds = bounds
      let start = max(bounds.lower, lower) { $0.lexicographicallyPrecedes($1) }
      let end = min(bounds.upper, upper) { $0.lexicographicallyPrecedes($1) }
      let (from, to, statement): (Position, [UInt8], PostgresStatement)
      switch direction {
      case .forward:
        (from, to) = (position ?? Position(order: start, number: -1), end)
        statement = group == nil ? ReadStatements.allForward : ReadStatements.groupForward
      case .backward:
        (from, to) = (position ?? Position(order: end, number: -1), start)
        statement = group == nil ? ReadStatements.allBackward : ReadStatements.groupBackward
      }
      let parameters: [PostgresValue] =
        [snapshot.database] + (group.map { [.bytea($0)] } ?? [])
        + [.bytea(from.order), .int8(from.number), .bytea(to), .int8(Int64(limit))]
      let found = try snapshot.collections(PostgresCall(statement, parameters))
      let next =
        found.count < limit
        ? nil : found.last.map { Position(order: ClusterNames.pathOrder($0.path), number: $0.number) }
      // Long paths have the same place as their neighbours.
      return (found.filter { scope.contains(collection: $0.path) }, next)
    }

    private func max(
      _ a: [UInt8], _ b: [UInt8]?, by precedes: ([UInt8], [UInt8]) -> Bool
    ) -> [UInt8] { b.map { precedes(a, $0) ? $0 : a } ?? a }

    private func min(
      _ a: [UInt8], _ b: [UInt8]?, by precedes: ([UInt8], [UInt8]) -> Bool
    ) -> [UInt8] { b.map { precedes($0, a) ? $0 : a } ?? a }

    /// The sizes of a scope.
    struct Totals {
      var collections: Int
      var documents: Int
    }

    /// The number of collections with documents, and of all their documents.
    func totals(in snapshot: ClusterSnapshot) throws -> Totals {
      if case .collection(let path) = scope {
        let documents = try snapshot.collections(at: [path]).first?.documents ?? 0
        return Totals(collections: documents > 0 ? 1 : 0, documents: documents)
      }
      guard ClusterNames.order(of: base).count <= ClusterNames.pathOrderLimit else {
        var totals = Totals(collections: 0, documents: 0)
        try forEachCollection(in: snapshot) {
          totals.collections += 1
          totals.documents += $0.documents
        }
        return totals
      }
      let bounds = bounds
      let statement = group == nil ? ReadStatements.allTotals : ReadStatements.groupTotals
      let rows = try snapshot.fetch(
        PostgresCall(
          statement,
          [snapshot.database] + (group.map { [.bytea($0)] } ?? []) + [.bytea(bounds.lower), .bytea(bounds.upper)]))
      let row = try rows.only()
      let totals = Totals(collections: Int(clamping: try row.int64(0)), documents: Int(clamping: try row.int64(1)))
      guard (0...ClusterSnapshot.maximumDocuments).contains(totals.documents) else {
        throw ClusterSnapshot.damaged(
          "hearth_collections: the collections of a scope have \(totals.documents) documents")
      }
      return totals
    }

    /// The collections that one statement lists.
    private static let listCount = 500

    func forEachCollection(in snapshot: ClusterSnapshot, _ body: (ClusterCollection) throws -> Void) throws {
      var position: Position?
      repeat {
        let page = try collections(behind: position, limit: Self.listCount, in: snapshot)
        for collection in page.collections { try body(collection) }
        position = page.next
      } while position != nil
    }

    /// All collections of the scope, also those without documents, if they are no more than `limit`; nil if there are more, or for the scope of
    /// all collections.
    func members(atMost limit: Int, in snapshot: ClusterSnapshot) throws -> [ClusterCollection]? {
      if case .collection(let path) = scope {
        if let number = snapshot.reader.collections.number(of: path) {
          return [ClusterCollection(number: number, path: path, documents: 0)]
        }
        return try snapshot.collections(at: [path])
      }
      guard let group else { return nil }
      let bounds = bounds
      let found = try snapshot.collections(
        ReadStatements.groupMembers.call(
          snapshot.database, .bytea(group), .bytea(bounds.lower), .bytea(bounds.upper), .int8(Int64(limit + 1))))
      return found.count <= limit ? found.filter { scope.contains(collection: $0.path) } : nil
    }

    // MARK: - Documents

    /// Calls `body` with the documents of the scope, collection by collection, in the order of their ids.
    ///
    /// - Parameters:
    ///   - mark: Only documents behind it, see ``ClusterIndex/Mark``.
    ///   - firstCount: The documents of the first page.
    ///   - body: Returns false to stop.
    /// - Returns: False if it was stopped.
    @discardableResult
    func forEachDocument(
      behind mark: ClusterIndex.Mark? = nil, firstCount: Int = ClusterPaging.maximumRows,
      in snapshot: ClusterSnapshot, _ body: (ClusterRow) throws -> Bool
    ) throws -> Bool {
      let paging = ClusterPaging(content: .documents, direction: .forward)
      func read(_ ranges: [ClusterRange]) throws -> Bool {
        try paging.forEachRow(of: ranges, in: snapshot, firstCount: firstCount) { index, row in
          try body(ClusterRow(row: row, path: ranges[index].path ?? ResourcePath())) ? .proceed : .stop
        }
      }
      if case .collection(let path) = scope {
        guard let range = try range(of: path, behind: mark, in: snapshot) else { return true }
        return try read([range])
      }
      if let mark, let path = try snapshot.paths(of: [mark.place.collection])[mark.place.collection],
        scope.contains(collection: path),
        try !read([
          ClusterRange(
            number: mark.place.collection, path: path, lower: ClusterNames.successor(of: mark.place.id),
            upper: ClusterNames.endOfIDs)
        ])
      {
        return false
      }
      var position = mark.map { Position(order: $0.pathOrder, number: $0.place.collection) }
      repeat {
        let page = try collections(behind: position, limit: Self.listCount, in: snapshot)
        let ranges = page.collections.map { collection in
          ClusterRange(
            number: collection.number, path: collection.path, lower: ClusterNames.firstID, upper: ClusterNames.endOfIDs)
        }
        guard try read(ranges) else { return false }
        position = page.next
      } while position != nil
      return true
    }

    /// All documents of a collection, or those behind a mark; nil if that has none of them.
    private func range(
      of path: ResourcePath, behind mark: ClusterIndex.Mark?, in snapshot: ClusterSnapshot
    ) throws -> ClusterRange? {
      var range = ClusterRange(
        number: snapshot.reader.collections.number(of: path), path: path, lower: ClusterNames.firstID,
        upper: ClusterNames.endOfIDs)
      guard let mark else { return range }
      if range.number == nil { range.number = try snapshot.collections(at: [path]).first?.number }
      guard let number = range.number else { return nil }
      if number == mark.place.collection {
        range.lower = ClusterNames.successor(of: mark.place.id)
        return range
      }
      let order = ClusterNames.pathOrder(path)
      let isBehind =
        order == mark.pathOrder ? number > mark.place.collection : mark.pathOrder.lexicographicallyPrecedes(order)
      return isBehind ? range : nil
    }
  }
#endif
