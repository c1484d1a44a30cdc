#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres
  internal import HearthStore

  /// The execution of a query along indexes, as `IndexedRun` does it in SQLite, but page by page.
  ///
  /// Entries lead to places of documents. An index may return a superset: every document is then tested against the whole query. Documents
  /// that an index does not hold yet are scanned; those that it leads to as well are recognised.
  struct ClusterIndexedRun {
    private let executor: ClusterExecutor
    private let query: Query
    private let accesses: [QueryAccess]
    private let indexAccesses: [IndexAccess]
    /// The accesses of single collections, which look into each collection of the scope.
    private let collectionAccesses: [IndexAccess]
    /// The accesses of the collection group, which read one range.
    private let groupAccesses: [IndexAccess]
    /// All indexes hold the documents up to here; nil if they hold all.
    private let mark: ClusterIndex.Mark?
    private let scope: CollectionScope
    private let filter: ClusterFilter
    private var result: LimitedResult
    private(set) var execution: QueryExecution

    /// The places that were looked at, and whether their documents match, where several ordered ranges may lead to the same one.
    private var seenPlaces: [ClusterPlace: Bool] = [:]
    /// The places of documents of the result, while an index does not hold all documents.
    private var foundPlaces: Set<ClusterPlace> = []
    /// The documents that were looked up by their keys, which an index may lead to as well.
    private var seenKeys: Set<DocumentKey> = []
    /// True if only a piece of the result is read.
    private var isPiece = false

    private enum Cost {
      /// Looking into an index of one collection costs about as much as scanning this many documents.
      static let scannedPerLook = 3
      /// The documents of a scan are sent to the node, those outside the range of an index are not: the scan has to be much shorter to take less.
      static let scannedPerDocument: Int64 = 2
      /// The ranges that are read for each piece of a result, of all collections together.
      static let rangesOfPiece = 100
      /// The places that are kept at the same time, some hundred bytes each. A scan takes its time, but no memory.
      static let longestPlaces: Int64 = 1 << 17
      /// The documents that one statement reads by their places.
      static let placesAtOnce = 500
    }

    init(_ executor: ClusterExecutor, _ query: Query, _ accesses: [QueryAccess]) throws {
      self.executor = executor
      self.query = query
      self.accesses = accesses
      scope = CollectionScope(of: query)
      filter = executor.filter(of: query)
      result = LimitedResult(of: query, executor.aggregations)
      indexAccesses = accesses.compactMap { if case .index(let access) = $0 { access } else { nil } }
      collectionAccesses = indexAccesses.filter { !$0.index.isOfGroup }
      groupAccesses = indexAccesses.filter(\.index.isOfGroup)
      let numbers = Set(indexAccesses.map(\.index.number))
      mark = try executor.snapshot.definitions.active.filter { numbers.contains($0.stored.number) }
        .compactMap(\.mark).min()
      execution = QueryExecution(plan: indexAccesses.isEmpty ? .keys : .index)
      execution.accesses = accesses.map { access in
        switch access {
        case .document(let key): .document(key)
        case .index(let access):
          .index(
            access.index.definition, bounds: access.bounds, isOrdered: access.isOrdered && query.limit != nil)
        }
      }
    }

    private var snapshot: ClusterSnapshot { executor.snapshot }

    /// - Returns: nil if a scan takes less.
    mutating func answer() throws -> (ResultContents, QueryExecution)? {
      result = try executor.newResult(of: query)
      try addDocumentsByKey()
      if !indexAccesses.isEmpty {
        var budget = ReadBudget.small(scannedPerDocument: Cost.scannedPerDocument)
        if !collectionAccesses.isEmpty, query.collectionGroup != nil {
          let totals = try ClusterScope(scope).totals(in: snapshot)
          guard isWorthLooking(into: totals) else { return nil }
          budget = .whole(documentCount: totals.documents, scannedPerDocument: Cost.scannedPerDocument)
        }
        guard try addIndexed(&budget) else { return nil }
        if let mark { try addUnfilled(behind: mark) }
      }
      return (try result.finish(), execution)
    }

    /// The first documents of the result, without those behind them.
    ///
    /// - Returns: nil if the accesses do not give them so, or if each piece would read much that is not part of it.
    mutating func piece(_ effort: PieceEffort) throws -> (ResultContents, QueryExecution)? {
      guard mark == nil, indexAccesses.allSatisfy({ $0.isOrdered && ($0.isExact || effort == .patient) }) else {
        return nil
      }
      isPiece = true
      result = try executor.newResult(of: query)
      var budget = ReadBudget.unlimited
      if !collectionAccesses.isEmpty, query.collectionGroup != nil {
        let totals = try ClusterScope(scope).totals(in: snapshot)
        guard totals.collections * collectionAccesses.count <= Cost.rangesOfPiece else { return nil }
        if effort == .direct {
          budget = .whole(documentCount: totals.documents, scannedPerDocument: Cost.scannedPerDocument)
        }
      } else if effort == .direct, indexAccesses.count > 1 {
        // Each range gives as many documents as the piece has.
        budget = .small(scannedPerDocument: Cost.scannedPerDocument)
      }
      try addDocumentsByKey()
      if !indexAccesses.isEmpty { guard try addIndexed(&budget) else { return nil } }
      return (try result.finish(), execution)
    }

    /// The number of documents that the indexes hold without their values, and that match.
    mutating func countWithoutValues(in collections: [ClusterRange]) throws -> Int {
      var places = ClusterPlaces(in: snapshot, atMost: placeLimit(ReadBudget.unlimitedCount))
      for number in Set(indexAccesses.map(\.index.number)) {
        _ = try places.gather(.withoutValues, of: number, in: collections, atMost: places.longest)
      }
      note(places)
      var budget = ReadBudget.unlimited
      try addDocuments(at: places.list, &budget)
      return try result.finish().documentCount
    }

    /// Returns whether reading each index in each collection costs less than a scan, whatever it finds.
    private func isWorthLooking(into totals: ClusterScope.Totals) -> Bool {
      let looks = (collectionAccesses.count + Set(collectionAccesses.map(\.index.number)).count) * totals.collections
      return looks <= Int(ReadBudget.smallResult)
        || looks <= totals.collections + totals.documents / Cost.scannedPerLook
    }

    /// Counts the documents of the scope when a small result does not end.
    ///
    /// - Returns: true if the budget has become larger.
    private func extend(_ budget: inout ReadBudget) throws -> Bool {
      guard !budget.isWhole else { return false }
      let before = budget.left
      budget.extend(documentCount: try ClusterScope(scope).totals(in: snapshot).documents)
      return budget.left > before
    }

    /// True if both kinds of accesses may lead to one document.
    private var isMixed: Bool { !groupAccesses.isEmpty && !collectionAccesses.isEmpty }

    /// The number of places to read before a scan takes less, or less memory.
    private func placeLimit(_ budget: Int64) -> Int64 { min(budget * 2, Cost.longestPlaces) }

    // MARK: - Documents by key

    private mutating func addDocumentsByKey() throws {
      var keys: [DocumentKey] = []
      for case .document(let key) in accesses where query.holds(key) && seenKeys.insert(key).inserted {
        keys.append(key)
      }
      for document in try snapshot.presentDocuments(keys) {
        execution.rowsRead += 1
        guard try executor.matches(query, document) else { continue }
        execution.documentsDecoded += 1
        try result.add(document)
      }
    }

    // MARK: - Indexes

    /// - Returns: false if the budget was used up.
    private mutating func addIndexed(_ budget: inout ReadBudget) throws -> Bool {
      if !groupAccesses.isEmpty {
        let all = ClusterRange.entries(of: ClusterIndex.allCollections, nil)
        guard try add(groupAccesses, in: [all], &budget) else { return false }
      }
      guard !collectionAccesses.isEmpty else { return true }
      if case .collection(let path) = scope {
        let number = snapshot.reader.collections.number(of: path)
        return try add(collectionAccesses, in: [.entries(of: number, path)], &budget)
      }
      var position: ClusterScope.Position?
      repeat {
        let page = try ClusterScope(scope).collections(behind: position, limit: Cost.rangesOfPiece, in: snapshot)
        let collections = page.collections.map { ClusterRange.entries(of: $0.number, $0.path) }
        guard try add(collectionAccesses, in: collections, &budget) else { return false }
        position = page.next
      } while position != nil
      return true
    }

    /// - Parameter collections: Where the accesses look; their bounds are set here.
    /// - Returns: false if the budget was used up.
    private mutating func add(
      _ accesses: [IndexAccess], in collections: [ClusterRange], _ budget: inout ReadBudget
    ) throws -> Bool {
      guard !collections.isEmpty else { return true }
      let withoutValues = Set(accesses.map(\.index.number)).sorted().map { number in
        (number, collections.count == 1 ? enqueueWithoutValues(of: number, collections) : nil)
      }
      var places = ClusterPlaces(in: snapshot, atMost: placeLimit(ReadBudget.unlimitedCount))
      defer { note(places) }
      for access in accesses where !access.range.isEmpty {
        if access.isOrdered, let limit = query.limit {
          guard try stream(access, collections, limit: max(limit, 0), &budget) else { return false }
        } else if self.accesses.count == 1, access.others.isEmpty {
          // No document is met twice: an entry of the range stands for each.
          guard try stream(access, collections, limit: nil, &budget) else { return false }
        } else {
          let isWithin = try gather(&places, within: &budget) { places, limit in
            try places.gather(access, in: collections, atMost: limit)
          }
          guard isWithin else { return false }
        }
      }
      for (number, queued) in withoutValues {
        if let rows = try queued?.rows, rows.count < Self.queuedPlaces {
          try places.add(rows)
          continue
        }
        let isWithin = try gather(&places, within: &budget) { places, limit in
          // Each piece of a result looks at all of them.
          try places.gather(
            .withoutValues, of: number, in: collections, atMost: isPiece ? ReadBudget.smallResult : limit)
        }
        guard isWithin else { return false }
      }
      try addDocuments(at: places.list, &budget)
      return true
    }

    private mutating func note(_ places: ClusterPlaces) {
      execution.rangesRead += places.rangesRead
      execution.entriesRead += places.entriesRead
      execution.mergedIndexes += places.mergedIndexes.filter { !execution.mergedIndexes.contains($0) }
    }

    /// Gathers places within the budget, which is extended where a small result does not end.
    private func gather(
      _ places: inout ClusterPlaces, within budget: inout ReadBudget,
      _ body: (inout ClusterPlaces, _ limit: Int64) throws -> Bool
    ) throws -> Bool {
      let count = places.list.count
      while try !body(&places, placeLimit(budget.left)) {
        guard try extend(&budget) else { return false }
        places.list.removeLast(places.list.count - count)
      }
      return true
    }

    /// Asks for the documents without values together with the first page of the others, because there are mostly none.
    private func enqueueWithoutValues(of number: Int64, _ collections: [ClusterRange]) -> ClusterSnapshot.QueuedCall {
      let paging = ClusterPaging(content: .entryPlaces(index: Int32(truncatingIfNeeded: number)), direction: .forward)
      let ranges = ClusterRange.ranges(.withoutValues, in: collections)
      return snapshot.enqueue(paging.call(ranges, Self.queuedPlaces, snapshot.database))
    }

    private static let queuedPlaces = 20

    // MARK: - Ranges with their documents

    /// The documents of the first page of a range that is read as a whole.
    private static let firstDocuments = 200

    /// Reads along an index, and the documents with it.
    ///
    /// - Parameter limit: For an access that has the order of the query: the documents that are needed of each collection. Nil to read the
    ///   ranges as a whole.
    /// - Returns: false if the budget was used up.
    private mutating func stream(
      _ access: IndexAccess, _ collections: [ClusterRange], limit: Int?, _ budget: inout ReadBudget
    ) throws -> Bool {
      if let limit, limit <= 0 { return true }
      execution.rangesRead += collections.count
      var found = Array(repeating: 0, count: collections.count)
      var bytes = Array(repeating: 0, count: collections.count)
      var isWithinBudget = true
      let paging = ClusterPaging(
        content: .entries(index: Int32(truncatingIfNeeded: access.index.number)),
        direction: access.isBackward ? .backward : .forward)
      let wanted = limit.map { access.isExact ? $0 : min($0, ClusterPaging.maximumRows / 2) * 2 }
      var paths: [Int64: ResourcePath] = [:]
      try paging.forEachRow(
        of: ClusterRange.ranges(access.range, in: collections), in: snapshot, firstCount: wanted ?? Self.firstDocuments,
        prepare: { paths = try self.paths(of: $0) }
      ) { index, row in
        execution.entriesRead += 1
        if budget.left == 0 { _ = try extend(&budget) }
        budget.left -= 1
        isWithinBudget = budget.left >= 0 && seenPlaces.count <= placeLimit(ReadBudget.unlimitedCount)
        guard isWithinBudget else { return .stop }
        let before = result.addedBytes
        if try addStreamed(row, paths, inside: limit == nil ? result.edge : nil) { found[index] += 1 }
        bytes[index] += result.addedBytes - before
        if isPiece, let bounds = executor.bounds, bytes[index] >= bounds.documentBytes, result.isFull() {
          return .nextRange
        }
        return limit.map { found[index] < $0 } ?? true ? .proceed : .nextRange
      }
      return isWithinBudget
    }

    /// - Returns: True if the document belongs to the result, the limit aside.
    private mutating func addStreamed(
      _ row: PostgresRow, _ paths: [Int64: ResourcePath], inside edge: Document?
    ) throws -> Bool {
      guard let document = try document(in: row, paths) else { return false }
      guard accesses.count > 1 else { return try add(document, inside: edge) }
      let place = try document.place
      // A document that another access has found is one of the first of this access too.
      if let isFound = seenPlaces[place] { return isFound }
      let isFound = try add(document, inside: nil)
      seenPlaces[place] = isFound
      return isFound
    }

    /// The paths of the documents of a page.
    private func paths(of rows: PostgresRows) throws -> [Int64: ResourcePath] {
      if case .collection = scope { return [:] }
      return try snapshot.paths(of: rows.map { row in try row.int64(ReadStatements.Column.collection) })
    }

    private func document(in row: PostgresRow, _ paths: [Int64: ResourcePath]) throws -> ClusterRow? {
      if case .collection(let path) = scope { return ClusterRow(row: row, path: path) }
      return try paths[row.int64(ReadStatements.Column.collection)].map { ClusterRow(row: row, path: $0) }
    }

    /// - Returns: True if the document belongs to the result, the limit aside.
    private mutating func add(_ document: ClusterRow, inside edge: Document?) throws -> Bool {
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: document, inside: edge) else { return false }
      if !seenKeys.isEmpty, seenKeys.contains(key) { return true }
      if try result.add(document, key: key) { execution.documentsDecoded += 1 }
      if mark != nil { foundPlaces.insert(try document.place) }
      return true
    }

    // MARK: - Documents by place

    private mutating func addDocuments(at places: [ClusterPlace], _ budget: inout ReadBudget) throws {
      var rest = Set(places).filter { seenPlaces[$0] == nil }.sorted()[...]
      while !rest.isEmpty {
        let part = rest.prefix(Cost.placesAtOnce)
        let rows = try snapshot.fetch(
          ReadStatements.places.call(
            snapshot.database, .int8Array(part.map(\.collection)), .byteaArray(part.map(\.id)),
            .int8(Int64(PieceSizes().bytes))))
        let paths = try paths(of: rows)
        var bytes = 0
        var last = part.count
        for row in rows {
          last = Int(clamping: try row.int64(ReadStatements.Column.range))
          bytes += try row.withBytes(ReadStatements.Column.fields) { $0.count }
          guard let document = try document(in: row, paths) else { continue }
          let isFound = try add(document, inside: result.edge)
          if isMixed { seenPlaces[try document.place] = isFound }
        }
        let isCut = bytes >= PieceSizes().bytes
        rest = rest.dropFirst(isCut ? max(last, 1) : part.count)
        budget.left = max(budget.left - Int64(rows.count), 0)
      }
    }

    /// Documents that an index does not hold are scanned; another index may be filled further.
    private mutating func addUnfilled(behind mark: ClusterIndex.Mark) throws {
      try ClusterScope(scope).forEachDocument(behind: mark, in: snapshot) { row in
        guard try !foundPlaces.contains(row.place) else { return true }
        execution.rowsRead += 1
        guard let key = try filter.matchingKey(of: row, inside: result.edge), !seenKeys.contains(key) else {
          return true
        }
        if try result.add(row, key: key) { execution.documentsDecoded += 1 }
        return true
      }
    }
  }
#endif
