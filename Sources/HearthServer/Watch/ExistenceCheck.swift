internal import HearthModel
internal import HearthWire

/// Compares the number of a target's documents that a client will have with the actual number.
struct ExistenceCheck {
  let target: WatchedTarget
  let version: SnapshotVersion
  let database: Session

  /// The number of documents of the target, and their names if the client will have another number.
  ///
  /// - Parameters:
  ///   - expected: The number that the client will have.
  ///   - windowCount: The number of documents in the result of a query with a limit.
  func filter(expecting expected: Int, windowCount: Int?) async throws(StatusError) -> WatchExistenceFilter {
    switch target.source {
    case .documents:
      let found = try await foundKeys()
      guard found.count != expected else { return WatchExistenceFilter(targetID: target.id, count: found.count) }
      var filter = NameFilter(count: found.count)
      for key in found { filter.insert(database.id.name(of: key)) }
      return WatchExistenceFilter(targetID: target.id, count: found.count, unchangedNames: filter.data)
    case .query(let query):
      let count: Int
      if let windowCount {
        count = windowCount
      } else {
        count = try await database.watchedCount(of: query, at: version)
      }
      guard count != expected, count <= NameFilter.maximumCount else {
        return WatchExistenceFilter(targetID: target.id, count: count)
      }
      let names = try await names(of: query, count: count)
      return WatchExistenceFilter(targetID: target.id, count: count, unchangedNames: names)
    }
  }

  private func foundKeys() async throws(StatusError) -> [DocumentKey] {
    var found: [DocumentKey] = []
    var documents = DocumentPieces(target.source.keys, at: version, in: database)
    while let piece = try await documents.next() { found += piece.lazy.filter(\.isFound).map(\.key) }
    return found
  }

  private func names(of query: Query, count: Int) async throws(StatusError) -> BloomFilterData {
    var filter = NameFilter(count: count)
    var cursor: QueryCursor?
    repeat {
      let page = try await database.watchedPage(of: query, after: cursor, at: version)
      for document in page.answer.documents { filter.insert(database.id.name(of: document.key)) }
      cursor = page.next
    } while cursor != nil
    return filter.data
  }
}
