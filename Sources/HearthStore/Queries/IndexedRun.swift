internal import HearthModel
internal import HearthPlan

/// The execution of a query along indexes.
///
/// Entries lead to places of documents. An index may return a superset: every document is then tested against the whole query. Documents
/// with pending writes are skipped there and come from entries of their own. Documents that an index does not hold yet are scanned.
struct IndexedRun {
  private let executor: QueryExecutor
  private let query: Query
  private let accesses: [QueryAccess]
  private let indexAccesses: [IndexAccess]
  /// The accesses of single collections, which look into each collection of the scope.
  private let collectionAccesses: [IndexAccess]
  /// The accesses of the collection group, which read one range.
  private let groupAccesses: [IndexAccess]
  /// All indexes hold the documents up to this place.
  private let filledThrough: Int64
  private let scope: CollectionScope
  private let filter: InPlaceFilter
  private var result: LimitedResult
  private(set) var execution: QueryExecution

  /// True if documents of the scope may have local mutations.
  private var isOverlaid = false
  /// The places that were looked at, and whether their documents match, where several ordered ranges may lead to the same one.
  private var seenPlaces: [Int64: Bool] = [:]
  /// The documents that were looked up by their keys, which an index may lead to as well.
  private var seenKeys: Set<DocumentKey> = []
  /// True if only a piece of the result is read.
  private var isPiece = false

  /// Looking into an index of one collection costs about as much as scanning this many documents, and so does beginning to scan
  /// a collection.
  private static let scannedPerLook = 3
  /// The ranges that are read for each piece of a result, of all collections together.
  private static let rangesOfPiece = 100
  /// The places that are kept while a result with bounds is read. A scan takes its time, but no memory.
  private static let boundedPlaces: Int64 = 1 << 20

  init(_ executor: QueryExecutor, _ query: Query, _ accesses: [QueryAccess]) throws {
    self.executor = executor
    self.query = query
    self.accesses = accesses
    scope = CollectionScope(of: query)
    filter = executor.filter(of: query)
    result = try executor.newResult(of: query)
    indexAccesses = accesses.compactMap { if case .index(let access) = $0 { access } else { nil } }
    collectionAccesses = indexAccesses.filter { !$0.index.isOfGroup }
    groupAccesses = indexAccesses.filter(\.index.isOfGroup)
    filledThrough = indexAccesses.map(\.index.filledThrough).min() ?? StoredIndex.complete
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

  private var documents: DocumentStore { executor.documents }

  /// - Returns: nil if a scan takes less.
  mutating func answer(_ timer: inout ExecutionTimer) throws -> (ResultContents, QueryExecution)? {
    try addLocal()
    if isOverlaid { timer.finish("look at pending writes") }
    try addDocumentsByKey()
    if !indexAccesses.isEmpty {
      let collections = needsCollections ? try documents.collections(in: scope) : []
      var budget = ReadBudget.small()
      if !collectionAccesses.isEmpty {
        let count = try documents.estimatedDocumentCount(of: collections)
        guard isWorthLooking(into: collections.count, documentCount: count) else { return nil }
        budget = .whole(documentCount: count)
      }
      guard try addIndexed(in: collections, &budget) else { return nil }
      timer.finish("read the indexes and their documents")
      if filledThrough != StoredIndex.complete {
        for (path, number) in collections { try addUnfilled(in: path, number, behind: filledThrough) }
        timer.finish("scan what is not indexed yet")
      }
    }
    let contents = try result.finish()
    timer.finish("sort")
    return (contents, execution)
  }

  /// Returns only the first documents of the result.
  ///
  /// - Returns: nil if the accesses do not lead to them in the order of the query, or if each piece would read much that is not part of it.
  mutating func piece(_ effort: PieceEffort) throws -> (ResultContents, QueryExecution)? {
    guard filledThrough == StoredIndex.complete,
      indexAccesses.allSatisfy({ $0.isOrdered && ($0.isExact || effort == .patient) })
    else { return nil }
    isPiece = true
    try addDocumentsByKey()
    if !indexAccesses.isEmpty {
      let collections =
        needsCollections
        ? try documents.collections(in: scope, limit: Self.rangesOfPiece / max(collectionAccesses.count, 1)) : []
      guard let collections else { return nil }
      var budget = ReadBudget.unlimited
      // If there are several ranges, each gives as many documents as the piece has.
      if effort == .direct, rangeCount(in: collections.count) > 1 {
        budget =
          collectionAccesses.isEmpty
          ? .small() : .whole(documentCount: try documents.estimatedDocumentCount(of: collections))
      }
      guard try addIndexed(in: collections, &budget) else { return nil }
    }
    return (try result.finish(), execution)
  }

  /// Counts the documents of the scope when a small result does not end.
  ///
  /// - Returns: true if the budget has become larger.
  private func extend(_ budget: inout ReadBudget) throws -> Bool {
    guard !budget.isWhole, let group = query.collectionGroup else { return false }
    let before = budget.left
    budget.extend(documentCount: try documents.estimatedDocumentCount(ofGroup: group))
    return budget.left > before
  }

  /// Indexes of the collection group that hold all documents need no list of its collections.
  private var needsCollections: Bool { !collectionAccesses.isEmpty || filledThrough != StoredIndex.complete }

  /// True if both kinds of accesses may lead to one document.
  private var isMixed: Bool { !groupAccesses.isEmpty && !collectionAccesses.isEmpty }

  private func rangeCount(in collectionCount: Int) -> Int {
    collectionCount * collectionAccesses.count + groupAccesses.count
  }

  /// - Returns: false if the budget was used up.
  private mutating func addIndexed(
    in collections: [(path: ResourcePath, number: Int64)], _ budget: inout ReadBudget
  ) throws -> Bool {
    if !groupAccesses.isEmpty, let group = query.collectionGroup {
      let reader = try PlaceReader(documents, group: group)
      guard try add(groupAccesses, IndexSchema.allCollections, reader, &budget) else { return false }
    }
    guard !collectionAccesses.isEmpty else { return true }
    for (path, number) in collections {
      let reader = try PlaceReader(documents, collection: path, number: number)
      guard try add(collectionAccesses, number, reader, &budget) else { return false }
    }
    return true
  }

  /// The number of places to read before a scan takes less, or less memory.
  private func placeLimit(_ budget: Int64) -> Int64 {
    executor.bounds == nil ? budget * 2 : min(budget * 2, Self.boundedPlaces)
  }

  /// Returns whether the ranges hold at most `limit` entries, and at most as many documents are not indexed yet.
  func isSmall(atMost limit: Int) throws -> Bool {
    let collections = needsCollections ? try documents.collections(in: scope, limit: limit) : []
    guard let collections, rangeCount(in: collections.count) <= limit else { return false }
    var count = accesses.count
    if filledThrough != StoredIndex.complete {
      for (_, number) in collections {
        let last = try documents.lastPlace(in: number) ?? 0
        count += max(0, Int(clamping: last - max(filledThrough, Place.first(in: number) - 1)))
      }
    }
    for access in indexAccesses where !access.range.isEmpty {
      let numbers = access.index.isOfGroup ? [IndexSchema.allCollections] : collections.map(\.number)
      for number in numbers where count <= limit {
        if access.isOrdered, access.isExact, let wanted = query.limit {
          count += min(max(wanted, 0), limit)
          continue
        }
        try documents.indexes.forEachPlace(
          in: access.range, of: access.index.number, collection: number, backward: false
        ) { _ in
          count += 1
          return count <= limit
        }
      }
    }
    return count <= limit
  }

  // MARK: - Pending writes

  private mutating func addLocal() throws {
    guard let source = executor.localMutations, let owner = source.owner, try source.hasLocalMutations(in: scope) else {
      return
    }
    isOverlaid = true
    let overlays: [DocumentKey: Mutation]
    if indexAccesses.allSatisfy(\.index.holdsLocalMutations) {
      var keys: Set<DocumentKey> = []
      for access in indexAccesses {
        for range in [access.range, .withoutValues] where !range.isEmpty {
          try documents.indexes.addLocalKeys(
            in: range, of: access.index.number, owner: owner, scope: scope, to: &keys)
        }
      }
      for case .document(let key) in accesses where query.holds(key) { keys.insert(key) }
      execution.entriesRead += keys.count
      overlays = try source.localMutations(for: keys)
    } else {
      overlays = try source.localMutations(in: scope)
    }
    try executor.addOverlaid(overlays, query, to: &result, &execution)
  }

  private func hasLocalMutation(_ key: DocumentKey) throws -> Bool {
    guard isOverlaid, let source = executor.localMutations else { return false }
    return try !source.localMutations(for: [key]).isEmpty
  }

  // MARK: - Stored documents

  private mutating func addDocumentsByKey() throws {
    for case .document(let key) in accesses where query.holds(key) && seenKeys.insert(key).inserted {
      if try hasLocalMutation(key) { continue }
      let document = try documents.document(for: key)
      execution.rowsRead += 1
      guard try executor.matches(query, document) else { continue }
      execution.documentsDecoded += 1
      try result.add(document)
    }
  }

  /// Returns whether reading each index in each collection costs less than a scan, whatever it finds. It does not for many
  /// alternatives in many collections with few documents each.
  private func isWorthLooking(into collectionCount: Int, documentCount: Int) -> Bool {
    let looks = (collectionAccesses.count + Set(collectionAccesses.map(\.index.number)).count) * collectionCount
    return looks <= Int(ReadBudget.smallResult) || looks <= collectionCount + documentCount / Self.scannedPerLook
  }

  /// - Parameter number: the number of the collection in the entries of the accesses.
  /// - Returns: false if the budget was used up.
  private mutating func add(
    _ accesses: [IndexAccess], _ number: Int64, _ reader: PlaceReader, _ budget: inout ReadBudget
  ) throws -> Bool {
    var places: [Int64] = []
    for access in accesses where !access.range.isEmpty {
      if access.isOrdered, let limit = query.limit {
        guard try stream(access, number, reader, limit: max(limit, 0), &budget) else { return false }
      } else {
        let isWithin = try gather(&places, within: &budget) { run, places, limit in
          try run.gather(access, number, &places, atMost: limit)
        }
        guard isWithin else { return false }
      }
    }
    var numbers: Set<Int64> = []
    for access in accesses where numbers.insert(access.index.number).inserted {
      let isWithin = try gather(&places, within: &budget) { run, places, limit in
        // Each piece of a result looks at all of them.
        let limit = run.isPiece ? ReadBudget.smallResult : limit
        return try run.gather(.withoutValues, access.index, number, &places, atMost: limit)
      }
      guard isWithin else { return false }
    }
    places.sort()
    var previous: Int64 = -1
    for place in places where place != previous {
      previous = place
      if seenPlaces[place] != nil { continue }
      let isFound = try add(place, reader, inside: result.edge)
      if isMixed { seenPlaces[place] = isFound }
      budget.left -= 1
    }
    budget.left = max(budget.left, 0)
    return true
  }

  /// Gathers places within the budget, which is extended where a small result does not end.
  private mutating func gather(
    _ places: inout [Int64], within budget: inout ReadBudget,
    _ body: (inout IndexedRun, inout [Int64], _ limit: Int64) throws -> Bool
  ) throws -> Bool {
    let count = places.count
    while try !body(&self, &places, placeLimit(budget.left)) {
      guard try extend(&budget) else { return false }
      places.removeLast(places.count - count)
    }
    return true
  }

  /// Reads along an index that has the order of the query until there are as many documents as the limit allows.
  private mutating func stream(
    _ access: IndexAccess, _ number: Int64, _ reader: PlaceReader, limit: Int, _ budget: inout ReadBudget
  ) throws -> Bool {
    var found = 0
    var isWithinBudget = true
    guard limit > 0 else { return true }
    let bytesBefore = result.addedBytes
    execution.rangesRead += 1
    try documents.indexes.forEachPlace(
      in: access.range, of: access.index.number, collection: number, backward: access.isBackward
    ) { place in
      execution.entriesRead += 1
      if budget.left == 0 { _ = try extend(&budget) }
      budget.left -= 1
      isWithinBudget = budget.left >= 0 && seenPlaces.count <= placeLimit(ReadBudget.unlimitedCount)
      guard isWithinBudget else { return false }
      // A document that another access has found is one of the first of this access too.
      let isFound = try seenPlaces[place] ?? add(place, reader, inside: nil)
      if accesses.count > 1 { seenPlaces[place] = isFound }
      if isFound { found += 1 }
      if isPiece, isFull(since: bytesBefore) { return false }
      return found < limit
    }
    return isWithinBudget
  }

  /// Returns whether the documents of one range are as many as a piece has bytes for.
  private mutating func isFull(since bytesBefore: Int) -> Bool {
    guard let bounds = executor.bounds, result.addedBytes - bytesBefore >= bounds.documentBytes else { return false }
    return result.isFull()
  }

  /// From this many places on, it is worth looking into other indexes to exclude places whose documents cannot belong to the result.
  private static let mergedPlaces = 8
  /// Entries cost about an eighth of a document that is read.
  private static let entriesPerDocument: Int64 = 8

  /// Adds the places of an access, without those that are in none of the ranges of other indexes.
  private mutating func gather(
    _ access: IndexAccess, _ number: Int64, _ places: inout [Int64], atMost limit: Int64
  ) throws -> Bool {
    guard !access.others.isEmpty else { return try gather(access.range, access.index, number, &places, atMost: limit) }
    var own: [Int64] = []
    let mostOwn = min(limit * Self.entriesPerDocument, placeLimit(ReadBudget.unlimitedCount))
    guard try gather(access.range, access.index, number, &own, atMost: mostOwn) else { return false }
    for other in access.others where own.count >= Self.mergedPlaces {
      var more: [Int64] = []
      let most = min(Int64(own.count) * Self.entriesPerDocument, placeLimit(ReadBudget.unlimitedCount))
      guard try gather(other.range, other.index, number, &more, atMost: most),
        try gather(.withoutValues, other.index, number, &more, atMost: most)
      else { continue }
      let held = Set(more)
      own.removeAll { !held.contains($0) }
      let definition = other.index.definition
      if !execution.mergedIndexes.contains(definition) { execution.mergedIndexes.append(definition) }
    }
    places += own
    return places.count <= limit
  }

  private mutating func gather(
    _ range: IndexRange, _ index: StoredIndex, _ number: Int64, _ places: inout [Int64], atMost limit: Int64
  ) throws -> Bool {
    execution.rangesRead += 1
    try documents.indexes.forEachPlace(in: range, of: index.number, collection: number, backward: false) { place in
      execution.entriesRead += 1
      places.append(place)
      return places.count <= limit
    }
    return places.count <= limit
  }

  /// - Returns: True if the document belongs to the result, the limit aside.
  private mutating func add(_ place: Int64, _ reader: PlaceReader, inside edge: Document?) throws -> Bool {
    // One that not all indexes hold yet is scanned.
    guard place <= filledThrough, let stored = try reader.document(at: place) else { return false }
    execution.rowsRead += 1
    guard let key = try filter.matchingKey(of: stored, inside: edge) else { return false }
    return try add(stored, key)
  }

  private mutating func add(_ stored: StoredDocument, _ key: DocumentKey) throws -> Bool {
    if try hasLocalMutation(key) { return false }
    if !seenKeys.isEmpty, seenKeys.contains(key) { return true }
    if try result.add(stored, key: key) { execution.documentsDecoded += 1 }
    return true
  }

  /// Documents that an index does not hold are scanned; another index may be filled further.
  private mutating func addUnfilled(in path: ResourcePath, _ number: Int64, behind mark: Int64) throws {
    guard let last = try documents.lastPlace(in: number), last > mark else { return }
    try documents.forEach(in: path, number: number, behind: mark) { stored in
      execution.rowsRead += 1
      guard let key = try filter.matchingKey(of: stored, inside: result.edge) else { return }
      _ = try add(stored, key)
    }
  }
}
