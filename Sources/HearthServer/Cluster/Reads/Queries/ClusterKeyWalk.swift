#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthStore

  /// Answers a query that is ordered by the key alone: walks along the keys of its collections from a cursor until the limit is reached.
  struct ClusterKeyWalk {
    private let executor: ClusterExecutor
    private let query: Query
    private let bounds: KeyBounds

    /// - Returns: nil for a query that has no `KeyBounds`.
    init?(_ query: Query, _ executor: ClusterExecutor) {
      guard let bounds = KeyBounds(of: query) else { return nil }
      self.executor = executor
      self.query = query
      self.bounds = bounds
    }

    /// - Returns: nil if a scan takes less: the order of keys across collections costs more than a scan of them, and few of the documents match.
    func answer() throws -> (ResultContents, QueryExecution)? {
      guard query.mayLeaveOutAlongKeys, query.collectionGroup != nil else { return try piece() }
      let (budget, overflow) = bounds.limit.addingReportingOverflow(500)
      return try answer(atMost: overflow ? .max : budget)
    }

    /// The first documents of a result, however many are left out on the way. If the result has bounds, they are kept.
    func piece() throws -> (ResultContents, QueryExecution) {
      guard let piece = try answer(atMost: .max) else { throw ClusterSnapshot.damaged("a walk has no end") }
      return piece
    }

    /// - Parameter budget: The number of documents to look at.
    private func answer(atMost budget: Int) throws -> (ResultContents, QueryExecution)? {
      var execution = QueryExecution(plan: .keys)
      var result = try executor.newResult(of: query)
      let limit = bounds.limit
      guard limit > 0 else { return (try result.finish(), execution) }
      var filter = executor.filter(of: query)
      var found = 0
      var isComplete = true
      let order = ClusterKeyOrder(bounds, in: executor.snapshot)
      try order.forEachDocument(firstCount: query.mayLeaveOutAlongKeys ? limit.doubled : limit) { row in
        guard execution.rowsRead < budget else {
          isComplete = false
          return false
        }
        execution.rowsRead += 1
        guard let key = try filter.matchingKey(of: row, inside: nil) else { return true }
        if try result.add(row, key: key) { execution.documentsDecoded += 1 }
        // Keys come in order: behind the first match, all satisfy `startAt`, which need not be tested any more.
        if found == 0, query.startAt != nil, !query.isLimitToLast {
          var rest = query
          rest.startAt = nil
          filter = executor.filter(of: rest)
        }
        found += 1
        return found < limit && !result.isFull()
      }
      return isComplete ? (try result.finish(), execution) : nil
    }
  }

  extension Int {
    fileprivate var doubled: Int { self > .max / 2 ? .max : 2 * self }
  }

  /// The documents of a scope in ascending or descending order of their keys, from one key to another.
  ///
  /// A document comes before those of its subcollections, which come before the collection's next document. So the documents of several
  /// collections are merged: of some collections the next ids are read, and those that surely come before all others, of these collections and
  /// of further ones, are followed by their documents.
  struct ClusterKeyOrder {
    private let snapshot: ClusterSnapshot
    private let scope: CollectionScope
    private let base: ResourcePath
    private let lower: DocumentKey?
    private let upper: DocumentKey?
    private let direction: ReadStatements.Direction

    private static let maximumRows = ClusterPaging.maximumRows
    /// The collections whose ids are read at the same time.
    private static let collectionsAtOnce = 128

    init(_ bounds: KeyBounds, in snapshot: ClusterSnapshot) {
      self.snapshot = snapshot
      scope = bounds.scope
      lower = bounds.lower
      upper = bounds.upper
      direction = bounds.isBackward ? .backward : .forward
      switch scope {
      case .collection(let path), .group(_, under: let path), .everything(under: let path): base = path
      }
    }

    /// - Parameters:
    ///   - firstCount: The documents of the first page.
    ///   - body: Returns false to stop.
    func forEachDocument(firstCount: Int, _ body: (ClusterRow) throws -> Bool) throws {
      guard case .collection(let path) = scope else { return try walk(firstCount: firstCount, body) }
      let number = snapshot.reader.collections.number(of: path)
      let range = range(of: path, number: number, from: lower, to: upper)
      try ClusterPaging(content: .documents, direction: direction).forEachRow(
        of: [range], in: snapshot, firstCount: firstCount
      ) { _, row in
        try body(ClusterRow(row: row, path: path)) ? .proceed : .stop
      }
    }

    /// The ids of a collection whose documents lie between two keys. Both keys belong to the range.
    private func range(
      of path: ResourcePath, number: Int64?, from lower: DocumentKey?, to upper: DocumentKey?
    ) -> ClusterRange {
      var range = ClusterRange(number: number, path: path, lower: ClusterNames.firstID, upper: ClusterNames.endOfIDs)
      let depth = path.count
      if let lower, path.isPrefix(of: lower.path) {
        let segments = lower.path.segments
        let id = ClusterNames.idBytes(segments[depth])
        // A document comes before what is below it.
        range.lower = segments.count > depth + 1 ? ClusterNames.successor(of: id) : id
      }
      if let upper, path.isPrefix(of: upper.path) {
        range.upper = ClusterNames.successor(of: ClusterNames.idBytes(upper.path.segments[depth]))
      }
      return range
    }
  }

  // MARK: - Several collections

  extension ClusterKeyOrder {
    /// A document of the walk, before it is read.
    private struct Candidate {
      /// See ``ClusterNames/order(of:)``.
      var order: [UInt8]
      var place: ClusterPlace
      var path: ResourcePath
    }

    /// The next documents of a walk.
    private struct Round {
      /// In the order of the walk.
      var candidates: [Candidate] = []
      var isLast = false
    }

    private func walk(firstCount: Int, _ body: (ClusterRow) throws -> Bool) throws {
      var count = min(max(firstCount, 1), Self.maximumRows)
      // The document behind which the walk goes on.
      var latest: DocumentKey?
      var collections = Self.collectionsAtOnce
      while true {
        let round = try nextRound(behind: latest, count: count, collections: collections)
        guard try read(round.candidates, body) else { return }
        if round.isLast { return }
        if let last = round.candidates.last {
          latest = try DocumentKey(last.path.appending(ClusterNames.id(of: last.place.id, in: "hearth_documents")))
          collections = Self.collectionsAtOnce
        } else {
          // What is known may all come behind a collection that is not.
          collections *= 4
        }
        count = min(count * 4, Self.maximumRows)
      }
    }

    /// Reads documents in their order.
    ///
    /// - Returns: False if `body` has stopped.
    private func read(_ candidates: [Candidate], _ body: (ClusterRow) throws -> Bool) throws -> Bool {
      var rest = candidates[...]
      let bytesOfPage = PieceSizes().bytes
      while !rest.isEmpty {
        let part = Array(rest.prefix(Self.maximumRows))
        let rows = try snapshot.fetch(
          ReadStatements.places.call(
            snapshot.database, .int8Array(part.map(\.place.collection)), .byteaArray(part.map(\.place.id)),
            .int8(Int64(bytesOfPage))))
        var (bytes, last) = (0, 0)
        for row in rows {
          last = Int(clamping: try row.int64(ReadStatements.Column.range))
          guard part.indices.contains(last - 1) else { throw ClusterSnapshot.damaged("a result has place \(last)") }
          bytes += try row.withBytes(ReadStatements.Column.fields) { $0.count }
          guard try body(ClusterRow(row: row, path: part[last - 1].path)) else { return false }
        }
        rest = rest.dropFirst(bytes >= bytesOfPage ? max(last, 1) : part.count)
      }
      return true
    }

    /// - Parameters:
    ///   - count: The ids that are read of each collection.
    ///   - limit: The collections that are looked at, besides those above a bound.
    private func nextRound(behind latest: DocumentKey?, count: Int, collections limit: Int) throws -> Round {
      let (from, to) = direction == .forward ? (latest ?? lower, upper) : (lower, latest ?? upper)
      let list = try nextCollections(from: from, to: to, limit: limit)
      var above = Set([from, to].compactMap { $0 }.flatMap { parents(of: $0.path) })
      // Behind a collection come the later documents of those above it.
      if direction == .backward { above.formUnion(list.collections.flatMap { parents(of: $0.path) }) }
      above.subtract(list.collections.map(\.path))
      let collections = try snapshot.collections(at: Array(above)) + list.collections
      let ranges = collections.map { collection in
        var range = range(of: collection.path, number: collection.number, from: from, to: to)
        if let latest, latest.collectionPath == collection.path { exclude(latest, from: &range) }
        return range
      }
      // Few of each of many collections, so that a round stays small.
      let count = min(count, max(16, 2 * Self.maximumRows / max(collections.count, 1)))
      let candidates = try candidates(of: ranges, count: count)
      var round = Round(isLast: list.horizon == nil)
      // Ids that were not read may come behind the last one of their collection.
      var end = list.horizon.map { ($0, isPart: direction == .backward) }
      for ids in candidates where ids.count >= count {
        guard let last = ids.last?.order else { continue }
        round.isLast = false
        if end.map({ isBefore(last, $0.0) }) ?? true { end = (last, isPart: true) }
      }
      let all = candidates.flatMap { $0 }.sorted { isBefore($0.order, $1.order) }
      guard let end else { return Round(candidates: all, isLast: round.isLast) }
      round.candidates = all.filter { isBefore($0.order, end.0) || (end.isPart && $0.order == end.0) }
      return round
    }

    private func isBefore(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      direction == .forward ? a.lexicographicallyPrecedes(b) : b.lexicographicallyPrecedes(a)
    }

    /// A document that was visited is not visited again.
    private func exclude(_ key: DocumentKey, from range: inout ClusterRange) {
      let id = ClusterNames.idBytes(key.id)
      switch direction {
      case .forward: range.lower = ClusterNames.successor(of: id)
      case .backward: range.upper = id
      }
    }

    /// The collections of the scope that hold a document, or one above it.
    private func parents(of path: ResourcePath) -> [ResourcePath] {
      var parents: [ResourcePath] = []
      var parent = path.parent
      while parent.count > base.count {
        if !parent.count.isMultiple(of: 2), scope.contains(collection: parent) { parents.append(parent) }
        parent = parent.parent
      }
      return parents
    }

    /// The next collections of the scope that do not hold a bound or something above it.
    ///
    /// - Returns: Also the place that no document of a further collection comes before; nil if there are no further ones. Backward, documents
    ///   at this place and before it are of these collections.
    private func nextCollections(
      from lower: DocumentKey?, to upper: DocumentKey?, limit: Int
    ) throws -> (collections: [ClusterCollection], horizon: [UInt8]?) {
      let (start, end) = (lower.map { ClusterNames.order(of: $0.path) }, upper.map { ClusterNames.order(of: $0.path) })
      let list = ClusterScope(scope)
      var found: [ClusterCollection] = []
      var position: ClusterScope.Position?
      var isEnd = false
      repeat {
        let page = try list.collections(
          behind: position, lower: start.map { Array($0.prefix(ClusterNames.pathOrderLimit)) },
          upper: end.map { ClusterNames.successor(of: Array($0.prefix(ClusterNames.pathOrderLimit))) }, direction,
          limit: limit + 1, in: snapshot)
        found += page.collections
        position = page.next
        isEnd = position == nil
        // Collections whose paths begin with the same bytes have no order in the list.
      } while !isEnd && (found.count <= limit || hasSamePlace(found))
      let further = isEnd ? nil : found.popLast()
      let horizon = further.flatMap { further in
        direction == .forward
          ? ClusterNames.pathOrder(further.path) : found.last.map { ClusterNames.pathOrder($0.path) }
      }
      found.removeAll { collection in
        let order = ClusterNames.order(of: collection.path)
        return start.map { order.lexicographicallyPrecedes($0) } ?? false
          || end.map { !order.lexicographicallyPrecedes($0) } ?? false
      }
      return (found, horizon)
    }

    private func hasSamePlace(_ collections: [ClusterCollection]) -> Bool {
      guard let last = collections.last, collections.count > 1 else { return false }
      let place = ClusterNames.pathOrder(last.path)
      return place.count == ClusterNames.pathOrderLimit
        && place == ClusterNames.pathOrder(collections[collections.count - 2].path)
    }

    /// The next ids of ranges.
    private func candidates(of ranges: [ClusterRange], count: Int) throws -> [[Candidate]] {
      var candidates: [[Candidate]] = ranges.map { _ in [] }
      try ClusterPaging(content: .ids, direction: direction).forEachRow(
        of: ranges, in: snapshot, firstCount: count
      ) { index, row in
        guard let path = ranges[index].path else { return .nextRange }
        let place = ClusterPlace(
          collection: try row.int64(ReadStatements.Column.collection), id: try row.bytes(ReadStatements.Column.id))
        var writer = OrderedValueWriter(ClusterNames.order(of: path))
        writer.append(documentID: try ClusterNames.id(of: place.id, in: "hearth_documents"))
        candidates[index].append(Candidate(order: writer.bytes, place: place, path: path))
        return candidates[index].count < count ? .proceed : .nextRange
      }
      return candidates
    }
  }
#endif
