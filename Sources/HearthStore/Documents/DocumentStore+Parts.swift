package import HearthModel

/// A part of the stored documents, given by a range of places, so that several connections can share a scan.
package struct DocumentPart: Hashable, Sendable {
  /// See `Place`.
  let places: ClosedRange<Int64>
  /// True if no other part lies before this one.
  let isFirst: Bool
}

extension DocumentStore {
  /// A scope with more collections than this is not looked at collection by collection to estimate its size.
  private static let estimatedCollectionLimit = 256

  /// Estimates the number of documents that are stored in a scope. The estimate is never too low, and too high where documents were
  /// removed.
  ///
  /// Takes two look-ups per collection, however many documents there are.
  ///
  /// - Returns: nil if the scope has more collections than ``estimatedCollectionLimit``.
  package func estimatedDocumentCount(in scope: CollectionScope) throws -> Int? {
    try database.readTransaction("Estimate documents") {
      try extents(in: scope)?.reduce(0) { $0 + Int(clamping: $1.upperBound - $1.lowerBound + 1) }
    }
  }

  /// Estimates the number of documents that are stored in collections. Of many collections it looks only at a sample.
  func estimatedDocumentCount(of collections: [(path: ResourcePath, number: Int64)]) throws -> Int {
    let step = max(1, collections.count / Self.estimatedCollectionLimit)
    let looked = stride(from: 0, to: collections.count, by: step)
    var count: Int64 = 0
    for index in looked { count += try spannedPlaces(of: collections[index].number) }
    return Self.extrapolated(count, from: step)
  }

  /// Estimates the documents of a collection group. Reads the list of its collections once, without keeping it.
  func estimatedDocumentCount(ofGroup id: String) throws -> Int {
    let total = try database.prepare("SELECT count(*) FROM collections WHERE group_id = ?", .text(id))
    let collectionCount = try total.step() ? try total.int64(at: 0) : 0
    let step = max(1, Int(clamping: collectionCount) / Self.estimatedCollectionLimit)
    let numbers = try database.prepare("SELECT number FROM collections WHERE group_id = ? ORDER BY path", .text(id))
    var (position, count) = (0, Int64(0))
    while try numbers.step() {
      if position.isMultiple(of: step) {
        count += try spannedPlaces(of: DocumentSchema.checked(numbers.int64(at: 0), path: id))
      }
      position += 1
    }
    return Self.extrapolated(count, from: step)
  }

  /// The places between the first and the last document of a collection.
  private func spannedPlaces(of collection: Int64) throws -> Int64 {
    try extent(of: collection).map { $0.upperBound - $0.lowerBound + 1 } ?? 0
  }

  /// - Parameter step: The number of collections for each one that was counted.
  private static func extrapolated(_ count: Int64, from step: Int) -> Int {
    let (all, isOverflow) = Int(clamping: count).multipliedReportingOverflow(by: step)
    return isOverflow ? .max : all
  }

  /// The number of documents of a scope that were read from the backend later than a version; counting stops at `limit`.
  ///
  /// - Returns: nil if the scope has more collections than ``estimatedCollectionLimit``.
  package func changedDocumentCount(
    in scope: CollectionScope, after version: SnapshotVersion, limit: Int
  ) throws -> Int? {
    try database.readTransaction("Count changed documents") {
      guard let collections = try collections(in: scope, limit: Self.estimatedCollectionLimit) else { return nil }
      var count = 0
      let statement = try database.prepare(
        """
        SELECT count(*) FROM (SELECT 1 FROM documents INDEXED BY documents_by_read_time
        WHERE collection = ? AND read_time > ? LIMIT ?)
        """)
      for (_, number) in collections where count < limit {
        statement.reset()
        try statement.bind(1, number)
        try statement.bind(2, version.microseconds)
        try statement.bind(3, limit - count)
        if try statement.step() { count += Int(clamping: try statement.int64(at: 0)) }
      }
      return count
    }
  }

  /// Cuts a scope into parts of about the same number of documents, which together hold each of them once.
  ///
  /// - Parameter count: the largest number of parts. There is at least one, also for a scope without documents.
  package func parts(of scope: CollectionScope, count: Int) throws -> [DocumentPart] {
    try database.readTransaction("Cut into parts") {
      let extents = (try extents(in: scope) ?? []).sorted { $0.lowerBound < $1.lowerBound }
      var places: [Int64] = []
      let total = extents.reduce(Int64(0)) { $0 + ($1.upperBound - $1.lowerBound + 1) }
      let step = total / Int64(max(count, 1))
      if step > 0 {
        var before: Int64 = 0
        for extent in extents {
          let size = extent.upperBound - extent.lowerBound + 1
          while places.count + 1 < count, step * Int64(places.count + 1) < before + size {
            places.append(extent.lowerBound + (step * Int64(places.count + 1) - before))
          }
          before += size
        }
      }
      var parts: [DocumentPart] = []
      var first = Int64.min
      for place in places where place > first {
        parts.append(DocumentPart(places: first...(place - 1), isFirst: parts.isEmpty))
        first = place
      }
      parts.append(DocumentPart(places: first...Int64.max, isFirst: parts.isEmpty))
      return parts
    }
  }

  /// The first and the last place of each collection that holds something; nil for too many collections.
  private func extents(in scope: CollectionScope) throws -> [ClosedRange<Int64>]? {
    guard let collections = try collections(in: scope, limit: Self.estimatedCollectionLimit) else { return nil }
    return try collections.compactMap { try extent(of: $0.number) }
  }

  private func extent(of collection: Int64) throws -> ClosedRange<Int64>? {
    // Two subqueries: SQLite finds the ends of an index at once only for one of them at a time.
    let statement = try database.prepare(
      """
      SELECT (SELECT min(place) FROM documents WHERE place BETWEEN ?1 AND ?2),
        (SELECT max(place) FROM documents WHERE place BETWEEN ?1 AND ?2)
      """,
      .integer(Place.first(in: collection)), .integer(Place.last(in: collection)))
    guard try statement.step(), !statement.isNull(at: 0) else { return nil }
    let (first, last) = (try statement.int64(at: 0), try statement.int64(at: 1))
    guard first <= last else {
      throw StoreError.corrupt(
        "table documents, collection \(collection): its last place \(last) is before its first place \(first)")
    }
    return first...last
  }
}
